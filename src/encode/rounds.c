/* SPDX-License-Identifier: MIT */
/* rounds.c: finishes pieces in rounds, each of as many as there are slots for those that the
 * processor makes. While pieces of a round come from the device, chunks of the one before are
 * completed. */
#include "encode/row_encoder.h"

#include <string.h>

enum { ROUND_PIECES = 256 /* at most: what is on its way takes far longer than a copy's begin */ };

/* Pieces [first, end), and the slots in use. */
typedef struct Round {
    RowEncoder *encoder;
    size_t first, end, n_slots;
} Round;

static RowImage *image_of(const RowEncoder *e, const RowPiece *piece)
{
    return &e->images[piece->image];
}

static void run(const RowEncoder *e, ThreadPool *pool, size_t tasks,
                void (*work)(void *context, size_t task, unsigned thread), void *context)
{
    if (pool)
        thread_pool_run_few(pool, e->n_threads, tasks, work, context);
    else
        for (size_t i = 0; i < tasks; i++)
            work(context, i, 0);
}

/* Begins copies; e->device->ops->wait ends them. */
static ImgstatResult copy(RowEncoder *e, size_t n, void *stream, ImgstatError *err)
{
    if (n == 0)
        return IMGSTAT_OK;
    const DevMem there = {e->there.address + e->now.copies_at, e->now.here - e->now.copies_at};
    const DeviceCopies copies = {.list = row_copies(e), .n = n, .there = there};
    return e->device->ops->encode_async(e->device, stream, NULL, &copies, err);
}

/* ---- Pieces of the processor ---- */

/* Finds the end of the round, and gives slots to pieces. */
static void give_slots(Round *round)
{
    RowEncoder *const e = round->encoder;
    size_t k = round->first;
    round->n_slots = 0;
    for (; k < e->now.pieces && k - round->first < ROUND_PIECES; k++) {
        RowPiece *const piece = &e->pieces[k];
        const RowImage *const image = image_of(e, piece);
        piece->slot = NO_SLOT;
        if (image->result != IMGSTAT_OK || image->on_device)
            continue;
        if (round->n_slots == e->n_slots)
            break;
        piece->slot = (int)round->n_slots++;
        e->slots[piece->slot].piece = k;
    }
    round->end = k;
}

/* What a slot's piece is made of, where that is in the device's memory. */
static DeviceCopy raw_of(const RowImage *image, size_t number, RowSlot *slot)
{
    const size_t above = number > 0, first = number * image->piece_rows - above;
    return (DeviceCopy){image->image.device.address + first * image->image.pitch,
                        image->image.pitch, image->rows.from_bytes,
                        row_piece_rows(image, number) + above, slot->raw};
}

static ImgstatResult fetch_raw(Round *round, void *stream, ImgstatError *err)
{
    RowEncoder *const e = round->encoder;
    size_t n = 0;
    for (RowSlot *slot = e->slots; slot < e->slots + round->n_slots; slot++) {
        const RowPiece *const piece = &e->pieces[slot->piece];
        const RowImage *const image = image_of(e, piece);
        if (!image->image.host)
            row_copies(e)[n++] = raw_of(image, piece->number, slot);
    }
    return copy(e, n, stream, err);
}

/* Makes the rows of a strip or tile, whose pixels are in host memory. */
static void predict(const RowImage *image, size_t number, uint8_t *to)
{
    TiledPage page = image->tiles.page;
    const TilePlace place = tile_place(&page, (uint32_t)number);
    page.pitch = image->image.pitch;
    const size_t rows = row_piece_bytes(image, number) / page.row_bytes;
    for (size_t y = 0; y < rows; y++)
        tile_predict_row(&page, &place, (uint32_t)y, image->image.host, to + y * page.row_bytes);
}

/* Packs and filters the rows of a piece. The rows that this thread probably filters next are
 * fetched while these are compressed. */
static void filter(const RowEncoder *e, const RowImage *image, size_t number, const RowSlot *slot,
                   RowThread *thread)
{
    const bool host = image->image.host != NULL;
    const size_t pitch = host ? image->image.pitch : image->rows.from_bytes;
    const size_t first = number * image->piece_rows;
    const uint8_t *const from = host         ? image_row(&image->image, first)
                                : number > 0 ? slot->raw + pitch
                                             : slot->raw;
    png_filter_piece(e->filters, &image->rows, number > 0 ? from - pitch : NULL, from, pitch,
                     row_piece_rows(image, number), thread->room, thread->filtered);
    const size_t next = first + e->n_threads * image->piece_rows;
    deflate_fetch(thread->deflater,
                  host && next < image->image.height ? image_row(&image->image, next) : NULL);
}

/* Makes the piece of a slot; its bytes are 0 if memory runs out. */
static void make_piece(void *context, size_t task, unsigned number)
{
    const Round *const round = context;
    RowEncoder *const e = round->encoder;
    RowThread *const thread = &e->threads[number];
    const RowSlot *const slot = &e->slots[task];
    RowPiece *const piece = &e->pieces[slot->piece];
    const RowImage *const image = image_of(e, piece);
    const size_t bytes = row_piece_bytes(image, piece->number);
    if (row_is_tiled(image))
        predict(image, piece->number, thread->filtered);
    else
        filter(e, image, piece->number, slot, thread);
    piece->adler = deflate_adler(thread->filtered, bytes);
    piece->bytes = deflate_block(thread->deflater, thread->filtered, bytes,
                                 row_piece_ends(image, piece->number), slot->out);
}

/* ---- Places ---- */

/* Bytes in front of the stream of a piece: tiles have no chunks. */
static size_t chunk_head(const RowImage *image)
{
    return row_is_tiled(image) ? 0 : PNG_CHUNK_HEAD;
}

/* Bytes of a stream, beside those of the piece. */
static size_t around(const RowImage *image, const RowPiece *piece)
{
    const size_t head = row_piece_begins(image, piece->number) ? DEFLATE_HEAD : 0;
    return head + (row_piece_ends(image, piece->number) ? (size_t)ADLER_BYTES : 0);
}

/* Whether nothing of an image lies behind a piece. */
static bool is_last(const RowImage *image, size_t number)
{
    return row_is_tiled(image) ? number + 1 == image->tiles.page.n_tiles
                               : row_piece_ends(image, number);
}

/* Gives an image its place at `used`, and each piece the one behind those before. */
static void place_piece(RowEncoder *e, RowImage *image, RowPiece *piece, size_t *used)
{
    const size_t head = piece->number == 0 ? image->head_bytes : 0;
    const size_t tail = is_last(image, piece->number) ? image->tail_bytes : 0;
    const size_t frame = row_is_tiled(image) ? 0 : PNG_CHUNK_FRAME;
    if (piece->slot == NO_SLOT) {
        const DeflatedPiece *const made = row_piece_there(e, image, piece->number);
        piece->bytes = (size_t)made->bytes;
        piece->adler = made->adler;
    }
    const size_t chunk = frame + around(image, piece) + piece->bytes;
    if (piece->number == 0)
        image->at = e->files + *used;
    if (piece->bytes == 0)
        image->result = IMGSTAT_ERR_MEMORY;
    else if (head + chunk + tail > e->files_bytes - *used)
        image->result = IMGSTAT_ERR_LIMIT;
    if (image->result != IMGSTAT_OK) {
        *used = (size_t)(image->at - e->files);
        image->at = NULL;
        return;
    }
    piece->chunk = e->files + *used + head;
    *used += head + chunk + tail;
    image->bytes = (size_t)(e->files + *used - image->at);
    if (row_is_tiled(image)) {
        image->tile_bytes[piece->number] = chunk;
        image->tile_at[piece->number] = (uint64_t)(piece->chunk - image->at);
    }
    image->adler =
        deflate_adler_join(image->adler, piece->adler, row_piece_bytes(image, piece->number));
}

static void place_pieces(Round *round, size_t *used)
{
    RowEncoder *const e = round->encoder;
    for (size_t k = round->first; k < round->end; k++) {
        RowImage *const image = image_of(e, &e->pieces[k]);
        if (image->result == IMGSTAT_OK)
            place_piece(e, image, &e->pieces[k], used);
    }
}

static ImgstatResult fetch_made(Round *round, void *stream, ImgstatError *err)
{
    RowEncoder *const e = round->encoder;
    size_t n = 0;
    for (size_t k = round->first; k < round->end; k++) {
        const RowPiece *const piece = &e->pieces[k];
        const RowImage *const image = image_of(e, piece);
        if (image->result == IMGSTAT_OK && piece->slot == NO_SLOT)
            row_copies(e)[n++] = (DeviceCopy){
                row_piece_listed(e, image, piece->number)->to, piece->bytes, piece->bytes, 1,
                piece->chunk + chunk_head(image) +
                    (row_piece_begins(image, piece->number) ? DEFLATE_HEAD : 0)};
    }
    return copy(e, n, stream, err);
}

/* Completes the stream and the chunk of a piece, and writes what is around the image. */
static void complete_chunk(void *context, size_t task, unsigned thread)
{
    const Round *const round = context;
    const RowEncoder *const e = round->encoder;
    const RowPiece *const piece = &e->pieces[round->first + task];
    const RowImage *const image = image_of(e, piece);
    (void)thread;
    if (image->result != IMGSTAT_OK)
        return;
    uint8_t *data = piece->chunk + chunk_head(image);
    if (piece->number == 0 && !row_is_tiled(image))
        memcpy(piece->chunk - image->head_bytes, image->head, image->head_bytes);
    if (row_piece_begins(image, piece->number)) {
        memcpy(data, deflate_head, DEFLATE_HEAD);
        data += DEFLATE_HEAD;
    }
    if (piece->slot != NO_SLOT)
        memcpy(data, e->slots[piece->slot].out, piece->bytes);
    const bool ends = row_piece_ends(image, piece->number);
    if (ends)
        png_put32(data + piece->bytes, row_is_tiled(image) ? piece->adler : image->adler);
    if (row_is_tiled(image))
        return;
    const size_t bytes = around(image, piece) + piece->bytes;
    png_chunk_frame("IDAT", piece->chunk, bytes);
    if (ends && image->tail_bytes > 0)
        png_chunk_frame("IEND", piece->chunk + PNG_CHUNK_FRAME + bytes, 0);
}

/* Completes the chunks of a round, whose pieces have come. */
static void complete(Round *round, ThreadPool *pool)
{
    run(round->encoder, pool, round->end - round->first, complete_chunk, round);
    round->first = round->end;
}

ImgstatResult row_encoder_finish(RowEncoder *e, ThreadPool *pool, void *stream, ImgstatError *err)
{
    const DeviceOps *const ops = e->device->ops;
    Round round = {.encoder = e}, before = round;
    size_t used = 0;
    IMGSTAT_TRY(ops->wait(e->device, stream, err));
    for (; round.first < e->now.pieces; round.first = round.end) {
        give_slots(&round);
        if (round.n_slots > 0) { /* those of the round before are taken */
            complete(&before, pool);
            IMGSTAT_TRY(fetch_raw(&round, stream, err));
            IMGSTAT_TRY(ops->wait(e->device, stream, err));
            run(e, pool, round.n_slots, make_piece, &round);
        }
        place_pieces(&round, &used);
        IMGSTAT_TRY(fetch_made(&round, stream, err));
        complete(&before, pool);
        IMGSTAT_TRY(ops->wait(e->device, stream, err));
        before = round;
    }
    complete(&before, pool);
    return IMGSTAT_OK;
}

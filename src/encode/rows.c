/* SPDX-License-Identifier: MIT */
/* rows.c: the memory of a row encoder, and what it enqueues. */
#include "encode/rows.h"

#include "base/padded.h"
#include "encode/row_encoder.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACE_ALIGN = 256,
    PIECE_ALIGN = 16,
    SLOTS_A_THREAD = 16,  /* so that threads finish rounds together, and few rounds wait */
    SLOT_BYTES = 64 << 20 /* of all slots, unless one takes more */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- What images take ---- */

static bool is_on_device(const RowEncoder *e, const RowImage *image)
{
    return !e->device->ops->fetches && !image->image.host &&
           (row_is_tiled(image) ||
            (png_rows_plain(&image->rows) && image->rows.row_bytes <= FILTER_ROW_MOST));
}

/* The pieces of an image. */
typedef struct Pieces {
    size_t n;
    size_t bytes;      /* of the largest, before it is compressed */
    size_t raw;        /* of what it is made of */
    size_t room;       /* to make it */
    size_t pitch, out; /* of its place in the device's memory, and of what it becomes there */
} Pieces;

static Pieces pieces_of(const RowImage *image)
{
    Pieces pieces;
    if (row_is_tiled(image)) {
        const TiledPage *const page = &image->tiles.page;
        pieces = (Pieces){.n = page->n_tiles, .bytes = (size_t)page->tile_height * page->row_bytes};
    } else {
        const PngRows *const rows = &image->rows;
        const size_t piece_rows = png_piece_rows(rows);
        pieces = (Pieces){.n = (rows->n + piece_rows - 1) / piece_rows,
                          .bytes = piece_rows * (rows->row_bytes + 1),
                          .raw = (piece_rows + 1) * rows->from_bytes,
                          .room = 2 * rows->row_bytes};
    }
    pieces.pitch = padded(pieces.bytes, PIECE_ALIGN);
    pieces.out = padded(deflate_pieces_bound(pieces.bytes), PIECE_ALIGN);
    return pieces;
}

static bool are_tiled(const RowImage *images, size_t n)
{
    return n > 0 && row_is_tiled(images);
}

static Needs needs_of(const RowEncoder *e, const RowImage *images, size_t n)
{
    const unsigned block = deflate_pieces_block(DEFLATE_RUNS);
    const size_t listed = are_tiled(images, n) ? sizeof(TiledImage) : sizeof(FilterImage);
    Needs needs = {.pieces = 0};
    size_t row_space = 0;
    for (const RowImage *image = images; image < images + n; image++) {
        if (image->result != IMGSTAT_OK)
            continue;
        const Pieces pieces = pieces_of(image);
        needs.pieces += pieces.n;
        if (!is_on_device(e, image)) {
            needs.pieces_here += pieces.n;
            needs.filtered = larger(needs.filtered, pieces.bytes);
            needs.raw = larger(needs.raw, pieces.raw);
            needs.room = larger(needs.room, pieces.room);
            continue;
        }
        needs.n_there++;
        needs.pieces_there += pieces.n;
        needs.blocks_there += pieces.n * deflate_pieces_blocks(pieces.bytes, block);
        row_space += pieces.n * (pieces.pitch + pieces.out);
    }
    needs.out = deflate_bound(needs.filtered);
    needs.pieces_at = padded(needs.n_there * listed, PLACE_ALIGN);
    needs.list_bytes = needs.pieces_at + needs.pieces_there * sizeof(DeflatePiece);
    needs.results_at = padded(needs.list_bytes, PLACE_ALIGN);
    needs.copies_at =
        padded(needs.results_at + deflate_results_there(needs.pieces_there), PLACE_ALIGN);
    needs.here = needs.copies_at + needs.pieces * sizeof(DeviceCopy);
    needs.scratch_at = padded(needs.here, PLACE_ALIGN);
    needs.rows_at =
        needs.scratch_at +
        padded(deflate_pieces_scratch(needs.pieces_there, needs.blocks_there), PLACE_ALIGN);
    needs.there = needs.rows_at + row_space;
    return needs;
}

static bool fits(const Needs *has, const Needs *needs)
{
    return needs->pieces <= has->pieces && needs->pieces_here <= has->pieces_here &&
           needs->here <= has->here && needs->there <= has->there && needs->raw <= has->raw &&
           needs->filtered <= has->filtered && needs->out <= has->out && needs->room <= has->room;
}

bool row_encoder_fits(const RowEncoder *e, const RowImage *images, size_t n)
{
    const Needs needs = needs_of(e, images, n);
    return fits(&e->has, &needs);
}

size_t row_encoder_bound(const RowImage *images, size_t n)
{
    size_t bytes = 0;
    for (const RowImage *image = images; image < images + n; image++) {
        if (image->result != IMGSTAT_OK)
            continue;
        const Pieces pieces = pieces_of(image);
        const size_t streams = row_is_tiled(image) ? pieces.n : 1;
        bytes += image->head_bytes + image->tail_bytes + streams * (DEFLATE_HEAD + ADLER_BYTES) +
                 pieces.n * (PNG_CHUNK_FRAME + deflate_bound(pieces.bytes));
    }
    return bytes;
}

/* ---- Memory ---- */

static void release_memory(RowEncoder *e)
{
    const DeviceOps *const ops = e->device->ops;
    uint8_t **const hosts[] = {&e->here, &e->raw, &e->files};
    ops->release(e->device, &e->there);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        if (*hosts[i])
            ops->host_release(e->device, *hosts[i]);
        *hosts[i] = NULL;
    }
    for (unsigned t = 0; e->threads && t < e->n_threads; t++) {
        free(e->threads[t].filtered);
        free(e->threads[t].room);
        e->threads[t].filtered = e->threads[t].room = NULL;
    }
    free(e->out);
    free(e->slots);
    free(e->pieces);
    e->out = NULL;
    e->slots = NULL;
    e->pieces = NULL;
    e->has = (Needs){0};
    e->files_bytes = 0;
}

void row_encoder_destroy(RowEncoder *e)
{
    if (!e)
        return;
    release_memory(e);
    for (unsigned t = 0; e->threads && t < e->n_threads; t++)
        deflater_destroy(e->threads[t].deflater);
    free(e->threads);
    free(e);
}

ImgstatResult row_encoder_create(Device *device, bool fast, unsigned threads, RowEncoder **out,
                                 ImgstatError *err)
{
    *out = NULL;
    RowEncoder *const e = calloc(1, sizeof *e);
    bool ok = e != NULL;
    if (ok) {
        *e = (RowEncoder){
            .device = device, .filters = png_filters(), .fast = fast, .n_threads = threads};
        e->threads = calloc(threads, sizeof *e->threads);
        ok = e->threads != NULL;
    }
    for (unsigned t = 0; ok && t < threads; t++)
        ok = (e->threads[t].deflater = deflater_create(-1, fast)) != NULL;
    if (!ok) {
        row_encoder_destroy(e);
        return error_memory(err, sizeof *e, "an encoder");
    }
    *out = e;
    return IMGSTAT_OK;
}

/* Allocates what one thread or another, or the processor alone, uses. */
static bool allocate_here(RowEncoder *e, const Needs *needs)
{
    const size_t wanted = (size_t)SLOTS_A_THREAD * e->n_threads;
    const size_t fit = SLOT_BYTES / (needs->raw + needs->out + 1);
    const size_t most = fit < wanted ? fit + 1 : wanted;
    e->n_slots = needs->pieces_here < most ? needs->pieces_here : most;
    e->slots = calloc(e->n_slots + 1, sizeof *e->slots);
    e->out = malloc(e->n_slots * needs->out + 1);
    e->pieces = calloc(needs->pieces + 1, sizeof *e->pieces);
    bool ok = e->slots && e->out && e->pieces;
    for (unsigned t = 0; t < e->n_threads && ok; t++) {
        e->threads[t].filtered = malloc(needs->filtered + 1);
        e->threads[t].room = malloc(needs->room + 1);
        ok = e->threads[t].filtered && e->threads[t].room;
    }
    return ok;
}

static ImgstatResult host_alloc(RowEncoder *e, size_t bytes, uint8_t **out, ImgstatError *err)
{
    void *memory = NULL;
    const ImgstatResult res =
        e->device->ops->host_alloc(e->device, bytes ? bytes : 1, &memory, err);
    *out = memory;
    return res;
}

ImgstatResult row_encoder_load(Device *device, ImgstatError *err)
{
    return device->ops->encode_async(device, NULL, NULL, NULL, err);
}

static ImgstatResult allocate(RowEncoder *e, const Needs *needs, size_t bytes, ImgstatError *err)
{
    const DeviceOps *const ops = e->device->ops;
    if (!allocate_here(e, needs))
        return error_memory(err, needs->pieces * sizeof *e->pieces, "pieces of images");
    IMGSTAT_TRY(host_alloc(e, bytes, &e->files, err));
    IMGSTAT_TRY(host_alloc(e, needs->here, &e->here, err));
    if (!ops->fetches)
        IMGSTAT_TRY(host_alloc(e, e->n_slots * needs->raw, &e->raw, err));
    for (size_t i = 0; i < e->n_slots; i++) {
        e->slots[i].raw = e->raw ? e->raw + i * needs->raw : NULL;
        e->slots[i].out = e->out + i * needs->out;
    }
    IMGSTAT_TRY(ops->alloc(e->device, needs->there, &e->there, err));
    IMGSTAT_TRY(row_encoder_load(e->device, err));
    IMGSTAT_TRY(device_wait(e->device, err)); /* before another stream uses it */
    e->has = *needs;
    e->files_bytes = bytes;
    return IMGSTAT_OK;
}

ImgstatResult row_encoder_reserve(RowEncoder *e, const RowImage *images, size_t n, size_t bytes,
                                  ImgstatError *err)
{
    Needs needs = needs_of(e, images, n);
    if (e->pieces && fits(&e->has, &needs) && bytes <= e->files_bytes)
        return IMGSTAT_OK;
    needs.pieces = larger(needs.pieces, e->has.pieces);
    needs.pieces_here = larger(needs.pieces_here, e->has.pieces_here);
    needs.here = larger(needs.here, e->has.here);
    needs.there = larger(needs.there, e->has.there);
    needs.raw = larger(needs.raw, e->has.raw);
    needs.filtered = larger(needs.filtered, e->has.filtered);
    needs.out = larger(needs.out, e->has.out);
    needs.room = larger(needs.room, e->has.room);
    bytes = larger(bytes, e->files_bytes);
    release_memory(e);
    const ImgstatResult res = allocate(e, &needs, bytes, err);
    if (res != IMGSTAT_OK)
        release_memory(e);
    return res;
}

/* ---- What is enqueued ---- */

static FilterImage filter_of(const RowImage *image, const Pieces *pieces, uint64_t to)
{
    const PngRows *const rows = &image->rows;
    return (FilterImage){.pixels = image->image.device.address,
                         .to = to,
                         .pitch = image->image.pitch,
                         .piece_pitch = pieces->pitch,
                         .height = image->image.height,
                         .row_bytes = (uint32_t)rows->row_bytes,
                         .piece_rows = (uint32_t)image->piece_rows,
                         .pixel_bytes = (uint8_t)rows->pixel_bytes,
                         .swap = rows->depth == 16,
                         .choice = (uint8_t)rows->choice};
}

/* Describes image number `there` of those that the device makes, and its pieces, whose rows are at
 * `at` and their streams behind. Returns the place behind these. */
static uint64_t list_image(RowEncoder *e, RowImage *image, size_t there, uint64_t at)
{
    const Pieces pieces = pieces_of(image);
    DeflatePiece *const piece =
        (DeflatePiece *)(void *)(e->here + e->now.pieces_at) + image->first_there;
    if (row_is_tiled(image)) {
        TiledImage *const tiles = (TiledImage *)(void *)e->here + there;
        *tiles = image->tiles;
        tiles->page.pixels = image->image.device.address;
        tiles->page.pitch = image->image.pitch;
        tiles->to = at;
        tiles->tile_pitch = pieces.pitch;
    } else {
        ((FilterImage *)(void *)e->here)[there] = filter_of(image, &pieces, at);
    }
    for (size_t k = 0; k < pieces.n; k++)
        piece[k] = (DeflatePiece){.from = at + k * pieces.pitch,
                                  .to = at + pieces.n * pieces.pitch + k * pieces.out,
                                  .n = row_piece_bytes(image, k),
                                  .last = row_piece_ends(image, k)};
    return at + pieces.n * (pieces.pitch + pieces.out);
}

/* Returns the number of the piece that is k-th in the file: planes of a row of tiles follow each
 * other. */
static size_t piece_number(const RowImage *image, size_t k)
{
    const TiledPage *const page = &image->tiles.page;
    if (!row_is_tiled(image))
        return k;
    const size_t beside = k % page->across, plane = k / page->across % page->planes;
    return (plane * page->down + k / page->across / page->planes) * page->across + beside;
}

/* Returns the rows that the device makes of an image. */
static uint32_t rows_there(const RowImage *image)
{
    const TiledPage *const page = &image->tiles.page;
    return row_is_tiled(image) ? page->n_tiles * page->tile_height : image->image.height;
}

/* Numbers all pieces, and describes what the device makes. Returns the rows of the image that has
 * most. */
static uint32_t list_images(RowEncoder *e)
{
    uint64_t at = e->there.address + e->now.rows_at;
    size_t n_pieces = 0, n_there = 0, images_there = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < e->n; i++) {
        RowImage *const image = &e->images[i];
        image->at = NULL;
        image->bytes = 0;
        image->on_device = image->result == IMGSTAT_OK && is_on_device(e, image);
        if (image->result != IMGSTAT_OK)
            continue;
        const size_t n = pieces_of(image).n;
        image->piece_rows = row_is_tiled(image) ? 0 : png_piece_rows(&image->rows);
        image->first_there = n_there;
        image->adler = 1;
        for (size_t k = 0; k < n; k++)
            e->pieces[n_pieces++] = (RowPiece){.image = i, .number = piece_number(image, k)};
        if (!image->on_device)
            continue;
        at = list_image(e, image, images_there++, at);
        n_there += n;
        most = rows_there(image) > most ? rows_there(image) : most;
    }
    return most;
}

ImgstatResult row_encoder_async(RowEncoder *e, RowImage *images, size_t n, void *stream,
                                ImgstatError *err)
{
    e->images = images;
    e->n = n;
    e->now = needs_of(e, images, n);
    const Needs *const now = &e->now;
    const uint32_t rows = list_images(e);
    if (now->n_there == 0)
        return IMGSTAT_OK;
    const DeflateCoding coding = e->fast ? DEFLATE_RUNS_FAST : DEFLATE_RUNS;
    DeflatePiece *const pieces = (DeflatePiece *)(void *)(e->here + now->pieces_at);
    const uint32_t blocks = deflate_pieces_number(coding, pieces, now->pieces_there);
    if (blocks == 0)
        return error_set(err, IMGSTAT_ERR_LIMIT, "too many pixels for one call");
    e->call = (DeviceEncode){
        .lists = e->here,
        .pieces_at = now->pieces_at,
        .list_bytes = now->list_bytes,
        .n_images = now->n_there,
        .n_pieces = now->pieces_there,
        .tiled = are_tiled(images, n),
        .rows = rows,
        .n_blocks = blocks,
        .coding = coding,
        .lists_there = {e->there.address, now->list_bytes},
        .results_there = {e->there.address + now->results_at,
                          deflate_results_there(now->pieces_there)},
        .results = (DeflatedPiece *)(void *)(e->here + now->results_at),
        .scratch = {e->there.address + now->scratch_at, now->rows_at - now->scratch_at}};
    memset(e->call.results, 0, now->pieces_there * sizeof(DeflatedPiece));
    return e->device->ops->encode_async(e->device, stream, &e->call, NULL, err);
}

/* SPDX-License-Identifier: MIT */
/* idat_writer.c: writes rows as IDAT chunks. Threads pack, filter and compress blocks, each a piece
 * of the stream and a chunk. The result of a block depends only on its rows. */
#include "base/byteswap.h"
#include "codec/deflate.h"
#include "png/encoder.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS_A_THREAD = 4, /* in a batch, so that threads finish it together */
    MAX_BLOCKS = 64,     /* in a batch: bounds memory for any number of threads */
    CHUNK_HEAD = 8,
    CHUNK_CHECK = 4,
    ADLER_BYTES = 4
};

/* A chunk with its frame. */
typedef struct Block {
    uint8_t *out;
    size_t n;
    size_t bytes; /* filtered */
    uint32_t adler;
} Block;

typedef struct Thread {
    Deflater *deflater;
    uint8_t *room;     /* for png_filter_piece */
    uint8_t *filtered; /* a block */
} Thread;

/* Blocks that are made together, or written. */
typedef struct Batch {
    Block block[MAX_BLOCKS];
    size_t n;
    bool last;
} Batch;

struct PngIdat {
    PngSink *sink;
    ThreadPool *pool;
    BufferCache *buffers;
    Deflaters *deflaters;
    const PngFilters *filters;
    PngRows form;
    unsigned n_threads;
    Thread *threads;
    Batch batch[2]; /* one is made while the other is written */
    Batch *making, *written;
    size_t n_blocks; /* of a full batch */
    size_t block_rows;
    uint8_t *above; /* the row above the next batch; NULL where there is none */
    /* The batch in progress: */
    const uint8_t *rows;
    size_t pitch, n_rows;
    uint64_t done, total; /* filtered bytes: of the batches before, of all */
    uint32_t adler;
    ImgstatResult result; /* of writing */
    ImgstatError error;
};

/* ---- Rows ---- */

size_t png_piece_rows(const PngRows *rows)
{
    const size_t fit = PNG_PIECE_BYTES / (rows->row_bytes + 1);
    return fit == 0 ? 1 : fit < rows->n ? fit : rows->n;
}

/* Returns a sample of `bits` bits in `depth` bits, by repeating its bits: 0 and full scale stay. */
static unsigned widened(unsigned v, unsigned bits, unsigned depth)
{
    unsigned out = 0;
    for (int shift = (int)depth - (int)bits; shift > -(int)bits; shift -= (int)bits)
        out |= shift >= 0 ? v << shift : v >> -shift;
    return out;
}

static bool is_alpha(const PngRows *rows, size_t i)
{
    return rows->alpha >= 0 && i % rows->channels == (size_t)rows->alpha;
}

static void pack_bytes(const PngRows *rows, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned full = (1u << rows->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned v = from[i] < full ? from[i] : full;
        v = rows->invert && !is_alpha(rows, i) ? full - v : v;
        to[i] = (uint8_t)(rows->widen ? widened(v, rows->bits, 8) : v);
    }
}

static void pack_words(const PngRows *rows, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned full = (1u << rows->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        uint16_t word;
        memcpy(&word, from + 2 * i, 2);
        unsigned v = word < full ? word : full;
        v = rows->invert && !is_alpha(rows, i) ? full - v : v;
        v = rows->widen ? widened(v, rows->bits, 16) : v;
        to[2 * i] = (uint8_t)(v >> 8);
        to[2 * i + 1] = (uint8_t)v;
    }
}

/* Packs gray or indices of 1, 2 or 4 bits. */
static void pack_bits(const PngRows *rows, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned bits = rows->depth, per_byte = 8 / bits, full = (1u << bits) - 1;
    memset(to, 0, (n + per_byte - 1) / per_byte);
    for (size_t i = 0; i < n; i++) {
        unsigned v = from[i] < full ? from[i] : full;
        v = rows->invert ? full - v : v;
        to[i / per_byte] =
            (uint8_t)(to[i / per_byte] | v << (8 - bits - bits * (unsigned)(i % per_byte)));
    }
}

/* Returns a row of samples as PNG stores it: itself, or in `room`. */
static const uint8_t *packed_row(const PngRows *rows, const uint8_t *from, uint8_t *room)
{
    const size_t n = (size_t)rows->width * rows->channels;
    if (png_rows_packed(rows))
        return from;
    if (png_rows_plain(rows))
        swap_words(from, room, 2 * n, 2); /* from little-endian */
    else if (rows->depth == 16)
        pack_words(rows, from, room, n);
    else if (rows->depth == 8)
        pack_bytes(rows, from, room, n);
    else
        pack_bits(rows, from, room, n);
    return room;
}

void png_filter_piece(const PngFilters *filters, const PngRows *rows, const uint8_t *above,
                      const uint8_t *from, size_t pitch, size_t n, uint8_t *room, uint8_t *to)
{
    uint8_t *const rooms[2] = {room, room + rows->row_bytes};
    const uint8_t *before = rooms[1];
    if (above)
        before = packed_row(rows, above, rooms[1]);
    else
        memset(rooms[1], 0, rows->row_bytes);
    for (size_t y = 0; y < n; y++) {
        const uint8_t *const row = packed_row(rows, from + y * pitch, rooms[y % 2]);
        png_filter_row(filters, row, before, rows->row_bytes, (unsigned)rows->pixel_bytes,
                       rows->choice, to + y * (rows->row_bytes + 1));
        before = row;
    }
}

/* ---- Tasks ---- */

/* Makes a chunk of a block of the batch. Its n is 0 if memory runs out. */
static void make_block(PngIdat *idat, size_t number, Thread *thread)
{
    Block *const block = &idat->making->block[number];
    const size_t stride = idat->form.row_bytes + 1, first = number * idat->block_rows;
    const size_t left = idat->n_rows - first;
    const size_t next = first + idat->n_threads * idat->block_rows; /* of this thread, probably */
    const size_t rows = left < idat->block_rows ? left : idat->block_rows;
    const bool begins = idat->done == 0 && number == 0;
    const bool ends = idat->done + (first + rows) * stride == idat->total;
    uint8_t *const data = block->out + CHUNK_HEAD + (begins ? DEFLATE_HEAD : 0);
    const uint8_t *const from = idat->rows + first * idat->pitch;
    png_filter_piece(idat->filters, &idat->form, number == 0 ? idat->above : from - idat->pitch,
                     from, idat->pitch, rows, thread->room, thread->filtered);
    block->bytes = rows * stride;
    block->adler = deflate_adler(thread->filtered, block->bytes);
    deflate_fetch(thread->deflater, next < idat->n_rows ? idat->rows + next * idat->pitch : NULL);
    block->n = deflate_block(thread->deflater, thread->filtered, block->bytes, ends, data);
    if (block->n == 0)
        return;
    if (begins) {
        memcpy(block->out + CHUNK_HEAD, deflate_head, DEFLATE_HEAD);
        block->n += DEFLATE_HEAD;
    }
    if (!ends) /* end_block completes the last one */
        png_chunk_frame("IDAT", block->out, block->n);
}

/* Completes the last chunk with the checksum of the whole stream. */
static void end_block(const PngIdat *idat, Block *block)
{
    png_put32(block->out + CHUNK_HEAD + block->n, idat->adler);
    block->n += ADLER_BYTES;
    png_chunk_frame("IDAT", block->out, block->n);
}

static ImgstatResult write_batch(PngIdat *idat, ImgstatError *err)
{
    Batch *const batch = idat->written;
    for (size_t i = 0; i < batch->n; i++) {
        Block *const block = &batch->block[i];
        if (block->n == 0)
            return error_memory(err, block->bytes, "compressing");
        idat->adler = deflate_adler_join(idat->adler, block->adler, block->bytes);
        if (batch->last && i + 1 == batch->n)
            end_block(idat, block);
        const size_t bytes = CHUNK_HEAD + block->n + CHUNK_CHECK;
        IMGSTAT_TRY(atomic_file_write(idat->sink->output, idat->sink->at, block->out, bytes, err));
        idat->sink->at += bytes;
    }
    return IMGSTAT_OK;
}

/* Task 0 writes the batch before, if there is one. The other tasks make the blocks of this batch.
 */
static void run_task(void *context, size_t task, unsigned thread)
{
    PngIdat *const idat = context;
    const size_t writes = idat->written->n > 0;
    if (task < writes)
        idat->result = write_batch(idat, &idat->error);
    else
        make_block(idat, task - writes, &idat->threads[thread]);
}

/* ---- Batches ---- */

static ImgstatResult run_batch(PngIdat *idat, size_t n_blocks, ImgstatError *err)
{
    const size_t tasks = n_blocks + (idat->written->n > 0);
    idat->making->n = n_blocks;
    idat->result = IMGSTAT_OK;
    if (idat->pool)
        thread_pool_run_few(idat->pool, idat->n_threads, tasks, run_task, idat);
    else
        for (size_t i = 0; i < tasks; i++)
            run_task(idat, i, 0);
    Batch *const made = idat->making;
    idat->making = idat->written;
    idat->written = made;
    idat->making->n = 0;
    if (idat->result != IMGSTAT_OK && err)
        *err = idat->error;
    return idat->result;
}

ImgstatResult png_idat_write(PngIdat *idat, const uint8_t *rows, size_t pitch, size_t n,
                             ImgstatError *err)
{
    const uint64_t bytes = (uint64_t)n * (idat->form.row_bytes + 1);
    idat->rows = rows;
    idat->pitch = pitch;
    idat->n_rows = n;
    idat->making->last = idat->done + bytes == idat->total;
    IMGSTAT_TRY(run_batch(idat, (n + idat->block_rows - 1) / idat->block_rows, err));
    if (!idat->above)
        idat->above = malloc(idat->form.from_bytes);
    if (!idat->above)
        return error_memory(err, idat->form.from_bytes, "a row of pixels");
    memcpy(idat->above, rows + (n - 1) * pitch, idat->form.from_bytes);
    idat->done += bytes;
    return IMGSTAT_OK;
}

size_t png_idat_batch(const PngIdat *idat)
{
    return idat->block_rows * idat->n_blocks;
}

/* ---- The stream ---- */

/* Returns how many blocks a batch has. A limit of strip_bytes leaves each thread a block at least.
 */
static size_t most_blocks(const EncodeOptions *how)
{
    const size_t threads = encode_threads(how);
    const size_t wanted = BLOCKS_A_THREAD * threads, fit = how->strip_bytes / PNG_PIECE_BYTES;
    const size_t least = threads > BLOCKS_A_THREAD ? threads : BLOCKS_A_THREAD;
    const size_t n = how->strip_bytes == 0 || fit > wanted ? wanted : fit > least ? fit : least;
    return n < MAX_BLOCKS ? n : MAX_BLOCKS;
}

void png_idat_destroy(PngIdat *idat)
{
    if (!idat)
        return;
    for (unsigned i = 0; idat->threads && i < idat->n_threads; i++) {
        Thread *const thread = &idat->threads[i];
        deflaters_release(idat->deflaters, thread->deflater);
        free(thread->room);
        buffer_cache_release(thread->filtered);
    }
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < MAX_BLOCKS; i++)
            buffer_cache_release(idat->batch[b].block[i].out);
    free(idat->above);
    free(idat->threads);
    free(idat);
}

static bool make_room(PngIdat *idat, const EncodeOptions *how)
{
    const size_t block_bytes = idat->block_rows * (idat->form.row_bytes + 1);
    const size_t room =
        CHUNK_HEAD + DEFLATE_HEAD + deflate_bound(block_bytes) + ADLER_BYTES + CHUNK_CHECK;
    idat->threads = calloc(idat->n_threads, sizeof *idat->threads);
    bool ok = idat->threads != NULL;
    for (unsigned i = 0; ok && i < idat->n_threads; i++) {
        Thread *const thread = &idat->threads[i];
        thread->deflater = deflaters_acquire(how->deflaters, how->level, how->fast);
        ok = thread->deflater &&
             (thread->filtered = buffer_cache_acquire(idat->buffers, block_bytes)) != NULL &&
             (thread->room = malloc(2 * idat->form.row_bytes)) != NULL;
    }
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; ok && i < idat->n_blocks; i++)
            ok = (idat->batch[b].block[i].out = buffer_cache_acquire(idat->buffers, room)) != NULL;
    return ok;
}

ImgstatResult png_idat_create(PngSink *sink, const EncodeOptions *how, const PngRows *rows,
                              PngIdat **out, ImgstatError *err)
{
    *out = NULL;
    PngIdat *const idat = calloc(1, sizeof *idat);
    if (!idat)
        return error_memory(err, sizeof *idat, "a PNG encoder");
    idat->sink = sink;
    idat->pool = how->pool;
    idat->buffers = how->scratch;
    idat->deflaters = how->deflaters;
    idat->filters = png_filters();
    idat->form = *rows;
    idat->n_threads = encode_threads(how);
    idat->making = &idat->batch[0];
    idat->written = &idat->batch[1];
    idat->total = (uint64_t)rows->n * (rows->row_bytes + 1);
    idat->adler = 1;
    idat->block_rows = png_piece_rows(rows);
    const size_t blocks = (rows->n + idat->block_rows - 1) / idat->block_rows;
    const size_t most = most_blocks(how);
    idat->n_blocks = blocks < most ? blocks : most;
    if (!make_room(idat, how)) {
        png_idat_destroy(idat);
        return error_memory(err, sizeof *idat, "a PNG encoder");
    }
    *out = idat;
    return IMGSTAT_OK;
}

ImgstatResult png_idat_finish(PngIdat *idat, ImgstatError *err)
{
    return run_batch(idat, 0, err);
}

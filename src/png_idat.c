/* SPDX-License-Identifier: MIT */
/* png_idat.c: filters rows and deflates them, on as many threads as there are, into IDAT chunks. */
#include "png_write.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif
#ifdef IMGSTAT_WITH_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum {
    WINDOW = 32768,          /* of deflate: how far back it looks */
    BLOCK_BYTES = 512 << 10, /* deflated as one task: the 5 bytes that end a block do not count */
    MAX_BLOCKS = 64,         /* of a batch: bounds memory whatever the number of threads */
    IDAT_BYTES = 1 << 30,    /* a chunk holds less than 2^31 */
    DEFAULT_LEVEL = 6
};

/* libdeflate is the fastest at a given size, but wants all bytes at once: up to here they are held.
 * Several threads together are faster still, from a few blocks on. */
static const uint64_t whole_bytes = 64 << 20;

typedef enum Method { METHOD_WHOLE, METHOD_ZLIB, METHOD_FAST } Method;

typedef struct Block {
    uint8_t *out;
    size_t room, n;
    uint32_t adler;
    bool failed;
} Block;

typedef struct Thread {
    z_stream z;
    bool ready; /* z is initialized */
    uint8_t *trial;
    uint8_t *level_buffer; /* of ISA-L */
} Thread;

struct PngIdat {
    PngSink *sink;
    Pool *pool;
    Method method;
    bool choose;
    int level;
    unsigned n_threads;
    Thread *threads;
    Block *blocks;
    size_t n_blocks; /* of a full batch */
    size_t row_bytes, pixel_bytes;
    size_t block_rows;
    size_t rows;       /* in raw */
    uint8_t *raw;      /* the row above, then the rows of a batch */
    uint8_t *filtered; /* WINDOW bytes before the batch, then the batch; METHOD_WHOLE: everything */
    size_t window;     /* bytes before the batch that are valid */
    uint64_t done, total; /* filtered bytes so far, and in the end */
    uint32_t adler;
};

/* ---- Tasks ---- */

static uint8_t *batch_start(const PngIdat *idat)
{
    return idat->method == METHOD_WHOLE ? idat->filtered + idat->done : idat->filtered + WINDOW;
}

static void filter_block(void *context, size_t task, unsigned thread)
{
    PngIdat *const idat = context;
    const size_t n = idat->row_bytes, first = task * idat->block_rows;
    const size_t end =
        first + idat->block_rows < idat->rows ? first + idat->block_rows : idat->rows;
    for (size_t y = first; y < end; y++)
        png_filter_row(idat->raw + (y + 1) * n, idat->raw + y * n, n, (unsigned)idat->pixel_bytes,
                       idat->choose, idat->threads[thread].trial, batch_start(idat) + y * (n + 1));
}

static bool zlib_block(PngIdat *idat, Thread *thread, Block *block, const uint8_t *from, size_t n,
                       size_t window, bool last)
{
    z_stream *const z = &thread->z;
    if (!thread->ready) {
        const int strategy = idat->choose ? Z_FILTERED : Z_DEFAULT_STRATEGY;
        if (deflateInit2(z, idat->level, Z_DEFLATED, -15, 9, strategy) != Z_OK)
            return false;
        thread->ready = true;
    } else if (deflateReset(z) != Z_OK) {
        return false;
    }
    if (window > 0 && deflateSetDictionary(z, from - window, (uInt)window) != Z_OK)
        return false;
    z->next_in = (Bytef *)(uintptr_t)from;
    z->avail_in = (uInt)n;
    z->next_out = block->out;
    z->avail_out = (uInt)block->room;
    const int result = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
    block->n = block->room - z->avail_out;
    return result == (last ? Z_STREAM_END : Z_OK) && z->avail_in == 0 && z->avail_out > 0;
}

#ifdef IMGSTAT_WITH_ISAL
static bool isal_block(Thread *thread, Block *block, const uint8_t *from, size_t n, bool last)
{
    struct isal_zstream z;
    if (!thread->level_buffer)
        thread->level_buffer = malloc(ISAL_DEF_LVL1_DEFAULT);
    if (!thread->level_buffer)
        return false;
    isal_deflate_stateless_init(&z);
    z.next_in = (uint8_t *)(uintptr_t)from;
    z.avail_in = (uint32_t)n;
    z.next_out = block->out;
    z.avail_out = (uint32_t)block->room;
    z.level = 1;
    z.level_buf = thread->level_buffer;
    z.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z.flush = last ? NO_FLUSH : FULL_FLUSH;
    z.end_of_stream = last;
    const int result = isal_deflate_stateless(&z);
    block->n = block->room - z.avail_out;
    return result == COMP_OK && z.avail_in == 0;
}
#endif

static void deflate_block(void *context, size_t task, unsigned thread)
{
    PngIdat *const idat = context;
    Block *const block = &idat->blocks[task];
    const size_t stride = idat->row_bytes + 1, first = task * idat->block_rows;
    const size_t end =
        first + idat->block_rows < idat->rows ? first + idat->block_rows : idat->rows;
    const uint8_t *const from = idat->filtered + WINDOW + first * stride;
    const size_t n = (end - first) * stride, before = idat->window + first * stride;
    const bool last = idat->done + end * stride == idat->total;
    block->adler = (uint32_t)adler32_z(1, from, n);
#ifdef IMGSTAT_WITH_ISAL
    if (idat->method == METHOD_FAST) {
        block->failed = !isal_block(&idat->threads[thread], block, from, n, last);
        return;
    }
#endif
    block->failed = !zlib_block(idat, &idat->threads[thread], block, from, n,
                                before < WINDOW ? before : WINDOW, last);
}

/* ---- Batches ---- */

static void share_out(PngIdat *idat, size_t tasks, void (*work)(void *, size_t, unsigned))
{
    if (idat->pool) {
        pool_run(idat->pool, tasks, work, idat);
        return;
    }
    for (size_t i = 0; i < tasks; i++)
        work(idat, i, 0);
}

static ImgstatResult write_blocks(PngIdat *idat, size_t n, ImgstatError *err)
{
    const size_t stride = idat->row_bytes + 1;
    for (size_t i = 0; i < n; i++) {
        const Block *const block = &idat->blocks[i];
        const size_t end =
            (i + 1) * idat->block_rows < idat->rows ? (i + 1) * idat->block_rows : idat->rows;
        if (block->failed)
            return error_memory(err, block->room, "compressing");
        idat->adler = (uint32_t)adler32_combine(idat->adler, block->adler,
                                                (z_off_t)((end - i * idat->block_rows) * stride));
        IMGSTAT_TRY(png_chunk_write(idat->sink, "IDAT", block->out, block->n, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult flush_batch(PngIdat *idat, ImgstatError *err)
{
    if (idat->rows == 0)
        return IMGSTAT_OK;
    const size_t tasks = (idat->rows + idat->block_rows - 1) / idat->block_rows;
    const size_t bytes = idat->rows * (idat->row_bytes + 1);
    share_out(idat, tasks, filter_block);
    if (idat->method != METHOD_WHOLE) {
        share_out(idat, tasks, deflate_block);
        IMGSTAT_TRY(write_blocks(idat, tasks, err));
        const size_t keep = idat->window + bytes < WINDOW ? idat->window + bytes : WINDOW;
        memmove(idat->filtered + WINDOW - keep, idat->filtered + WINDOW + bytes - keep, keep);
        idat->window = keep;
    }
    memcpy(idat->raw, idat->raw + idat->rows * idat->row_bytes, idat->row_bytes);
    idat->done += bytes;
    idat->rows = 0;
    return IMGSTAT_OK;
}

/* ---- The stream ---- */

#ifdef IMGSTAT_WITH_LIBDEFLATE
static const bool have_libdeflate = true;
#else
static const bool have_libdeflate = false;
#endif
#ifdef IMGSTAT_WITH_ISAL
static const bool have_isal = true;
#else
static const bool have_isal = false;
#endif

static Method choose_method(const EncodeHow *how, unsigned n_threads, uint64_t total)
{
    const bool many = n_threads > 2 && total > 4 * (uint64_t)BLOCK_BYTES;
    if (how->fast)
        return have_isal ? METHOD_FAST : METHOD_ZLIB;
    return have_libdeflate && how->level != 0 && !many && total <= whole_bytes ? METHOD_WHOLE
                                                                               : METHOD_ZLIB;
}

ImgstatResult png_idat_create(PngSink *sink, const EncodeHow *how, bool choose, uint64_t total,
                              PngIdat **out, ImgstatError *err)
{
    *out = NULL;
    PngIdat *const idat = calloc(1, sizeof *idat);
    if (!idat)
        return error_memory(err, sizeof *idat, "a PNG encoder");
    idat->sink = sink;
    idat->pool = how->pool;
    idat->n_threads = how->pool ? pool_threads(how->pool) : 1;
    idat->method = choose_method(how, idat->n_threads, total);
    idat->level = how->fast ? 1 : how->level < 0 ? DEFAULT_LEVEL : how->level;
    if (idat->method == METHOD_ZLIB && idat->level > 9)
        idat->level = 9;
    idat->choose = choose && idat->level != 0;
    idat->total = total;
    idat->adler = 1;
    idat->n_blocks =
        2 * (size_t)idat->n_threads < MAX_BLOCKS ? 2 * (size_t)idat->n_threads : MAX_BLOCKS;
    idat->threads = calloc(idat->n_threads, sizeof *idat->threads);
    idat->blocks = calloc(idat->n_blocks, sizeof *idat->blocks);
    if (idat->method == METHOD_WHOLE)
        idat->filtered = malloc((size_t)total);
    if (!idat->threads || !idat->blocks || (idat->method == METHOD_WHOLE && !idat->filtered)) {
        png_idat_destroy(idat);
        return error_memory(err, idat->method == METHOD_WHOLE ? (size_t)total : sizeof *idat,
                            "a PNG encoder");
    }
    *out = idat;
    return IMGSTAT_OK;
}

static void release_buffers(PngIdat *idat)
{
    for (unsigned i = 0; idat->threads && i < idat->n_threads; i++) {
        free(idat->threads[i].trial);
        idat->threads[i].trial = NULL;
    }
    for (size_t i = 0; idat->blocks && i < idat->n_blocks; i++) {
        free(idat->blocks[i].out);
        idat->blocks[i] = (Block){.out = NULL};
    }
    free(idat->raw);
    idat->raw = NULL;
}

void png_idat_destroy(PngIdat *idat)
{
    if (!idat)
        return;
    release_buffers(idat);
    for (unsigned i = 0; idat->threads && i < idat->n_threads; i++) {
        if (idat->threads[i].ready)
            deflateEnd(&idat->threads[i].z);
        free(idat->threads[i].level_buffer);
    }
    free(idat->threads);
    free(idat->blocks);
    free(idat->filtered);
    free(idat);
}

/* Room for a batch of rows. */
static bool make_room(PngIdat *idat)
{
    const size_t batch = idat->block_rows * idat->n_blocks, stride = idat->row_bytes + 1;
    const size_t block_bytes = idat->block_rows * stride;
    bool ok = (idat->raw = calloc(batch + 1, idat->row_bytes)) != NULL;
    for (unsigned i = 0; ok && i < idat->n_threads; i++)
        ok = (idat->threads[i].trial = malloc(stride)) != NULL;
    if (idat->method == METHOD_WHOLE)
        return ok;
    for (size_t i = 0; ok && i < idat->n_blocks; i++) {
        Block *const block = &idat->blocks[i];
        block->room = block_bytes + block_bytes / 8 + 1024; /* what cannot be deflated, stored */
        ok = (block->out = malloc(block->room)) != NULL;
    }
    uint8_t *const larger = ok ? realloc(idat->filtered, WINDOW + batch * stride) : NULL;
    if (!larger)
        return false;
    idat->filtered = larger;
    return true;
}

static ImgstatResult begin_stream(PngIdat *idat, ImgstatError *err)
{
    /* Deflate with a window of 32 KiB; the two low bits of the level make the pair divisible by 31.
     */
    static const uint8_t head[2] = {0x78, 0x9C};
    if (idat->done > 0 || idat->method == METHOD_WHOLE)
        return IMGSTAT_OK;
    return png_chunk_write(idat->sink, "IDAT", head, sizeof head, err);
}

ImgstatResult png_idat_begin(PngIdat *idat, size_t row_bytes, unsigned pixel_bytes,
                             ImgstatError *err)
{
    IMGSTAT_TRY(flush_batch(idat, err));
    IMGSTAT_TRY(begin_stream(idat, err));
    release_buffers(idat);
    idat->row_bytes = row_bytes;
    idat->pixel_bytes = pixel_bytes;
    idat->block_rows = BLOCK_BYTES / (row_bytes + 1);
    if (idat->block_rows == 0)
        idat->block_rows = 1;
    const uint64_t left = (idat->total - idat->done) / (row_bytes + 1);
    if (idat->block_rows > left && left > 0)
        idat->block_rows = (size_t)left;
    if (!make_room(idat))
        return error_memory(err, idat->block_rows * idat->n_blocks * row_bytes, "rows to compress");
    return IMGSTAT_OK;
}

uint8_t *png_idat_row(PngIdat *idat)
{
    return idat->raw + (idat->rows + 1) * idat->row_bytes;
}

ImgstatResult png_idat_push(PngIdat *idat, ImgstatError *err)
{
    idat->rows++;
    if (idat->rows < idat->block_rows * idat->n_blocks)
        return IMGSTAT_OK;
    return flush_batch(idat, err);
}

#ifdef IMGSTAT_WITH_LIBDEFLATE
static ImgstatResult finish_whole(PngIdat *idat, ImgstatError *err)
{
    struct libdeflate_compressor *const c =
        libdeflate_alloc_compressor(idat->level > 12 ? 12 : idat->level);
    const size_t room = c ? libdeflate_zlib_compress_bound(c, (size_t)idat->total) : 0;
    uint8_t *const out = c ? malloc(room) : NULL;
    ImgstatResult res = IMGSTAT_OK;
    if (!out) {
        res = error_memory(err, room, "compressing");
    } else {
        const size_t n =
            libdeflate_zlib_compress(c, idat->filtered, (size_t)idat->total, out, room);
        if (n == 0)
            res = error_set(err, IMGSTAT_ERR_MEMORY, "%s: could not be compressed",
                            idat->sink->output->name);
        for (size_t at = 0; res == IMGSTAT_OK && at < n; at += IDAT_BYTES)
            res = png_chunk_write(idat->sink, "IDAT", out + at,
                                  n - at < IDAT_BYTES ? n - at : IDAT_BYTES, err);
    }
    free(out);
    libdeflate_free_compressor(c);
    return res;
}
#endif

ImgstatResult png_idat_finish(PngIdat *idat, ImgstatError *err)
{
    IMGSTAT_TRY(flush_batch(idat, err));
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (idat->method == METHOD_WHOLE)
        return finish_whole(idat, err);
#endif
    uint8_t check[4];
    png_put32(check, idat->adler);
    return png_chunk_write(idat->sink, "IDAT", check, sizeof check, err);
}

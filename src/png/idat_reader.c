/* SPDX-License-Identifier: MIT */
/* idat_reader.c: checks and decompresses IDAT chunks, in a thread if the image is large enough. */
#define _GNU_SOURCE
#include "png/idat_reader.h"
#include "base/compiler.h"
#include "base/thread_pool.h"
#include "codec/inflate.h"
#include "png/chunks.h"
#include "png/filter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_BYTES = 1 << 18,  /* compressed: within the cache */
    BLOCK_BYTES = 1 << 18, /* decompressed, about: within it too */
    BLOCKS = 6,            /* one in use, others ahead */
    ENOUGH = 3,      /* blocks for which the reader of rows wakes up, which takes microseconds */
    HEAD_BYTES = 12, /* between the data of two chunks: checksum, length, type */
    CHUNK_MAX = 0x7FFFFFFF,
    MOST_PASSED = 1 << 18 /* bytes of a chunk that libpng need not see */
};

typedef struct Block {
    uint8_t *bytes;
    uint32_t rows; /* filled; 0: the stream has failed there */
} Block;

struct PngStream {
    const Source *source;
    size_t stride;      /* of a row with its filter */
    uint32_t rows_left; /* to decompress */
    uint32_t block_rows;
    uint64_t longest_chunk;
    uint64_t at; /* in the file, behind what was read */
    uint32_t chunk_left;
    uint32_t crc;
    uint8_t head[HEAD_BYTES];
    unsigned n_head;
    bool chunks_end, damaged; /* chunks */
    uint64_t behind;          /* place of the first chunk that is not IDAT */
    InflateStream *inflate;
    bool failed;
    /* Blocks on their way from the thread that decompresses to the reader of rows. */
    uint8_t *memory;
    Block block[BLOCKS];
    unsigned released, made; /* blocks; made - released are ahead, the one in use included */
    uint32_t row;            /* next in the block in use */
    bool in_use;
    bool threaded, stop, finished;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- Chunks ------------------------------------------------------------------------------ */

/* Begins the next chunk. Returns false if the checksum of the last one is wrong or the next is
 * unusual. */
static bool next_chunk(PngStream *stream, uint64_t place)
{
    const uint8_t *const head = stream->head;
    const uint32_t length = png_get32(head + 4);
    if (png_get32(head) != stream->crc)
        return false;
    if (memcmp(head + 8, "IDAT", 4) != 0) {
        stream->chunks_end = true;
        stream->behind = place - 8;
        return true;
    }
    if (length > CHUNK_MAX || length > stream->longest_chunk)
        return false;
    stream->chunk_left = length;
    stream->crc = inflate_crc(0, head + 8, 4);
    stream->n_head = 0;
    return true;
}

/* Joins the data of chunks in the next n bytes of the file. Returns how many of them are data. */
static size_t join_chunks(PngStream *stream, uint8_t *bytes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n && !stream->chunks_end;) {
        if (stream->chunk_left > 0) {
            const size_t left = n - i;
            const size_t some = stream->chunk_left < left ? stream->chunk_left : left;
            stream->crc = inflate_crc(stream->crc, bytes + i, some);
            if (kept != i)
                memmove(bytes + kept, bytes + i, some);
            kept += some;
            i += some;
            stream->chunk_left -= (uint32_t)some;
            continue;
        }
        stream->head[stream->n_head++] = bytes[i++];
        if (stream->n_head == HEAD_BYTES && !next_chunk(stream, stream->at + i)) {
            stream->damaged = true;
            return 0;
        }
    }
    stream->at += n;
    return kept;
}

/* Reads more of the data of chunks: InflateRead. */
static size_t read_data(void *context, uint8_t *to, size_t room)
{
    PngStream *const stream = context;
    size_t kept = 0;
    while (kept == 0 && !stream->chunks_end && !stream->damaged) {
        size_t got = 0;
        stream->damaged =
            source_read(stream->source, stream->at, to, room, &got, NULL) != IMGSTAT_OK || got == 0;
        if (!stream->damaged)
            kept = join_chunks(stream, to, got);
    }
    return kept;
}

/* ---- Blocks ------------------------------------------------------------------------------ */

static void fill_block(PngStream *stream, Block *block)
{
    const uint32_t rows =
        stream->rows_left < stream->block_rows ? stream->rows_left : stream->block_rows;
    block->rows = 0;
    if (stream->failed || rows == 0)
        return;
    /* A block that fails half way has no rows: libpng reads them again. */
    stream->failed = !inflate_stream_read(stream->inflate, block->bytes, rows * stream->stride);
    stream->rows_left -= rows;
    if (!stream->failed)
        block->rows = rows;
}

static void *thread_main(void *context)
{
    PngStream *const stream = context;
    pthread_mutex_lock(&stream->lock);
    while (!stream->stop && !stream->failed && stream->rows_left > 0) {
        if (stream->made - stream->released == BLOCKS) {
            pthread_cond_wait(&stream->changed, &stream->lock);
            continue;
        }
        Block *const block = &stream->block[stream->made % BLOCKS];
        pthread_mutex_unlock(&stream->lock);
        fill_block(stream, block);
        pthread_mutex_lock(&stream->lock);
        stream->made++;
        if (stream->made - stream->released >= ENOUGH)
            pthread_cond_signal(&stream->changed);
    }
    stream->finished = true;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

static bool start_thread(PngStream *stream)
{
    if (pthread_mutex_init(&stream->lock, NULL) != 0)
        return false;
    pthread_cond_init(&stream->changed, NULL); /* cannot fail with default attributes on Linux */
    const bool started = thread_start(&stream->thread, thread_main, stream);
    if (!started) {
        pthread_cond_destroy(&stream->changed);
        pthread_mutex_destroy(&stream->lock);
    }
    return started;
}

/* Releases the block in use and acquires the next. */
static bool next_block(PngStream *stream)
{
    stream->row = 0;
    if (!stream->threaded) {
        fill_block(stream, &stream->block[0]);
        stream->in_use = stream->block[0].rows > 0;
        return stream->in_use;
    }
    pthread_mutex_lock(&stream->lock);
    stream->released += stream->in_use;
    pthread_cond_signal(&stream->changed);
    if (stream->made == stream->released)
        while (stream->made - stream->released < ENOUGH && !stream->finished)
            pthread_cond_wait(&stream->changed, &stream->lock);
    stream->in_use =
        stream->made != stream->released && stream->block[stream->released % BLOCKS].rows;
    pthread_mutex_unlock(&stream->lock);
    return stream->in_use;
}

/* ---- For the decoder --------------------------------------------------------------------- */

PngStream *png_stream_open(const Source *source, uint64_t at, uint32_t chunk_bytes,
                           size_t row_bytes, uint32_t rows, uint64_t max_chunk, unsigned threads,
                           bool always, BufferCache *buffers)
{
    PngStream *const stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    const size_t stride = row_bytes + 1;
    const uint64_t total = (uint64_t)stride * rows; /* 40 bits by 31: within 64 in any image */
    const size_t any = BLOCK_BYTES / stride;
    const size_t fit = any > UNFILTER_ROWS ? any - any % UNFILTER_ROWS : any;
    stream->source = source;
    stream->at = at;
    stream->stride = stride;
    stream->rows_left = rows;
    stream->block_rows = fit == 0 ? 1 : fit < rows ? (uint32_t)fit : rows;
    stream->longest_chunk = total > max_chunk ? total : max_chunk;
    stream->chunk_left = chunk_bytes;
    stream->crc = inflate_crc(0, (const uint8_t *)"IDAT", 4);
    const size_t block_bytes = stream->block_rows * stride;
    const unsigned blocks = threads > 1 ? BLOCKS : 1;
    const InflateSource input = {.read = read_data,
                                 .context = stream,
                                 .total = total,
                                 .compressed = source->bytes > at ? source->bytes - at : 0,
                                 .read_bytes = READ_BYTES,
                                 .threads = threads,
                                 .always = always};
    stream->memory = buffer_cache_acquire(buffers, blocks * block_bytes);
    stream->inflate = inflate_stream_create(&input, buffers);
    if (!stream->memory || !stream->inflate || chunk_bytes > CHUNK_MAX ||
        chunk_bytes > stream->longest_chunk) {
        png_stream_close(stream);
        return NULL;
    }
    for (unsigned i = 0; i < blocks; i++)
        stream->block[i].bytes = stream->memory + i * block_bytes;
    stream->threaded = threads > 1 && start_thread(stream);
    return stream;
}

void png_stream_close(PngStream *stream)
{
    if (!stream)
        return;
    if (stream->threaded) {
        pthread_mutex_lock(&stream->lock);
        stream->stop = true;
        pthread_cond_signal(&stream->changed);
        pthread_mutex_unlock(&stream->lock);
        pthread_join(stream->thread, NULL);
        pthread_cond_destroy(&stream->changed);
        pthread_mutex_destroy(&stream->lock);
    }
    inflate_stream_destroy(stream->inflate);
    buffer_cache_release(stream->memory);
    free(stream);
}

const uint8_t *png_stream_rows(PngStream *stream, uint32_t most, uint32_t *n)
{
    const Block *block = &stream->block[stream->threaded ? stream->released % BLOCKS : 0];
    if (!stream->in_use || stream->row == block->rows) {
        if (!next_block(stream))
            return NULL;
        block = &stream->block[stream->threaded ? stream->released % BLOCKS : 0];
    }
    const uint32_t left = block->rows - stream->row, first = stream->row;
    *n = left < most ? left : most;
    stream->row += *n;
    return block->bytes + (size_t)first * stream->stride;
}

/* Returns whether the decoder lets libpng skip chunks of a type: they do not concern samples. */
static bool is_passed_over(const uint8_t *type)
{
    static const char names[][5] = {"eXIf", "iTXt", "tEXt", "tIME", "zTXt"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (memcmp(type, names[i], 4) == 0)
            return true;
    return false;
}

/* Returns whether n bytes of the file and, behind them, their checksum are there. crc: of what
 * precedes them. */
static bool checksum_holds(const Source *source, uint64_t at, uint32_t n, uint32_t crc)
{
    uint8_t bytes[4096];
    size_t got = 0;
    for (uint32_t some; n > 0; n -= some, at += some) {
        some = n < sizeof bytes ? n : (uint32_t)sizeof bytes;
        if (source_read(source, at, bytes, some, &got, NULL) != IMGSTAT_OK || got < some)
            return false;
        crc = inflate_crc(crc, bytes, some);
    }
    return source_read(source, at, bytes, 4, &got, NULL) == IMGSTAT_OK && got == 4 &&
           png_get32(bytes) == crc;
}

bool png_tail_is_usual(const Source *source, uint64_t at)
{
    uint8_t head[8];
    size_t got = 0;
    for (;;) {
        if (source_read(source, at, head, sizeof head, &got, NULL) != IMGSTAT_OK ||
            got < sizeof head)
            return false;
        const uint32_t length = png_get32(head);
        const bool is_end = memcmp(head + 4, "IEND", 4) == 0;
        if (length > MOST_PASSED || (is_end ? length != 0 : !is_passed_over(head + 4)) ||
            !checksum_holds(source, at + 8, length, inflate_crc(0, head + 4, 4)))
            return false;
        if (is_end)
            return true;
        at += 12 + (uint64_t)length;
    }
}

bool png_stream_ends_well(PngStream *stream)
{
    if (stream->threaded) { /* the thread has nothing left to do */
        pthread_mutex_lock(&stream->lock);
        while (!stream->finished)
            pthread_cond_wait(&stream->changed, &stream->lock);
        pthread_mutex_unlock(&stream->lock);
    }
    bool surplus = true;
    return !stream->failed && stream->rows_left == 0 &&
           inflate_stream_end(stream->inflate, &surplus) && !surplus && stream->chunks_end &&
           png_tail_is_usual(stream->source, stream->behind);
}

/* SPDX-License-Identifier: MIT */
/* idat_reader.c: checks and decompresses IDAT chunks, in a thread if the image is large enough. */
#define _GNU_SOURCE
#include "png/idat_reader.h"
#include "base/compiler.h"
#include "base/thread_pool.h"
#include "codec/inflate.h"
#include "png/chunks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_BYTES = 1 << 18,  /* compressed: within the cache */
    BLOCK_BYTES = 1 << 18, /* decompressed, about: within it too */
    BLOCKS = 6,            /* one in use, others ahead */
    ENOUGH = 3,      /* blocks for which the reader of rows wakes up, which takes microseconds */
    HEAD_BYTES = 12, /* between the data of two chunks: checksum, length, type */
    CHUNK_MAX = 0x7FFFFFFF
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
    /* Compressed data, from which the heads of chunks are removed. */
    uint8_t *input;
    uint64_t at;         /* in the file, behind input */
    const uint8_t *data; /* in input, not yet decompressed */
    size_t n_data;
    uint32_t chunk_left;
    uint32_t crc;
    uint8_t head[HEAD_BYTES];
    unsigned n_head;
    bool chunks_end, failed, ended;
    uint64_t behind; /* place of the first chunk that is not IDAT */
    Inflater *inflater;
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

/* Reads more of the file, and joins the data of chunks. */
static bool read_input(PngStream *stream)
{
    size_t got = 0, kept = 0;
    if (source_read(stream->source, stream->at, stream->input, READ_BYTES, &got, NULL) !=
            IMGSTAT_OK ||
        got == 0)
        return false;
    for (size_t i = 0; i < got && !stream->chunks_end;) {
        if (stream->chunk_left > 0) {
            const size_t left = got - i;
            const size_t n = stream->chunk_left < left ? stream->chunk_left : left;
            stream->crc = inflate_crc(stream->crc, stream->input + i, n);
            if (kept != i)
                memmove(stream->input + kept, stream->input + i, n);
            kept += n;
            i += n;
            stream->chunk_left -= (uint32_t)n;
            continue;
        }
        stream->head[stream->n_head++] = stream->input[i++];
        if (stream->n_head == HEAD_BYTES && !next_chunk(stream, stream->at + i))
            return false;
    }
    stream->at += got;
    stream->data = stream->input;
    stream->n_data = kept;
    return true;
}

/* Decompresses `room` bytes. Returns false if the stream does not have them. */
static bool inflate_bytes(PngStream *stream, uint8_t *to, size_t room)
{
    while (room > 0) {
        if (stream->n_data == 0 && (stream->chunks_end || !read_input(stream)))
            return false;
        const InflateState state =
            inflater_run(stream->inflater, &stream->data, &stream->n_data, &to, &room);
        stream->ended = state == INFLATE_END;
        if (state == INFLATE_DAMAGED || (stream->ended && room > 0))
            return false;
    }
    return true;
}

/* Returns whether the stream ends with the last row, and the chunks end with the stream. */
static bool inflate_end(PngStream *stream)
{
    uint8_t surplus;
    while (!stream->ended) {
        uint8_t *to = &surplus;
        size_t room = 1;
        const size_t before = stream->n_data;
        const InflateState state =
            inflater_run(stream->inflater, &stream->data, &stream->n_data, &to, &room);
        stream->ended = state == INFLATE_END;
        if (state == INFLATE_DAMAGED || room == 0)
            return false;
        if (!stream->ended && stream->n_data == before && before > 0)
            return false;
        if (!stream->ended && stream->n_data == 0 && (stream->chunks_end || !read_input(stream)))
            return false;
    }
    while (stream->n_data == 0 && !stream->chunks_end)
        if (!read_input(stream))
            return false;
    return stream->n_data == 0;
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
    stream->failed = !inflate_bytes(stream, block->bytes, rows * stream->stride);
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
                           size_t row_bytes, uint32_t rows, uint64_t max_chunk, bool threaded,
                           BufferCache *buffers)
{
    PngStream *const stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    const size_t stride = row_bytes + 1;
    const uint64_t total = (uint64_t)stride * rows; /* 40 bits by 31: within 64 in any image */
    const size_t fit = BLOCK_BYTES / stride;
    stream->source = source;
    stream->at = at;
    stream->stride = stride;
    stream->rows_left = rows;
    stream->block_rows = fit == 0 ? 1 : fit < rows ? (uint32_t)fit : rows;
    stream->longest_chunk = total > max_chunk ? total : max_chunk;
    stream->chunk_left = chunk_bytes;
    stream->crc = inflate_crc(0, (const uint8_t *)"IDAT", 4);
    const size_t block_bytes = stream->block_rows * stride;
    const unsigned blocks = threaded ? BLOCKS : 1;
    stream->input = buffer_cache_acquire(buffers, READ_BYTES);
    stream->memory = buffer_cache_acquire(buffers, blocks * block_bytes);
    stream->inflater = inflater_create(total, buffers);
    if (!stream->input || !stream->memory || !stream->inflater || chunk_bytes > CHUNK_MAX ||
        chunk_bytes > stream->longest_chunk) {
        png_stream_close(stream);
        return NULL;
    }
    for (unsigned i = 0; i < blocks; i++)
        stream->block[i].bytes = stream->memory + i * block_bytes;
    stream->threaded = threaded && start_thread(stream);
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
    inflater_destroy(stream->inflater);
    buffer_cache_release(stream->memory);
    buffer_cache_release(stream->input);
    free(stream);
}

const uint8_t *png_stream_row(PngStream *stream)
{
    const Block *block = &stream->block[stream->threaded ? stream->released % BLOCKS : 0];
    if (!stream->in_use || stream->row == block->rows) {
        if (!next_block(stream))
            return NULL;
        block = &stream->block[stream->threaded ? stream->released % BLOCKS : 0];
    }
    return block->bytes + (size_t)stream->row++ * stream->stride;
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

bool png_tail_is_usual(const Source *source, uint64_t at, uint8_t *buffer, size_t room)
{
    uint8_t head[8];
    size_t got = 0;
    for (;;) {
        if (source_read(source, at, head, sizeof head, &got, NULL) != IMGSTAT_OK ||
            got < sizeof head)
            return false;
        const uint32_t length = png_get32(head);
        const bool is_end = memcmp(head + 4, "IEND", 4) == 0;
        if (length > room - 4 || (is_end ? length != 0 : !is_passed_over(head + 4)))
            return false;
        if (source_read(source, at + 8, buffer, length + 4, &got, NULL) != IMGSTAT_OK ||
            got < (size_t)length + 4)
            return false;
        const uint32_t crc = inflate_crc(inflate_crc(0, head + 4, 4), buffer, length);
        if (crc != png_get32(buffer + length))
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
    return !stream->failed && stream->rows_left == 0 && inflate_end(stream) &&
           png_tail_is_usual(stream->source, stream->behind, stream->input, READ_BYTES);
}

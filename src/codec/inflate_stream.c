/* SPDX-License-Identifier: MIT */
/* inflate_stream.c: chooses between codec/inflate.c and codec/parallel_inflate.c. */
#include "codec/inflate_stream.h"

#include "codec/inflate.h"

#include <stdlib.h>

enum {
    PART_BYTES = 384 << 10, /* decompressed, of one part, about */
    MOST_PART = 512 << 10,  /* compressed */
    /* One thread is fast where long matches or stored blocks are most of a stream. */
    MOST_RATIO = 6,
    LEAST_GAIN = 16,       /* a stream is smaller than its bytes by more than this part of them */
    LEAST_TOTAL = 4 << 20, /* smaller streams are not worth the threads' start */
    MOST_THREADS = 8,      /* the thread that reads keeps up with no more */
    TEST_PART = 4 << 10
};

struct InflateStream {
    ParallelInflater *parallel; /* NULL: one thread */
    InflateSource source;
    Inflater *inflater;
    uint8_t *input;
    const uint8_t *data; /* in input */
    size_t n_data;
    bool input_ended, ended;
};

/* Returns the compressed bytes of a part. */
static size_t part_bytes(uint64_t total, uint64_t compressed)
{
    const uint64_t bytes = compressed / (total / PART_BYTES + 1);
    return bytes > MOST_PART ? MOST_PART : (size_t)bytes;
}

static bool is_worth_threads(uint64_t total, uint64_t compressed)
{
    return total >= LEAST_TOTAL && total / MOST_RATIO <= compressed &&
           compressed < total - total / LEAST_GAIN;
}

/* Returns how many threads decompress a stream. */
static unsigned useful_threads(unsigned threads, uint64_t total, uint64_t compressed)
{
    if (!is_worth_threads(total, compressed))
        return 1;
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

uint64_t inflate_stream_bytes(uint64_t total, uint64_t compressed, unsigned threads)
{
    const unsigned useful = useful_threads(threads, total, compressed);
    return useful > 1 ? useful * (uint64_t)parallel_inflater_bytes(part_bytes(total, compressed))
                      : 0;
}

InflateStream *inflate_stream_create(const InflateSource *source, BufferCache *buffers)
{
    InflateStream *const stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->source = *source;
    const uint64_t total = source->total, compressed = source->compressed;
    const unsigned threads =
        source->always ? source->threads : useful_threads(source->threads, total, compressed);
    if (threads > 1)
        stream->parallel = parallel_inflater_create(
            total, threads, source->always ? TEST_PART : part_bytes(total, compressed),
            source->read, source->context, buffers);
    if (stream->parallel)
        return stream;
    stream->inflater = inflater_create(source->total, buffers);
    stream->input = buffer_cache_acquire(buffers, source->read_bytes);
    stream->data = stream->input;
    if (stream->inflater && stream->input)
        return stream;
    inflate_stream_destroy(stream);
    return NULL;
}

void inflate_stream_destroy(InflateStream *stream)
{
    if (!stream)
        return;
    parallel_inflater_destroy(stream->parallel);
    inflater_destroy(stream->inflater);
    buffer_cache_release(stream->input);
    free(stream);
}

/* Returns false if there is no more input. */
static bool read_input(InflateStream *stream)
{
    if (stream->input_ended)
        return false;
    stream->n_data =
        stream->source.read(stream->source.context, stream->input, stream->source.read_bytes);
    stream->data = stream->input;
    stream->input_ended = stream->n_data == 0;
    return stream->n_data > 0;
}

/* Decompresses up to *room bytes; with none, to the end. Returns false on a fault. */
static bool run(InflateStream *stream, uint8_t **to, size_t *room)
{
    const size_t input = stream->n_data, output = *room;
    const InflateState state =
        inflater_run(stream->inflater, &stream->data, &stream->n_data, to, room);
    stream->ended = state == INFLATE_END;
    if (state == INFLATE_DAMAGED)
        return false;
    if (state == INFLATE_END || *room < output || stream->n_data < input)
        return true;
    return stream->n_data == 0 && read_input(stream);
}

bool inflate_stream_read(InflateStream *stream, uint8_t *to, size_t n)
{
    if (stream->parallel)
        return parallel_inflater_read(stream->parallel, to, n);
    while (n > 0)
        if (stream->ended || !run(stream, &to, &n))
            return false;
    return true;
}

bool inflate_stream_end(InflateStream *stream, bool *surplus)
{
    if (stream->parallel)
        return parallel_inflater_end(stream->parallel, surplus);
    while (!stream->ended) {
        uint8_t more, *to = &more;
        size_t room = 1;
        if (!run(stream, &to, &room) || room == 0)
            return false;
    }
    *surplus = stream->n_data > 0 || read_input(stream);
    return true;
}

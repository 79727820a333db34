/* SPDX-License-Identifier: MIT */
/* inflate.c: decompresses by ISA-L where the build has it, else by zlib; large streams by several
 * threads. ISA-L accepts some streams that zlib refuses; the checks here refuse them too. */
#include "codec/inflate.h"

#include <stdlib.h>

#ifdef IMGSTAT_WITH_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

enum {
    WINDOW_BITS = 15,    /* the largest */
    MOST_BYTES = 1 << 30 /* a call: both libraries count in 32 bits */
};

/* A stream that one thread decompresses. */
typedef struct Inflater {
    uint64_t total;
    unsigned n_head; /* bytes of the header seen */
    uint8_t head[ZLIB_HEAD];
#ifdef IMGSTAT_WITH_ISAL
    struct inflate_state state;
#else
    z_stream state;
#endif
} Inflater;

typedef enum InflateState {
    INFLATE_MORE,   /* all input is used or the output is full */
    INFLATE_END,    /* the stream has ended and its checksum is right */
    INFLATE_DAMAGED /* the stream is damaged or unusual */
} InflateState;

/* Returns the bits of the window of a zlib stream that begins like this; 0: it is no deflate, or
 * needs a dictionary. */
static unsigned window_bits_of(const uint8_t head[2])
{
    const unsigned method = head[0], flags = head[1];
    const unsigned window_bits = (method >> 4) + 8;
    if ((method & 15) != 8 || window_bits > WINDOW_BITS || (flags & 0x20) != 0 ||
        (method << 8 | flags) % 31 != 0)
        return 0;
    return window_bits;
}

bool inflate_read_frame(const uint8_t *stream, size_t bytes, uint32_t *window, uint32_t *adler)
{
    if (bytes <= ZLIB_FRAME)
        return false;
    const unsigned window_bits = window_bits_of(stream);
    const uint8_t *const end = stream + bytes - ZLIB_TAIL;
    *window = 1u << window_bits;
    *adler = (uint32_t)end[0] << 24 | (uint32_t)end[1] << 16 | (uint32_t)end[2] << 8 | end[3];
    return window_bits > 0;
}

/* ISA-L does not compare distances with the window. */
bool inflate_head_is_usual(const uint8_t head[2], uint64_t total)
{
    const unsigned window_bits = window_bits_of(head);
    return window_bits == WINDOW_BITS || (window_bits > 0 && total <= (uint64_t)1 << window_bits);
}

#ifdef IMGSTAT_WITH_ISAL

static Inflater *inflater_create(uint64_t total, BufferCache *buffers)
{
    if (total >= UINT32_MAX) /* ISA-L counts its output in 32 bits */
        return NULL;
    Inflater *const inflater =
        buffer_cache_acquire(buffers, sizeof *inflater); /* large, and mostly room to work in */
    if (!inflater)
        return NULL;
    inflater->total = total;
    inflater->n_head = 0;
    isal_inflate_init(&inflater->state);
    inflater->state.crc_flag = ISAL_ZLIB;
    return inflater;
}

static void inflater_destroy(Inflater *inflater)
{
    buffer_cache_release(inflater);
}

/* Decompresses as much as next_in and next_out allow. */
static InflateState run_state(struct inflate_state *state)
{
    const uint32_t given = state->avail_in;
    const int result = isal_inflate(state);
    if (result < 0 || result == ISAL_NEED_DICT)
        return INFLATE_DAMAGED;
    if (state->block_state != ISAL_BLOCK_FINISH)
        return INFLATE_MORE;
    /* It may have read bytes beyond the stream. Up to 2.32.0 it keeps them; later versions give
     * them back, even those that came with an earlier call. */
    return state->read_in_length >= 8 || state->avail_in > given ? INFLATE_DAMAGED : INFLATE_END;
}

uint32_t inflate_crc(uint32_t crc, const uint8_t *bytes, size_t n)
{
    return crc32_gzip_refl(crc, bytes, n);
}

#else

static Inflater *inflater_create(uint64_t total, BufferCache *buffers)
{
    (void)buffers; /* zlib allocates for itself */
    Inflater *const inflater = calloc(1, sizeof *inflater);
    if (!inflater)
        return NULL;
    inflater->total = total;
    if (inflateInit(&inflater->state) != Z_OK) {
        free(inflater);
        return NULL;
    }
    return inflater;
}

static void inflater_destroy(Inflater *inflater)
{
    if (!inflater)
        return;
    inflateEnd(&inflater->state);
    free(inflater);
}

static InflateState run_state(z_stream *state)
{
    const int result = inflate(state, Z_NO_FLUSH);
    if (result == Z_STREAM_END)
        return INFLATE_END;
    return result == Z_OK || result == Z_BUF_ERROR ? INFLATE_MORE : INFLATE_DAMAGED;
}

uint32_t inflate_crc(uint32_t crc, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        const uInt some = n < MOST_BYTES ? (uInt)n : MOST_BYTES;
        crc = (uint32_t)crc32(crc, bytes, some);
        bytes += some;
        n -= some;
    }
    return crc;
}

#endif

/* Decompresses from *in to *out and advances both. Input that is left after INFLATE_END does not
 * belong to the stream. room: bytes left at *out. */
static InflateState inflater_run(Inflater *inflater, const uint8_t **in, size_t *n_in,
                                 uint8_t **out, size_t *room)
{
    for (size_t i = 0; i < *n_in && inflater->n_head < ZLIB_HEAD; i++) {
        inflater->head[inflater->n_head++] = (*in)[i];
        if (inflater->n_head == ZLIB_HEAD &&
            !inflate_head_is_usual(inflater->head, inflater->total))
            return INFLATE_DAMAGED;
    }
    uint8_t none = 0;
    const uint32_t given = *n_in < MOST_BYTES ? (uint32_t)*n_in : MOST_BYTES;
    const uint32_t free_bytes = *room < MOST_BYTES ? (uint32_t)*room : MOST_BYTES;
    inflater->state.next_in = (uint8_t *)(uintptr_t)*in; /* only read */
    inflater->state.avail_in = given;
    inflater->state.next_out = free_bytes > 0 ? *out : &none;
    inflater->state.avail_out = free_bytes;
    const InflateState result = run_state(&inflater->state);
    if (result == INFLATE_DAMAGED)
        return result;
    *in += given - inflater->state.avail_in;
    *n_in -= given - inflater->state.avail_in;
    *out += free_bytes - inflater->state.avail_out;
    *room -= free_bytes - inflater->state.avail_out;
    return result;
}

/* ---- By one thread or by several ---- */

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

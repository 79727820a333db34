/* SPDX-License-Identifier: MIT */
/* inflate.c: decompresses by ISA-L where the build has it, else by zlib. ISA-L accepts some streams
 * that zlib refuses; the checks here refuse them too. */
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

struct Inflater {
    uint64_t total;
    unsigned n_head; /* bytes of the header seen */
    uint8_t head[ZLIB_HEAD];
#ifdef IMGSTAT_WITH_ISAL
    struct inflate_state state;
#else
    z_stream state;
#endif
};

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

Inflater *inflater_create(uint64_t total, BufferCache *buffers)
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

void inflater_destroy(Inflater *inflater)
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

Inflater *inflater_create(uint64_t total, BufferCache *buffers)
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

void inflater_destroy(Inflater *inflater)
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

InflateState inflater_run(Inflater *inflater, const uint8_t **in, size_t *n_in, uint8_t **out,
                          size_t *room)
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

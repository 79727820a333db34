/* SPDX-License-Identifier: MIT */
/* fuzz_inflate: the decoder of deflate streams, from the first block on and from every place where
 * a block may begin, and, for one input in eight, several threads that decompress small parts.
 * Every input is tried as it is and, as nothing else gets far, behind the head of a stream. What
 * zlib refuses must be refused; what is returned must be what zlib returns. */
#include "codec/block_search.h"
#include "codec/deflate_decode.h"
#include "codec/parallel_inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t head[] = {0x78, 0x9C};

enum { MOST = 2 << 20, THREADS = 3, PART = 1024, GIVE = 50000, TRIES = 10 };

typedef struct Input {
    const uint8_t *bytes;
    size_t n, at;
} Input;

static size_t read_input(void *context, uint8_t *to, size_t room)
{
    Input *const input = context;
    const size_t left = input->n - input->at, n = left < room ? left : room;
    memcpy(to, input->bytes + input->at, n);
    input->at += n;
    return n;
}

/* Decompresses by zlib. Returns whether the stream is right. *n: bytes before the end or fault. */
static bool decode_by_zlib(const uint8_t *data, size_t size, uint8_t *to, size_t *n)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};
    if (inflateInit(&z) != Z_OK)
        abort();
    z.next_out = to;
    z.avail_out = MOST;
    const int result = inflate(&z, Z_FINISH);
    *n = z.total_out;
    inflateEnd(&z);
    return result == Z_STREAM_END;
}

/* From the first block on, by one thread. has_head: zlib takes the two bytes before it. */
static void decode_bytes(PieceRing *ring, DeflateDecoder *decoder, uint8_t *to,
                         const uint8_t *expected, size_t n, bool has_head)
{
    uint8_t *out = to;
    DecodeStop stop = DECODE_BLOCK;
    decoder->inside = BLOCK_HEAD;
    if (!bit_reader_seek(&decoder->reader, ring, 16))
        return;
    while (stop == DECODE_BLOCK)
        stop = deflate_decode_bytes(decoder, to, &out, to + MOST);
    const size_t made = (size_t)(out - to);
    if (memcmp(to, expected, made < n ? made : n) != 0 ||
        (stop == DECODE_END && has_head && made != n))
        abort();
}

/* From places where a block may begin, to words. */
static void decode_words(PieceRing *ring, DeflateDecoder *decoder, size_t size, uint8_t *to)
{
    uint16_t *const window = (uint16_t *)(void *)to;
    atomic_bool cancelled = false;
    BlockStart start;
    uint64_t at = 0;
    for (int k = 0; k < TRIES; k++) {
        if (!block_search(ring, &at, 8 * (uint64_t)size, &cancelled, &start))
            break;
        uint16_t *out = window + DEFLATE_WINDOW;
        if (!bit_reader_seek(&decoder->reader, ring, start.place))
            abort();
        decoder->inside = BLOCK_HEAD;
        for (size_t i = 0; i < DEFLATE_WINDOW; i++)
            window[i] = (uint16_t)(DEFLATE_MARKER | i);
        while (deflate_decode_words(decoder, window, &out, window + MOST / 2) == DECODE_BLOCK) {
        }
        for (const uint16_t *word = window; word < out; word++)
            if (*word >= 256 && *word < DEFLATE_MARKER)
                abort();
    }
}

static void decode_by_one(const uint8_t *data, size_t size, uint8_t *to, const uint8_t *expected,
                          size_t n)
{
    static DeflateDecoder decoder;
    uint8_t *const slot[] = {(uint8_t *)(uintptr_t)data};
    PieceRing ring = {
        .slot = slot, .bytes = &size, .n_slots = 1, .piece_bytes = size + 1, .loaded = 1};
    decode_bytes(&ring, &decoder, to, expected, n,
                 size >= sizeof head && memcmp(data, head, sizeof head) == 0);
    decode_words(&ring, &decoder, size, to);
}

static void decode_by_many(const uint8_t *data, size_t size, uint8_t *to, const uint8_t *expected,
                           size_t n, bool right)
{
    static BufferCache *buffers;
    if (!buffers)
        buffers = buffer_cache_create();
    size_t done = 0;
    Input input = {.bytes = data, .n = size};
    ParallelInflater *const inflater =
        parallel_inflater_create(n, THREADS, PART, read_input, &input, buffers);
    bool good = inflater != NULL, surplus;
    while (good && done < n) {
        const size_t some = n - done < GIVE ? n - done : GIVE;
        good = parallel_inflater_read(inflater, to, some);
        if (good && memcmp(to, expected + done, some) != 0)
            abort();
        done += some;
    }
    if (good && parallel_inflater_end(inflater, &surplus) && !right)
        abort();
    parallel_inflater_destroy(inflater);
}

static void decode(const uint8_t *data, size_t size, uint8_t *to, uint8_t *expected)
{
    size_t n = 0;
    const bool right = decode_by_zlib(data, size, expected, &n);
    if (n == MOST)
        return; /* there may be more */
    decode_by_one(data, size, to, expected, n);
    if (size % 8 == 0)
        decode_by_many(data, size, to, expected, n, right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t to[MOST], expected[MOST];
    uint8_t *const stream = malloc(sizeof head + size);
    if (stream && size < MOST) {
        decode(data, size, to, expected);
        memcpy(stream, head, sizeof head);
        memcpy(stream + sizeof head, data, size);
        decode(stream, sizeof head + size, to, expected);
    }
    free(stream);
    return 0;
}

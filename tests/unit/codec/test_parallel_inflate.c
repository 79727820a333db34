/* SPDX-License-Identifier: MIT */
/* test_parallel_inflate.c: streams that several threads decompress against zlib: of every level,
 * strategy, window and kind of flush; damaged, cut, and with what looks like a block where none is.
 */
#include "codec/deflate.h"
#include "codec/parallel_inflate.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

TestSuite(parallel_inflate);

enum { MOST = 3 << 20, SPARE = 1 << 16 };

typedef enum Pattern {
    RANDOM,
    CONSTANT,
    DIFFERENCES, /* small numbers of both signs, as rows of a photograph give */
    WORDS,
    DISTANT,  /* short matches as far away as may be, so that markers last */
    MIXTURES, /* of these, changing */
    PATTERNS
} Pattern;

static void fill(Pattern pattern, uint8_t *to, size_t n)
{
    static const char words[] = "the quick brown fox jumps over the lazy dog and on ";
    uint64_t state = 1 + (uint64_t)pattern;
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = splitmix64(&state);
        const Pattern now = pattern == MIXTURES ? (Pattern)(mix64(i / 20000) % MIXTURES) : pattern;
        to[i] = now == RANDOM               ? (uint8_t)r
                : now == CONSTANT           ? 200
                : now == DIFFERENCES        ? (uint8_t)(r % 9 + (r >> 8) % 9 - 8)
                : now == WORDS              ? (uint8_t)words[(i + i / 1000) % (sizeof words - 1)]
                : i >= 32000 && r % 16 < 12 ? to[i - 32000]
                                            : (uint8_t)(r >> 8);
    }
}

typedef struct Kind {
    int level, window_bits, memory, strategy, flush;
    size_t piece; /* after which to flush */
} Kind;

/* Compresses by zlib. Returns the size. */
static size_t compress_by_zlib(const Kind *kind, const uint8_t *from, size_t n, uint8_t *to,
                               size_t room)
{
    z_stream z = {.next_out = to, .avail_out = (uInt)room};
    cr_assert_eq(
        deflateInit2(&z, kind->level, Z_DEFLATED, kind->window_bits, kind->memory, kind->strategy),
        Z_OK);
    for (size_t at = 0; at < n || n == 0;) {
        const size_t some = n - at < kind->piece ? n - at : kind->piece;
        z.next_in = (Bytef *)(uintptr_t)(from + at);
        z.avail_in = (uInt)some;
        at += some;
        const int result = deflate(&z, at == n ? Z_FINISH : kind->flush);
        cr_assert_eq(result, at == n ? Z_STREAM_END : Z_OK);
        if (at == n)
            break;
    }
    deflateEnd(&z);
    return z.total_out;
}

typedef struct Input {
    const uint8_t *bytes;
    size_t n, at, most;
} Input;

static size_t read_input(void *context, uint8_t *to, size_t room)
{
    Input *const input = context;
    size_t n = input->n - input->at;
    n = n < room ? n : room;
    n = n < input->most ? n : input->most;
    memcpy(to, input->bytes + input->at, n);
    input->at += n;
    return n;
}

typedef struct Way {
    unsigned threads;
    size_t part, read, give;
} Way;

/* Decompresses a stream of `total` bytes. Returns whether it is right; *n: bytes returned. */
static unsigned used_parts; /* of all streams of a test, which is a process */

static bool decode(const uint8_t *stream, size_t bytes, size_t total, const Way *way, uint8_t *to,
                   size_t *n, bool *surplus)
{
    Input input = {.bytes = stream, .n = bytes, .most = way->read};
    ParallelInflater *const inflater =
        parallel_inflater_create(total, way->threads, way->part, read_input, &input, NULL);
    bool good = true;
    *n = 0;
    *surplus = false;
    cr_assert_not_null(inflater);
    while (good && *n < total) {
        const size_t some = total - *n < way->give ? total - *n : way->give;
        good = parallel_inflater_read(inflater, to + *n, some);
        *n += good ? some : 0;
    }
    good = good && parallel_inflater_end(inflater, surplus);
    used_parts += parallel_inflater_used_parts(inflater);
    parallel_inflater_destroy(inflater);
    return good;
}

/* What zlib makes of it. Returns whether it is right. *n: bytes decoded, at most `total`. */
static bool decode_by_zlib(const uint8_t *stream, size_t bytes, size_t total, uint8_t *to,
                           size_t *n, bool *surplus)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)stream, .avail_in = (uInt)bytes};
    cr_assert_eq(inflateInit(&z), Z_OK);
    z.next_out = to;
    z.avail_out = (uInt)total + 1;
    const int result = inflate(&z, Z_FINISH);
    *n = z.total_out < total ? z.total_out : total;
    *surplus = z.avail_in > 0;
    inflateEnd(&z);
    return result == Z_STREAM_END && z.total_out == total;
}

static const Way ways[] = {{2, 1024, 100000, 100000}, {3, 1500, 777, 33333},
                           {8, 4096, 4096, 262144},   {5, 40000, 1 << 20, 70001},
                           {2, 1 << 20, 1 << 20, 1},  {4, 20000, 262144, 1 << 20}};

static void expect_same(const uint8_t *stream, size_t bytes, const uint8_t *expected, size_t total,
                        const Way *way, uint8_t *to)
{
    size_t n;
    bool surplus;
    const bool good = decode(stream, bytes, total, way, to, &n, &surplus);
    cr_assert(good, "%u threads, parts of %zu, %zu of %zu bytes", way->threads, way->part, n,
              total);
    cr_assert_not(surplus);
    for (size_t i = 0; i < total; i++)
        cr_assert_eq(to[i], expected[i], "byte %zu", i);
}

Test(parallel_inflate, every_kind_of_stream, .timeout = 300)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE,
                                     Z_FIXED};
    static const int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK};
    static const size_t sizes[] = {1, 1000, 40000, 250000, 600001};
    uint8_t *const from = malloc(MOST), *const stream = malloc(2 * MOST), *const to = malloc(MOST);
    unsigned n = 0, ran = 0;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        fill((Pattern)pattern, from, MOST);
        for (int level = 0; level <= 9; level++) {
            for (size_t s = 0; s < 5; s++) {
                const size_t size = sizes[(s + (size_t)level) % 5];
                const Kind kind = {.level = level,
                                   .window_bits = 15 - (int)(n % 7 == 0 ? n % 6 : 0),
                                   .memory = 1 + (int)(n % 9),
                                   .strategy = strategies[s],
                                   .flush = flushes[n % 5],
                                   .piece = 3000 + n * 7919 % 100000};
                if (!is_run(n++, 5))
                    continue;
                const size_t bytes = compress_by_zlib(&kind, from, size, stream, 2 * MOST);
                if (kind.window_bits < 15 && size > (size_t)1 << kind.window_bits) {
                    size_t got;
                    bool surplus;
                    cr_assert_not(decode(stream, bytes, size, &ways[0], to, &got, &surplus));
                    continue; /* left to zlib */
                }
                expect_same(stream, bytes, from, size, &ways[n % 6 == 4 ? 1 : n % 6], to);
                ran++;
            }
        }
    }
    cr_log_info("%u streams", ran);
    cr_assert_gt(ran, 40);
    cr_assert_gt(used_parts, 0);
    free(from);
    free(stream);
    free(to);
}

/* Streams of our own coder, and one that is larger than the room of a part many times. */
Test(parallel_inflate, large_streams, .timeout = 300)
{
    uint8_t *const from = malloc(MOST), *const stream = malloc(2 * MOST), *const to = malloc(MOST);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        fill((Pattern)pattern, from, MOST);
        size_t bytes = DEFLATE_HEAD;
        memcpy(stream, deflate_head, DEFLATE_HEAD);
        Deflater *const deflater = deflater_create(-1, false);
        for (size_t at = 0; at < MOST; at += MOST / 6)
            bytes +=
                deflate_block(deflater, from + at, MOST / 6, at + MOST / 6 == MOST, stream + bytes);
        deflater_destroy(deflater);
        const uint32_t check = deflate_adler(from, MOST);
        for (size_t i = 0; i < 4; i++)
            stream[bytes++] = (uint8_t)(check >> (24 - 8 * i));
        for (size_t w = 0; w < 6; w++)
            if (w == 3 || (w != 4 && is_run(w, 2))) /* of way 3 parts are surely used */
                expect_same(stream, bytes, from, MOST, &ways[w], to);
    }
    cr_log_info("%u parts", used_parts);
    cr_assert_gt(used_parts, 0);
    free(from);
    free(stream);
    free(to);
}

/* Damaged streams: what zlib refuses is refused; bytes returned before are zlib's; what zlib
 * accepts is accepted or, as it may be unusual, refused. */
static void expect_no_more(const uint8_t *stream, size_t bytes, size_t total, const Way *way,
                           uint8_t *to, uint8_t *expected)
{
    size_t n, expected_n;
    bool surplus, expected_surplus;
    const bool right =
        decode_by_zlib(stream, bytes, total, expected, &expected_n, &expected_surplus);
    const bool good = decode(stream, bytes, total, way, to, &n, &surplus);
    cr_assert(right || !good);
    cr_assert(!good || surplus == expected_surplus);
    cr_assert_leq(n, expected_n);
    cr_assert_arr_eq(to, expected, n);
}

Test(parallel_inflate, damaged_streams, .timeout = 300)
{
    enum { SIZE = 120000, TIMES = 400 };
    uint8_t *const from = malloc(MOST), *const stream = malloc(2 * MOST), *const to = malloc(MOST),
                   *const expected = malloc(MOST);
    uint64_t state = 7;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        const Kind kind = {6, 15, 3, Z_DEFAULT_STRATEGY, Z_SYNC_FLUSH, 30000};
        fill((Pattern)pattern, from, SIZE);
        const size_t bytes = compress_by_zlib(&kind, from, SIZE, stream, 2 * MOST);
        for (unsigned i = 0; i < TIMES; i++) {
            if (!is_run(i, 10))
                continue;
            const uint64_t r = splitmix64(&state);
            const size_t at = (size_t)(r % bytes);
            uint8_t kept[4];
            const size_t n = bytes - at < 4 ? bytes - at : 1 + (r >> 50) % 4;
            memcpy(kept, stream + at, n);
            for (size_t k = 0; k < n; k++)
                stream[at + k] ^= (uint8_t)(i % 2 ? 1u << (r >> 40) % 8 : r >> (32 + k));
            expect_no_more(stream, bytes, SIZE, &ways[i % 4], to, expected);
            memcpy(stream + at, kept, n);
        }
    }
    free(from);
    free(stream);
    free(to);
    free(expected);
}

Test(parallel_inflate, cut_at_every_byte, .timeout = 300)
{
    enum { SIZE = 60000 };
    uint8_t *const from = malloc(MOST), *const stream = malloc(2 * MOST), *const to = malloc(MOST),
                   *const expected = malloc(MOST);
    const Kind kind = {9, 15, 1, Z_DEFAULT_STRATEGY, Z_FULL_FLUSH, 20000};
    fill(WORDS, from, SIZE);
    fill(DIFFERENCES, from + SIZE / 2, 4000);
    const size_t bytes = compress_by_zlib(&kind, from, SIZE, stream, 2 * MOST);
    for (size_t n = 0; n < bytes; n++)
        if (is_run(n, 20))
            expect_no_more(stream, n, SIZE, &ways[n % 3], to, expected);
    /* Lengths that are wrong by one, and bytes behind the end. */
    expect_no_more(stream, bytes, SIZE - 1, &ways[0], to, expected);
    expect_no_more(stream, bytes, SIZE + 1, &ways[0], to, expected);
    size_t n;
    bool surplus;
    stream[bytes] = 0;
    cr_assert(decode(stream, bytes + 1, SIZE, &ways[1], to, &n, &surplus));
    cr_assert(surplus);
    free(from);
    free(stream);
    free(to);
    free(expected);
}

/* Stored blocks that hold whole deflate streams: each of their blocks looks like one of this
 * stream. */
Test(parallel_inflate, planted_blocks, .timeout = 300)
{
    enum { SIZE = 400000 };
    uint8_t *const from = malloc(MOST), *const inner = malloc(2 * MOST),
                   *const stream = malloc(2 * MOST), *const to = malloc(MOST);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        const Kind kind = {6, 15, 2, Z_DEFAULT_STRATEGY, Z_FULL_FLUSH, 50000};
        const Kind stored = {0, 15, 8, Z_DEFAULT_STRATEGY, Z_NO_FLUSH, SIZE};
        fill((Pattern)pattern, from, SIZE);
        size_t n = 0;
        while (n < SIZE)
            n += compress_by_zlib(&kind, from, SIZE, inner + n, 2 * MOST - n);
        const size_t bytes = compress_by_zlib(&stored, inner, n, stream, 2 * MOST);
        cr_assert_leq(n, MOST);
        for (size_t w = 0; w < 6; w++)
            if (w != 4 && is_run(w, 3))
                expect_same(stream, bytes, inner, n, &ways[w], to);
    }
    free(from);
    free(inner);
    free(stream);
    free(to);
}

/* Writes bits, lowest first. */
typedef struct Bits {
    uint8_t *to;
    uint64_t n;
} Bits;

static void put(Bits *bits, unsigned value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, bits->n++) {
        if (bits->n % 8 == 0)
            bits->to[bits->n / 8] = 0;
        bits->to[bits->n / 8] |= (uint8_t)((value >> i & 1) << bits->n % 8);
    }
}

/* One block with codes of its own for the whole stream: 256 literals of 8 bits, but for the last
 * two, which have 9 bits with the end of the block. */
static size_t put_single_block(const uint8_t *from, size_t n, uint8_t *to)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1};
    Bits bits = {.to = to};
    put(&bits, 0x78, 8);
    put(&bits, 0x9C, 8);
    put(&bits, 5, 3);  /* the last block, with codes of its own */
    put(&bits, 0, 5);  /* 257 literals and end */
    put(&bits, 0, 5);  /* one distance */
    put(&bits, 14, 4); /* code lengths up to that of 1 */
    for (size_t i = 0; i < 18; i++)
        put(&bits, order[i] == 8 ? 1 : order[i] == 9 || order[i] == 1 ? 2 : 0, 3);
    for (unsigned i = 0; i < 257; i++) /* 8: 0; 1: 10; 9: 11, first bit first */
        put(&bits, i < 255 ? 0 : 3, i < 255 ? 1 : 2);
    put(&bits, 1, 2); /* a distance of one bit, which no length needs */
    for (size_t i = 0; i <= n; i++) {
        const unsigned symbol = i < n ? from[i] : 256;
        const unsigned code = symbol < 255 ? symbol : 255 * 2 + (symbol - 255);
        for (unsigned k = symbol < 255 ? 8 : 9; k-- > 0;)
            put(&bits, code >> k & 1, 1);
    }
    size_t bytes = (size_t)(bits.n + 7) / 8;
    const uint32_t check = deflate_adler(from, n);
    for (size_t i = 0; i < 4; i++)
        to[bytes++] = (uint8_t)(check >> (24 - 8 * i));
    return bytes;
}

Test(parallel_inflate, single_block)
{
    uint8_t *const from = malloc(MOST), *const stream = malloc(2 * MOST), *const to = malloc(MOST);
    fill(RANDOM, from, MOST);
    const size_t bytes = put_single_block(from, MOST, stream);
    for (size_t w = 0; w < 4; w++)
        expect_same(stream, bytes, from, MOST, &ways[w], to);
    free(from);
    free(stream);
    free(to);
}

/* It may end at any time while threads work. */
Test(parallel_inflate, ends_early)
{
    uint8_t *const from = malloc(MOST), *const stream = malloc(2 * MOST), *const to = malloc(MOST);
    const Kind kind = {6, 15, 8, Z_DEFAULT_STRATEGY, Z_NO_FLUSH, MOST};
    fill(DIFFERENCES, from, MOST);
    const size_t bytes = compress_by_zlib(&kind, from, MOST, stream, 2 * MOST);
    for (size_t n = 0; n < MOST; n = 2 * n + 1000) {
        Input input = {.bytes = stream, .n = bytes, .most = SPARE};
        ParallelInflater *const inflater =
            parallel_inflater_create(MOST, 4, 20000, read_input, &input, NULL);
        cr_assert(n == 0 || parallel_inflater_read(inflater, to, n));
        cr_assert_arr_eq(to, from, n);
        parallel_inflater_destroy(inflater);
    }
    parallel_inflater_destroy(NULL);
    free(from);
    free(stream);
    free(to);
}

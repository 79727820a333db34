/* SPDX-License-Identifier: MIT */
/* fuzz_deflate: any bytes through the coder of deflate streams. The first bytes choose how they are
 * repeated, so that inputs are longer than a block. All sets of loops must write the same, within
 * the bound, and zlib must read what was compressed. */
#include "codec/deflate.h"
#include "codec/deflate_coder.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 200 << 10, GUARD = 16 };

/* Makes bytes of the input: parts of it, repeated, or single bytes as runs. */
static size_t expand(const uint8_t *data, size_t size, uint8_t *to)
{
    size_t n = 0;
    for (size_t i = 0; i + 4 <= size && n < MOST;) {
        const size_t part = data[i] % 64u + 1, times = (size_t)1 << data[i + 1] % 16;
        const size_t left = size - i - 2, length = part < left ? part : left;
        for (size_t k = 0; k < times && n + length <= MOST; k++, n += length)
            memcpy(to + n, data + i + 2, length);
        i += 2 + length;
    }
    return n;
}

static void expect_inflates(const uint8_t *stream, size_t bytes, const uint8_t *expected, size_t n)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)stream, .avail_in = (uInt)bytes};
    uint8_t *const got = malloc(n + 1);
    if (!got || inflateInit2(&z, -15) != Z_OK)
        abort();
    z.next_out = got;
    z.avail_out = (uInt)n + 1;
    if (inflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out != n || z.avail_in != 0 ||
        memcmp(got, expected, n) != 0)
        abort();
    inflateEnd(&z);
    free(got);
}

static void run_coder(DeflateCoding coding, const uint8_t *from, size_t n, bool last, uint8_t *to,
                      uint8_t *again)
{
    size_t bytes[PROCESSOR_LEVELS] = {0};
    for (int level = 0; level < PROCESSOR_LEVELS; level++) {
        if (!cpu_features_supports((CpuLevel)level))
            continue;
        uint8_t *const out = level == 0 ? to : again;
        const size_t room = deflate_coder_bound(n);
        DeflateCoder *const coder = deflate_coder_create_for((CpuLevel)level);
        if (!coder)
            abort();
        memset(out + room, 0xA5, GUARD);
        bytes[level] = deflate_coder_write(coder, coding, from, n, last, out);
        for (size_t i = 0; i < GUARD; i++)
            if (out[room + i] != 0xA5)
                abort();
        if (level > 0 && (bytes[level] != bytes[0] || memcmp(to, again, bytes[0]) != 0))
            abort();
        deflate_coder_destroy(coder);
    }
    if (last)
        expect_inflates(to, bytes[0], from, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Deflater *deflater[2];
    uint8_t *const from = malloc(MOST), *const to = malloc(2 * MOST),
                   *const again = malloc(2 * MOST);
    if (!from || !to || !again)
        abort();
    const size_t n = expand(data, size, from);
    for (int coding = 0; coding <= DEFLATE_SEARCH_FAST; coding++)
        run_coder((DeflateCoding)coding, from, n, size % 2 == 0, to, again);
    for (int fast = 0; fast < 2; fast++) {
        if (!deflater[fast] && !(deflater[fast] = deflater_create(-1, fast)))
            abort();
        expect_inflates(to, deflate_block(deflater[fast], from, n, true, to), from, n);
    }
    free(from);
    free(to);
    free(again);
    return 0;
}

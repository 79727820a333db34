/* SPDX-License-Identifier: MIT */
/* prove_packbits: the kernel's PackBits, of any bytes and sizes. Frama-C and CBMC take every
 * byte for unknown; by exhaustion a byte is a run or a literal of each length that fits, or of one
 * that does not. */
#include "codec/packbits_lanes.h"

#include "any.h"

/* CBMC: --unwind 7 -DIMGSTAT_LANES=2 -DIN=5 -DOUT=5 */
/* CBMC, full: --unwind 10 -DIMGSTAT_LANES=4 -DIN=8 -DOUT=8 */

#if defined(__FRAMAC__)

enum { IN = 4, OUT = 4 };

void prove(void)
{
    static uint8_t in[IN], out[OUT];
    for (uint32_t n = 0; n <= IN; n++)
        for (uint32_t n_out = 0; n_out <= OUT; n_out++)
            for (uint32_t row = 1; row <= OUT; row++)
                (void)packbits_by_lanes(any_bytes(in, IN, n), n, any_bytes(out, OUT, n_out), n_out,
                                        row);
}

#elif defined(__CPROVER__)

void prove(void)
{
    static uint8_t in[IN], out[OUT];
    const uint32_t n = any(IN + 1), n_out = any(OUT + 1), row = 1 + any(OUT);
    (void)packbits_by_lanes(any_bytes(in, IN, n), n, any_bytes(out, OUT, n_out), n_out, row);
}

#else

enum { OUT = 4 };

static const uint8_t bytes[] = {0, 1, 2, 3, 4, 127, 128, 129, 252, 253, 254, 255};

/* As the specification has it, row by row. Returns how many bytes there are. */
static uint32_t unpack(const uint8_t *in, uint32_t n, uint8_t to[OUT + 256], uint32_t n_out,
                       uint32_t row, bool *right)
{
    uint32_t done = 0, at = 0;
    *right = false;
    while (done < n_out && at < n) {
        const unsigned head = in[at++], count = head > 128 ? 257 - head : head + 1;
        const uint32_t left = row - done % row, used = head > 128 ? 1 : count;
        if (head == 128 || count > left || count > n_out - done || at + used > n)
            return done;
        for (unsigned i = 0; i < count; i++)
            to[done++] = in[at + (head > 128 ? 0 : i)];
        at += used;
    }
    *right = done == n_out;
    return done;
}

void prove(void)
{
    const uint32_t n = any(bound(5, 7)), n_out = any(OUT + 1), row = 1 + any(OUT);
    uint8_t *const in = malloc(n + !n), *const out = malloc(n_out + !n_out);
    uint8_t expected[OUT + 256];
    bool right;
    for (uint32_t i = 0; i < n; i++)
        in[i] = bytes[any(sizeof bytes)];
    const uint32_t made = unpack(in, n, expected, n_out, row, &right);
    demand(packbits_by_lanes(in, n, out, n_out, row) == right, "another verdict");
    demand(memcmp(out, expected, made) == 0, "other bytes");
    free(in);
    free(out);
}

#endif

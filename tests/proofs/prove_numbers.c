/* SPDX-License-Identifier: MIT */
/* prove_numbers: the numbers of records: any bytes that are read as one are its shortest form. CBMC
 * takes every byte for unknown; by exhaustion the last ones are at the ends of what they can be. */
#include "any.h"

#include "record/byte_stream.h"

/* CBMC: --unwind 14 src/record/byte_stream.c */

enum { MOST = 12 };

static uint8_t any_byte(size_t behind)
{
#ifdef __CPROVER__
    (void)behind;
    return (uint8_t)any(256);
#else
    static const uint8_t ends[] = {0, 1, 2, 127, 128, 129, 255};
    return behind < 4 ? ends[any(sizeof ends)] : 255;
#endif
}

void prove(void)
{
    const size_t n = any(MOST + 1);
    uint8_t *const in = malloc(n + !n);
    ByteReader reader = {.at = in, .end = in + n};
    for (size_t i = 0; i < n; i++)
        in[i] = any_byte(n - 1 - i);
    const uint64_t value = get_varint(&reader);
    const size_t taken = (size_t)(reader.at - in);
    demand(reader.failed || taken <= 1 || value >> 7 * (taken - 1) > 0, "not the shortest");
    for (size_t i = 0; !reader.failed && i < taken; i++)
        demand(in[i] == ((value >> 7 * i & 127) | (i + 1 < taken ? 128 : 0)), "other bits");
    free(in);
}

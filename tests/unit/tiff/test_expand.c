/* SPDX-License-Identifier: MIT */
/* test_expand.c: PackBits in pieces of any size, against the example of Apple's Technical Note
 * TN1023.
 */
#include "tiff/expand.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint8_t packed[] = {0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0xFD, 0xAA,
                                 0x03, 0x80, 0x00, 0x2A, 0x22, 0xF7, 0xAA};
static const uint8_t unpacked[] = {0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA,
                                   0xAA, 0xAA, 0x80, 0x00, 0x2A, 0x22, 0xAA, 0xAA,
                                   0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA};

/* Input comes in pieces of `piece` bytes behind what was left; false: refused. */
static bool expand(Expander *expander, size_t piece, uint8_t *to, size_t room)
{
    uint8_t input[sizeof packed];
    size_t n = 0, at = 0;
    while (room > 0 && at < sizeof packed) {
        const size_t more = sizeof packed - at < piece ? sizeof packed - at : piece;
        memcpy(input + n, packed + at, more);
        at += more;
        n += more;
        const uint8_t *in = input;
        if (!expander_run(expander, &in, &n, &to, &room))
            return false;
        memmove(input, in, n);
    }
    return room == 0;
}

Test(expand, packbits_in_pieces)
{
    Expander *const expander = expander_create(EXPAND_PACKBITS, sizeof unpacked);
    size_t compared = 0;
    cr_assert_not_null(expander);
    for (size_t piece = 1; piece <= sizeof packed; piece++) {
        uint8_t out[sizeof unpacked];
        memset(out, 0x55, sizeof out);
        cr_assert(expander_begin(expander));
        cr_assert(expand(expander, piece, out, sizeof out), "pieces of %zu", piece);
        cr_assert_arr_eq(out, unpacked, sizeof out, "pieces of %zu", piece);
        compared += sizeof out;
    }
    cr_assert_eq(compared, sizeof packed * sizeof unpacked);
    expander_destroy(expander);
}

/* libtiff cuts such a run off: the row after it would begin with the wrong bytes. */
Test(expand, packbits_run_across_rows)
{
    Expander *const expander = expander_create(EXPAND_PACKBITS, 4);
    uint8_t out[sizeof unpacked];
    cr_assert(expander_begin(expander));
    cr_assert_not(expand(expander, sizeof packed, out, sizeof out));
    expander_destroy(expander);
}

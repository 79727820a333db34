/* SPDX-License-Identifier: MIT */
/* prove_lzw: fuzz_lzw_lanes on every sequence of codes, behind so many bytes that codes become
 * wider, that a round is full and that the table is. A byte is one of two, as no other is treated
 * otherwise; a name is one of the first and last ones, the next, or the one behind. */
#include "any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 3, CLEAR = 256, END = 257, FIRST = 258, LAST = 4095, ROOM = 1 << 13 };

typedef struct Codes {
    uint8_t bytes[HEAD + ROOM];
    size_t bit;
    unsigned made;  /* names since the clear code, and one code */
    uint32_t total; /* bytes that they stand for */
    uint32_t length[LAST + 2];
    uint32_t before; /* length of the string before */
} Codes;

static void put(Codes *codes, unsigned code)
{
    const unsigned k = codes->made;
    const unsigned width = 9u + (k >= 254) + (k >= 766) + (k >= 1790);
    for (unsigned i = width; i-- > 0; codes->bit++)
        codes->bytes[HEAD + codes->bit / 8] |= (uint8_t)((code >> i & 1) << (7 - codes->bit % 8));
    if (code == CLEAR || code == END) {
        codes->made = 0;
        codes->before = 0;
        return;
    }
    if (codes->before > 0 && FIRST + k - 1 <= LAST)
        codes->length[FIRST + k - 1] = codes->before + 1;
    codes->before = code < CLEAR ? 1 : codes->length[code];
    codes->total += codes->before;
    codes->made++;
}

/* A byte, a control code, one of the names, or one that there is not. */
static unsigned any_code(const Codes *codes)
{
    const unsigned few = 2, names = codes->made > 0 ? codes->made - 1 : 0;
    const unsigned near = names < 2 * few ? names : 2 * few;
    const unsigned choice = any(4 + near + 2);
    if (choice < 4)
        return choice < 2 ? choice : CLEAR + choice - 2;
    const unsigned i = choice - 4;
    if (i >= near)
        return FIRST + names + i - near;
    return i < few ? FIRST + i : FIRST + names - near + i;
}

void prove(void)
{
    static const unsigned before[] = {0, 252, 764, 1022, 1788, 3834};
    static Codes codes;
    memset(&codes, 0, sizeof codes);
    if (any(2) == 0)
        put(&codes, CLEAR);
    for (unsigned i = before[any(sizeof before / sizeof *before)]; i > 0; i--)
        put(&codes, i % 3 % 2);
    for (unsigned i = any(1 + bound(3, 5)); i > 0; i--) {
        const unsigned code = any_code(&codes);
        put(&codes, code > LAST ? LAST : code);
    }
    /* All of it, and a byte less and more. */
    const uint32_t n = codes.total + any(3), size = n < 2 ? 0 : n - 2;
    codes.bytes[0] = (uint8_t)(size >> 8);
    codes.bytes[1] = (uint8_t)size;
    LLVMFuzzerTestOneInput(codes.bytes, HEAD + (codes.bit + 7) / 8);
}

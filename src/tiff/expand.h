/* SPDX-License-Identifier: MIT */
/* expand.h: PackBits, Zstandard and LZMA data decompressed piece by piece. */
#ifndef IMGSTAT_TIFF_EXPAND_H
#define IMGSTAT_TIFF_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ExpandKind { EXPAND_PACKBITS, EXPAND_ZSTD, EXPAND_LZMA } ExpandKind;

typedef struct Expander Expander;

bool expander_known(ExpandKind kind); /* in this build */
/* row_bytes: of the rows that PackBits data are of. NULL: out of memory, or not known. */
Expander *expander_create(ExpandKind kind, size_t row_bytes);
void expander_destroy(Expander *expander); /* accepts NULL */
bool expander_begin(Expander *expander);   /* a new input. False: out of memory */
size_t expander_bytes(ExpandKind kind);    /* of memory that one takes, mostly not more */

/* Uses bytes of *in, writes to *out, and moves both on: until there is no room, or no input that
 * helps, of which some may be left then, to be given again before what follows. False: damaged, or
 * out of the ordinary; a PackBits run may not go on into the next row. */
bool expander_run(Expander *expander, const uint8_t **in, size_t *n_in, uint8_t **out,
                  size_t *room);

#endif

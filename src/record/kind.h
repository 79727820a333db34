/* SPDX-License-Identifier: MIT */
/* kind.h: which images have records that merge. */
#ifndef IMGSTAT_RECORD_KIND_H
#define IMGSTAT_RECORD_KIND_H

#include "base/error.h"

/* Returns a copy with its texts in one block, which free() frees; texts that are NULL become "".
 * NULL if memory runs out. */
ImgstatKind *kind_copy(const ImgstatKind *kind);

/* Gives a kind the nodata value of a rule in the one form that a kind has it in. */
void kind_set_nodata(ImgstatKind *kind, bool has_nodata, ImgstatValue nodata);

/* Orders copies: below 0, 0 where they are equal, above 0. */
int kind_compare(const ImgstatKind *a, const ImgstatKind *b);

/* Whether a copy is the kind of images in memory, of which no more is known than their pixels. */
bool kind_is_bare(const ImgstatKind *kind);

/* Whether records of two copies merge: they are equal, or differ in what one bare kind leaves open.
 */
bool kinds_fit(const ImgstatKind *a, const ImgstatKind *b);

/* Whether a copy is the kind of an image. Of that the pixels and colours count, not the rules of
 * reading; bare ones have any colours, and names that are NULL are any. */
bool kind_is_of(const ImgstatKind *kind, const ImgstatKind *image);

enum { KIND_WORDS = 160 };

/* Describes the images of a kind: "rgb u8 images with 3 channels". */
void kind_describe(const ImgstatKind *kind, char text[KIND_WORDS]);

/* Whether a region that is asked for is that of a kind, or none. */
bool kind_has_region(const ImgstatKind *kind, const ImgstatRegion *asked);

/* Says what each of two kinds has that the other has not, such as "u8" and "u16". */
void kinds_differ(const ImgstatKind *a, const ImgstatKind *b, char of_a[KIND_WORDS],
                  char of_b[KIND_WORDS]);

#endif

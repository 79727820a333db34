/* SPDX-License-Identifier: MIT */
/* kind.h: kinds of images. Records of one kind merge. */
#ifndef IMGSTAT_RECORD_KIND_H
#define IMGSTAT_RECORD_KIND_H

#include "base/error.h"

/* Returns a copy with its texts in one block, which free() frees; texts that are NULL become "".
 * NULL if memory runs out. */
ImgstatKind *kind_copy(const ImgstatKind *kind);

/* Whether records keep the texts of a kind whole. */
bool kind_texts_fit(const ImgstatKind *kind);

/* Sets the nodata value of a kind in a normal form, so that equal rules compare equal. */
void kind_set_nodata(ImgstatKind *kind, bool has_nodata, ImgstatValue nodata);

/* Compares copies of kinds, as strcmp compares texts. */
int kind_compare(const ImgstatKind *a, const ImgstatKind *b);

/* Returns whether a copy is bare: of images in memory only the pixels are known. */
bool kind_is_bare(const ImgstatKind *kind);

/* Whether records of two copies merge: the kinds are equal, or differ in what a bare one leaves
 * open. */
bool kinds_fit(const ImgstatKind *a, const ImgstatKind *b);

/* Whether an image is of a kind. Pixels and colours are compared, rules of reading are not. A bare
 * kind matches all colours, and names that are NULL match all names. */
bool kind_is_of(const ImgstatKind *kind, const ImgstatKind *image);

enum { KIND_WORDS = 160 };

/* Describes the images of a kind: "rgb u8 images with 3 channels". */
void kind_describe(const ImgstatKind *kind, char text[KIND_WORDS]);

/* Whether `asked` is the region of a kind, or no region. */
bool kind_has_region(const ImgstatKind *kind, const ImgstatRegion *asked);

/* Describes how two kinds differ, such as "u8" and "u16". */
void kinds_differ(const ImgstatKind *a, const ImgstatKind *b, char of_a[KIND_WORDS],
                  char of_b[KIND_WORDS]);

#endif

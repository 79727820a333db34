/* SPDX-License-Identifier: MIT */
/* shaped_text.h: the JSON in which tifffile describes an array of any number of axes. */
#ifndef IMGSTAT_TIFF_SHAPED_TEXT_H
#define IMGSTAT_TIFF_SHAPED_TEXT_H

#include "tiff/stack_axes.h"

struct json_object;

enum { SHAPED_MOST_AXES = 16, SHAPED_MOST_DEPTH = 16, SHAPED_MOST_BYTES = 1 << 24 };

typedef struct ShapedText {
    size_t n, leading; /* axes; those of planes come first */
    uint32_t size[SHAPED_MOST_AXES];
    char axes[SHAPED_MOST_AXES + 1]; /* a letter for each; "": not named */
    uint64_t planes;                 /* product of the leading sizes; at most UINT32_MAX */
    bool truncated;                  /* one directory stands for all planes */
} ShapedText;

/* Parses a description, to be freed with json_object_put. Returns NULL if it is other JSON or none.
 */
struct json_object *shaped_parse(const char *text);

/* pages: NULL where nothing is known of them. Returns false if the shape makes no sense. */
bool shaped_read(struct json_object *object, const StackPages *pages, ShapedText *out);

#endif

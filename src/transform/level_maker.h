/* SPDX-License-Identifier: MIT */
/* level_maker.h: levels of an image made anew from its written rows, by averaging areas. */
#ifndef IMGSTAT_TRANSFORM_LEVEL_MAKER_H
#define IMGSTAT_TRANSFORM_LEVEL_MAKER_H

#include "codec/encoder.h"

/* A temporary file that all levels of a file go to. */
typedef struct LevelSpool {
    AtomicFile *file; /* NULL: not needed so far */
    uint64_t bytes;
} LevelSpool;

/* The levels of one image. */
typedef struct LevelMaker LevelMaker;

/* Creates a maker without levels, which outlives neither the spool nor the output. */
ImgstatResult level_maker_create(LevelSpool *spool, const AtomicFile *output, LevelMaker **out,
                                 ImgstatError *err);

/* Accepts NULL. */
void level_maker_destroy(LevelMaker *maker);

/* Adds a level. page: its number in the input. */
ImgstatResult level_maker_add(LevelMaker *maker, uint32_t page, uint32_t width, uint32_t height,
                              ImgstatError *err);

/* Begins with an image of that geometry; its rows follow. nodata: NULL, or the value of samples
 * that do not count. */
ImgstatResult level_maker_begin(LevelMaker *maker, const EncodePage *image,
                                const ImgstatValue *nodata, ImgstatError *err);

/* Takes the next rows, of a host image, with the mask of the pixels that they were made from. */
ImgstatResult level_maker_rows(LevelMaker *maker, const ImagePro *rows, ImgstatError *err);

/* Returns the geometry of a level, after all rows of the image. */
EncodePage level_maker_page(const LevelMaker *maker, uint32_t page);

/* Writes the rows of a level whose page was begun. */
ImgstatResult level_maker_write(const LevelMaker *maker, uint32_t page, Encoder *encoder,
                                ImgstatError *err);

/* Returns the bytes that the levels of an image hold while its rows are written, at most. */
uint64_t level_maker_bytes(uint32_t width, uint16_t channels);

#endif

/* SPDX-License-Identifier: MIT */
/* page_reader.h: the pixels of a page, as often as they are needed: kept in memory where they fit,
 * else decoded again band by band. One thread decodes the next band while the others use this one.
 */
#ifndef IMGSTAT_MEASURE_PAGE_READER_H
#define IMGSTAT_MEASURE_PAGE_READER_H

#include "base/cancel.h"
#include "codec/codec.h"
#include "device/device.h"

/* Host memory that a worker keeps from image to image. */
typedef struct BandMemory {
    void *memory;
    size_t bytes;
} BandMemory;

/* Grows the memory to at least `bytes`; what it held is lost then. */
ImgstatResult band_memory_reserve(Device *device, BandMemory *memory, size_t bytes,
                                  ImgstatError *err);
void band_memory_release(Device *device, BandMemory *memory);

typedef struct PageReader {
    Device *device;
    Decoder *decoder; /* NULL: `page` is a whole image of the caller */
    uint16_t planes;  /* channels that are read one after another; 1: all are read together */
    uint16_t plane;   /* the one that is read next */
    ImagePro page;    /* the whole plane where it is kept, else room for one band or two */
    void *pixels;     /* of the first plane */
    bool kept;
    uint16_t filled; /* planes that are kept and decoded */
    bool direct;     /* page_reader_direct is allowed: by whoever opened the reader, and while none
                        fails */
    uint32_t rows;   /* of a band */
    bool measures;   /* page_reader_each masks samples that are lost */
    uint8_t *lost_mask;   /* room for that, as many rows as `page`; NULL: nothing is salvaged */
    ImgstatRegion region; /* that page_reader_each gives; width 0: all */
    const Cancel *cancel;
} PageReader;

/* Returns the bytes of one band in whole tiles of the decoder. A reader may hold two bands;
 * SIZE_MAX on overflow. */
size_t page_reader_band_bytes(const Decoder *decoder);

/* Returns the bytes of a page that is kept; SIZE_MAX on overflow. */
size_t page_reader_whole_bytes(const Decoder *decoder);

/* Opens the page selected. keep: its pixels will be asked for again, and stay in memory. The
 * decoder gets the threads of the device. Planes are images of one channel. */
ImgstatResult page_reader_open(Device *device, Decoder *decoder, bool keep, BandMemory *memory,
                               const Cancel *cancel, PageReader *out, ImgstatError *err);

/* Makes a reader of an image, which is its own only band. */
void page_reader_of_image(Device *device, const ImagePro *image, PageReader *out);

/* Makes page_reader_each give a part of the page, as an image of that size. Fails if the page does
 * not contain it. Width and height 0: the whole page. */
ImgstatResult page_reader_set_region(PageReader *reader, const ImgstatRegion *region,
                                     ImgstatError *err);

/* Makes a plane the one that is read next. The first time, planes come in ascending order. */
void page_reader_set_plane(PageReader *reader, uint16_t plane);

/* Calls use for every row of the plane once, in order, band by band; ends at the first error.
 * Warnings come from the calling thread. The device may still be reading the last band afterwards.
 */
ImgstatResult page_reader_each(PageReader *reader, UseBand use, void *context, ImgstatError *err);

/* Returns whether the threads of the device can read the rows of the page selected: between file
 * and samples there is nothing but reading. */
bool page_reader_direct_rows(const Device *device, const Decoder *decoder);

typedef ImgstatResult (*UseSource)(void *context, const PixelSource *source, ImgstatError *err);

/* What became of a direct read. */
typedef enum DirectRead {
    DIRECT_NONE,    /* this page has no direct read: nothing was used */
    DIRECT_FAILED,  /* pixels could not be read: what use made is of no value */
    DIRECT_COMPLETE /* use was given every pixel */
} DirectRead;

/* Calls use once with a source of all pixels of the plane: of its rows or, if `tiles`, of its
 * strips or tiles of narrow samples. */
ImgstatResult page_reader_direct(PageReader *reader, bool tiles, UseSource use, void *context,
                                 DirectRead *done, ImgstatError *err);

#endif

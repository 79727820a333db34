/* SPDX-License-Identifier: MIT */
/* page_reader.h: reads the pixels of a page as often as needed. They stay in memory if they fit;
 * else they are decoded again band by band. One thread decodes the next band while others use this
 * one. */
#ifndef IMGSTAT_MEASURE_PAGE_READER_H
#define IMGSTAT_MEASURE_PAGE_READER_H

#include "codec/codec.h"
#include "device/device.h"

/* Host memory that a worker keeps from image to image. */
typedef struct BandMemory {
    void *memory;
    size_t bytes;
} BandMemory;

/* Grows the memory to at least `bytes` bytes. Its contents are lost. */
ImgstatResult band_memory_reserve(Device *device, BandMemory *memory, size_t bytes,
                                  ImgstatError *err);
void band_memory_release(Device *device, BandMemory *memory);

typedef struct PageReader {
    Device *device;
    Decoder *decoder; /* NULL: `page` is a whole image of the caller */
    uint16_t planes;  /* channels that are read one after another; 1: all are read together */
    uint16_t plane;   /* that is read next */
    ImagePro page;    /* the whole plane if it is kept, else memory for one band or two */
    void *pixels;     /* of the first plane */
    bool kept;
    uint16_t filled;      /* planes that are kept and decoded */
    bool direct;          /* page_reader_direct may be used; false after a direct read has failed */
    bool tiles_there;     /* bands may be large ones in the device's memory */
    uint32_t rows;        /* of a band */
    bool measures;        /* page_reader_each masks lost samples */
    uint8_t *lost_mask;   /* memory for that mask, with the rows of `page`; NULL: no salvage */
    ImgstatRegion region; /* that page_reader_each passes on; width 0: all */
    struct Extras *extras; /* NULL, or what page_measure makes of the rows as well */
} PageReader;

/* Returns the bytes of one band, in whole tiles of the decoder. Returns SIZE_MAX on overflow. A
 * reader may hold two bands. */
size_t page_reader_band_bytes(const Decoder *decoder);

/* Returns the bytes of a page that is kept in memory. Returns SIZE_MAX on overflow. */
size_t page_reader_whole_bytes(const Decoder *decoder);

/* Opens the page selected, for decoding by the threads of the device. keep: pixels stay in memory,
 * because they are read again. Planes are images of one channel. */
ImgstatResult page_reader_open(Device *device, Decoder *decoder, bool keep, BandMemory *memory,
                               PageReader *out, ImgstatError *err);

/* Returns whether devices that do not fetch decode the page selected, if a reader that does not
 * keep it has tiles_there set. */
bool page_reader_tiles_there(Decoder *decoder);

/* Makes a reader of an image, which is its own only band. */
void page_reader_of_image(Device *device, const ImagePro *image, PageReader *out);

/* Limits page_reader_each to a region, as an image of that size. Fails if the page does not contain
 * it. Width and height 0: the whole page. */
ImgstatResult page_reader_set_region(PageReader *reader, const ImgstatRegion *region,
                                     ImgstatError *err);

/* Makes a plane the next to be read. The first time, planes are read in ascending order. */
void page_reader_set_plane(PageReader *reader, uint16_t plane);

/* Calls use with the bands of the plane, in order. Returns the first error. The calling thread
 * reports warnings. The device may still be reading the last band on return. */
ImgstatResult page_reader_each(PageReader *reader, UseBand use, void *context, ImgstatError *err);

/* Returns whether the threads of the device can read rows of the page selected from the file: its
 * rows need no decoding. */
bool page_reader_direct_rows(const Device *device, const Decoder *decoder);

typedef ImgstatResult (*UseSource)(void *context, const PixelSource *source, ImgstatError *err);

/* The outcome of a direct read. */
typedef enum DirectRead {
    DIRECT_NONE,    /* this page has no direct read: `use` was not called */
    DIRECT_FAILED,  /* some pixels could not be read: the results of `use` are wrong */
    DIRECT_COMPLETE /* `use` received every pixel */
} DirectRead;

/* Calls use once with a source of all pixels of the plane, which reads rows. tiles: the source may
 * read strips or tiles of narrow samples instead. */
ImgstatResult page_reader_direct(PageReader *reader, bool tiles, UseSource use, void *context,
                                 DirectRead *done, ImgstatError *err);

#endif

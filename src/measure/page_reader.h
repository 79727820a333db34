/* SPDX-License-Identifier: MIT */
/* page_reader.h: the pixels of a page, read as often as needed: kept in memory where they fit, else
 * decoded anew band by band; the next band is decoded while one is used. */
#ifndef IMGSTAT_MEASURE_PAGE_READER_H
#define IMGSTAT_MEASURE_PAGE_READER_H

#include "base/cancel.h"
#include "codec/codec.h"
#include "device/device.h"

/* Host memory that a worker keeps from image to image and grows where one needs more. */
typedef struct BandMemory {
    void *memory;
    size_t bytes;
} BandMemory;

ImgstatResult band_memory_reserve(Device *device, BandMemory *memory, size_t bytes,
                                  ImgstatError *err);
void band_memory_release(Device *device, BandMemory *memory);

typedef struct PageReader {
    Device *device;
    Decoder *decoder; /* NULL: `page` is somebody's whole image */
    uint16_t planes;  /* parts of the page that are read one after another; 1: it is not parted */
    uint16_t plane;   /* the one that is read next */
    ImagePro page;    /* all of the plane where it is kept, else room for a band or two */
    void *pixels;     /* of the first plane */
    bool kept;
    uint16_t filled; /* planes that are kept and have been decoded */
    bool direct;     /* whoever opened it allows direct_read, and none has failed */
    uint32_t rows;   /* of a band */
    const Cancel *cancel;
} PageReader;

/* Bytes of a band in whole units of the decoder, of which two may be held, and of a page that is
 * kept; SIZE_MAX if that overflows. */
size_t page_reader_band_bytes(const Decoder *decoder);
size_t page_reader_whole_bytes(const Decoder *decoder);

/* For the page selected. keep: where its pixels will be asked for again. The decoder gets the
 * threads of the device. Where it gives planes, they are images of one channel. */
ImgstatResult page_reader_open(Device *device, Decoder *decoder, bool keep, BandMemory *memory,
                               const Cancel *cancel, PageReader *out, ImgstatError *err);
/* For a host image, which is its own only band. */
void page_reader_of_image(Device *device, const ImagePro *image, PageReader *out);

/* Where nothing is decoded so far, planes come in ascending order. */
void page_reader_set_plane(PageReader *reader, uint16_t plane);

/* Of the page. */
static inline uint16_t page_reader_channels(const PageReader *reader)
{
    return reader->planes > 1 ? reader->planes : reader->page.channels;
}

/* Calls use for every row of the plane once, in order, by bands; ends at the first error. Where the
 * device has threads, one of them has the decoder meanwhile; warnings come from the thread of the
 * call. The device may still be reading the last band. */
ImgstatResult page_reader_each(PageReader *reader, UseBand use, void *context, ImgstatError *err);

#endif

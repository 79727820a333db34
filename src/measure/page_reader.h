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

typedef struct Bands {
    Device *device;
    Decoder *decoder; /* NULL: `page` is somebody's whole image */
    uint16_t planes;  /* parts of the page that are read one after another; 1: it is not parted */
    uint16_t plane;   /* the one that is read next */
    ImagePro page;    /* all of the plane where it is kept, else room for a band or two */
    void *pixels;     /* of the first plane */
    bool kept;
    uint16_t filled;  /* planes that are kept and have been decoded */
    bool unfetchable; /* bands_fetch has failed */
    uint32_t rows;    /* of a band */
    const Cancel *cancel;
} Bands;

/* Bytes of a band in whole units of the decoder, of which two may be held, and of a page that is
 * kept; SIZE_MAX if that overflows. */
size_t bands_least(const Decoder *decoder);
size_t bands_whole(const Decoder *decoder);

/* For the page selected. keep: where its pixels will be asked for again. The decoder gets the
 * threads of the device. Where it gives planes, they are images of one channel. */
ImgstatResult bands_open(Device *device, Decoder *decoder, bool keep, BandMemory *memory,
                         const Cancel *cancel, Bands *out, ImgstatError *err);
/* For a host image, which is its own only band. */
void bands_of_image(Device *device, const ImagePro *image, Bands *out);

/* Where nothing is decoded so far, planes come in ascending order. */
void bands_plane(Bands *bands, uint16_t plane);

/* Of the page. */
static inline uint16_t bands_channels(const Bands *bands)
{
    return bands->planes > 1 ? bands->planes : bands->page.channels;
}

/* Calls use for every row of the plane once, in order, by bands; ends at the first error. Where the
 * device has threads, one of them has the decoder meanwhile; warnings come from the thread of the
 * call. The device may still be reading the last band. */
ImgstatResult bands_each(Bands *bands, UseBand use, void *context, ImgstatError *err);

/* measure/direct_read.c: whether the threads of the device can read the rows of the page selected,
 * or of bands that are not kept, for themselves; */
bool bands_fetches(const Device *device, const Decoder *decoder);
bool bands_fetchable(const Bands *bands);
/* whether they can decode its strips or tiles for themselves, for which it makes the decoder ready:
 * those of narrow samples, which are read once; */
bool bands_chunks_begin(const Bands *bands);
/* where one of both is so, calls use once, for all rows: with an image without memory, for measure
 * and (not of chunks) read only. *complete is false where rows could not be read; what use made is
 * of no value then. */
ImgstatResult bands_fetch(Bands *bands, UseBand use, void *context, bool *complete,
                          ImgstatError *err);

#endif

/* SPDX-License-Identifier: MIT */
/* read_request.h: what one further read of the pixels is to find. */
#ifndef IMGSTAT_DEVICE_READ_REQUEST_H
#define IMGSTAT_DEVICE_READ_REQUEST_H

#include "device/device.h"

/* Everything here is counted in one read. An empty list asks for nothing. */
typedef struct ReadRequest {
    DigitCount *digits;
    size_t n_digits;
    RangeCount *ranges;
    size_t n_ranges;
    KeyGather *gathers;
    size_t n_gathers;
    const uint16_t *sort; /* NULL, or the channel whose keys sort_add takes */
    const double *center; /* with central: one a channel */
    Central *central;     /* NULL: not asked for */
} ReadRequest;

/* The part of a pass that an image of one of its channels alone can answer. */
typedef struct PlanePass {
    ReadRequest pass; /* of channel 0 */
    bool empty;
    void *items;
    const ReadRequest *whole;
    uint16_t channel;
} PlanePass;

/* device/read_plane.c: end, which may be called after a failure too, hands back what was found. */
ImgstatResult pass_of_plane(const ReadRequest *whole, uint16_t channel, PlanePass *out,
                            ImgstatError *err);
void pass_of_plane_end(PlanePass *plane);

/* How the pixels that a record was made from are read again. */
typedef struct FurtherReads {
    /* Reads all of them once: an image, a file's page band by band, or many images. */
    ImgstatResult (*read)(void *context, const ReadRequest *request, ImgstatError *err);
    void *context;
    unsigned threads;   /* that sort the keys that were read; 0: one */
    BufferCache *cache; /* where memory for what is found comes from */
    Device *sorter;     /* NULL, or the device that reads and may sort */
} FurtherReads;

/* The slot `read` of a device that has nothing to gain from looking for all at once. */
ImgstatResult read_in_turn(Device *device, const ImagePro *image, const ReadRequest *pass,
                           ImgstatError *err);

#endif

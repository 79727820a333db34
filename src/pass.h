/* SPDX-License-Identifier: MIT */
/* pass.h: what one further read of the pixels is to find. */
#ifndef IMGSTAT_PASS_H
#define IMGSTAT_PASS_H

#include "device.h"

/* Everything here is counted in one read. An empty list asks for nothing. */
typedef struct Pass {
    DigitCount *digits;
    size_t n_digits;
    RangeCount *ranges;
    size_t n_ranges;
    KeyGather *gathers;
    size_t n_gathers;
    KeyWindow *windows; /* of 32-bit samples; at most WINDOWS_MOST */
    size_t n_windows;
    const uint16_t *sort; /* NULL, or the channel whose keys sort_add takes */
    const double *center; /* with central: one a channel */
    Central *central;     /* NULL: not asked for */
} Pass;

/* The part of a pass that an image of one of its channels alone can answer. */
typedef struct PlanePass {
    Pass pass; /* of channel 0 */
    bool empty;
    void *items;
    const Pass *whole;
    uint16_t channel;
} PlanePass;

/* pass_plane.c: end, which may be called after a failure too, hands back what was found. */
ImgstatResult pass_of_plane(const Pass *whole, uint16_t channel, PlanePass *out, ImgstatError *err);
void pass_of_plane_end(PlanePass *plane);

/* Reads all pixels once: of an image, of a file's page band by band, or of a set of images. */
typedef struct Reader {
    ImgstatResult (*read)(void *context, const Pass *pass, ImgstatError *err);
    void *context;
    unsigned threads;          /* to sort with what was read; 0: one */
    Scratch *scratch;          /* where memory for what is found comes from */
    Device *sorter;            /* NULL, or the device that reads, which may sort, too */
    const struct Guess *guess; /* NULL, or one that holds all order statistics (guess.h) */
} Reader;

/* The slot `read` of a device that has nothing to gain from looking for all at once. */
ImgstatResult pass_in_turn(Device *device, const ImagePro *image, const Pass *pass,
                           ImgstatError *err);

#endif

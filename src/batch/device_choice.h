/* SPDX-License-Identifier: MIT */
/* device_choice.h: the rule behind `--device auto`. */
#ifndef IMGSTAT_BATCH_DEVICE_CHOICE_H
#define IMGSTAT_BATCH_DEVICE_CHOICE_H

#include "imgstat.h"

/* Work beyond opening, decoding and encoding, which the processors do for every device, and
 * decoding that a GPU may do. */
typedef struct WorkSum {
    double pages;
    double cpu_ns;       /* time of one thread */
    double moved_bytes;  /* samples that a GPU reads and writes through its bus */
    double fed_pages;    /* that a GPU can decode, and then counts (batch/feeding.h), */
    double fed_bytes;    /* their samples, */
    double packed_bytes; /* those of them that it then also compresses as PNG, */
    double tiled_bytes;  /* or as strips and tiles of TIFF, */
    double stream_bytes; /* and those in the largest strip, tile or image that is one stream */
    double decode_ns;    /* time of one thread to decode them */
    double band_bytes;   /* samples that a GPU decodes and reads (decode/tile_bands.h), */
    double band_ns;      /* and time of one thread to decode them */
} WorkSum;

/* Adds `times` pages like this one. banded: a GPU decodes them in bands. */
void work_add(WorkSum *sum, const ImgstatPage *page, const ImgstatWork *work, bool banded,
              double times);

/* What becomes of pages that a GPU decodes. */
typedef enum FedOutput { FED_MEASURED, FED_PNG, FED_TIFF } FedOutput;

/* Adds that a GPU can decode `times` pages like this one, and compress them if they are written.
 * stream: most bytes of samples in a strip, a tile, or an image that is one stream. */
void work_add_fed(WorkSum *sum, const ImgstatPage *page, double stream, FedOutput to, double times);

/* Expected seconds of `threads` threads alone, and of those threads with a GPU. */
double work_seconds_cpu(const WorkSum *sum, unsigned threads);
double work_seconds_cuda(const WorkSum *sum, unsigned threads);

#endif

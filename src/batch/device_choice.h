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
    double stream_bytes; /* and those in the largest strip or tile that is not decoded in parts */
    double code_ns;      /* time of one thread to decode them, and to compress what it can write */
    double packed_ns;    /* time of the GPU to compress that */
    double band_bytes;   /* samples that a GPU decodes and reads (decode/tile_bands.h), */
    double band_ns;      /* time of one thread to decode and compress them, */
    double band_left_ns; /* and what it leaves of this */
} WorkSum;

/* Adds `times` pages like this one. banded: a GPU decodes them in bands. */
void work_add(WorkSum *sum, const ImgstatPage *page, const ImgstatWork *work, bool banded,
              double times);

/* What becomes of pages that a GPU decodes. FED_NOT: it does not do that. */
typedef enum FedOutput { FED_NOT, FED_MEASURED, FED_PNG, FED_TIFF } FedOutput;

/* Adds that a GPU can decode `times` pages like this one. stream: most bytes of samples in a strip
 * or tile that it does not decode in parts. file: bytes of the file. */
void work_add_fed(WorkSum *sum, const ImgstatPage *page, double stream, double file, double times);

/* Adds that a GPU can compress these pages. banded: those of the last work_add. */
void work_add_packed(WorkSum *sum, const ImgstatPage *page, FedOutput to, bool fast, bool banded,
                     double times);

/* Expected seconds of `threads` threads alone, and of those threads with a GPU. */
double work_seconds_cpu(const WorkSum *sum, unsigned threads);
double work_seconds_cuda(const WorkSum *sum, unsigned threads);

#endif

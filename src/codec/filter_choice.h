/* SPDX-License-Identifier: MIT */
/* filter_choice.h: how PNG's filters are chosen, for the processor and for kernels. */
#ifndef IMGSTAT_CODEC_FILTER_CHOICE_H
#define IMGSTAT_CODEC_FILTER_CHOICE_H

/* Which filter a row gets. */
typedef enum PngChoice {
    PNG_CHOOSE_NONE,   /* none */
    PNG_CHOOSE_LEAST,  /* that of least cost */
    PNG_CHOOSE_SAMPLED /* that whose cost is least among a quarter of the bytes of a long row */
} PngChoice;

/* Of rows of more than PNG_SAMPLED_ROW bytes the last PNG_SAMPLE of each PNG_SAMPLE_STEP count. */
enum { PNG_SAMPLED_ROW = 1024, PNG_SAMPLE_STEP = 256, PNG_SAMPLE = 64 };

#endif

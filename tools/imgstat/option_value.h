/* SPDX-License-Identifier: MIT */
/* option_value.h: the values of options; a wrong one is answered with what it should be. */
#ifndef IMGSTAT_TOOLS_OPTION_VALUE_H
#define IMGSTAT_TOOLS_OPTION_VALUE_H

#include "options.h"

/* Prints "COMMAND: sentence" to standard error and returns false. */
__attribute__((format(printf, 2, 3))) bool usage_error(const char *command, const char *format,
                                                       ...);

/* Readers of one value each: false after a usage error. option: as the user knows it, "--bins". */

/* A whole number from least to most. */
bool value_count(const char *command, const char *option, const char *text, uint32_t least,
                 uint32_t most, uint32_t *out);
/* A whole number from `least` on; the suffixes K, M, G, T multiply by powers of 1024. */
bool value_size(const char *command, const char *option, const char *text, uint64_t least,
                uint64_t *out);
/* "LO,HI", finite, LO < HI. */
bool value_range(const char *command, const char *option, const char *text, double out[2]);
/* The place of one of `words`, which blanks separate. */
bool value_word(const char *command, const char *option, const char *text, const char *words,
                unsigned *out);
/* "1,50,99.5": adds to the list; a spelling that is there already is not added again. */
bool value_percentiles(const char *command, const char *text, Options *options);

/* Without a message: "128" or "50%"; two of them, "10%,90%". */
bool value_scaled(const char *text, ScaledValue *out);
bool value_scaled_pair(const char *text, ScaledValue *a, ScaledValue *b);

/* Without a message: any number, "nan" and "inf" included; whole ones exactly. */
bool value_sample(const char *text, ImgstatValue *out);

/* Without a message: "X,Y,W,H", whole numbers below 2^32. */
bool value_region(const char *text, ImgstatRegion *out);

/* Without a message: a finite number; two of them, "A,B". */
bool value_real(const char *text, double *out);
bool value_pair(const char *text, double *a, double *b);

#endif

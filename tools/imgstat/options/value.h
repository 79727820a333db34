/* SPDX-License-Identifier: MIT */
/* value.h: readers of option values. The message about a wrong value says what it should
 * be. */
#ifndef IMGSTAT_TOOLS_OPTIONS_VALUE_H
#define IMGSTAT_TOOLS_OPTIONS_VALUE_H

#include "options/options.h"

/* Prints "COMMAND: sentence" to standard error and returns false. */
__attribute__((format(printf, 2, 3))) bool usage_error(const char *command, const char *format,
                                                       ...);

/* Readers of one value each return false after a usage error. option: its name, "--bins". */

/* Reads a whole number from least to most. */
bool value_count(const char *command, const char *option, const char *text, uint32_t least,
                 uint32_t most, uint32_t *out);
/* Reads a whole number from `least` on; the suffixes K, M, G, T multiply by powers of 1024. */
bool value_size(const char *command, const char *option, const char *text, uint64_t least,
                uint64_t *out);
/* Reads "LO,HI", finite, LO < HI. */
bool value_range(const char *command, const char *option, const char *text, double out[2]);
/* Finds the place of a value in `words`, separated by blanks. */
bool value_word(const char *command, const char *option, const char *text, const char *words,
                unsigned *out);
/* Reads "1,50,99.5" and adds it to the list, without repeated spellings. */
bool value_percentiles(const char *text, Options *options);

/* Reads "128" or "50%", without a message. */
bool value_scaled(const char *text, ScaledValue *out);

/* Reads "10%,90%", without a message. */
bool value_scaled_pair(const char *text, ScaledValue *a, ScaledValue *b);

/* Reads any number, "nan" and "inf" included, without a message; whole numbers exactly. */
bool value_sample(const char *text, ImgstatValue *out);

/* Reads "X,Y,W,H", whole numbers below 2^32, without a message. */
bool value_region(const char *text, ImgstatRegion *out);

/* Reads a finite number, without a message. */
bool value_real(const char *text, double *out);

/* Reads two finite numbers, "A,B", without a message. */
bool value_pair(const char *text, double *a, double *b);

#endif

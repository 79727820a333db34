/* SPDX-License-Identifier: MIT */
/* options_value.h: the values of options; a wrong one is answered with what it should be. */
#ifndef IMGSTAT_TOOLS_OPTIONS_VALUE_H
#define IMGSTAT_TOOLS_OPTIONS_VALUE_H

#include "options.h"

#include <argp.h>

/* Both print "COMMAND: sentence" and return EINVAL. */
__attribute__((format(printf, 2, 3))) error_t usage_error(const char *command, const char *format,
                                                          ...);
__attribute__((format(printf, 2, 3))) error_t value_error(const struct argp_state *state,
                                                          const char *format, ...);

/* A whole number from lo to hi. */
error_t value_count(const struct argp_state *state, const char *option, const char *text,
                    uint32_t lo, uint32_t hi, uint32_t *out);
error_t value_count_named(const char *command, const char *option, const char *text, uint32_t lo,
                          uint32_t hi, uint32_t *out);
/* A whole number from 1 on; the suffixes K, M, G, T multiply by powers of 1024. */
error_t value_size(const struct argp_state *state, const char *option, const char *text,
                   uint64_t *out);
/* "LO,HI", finite, LO < HI. */
error_t value_range(const struct argp_state *state, const char *text, double *lo, double *hi);
/* The same without a message: a finite number; two of them, "A,B". */
bool value_real(const char *text, double *out);
bool value_pair(const char *text, double *a, double *b);
/* "1,50,99.5": adds to the list; a spelling that is there already is not added again. */
error_t value_percentiles(const struct argp_state *state, const char *text, Options *options);

#endif

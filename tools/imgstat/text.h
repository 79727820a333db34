/* SPDX-License-Identifier: MIT */
/* text.h: names and numbers as text, whatever bytes and values they hold. */
#ifndef IMGSTAT_TOOLS_TEXT_H
#define IMGSTAT_TOOLS_TEXT_H

#include "imgstat.h"

#include <stdio.h>

/* Long enough for any number that the functions below write. */
enum { TEXT_NUMBER = 48 };

/* Ends the program with a message and exit status 1. */
_Noreturn void text_no_memory(void);
/* Where that message goes while standard error is captured. */
void text_use_stderr(int fd);
/* malloc, or text_no_memory: the program holds too little to recover from that. */
void *text_alloc(size_t bytes);
/* An array of n items with room for one more: the same, or a larger one that takes its place.
 * *capacity and `bytes`: how many items it has room for, and the size of one. */
void *text_room(void *items, size_t n, size_t *capacity, size_t bytes);
/* A copy of a text, to be freed. */
char *text_copy(const char *text);

/* Valid UTF-8: each maximal invalid piece becomes U+FFFD. Freed by the caller. */
char *text_utf8(const char *bytes);
/* For a terminal: as text_utf8, and control characters become '?'. Freed by the caller. */
char *text_display(const char *bytes);
/* Writes a text as that of an element of HTML or SVG, or of an attribute in double quotes. */
void text_put_markup(FILE *out, const char *text);
/* The cause in "name: cause", a sentence of the library about a file of that name (as text_display
 * gives it); the library may have left out the middle of a long name. */
const char *text_cause(const char *sentence, const char *name);
/* Prints "about: warning: cause" for standard error. */
__attribute__((format(printf, 3, 4))) void text_put_warning(FILE *err, const char *about,
                                                            const char *format, ...);
/* The same of a sentence of the library about a file, which must not be taken for an error. */
void text_put_file_warning(FILE *err, const char *path, const char *sentence);
/* The last part of a path, or all of it where that is empty. */
const char *text_base(const char *path);
/* Columns that valid UTF-8 takes on a terminal: 2 for East Asian wide, 0 for combining marks. */
size_t text_width(const char *utf8);
/* A text without its middle, which an ellipsis stands for, where it takes more than so many
 * columns. Freed by the caller. */
char *text_shorten(const char *utf8, size_t columns);
/* Whether the environment's character set is UTF-8. */
bool text_is_utf8(void);

/* Of 15, 16 and 17 digits the fewest that read back as the same double, without ending zeros,
 * always a real ("128.0"); "null" if not finite. */
void text_real(char out[TEXT_NUMBER], double value);
/* As text_real, but whole numbers without ".0" where `whole`: the samples are integers. */
void text_number(char out[TEXT_NUMBER], double value, bool whole);
/* imgstat_record_edge, as text_number. */
void text_edge(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel, uint32_t k,
               bool whole);
/* Of an axis: lo + k (hi - lo) / n, also where hi - lo is more than a double holds. */
double text_point(double lo, double hi, double k, double n);
/* Exact. */
void text_value(char out[TEXT_NUMBER], ImgstatValue value);
/* For people: about six significant digits, at least one decimal place up to 1e15. */
void text_short(char out[TEXT_NUMBER], double value);
/* For people: integers exact, floats as text_short. */
void text_short_value(char out[TEXT_NUMBER], ImgstatValue value);

/* For people: "1,234,567". */
void text_grouped(char out[TEXT_NUMBER], uint64_t n);

/* Percentile k of a record, or IMGSTAT_MEDIAN: a sample's value or a whole number exactly, else a
 * real; "null" where there is none. */
void text_percentile(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel,
                     size_t k);

bool text_is_float(ImgstatSample sample);

#endif

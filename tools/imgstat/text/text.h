/* SPDX-License-Identifier: MIT */
/* text.h: names and numbers as text, whatever bytes and values they hold. */
#ifndef IMGSTAT_TOOLS_TEXT_TEXT_H
#define IMGSTAT_TOOLS_TEXT_TEXT_H

#include "imgstat.h"

#include <locale.h>
#include <stdio.h>

/* Long enough for any number that the functions below write. */
enum { TEXT_NUMBER = 48 };

/* Ends the program with a message and exit status 1. */
_Noreturn void text_no_memory(void);
/* Sets where that message goes while standard error is captured. */
void text_use_stderr(int fd);
/* Works as malloc, but calls text_no_memory on failure: the program holds too little to recover. */
void *text_alloc(size_t bytes);
/* Returns an array of n items with room for one more: the same, or a larger one in its place.
 * *capacity: items that fit; bytes: size of one. */
void *text_room(void *items, size_t n, size_t *capacity, size_t bytes);
/* Returns a copy of a text; the caller frees it. */
char *text_copy(const char *text);

/* Returns a copy of the first `length` bytes; the caller frees it. */
char *text_copy_part(const char *text, size_t length);

/* Returns valid UTF-8: each maximal invalid piece becomes U+FFFD. The caller frees it. */
char *text_utf8(const char *bytes);
/* Returns text for a terminal: as text_utf8, and control characters become '?'. The caller frees
 * it. */
char *text_display(const char *bytes);
/* Writes a text as content of an element of HTML or SVG, or of an attribute in double quotes. */
void text_put_markup(FILE *out, const char *text);
/* Returns the cause in "name: cause", a sentence of the library about a file of that name (as
 * text_display gives it). The library may have shortened a long name. */
const char *text_cause(const char *sentence, const char *name);
/* Whether a sentence of the library begins with the name of this file. */
bool text_names_file(const char *sentence, const char *path);
/* Prints "about: warning: cause" for standard error. */
__attribute__((format(printf, 3, 4))) void text_put_warning(FILE *err, const char *about,
                                                            const char *format, ...);
/* Prints a sentence of the library about a file as a warning. */
void text_put_file_warning(FILE *err, const char *path, const char *sentence);
/* Returns the last part of a path, or all of it if that is empty. */
const char *text_base(const char *path);
/* Returns the columns of valid UTF-8 on a terminal: 2 for East Asian wide, 0 for combining
 * marks. */
size_t text_width(const char *utf8);
/* Returns a text, with an ellipsis for its middle if it takes more than so many columns. The caller
 * frees it. */
char *text_shorten(const char *utf8, size_t columns);
/* Whether the environment's character set is UTF-8. */
bool text_is_utf8(void);

/* Lets the calling thread write and read numbers as in the locale "C", with a point, whatever the
 * locale of a process that runs a command. Returns what uselocale() takes to undo it. */
locale_t text_use_points(void);

/* Writes the fewest of 15, 16 and 17 digits that read back as the same double, without trailing
 * zeros, always as a real ("128.0"); "null" if not finite. */
void text_real(char out[TEXT_NUMBER], double value);
/* Works as text_real, but writes whole numbers without ".0" if `whole`: the samples are
 * integers. */
void text_number(char out[TEXT_NUMBER], double value, bool whole);
/* Writes imgstat_record_edge as text_number does. */
void text_edge(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel, uint32_t k,
               bool whole);
/* Returns lo + k (hi - lo) / n, a point of an axis, also if hi - lo is more than a double holds. */
double text_point(double lo, double hi, double k, double n);
/* Writes a value exactly. */
void text_value(char out[TEXT_NUMBER], ImgstatValue value);
/* Writes a number for people: about six significant digits, at least one decimal place up to
 * 1e15. */
void text_short(char out[TEXT_NUMBER], double value);
/* Writes a value for people: integers exact, floats as text_short. */
void text_short_value(char out[TEXT_NUMBER], ImgstatValue value);
/* Writes a nodata value for people: as text_short_value does, or nan, inf, -inf. */
void text_nodata(char out[TEXT_NUMBER], ImgstatValue value);

/* Writes a count for people: "1,234,567". */
void text_grouped(char out[TEXT_NUMBER], uint64_t n);

/* Writes percentile k of a record, or IMGSTAT_MEDIAN: a sample's value or a whole number exactly,
 * else a real; "null" if undefined. */
void text_percentile(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel,
                     size_t k);
/* Works as text_percentile, for people: whole numbers of integers exactly, else as text_short. */
void text_short_percentile(char out[TEXT_NUMBER], const ImgstatRecord *record, uint16_t channel,
                           size_t k);

bool text_is_float(ImgstatSample sample);

#endif

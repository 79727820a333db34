/* SPDX-License-Identifier: MIT */
/* page_text.h: texts, numbers and bytes as HTML and as JSON in a script of a page. */
#ifndef IMGSTAT_TOOLS_TEXT_PAGE_TEXT_H
#define IMGSTAT_TOOLS_TEXT_PAGE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* The files of tools/imgstat/report, with a NUL. */
extern const char report_page_html[], report_page_css[], report_page_js[];

/* Writes any bytes as text of an element or of an attribute in quotes. */
void page_put_text(FILE *out, const char *bytes);
/* Writes any bytes as a JSON string without its quotes and without "<". */
void page_put_string(FILE *out, const char *bytes);
/* Writes a number for people: four digits; nothing if it is not finite. */
void page_put_number(FILE *out, double value);
/* Writes a number of JSON; null if it is not finite. */
void page_put_real(FILE *out, double value);
void page_put_base64(FILE *out, const void *bytes, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/* csv.h: comma-separated values as RFC 4180 quotes them. */
#ifndef IMGSTAT_TOOLS_PRINT_CSV_H
#define IMGSTAT_TOOLS_PRINT_CSV_H

#include "print/report.h"

#include <stdio.h>

/* Statistics: one row per channel. */
void print_csv_header(FILE *out, const Options *options);
void print_csv_page(FILE *out, const Report *report);

/* Histograms: one row per channel and bin. */
void print_csv_bins_header(FILE *out);
void print_csv_bins(FILE *out, const Report *report);

#endif

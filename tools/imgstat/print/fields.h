/* SPDX-License-Identifier: MIT */
/* fields.h: rows of statistics, of a table or of CSV. */
#ifndef IMGSTAT_TOOLS_PRINT_FIELDS_H
#define IMGSTAT_TOOLS_PRINT_FIELDS_H

#include "print/report.h"

/* Begins a cell of a table that stands right, as numbers do; no name holds it, controls are masked.
 */
enum { CELL_RIGHT = '\x1F' };

/* CSV is exact, and what is undefined is null, as in JSON. Cells of a table end with a tab; their
 * numbers are rounded. */
typedef enum RowStyle { ROW_CSV, ROW_TABLE } RowStyle;

void print_fields_header(FILE *out, const Options *options, const FieldList *fields,
                         RowStyle style);
/* channel: counts where a field is of one. No newline behind it. */
void print_fields_row(FILE *out, const Report *report, uint16_t channel, const FieldList *fields,
                      RowStyle style);

/* A text as RFC 4180 has it. */
void print_csv_text(FILE *out, const char *bytes);

#endif

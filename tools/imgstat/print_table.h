/* SPDX-License-Identifier: MIT */
/* print_table.h: aligned rows for people, for one image as for thousands. */
#ifndef IMGSTAT_TOOLS_PRINT_TABLE_H
#define IMGSTAT_TOOLS_PRINT_TABLE_H

#include "report.h"

#include <stdio.h>

typedef struct Table Table;

/* Rows wait in the table until there are enough of them to choose the widths of the columns;
 * later ones are printed as they come. The first line added is the header. */
Table *table_create(void);
/* Cells are separated by tabs; those that begin with U+001F stand right, the others left. A line
 * without a tab is printed as it stands. Valid UTF-8, without the newline. */
void table_add(Table *table, const char *line);
void table_flush(Table *table);
void table_destroy(Table *table); /* accepts NULL */

/* Lines for table_add. many: several files, so that each row begins with the file's name. */
void print_table_header(FILE *out, const Options *options, bool many);
/* A line on the page's geometry: "scan.tif[2]: TIFF, 640 x 480, rgb, u8". */
void print_table_heading(FILE *out, const Report *report);
void print_table_page(FILE *out, const Report *report, bool many);

#endif

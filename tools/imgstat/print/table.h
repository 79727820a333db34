/* SPDX-License-Identifier: MIT */
/* table.h: aligned rows for people, for one image as for thousands. */
#ifndef IMGSTAT_TOOLS_PRINT_TABLE_H
#define IMGSTAT_TOOLS_PRINT_TABLE_H

#include "print/report.h"

#include <stdio.h>

typedef struct Table Table;

/* Creates a table. It holds rows until there are enough to choose the widths of columns, and prints
 * later ones as they come. The first line added is the header. */
Table *table_create(void);
/* Adds a line of valid UTF-8 without the newline. Tabs separate cells; those that begin with U+001F
 * are aligned right, the others left. A line without a tab is printed as it stands. */
void table_add(Table *table, const char *line);
void table_flush(Table *table);
void table_destroy(Table *table); /* accepts NULL */

/* Prints the header line for table_add. many: several files, so that each row begins with the name
 * of its file. */
void print_table_header(FILE *out, const Options *options, bool many);
/* Prints a line about the page: "scan.tif[2]: TIFF, 640 x 480, rgb, u8". */
void print_table_heading(FILE *out, const Report *report);
void print_table_page(FILE *out, const Report *report, bool many);

#endif

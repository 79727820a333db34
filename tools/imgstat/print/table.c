/* SPDX-License-Identifier: MIT */
/* table.c: chooses column widths from the first rows and keeps to them. */
#include "print/table.h"
#include "print/fields.h"
#include "text/terminal.h"
#include "text/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Enough rows to see the usual widths, few enough to fill one screen at a time. */
enum { WAITING_MAX = 64, WIDEST_NAME = 48, NARROWEST_NAME = 12 };

struct Table {
    char *waiting[WAITING_MAX];
    size_t n_waiting;
    bool fixed;     /* widths are chosen */
    size_t *widths; /* n_columns of them */
    size_t n_columns;
    size_t name;   /* columns that a name may take; longer ones are shortened on a terminal */
    size_t screen; /* columns of the terminal; 0: it is none */
    bool headed;   /* the header is printed */
};

Table *table_create(void)
{
    Table *const table = text_alloc(sizeof *table);
    *table = (Table){.name = WIDEST_NAME, .screen = terminal_width(STDOUT_FILENO)};
    return table;
}

static size_t columns_of(const char *line)
{
    size_t columns = 1;
    for (const char *s = line; *s != '\0'; s++)
        columns += *s == '\t';
    return columns;
}

static void fix_widths(Table *table)
{
    table->n_columns = 1;
    for (size_t i = 0; i < table->n_waiting; i++) {
        const size_t columns = columns_of(table->waiting[i]);
        table->n_columns = columns > table->n_columns ? columns : table->n_columns;
    }
    table->widths = text_alloc(table->n_columns * sizeof *table->widths);
    memset(table->widths, 0, table->n_columns * sizeof *table->widths);
    for (size_t i = 0; i < table->n_waiting; i++) {
        const char *cell = table->waiting[i];
        if (strchr(cell, '\t') == NULL)
            continue;
        for (size_t column = 0; cell != NULL; column++) {
            const char *const tab = strchr(cell, '\t');
            char *const text =
                text_copy_part(cell, tab != NULL ? (size_t)(tab - cell) : strlen(cell));
            size_t width = text_width(text) - (text[0] == CELL_RIGHT);
            if (column == 0 && table->screen == 0 && width > WIDEST_NAME)
                width = WIDEST_NAME;
            if (width > table->widths[column])
                table->widths[column] = width;
            free(text);
            cell = tab != NULL ? tab + 1 : NULL;
        }
    }
    size_t others = 0;
    for (size_t column = 1; column < table->n_columns; column++)
        others += table->widths[column] > 0 ? 2 + table->widths[column] : 0;
    if (table->screen > 0) {
        const size_t room = table->screen > others ? table->screen - others : 0;
        table->name = room > NARROWEST_NAME ? room : NARROWEST_NAME;
        if (table->widths[0] > table->name)
            table->widths[0] = table->name;
    }
    table->fixed = true;
}

static void print_cell(const char *cell, size_t width, bool right, bool last)
{
    const size_t used = text_width(cell);
    const int padding = used < width ? (int)(width - used) : 0;
    if (right)
        printf("%*s%s", padding, "", cell);
    else
        printf("%s%*s", cell, last ? 0 : padding, "");
}

/* The name that a row begins with: on a terminal within its column, else whole on a line of its
 * own where it is wider. */
static void print_name(const Table *table, const char *name)
{
    char *const shown = table->screen > 0 ? text_shorten(name, table->name) : text_copy(name);
    print_cell(shown, table->widths[0], false, false);
    if (text_width(shown) > table->name)
        printf("\n%*s", (int)table->widths[0], "");
    free(shown);
}

static void print_cells(const Table *table, char *line)
{
    const size_t columns = columns_of(line);
    char *rest = line;
    for (size_t column = 0; column < columns; column++) {
        char *const cell = strsep(&rest, "\t");
        const size_t width = column < table->n_columns ? table->widths[column] : 0;
        const bool right = cell[0] == CELL_RIGHT;
        const bool last = column + 1 == columns || (column + 2 == columns && *rest == '\0');
        if (column > 0 && !(column + 1 == columns && cell[0] == '\0'))
            fputs("  ", stdout);
        if (column == 0 && !right)
            print_name(table, cell);
        else
            print_cell(right ? cell + 1 : cell, width, right, last);
    }
}

static void print_line(Table *table, char *line)
{
    const Styles *const styles = terminal_styles(STDOUT_FILENO);
    if (strchr(line, '\t') == NULL) {
        puts(line);
        return;
    }
    const bool header = !table->headed;
    table->headed = true;
    fputs(header ? styles->heading : "", stdout);
    print_cells(table, line);
    puts(header ? styles->end : "");
}

void table_flush(Table *table)
{
    if (!table->fixed)
        fix_widths(table);
    for (size_t i = 0; i < table->n_waiting; i++) {
        print_line(table, table->waiting[i]);
        free(table->waiting[i]);
    }
    table->n_waiting = 0;
}

void table_add(Table *table, const char *line)
{
    table->waiting[table->n_waiting++] = text_copy(line);
    if (table->fixed || table->n_waiting == WAITING_MAX)
        table_flush(table);
}

void table_destroy(Table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->n_waiting; i++)
        free(table->waiting[i]);
    free(table->widths);
    free(table);
}

static FieldList fields_of(const Options *o)
{
    FieldList list = {{FIELD_CHANNEL, FIELD_MIN, FIELD_MAX, FIELD_MEAN, FIELD_STDDEV, FIELD_MEDIAN,
                       FIELD_PERCENTILES},
                      7};
    if (o->shape) {
        fields_add(&list, FIELD_SKEWNESS);
        fields_add(&list, FIELD_KURTOSIS);
    }
    return o->fields.n > 0 ? o->fields : list;
}

void print_table_header(FILE *out, const Options *o, bool many)
{
    const FieldList fields = fields_of(o);
    if (many && o->fields.n == 0)
        fputs(o->by == IMGSTAT_BY_ALL ? "images\t" : "file\t", out);
    print_fields_header(out, o, &fields, ROW_TABLE);
    fputc('\n', out); /* notes have no header */
}

static void put_upper(FILE *out, const char *word)
{
    for (; *word != '\0'; word++)
        fputc(toupper((unsigned char)*word), out);
}

static void put_failed(FILE *out, const MergedImages *merged)
{
    char failed[TEXT_NUMBER], all[TEXT_NUMBER];
    text_grouped(failed, merged->failed);
    text_grouped(all, merged->all_files);
    if (merged->failed > 0)
        fprintf(out, ", %s of %s file%s failed", failed, all, merged->all_files == 1 ? "" : "s");
}

/* "plate 1: 1,234 images, rgb, u8" */
static void put_images(FILE *out, const Report *report)
{
    char *const group = text_display(report->merged->group), *const images = report_images(report);
    fprintf(out, "%s%s%s", group, *group != '\0' ? ": " : "", images);
    free(group);
    free(images);
}

static void put_all(FILE *out, uint64_t images)
{
    char count[TEXT_NUMBER];
    text_grouped(count, images);
    fprintf(out, "%s image%s", count, images == 1 ? "" : "s");
}

void print_table_heading(FILE *out, const Report *report)
{
    const ImgstatPage *const page = report->page;
    if (report->merged != NULL) {
        if (report->merged->several)
            put_all(out, report->merged->all_pages);
        else
            put_images(out, report);
        put_failed(out, report->merged);
        fputc('\n', out);
        return;
    }
    char *const name = text_display(report->name);
    fputs(name, out);
    free(name);
    fputs(report_page_name(report).text, out);
    fputs(": ", out);
    put_upper(out, page->format);
    if (report->n_pages > 1)
        fprintf(out, ", %" PRIu32 " pages", report->n_pages);
    if (report_same_size(report))
        fprintf(out, ", %" PRIu32 " x %" PRIu32, page->width, page->height);
    else
        fputs(", several sizes", out);
    fprintf(out, ", %s, %s", page->photometric, imgstat_sample_name(page->sample));
    if (page->bits != 8 * imgstat_sample_bytes(page->sample))
        fprintf(out, " (%u bit%s used)", page->bits, page->bits == 1 ? "" : "s");
    if (page->has_nodata) {
        char text[TEXT_NUMBER];
        text_nodata(text, page->nodata);
        fprintf(out, ", nodata %s", text);
    }
    fputc('\n', out);
}

/* Which samples the row is not about: rare, so no columns of their own. */
static void put_note(FILE *out, const ImgstatStats *stats)
{
    const struct {
        const char *what;
        uint64_t n;
    } kinds[] = {{"nan", stats->nan},
                 {"inf", stats->inf},
                 {"nodata", stats->nodata},
                 {"masked", stats->masked}};
    const char *separator = "without ";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].n == 0)
            continue;
        fprintf(out, "%s%" PRIu64 " %s", separator, kinds[i].n, kinds[i].what);
        separator = ", ";
    }
}

/* The name once; the pages after it line up below. */
static void put_name(FILE *out, const Report *report)
{
    if (report->merged != NULL) {
        put_images(out, report);
        return;
    }
    const PageName page = report_page_name(report);
    char *const name = text_display(report->name);
    fprintf(out, "%s%s", !report->continues ? name : page.text[0] != '\0' ? "  " : "", page.text);
    if (report->page->role == IMGSTAT_ROLE_LEVEL)
        fputs(" level", out);
    free(name);
}

void print_table_page(FILE *out, const Report *report, bool many)
{
    const Options *const o = report->options;
    const FieldList fields = fields_of(o);
    const uint16_t n = fields_have_channels(&fields) ? imgstat_record_channels(report->record) : 1;
    for (uint16_t c = 0; c < n; c++) {
        ImgstatStats stats;
        imgstat_record_stats(report->record, c, &stats);
        if (many && o->fields.n == 0) {
            if (c == 0)
                put_name(out, report);
            fputc('\t', out);
        }
        print_fields_row(out, report, c, &fields, ROW_TABLE);
        if (o->fields.n == 0)
            put_note(out, &stats);
        fputc('\n', out);
    }
}

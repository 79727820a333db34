/* SPDX-License-Identifier: MIT */
/* fields.c: what each column of statistics says. */
#include "print/fields.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A row that is being written, and what it describes. */
typedef struct Row {
    FILE *out;
    const Report *report;
    uint16_t channel;
    RowStyle style;
    ImgstatStats stats;
} Row;

void print_csv_text(FILE *out, const char *bytes)
{
    char *const utf8 = text_utf8(bytes);
    if (strpbrk(utf8, ",\"\r\n") == NULL) {
        fputs(utf8, out);
    } else {
        fputc('"', out);
        for (const char *s = utf8; *s != '\0'; s++) {
            if (*s == '"')
                fputc('"', out);
            fputc(*s, out);
        }
        fputc('"', out);
    }
    free(utf8);
}

static void put_text(const Row *row, const char *bytes)
{
    if (row->style == ROW_CSV) {
        print_csv_text(row->out, bytes);
        return;
    }
    char *const shown = text_display(bytes);
    fputs(shown, row->out);
    free(shown);
}

static void put_nothing(const Row *row)
{
    fputs(row->style == ROW_CSV ? "null" : "-", row->out);
}

static void put_count(const Row *row, uint64_t n, bool defined)
{
    if (defined)
        fprintf(row->out, "%" PRIu64, n);
    else
        put_nothing(row);
}

static void put_real(const Row *row, double value)
{
    char text[TEXT_NUMBER];
    if (row->style == ROW_CSV)
        text_real(text, value);
    else
        text_short(text, value);
    fputs(text, row->out);
}

static void put_value(const Row *row, ImgstatValue value, bool defined)
{
    char text[TEXT_NUMBER];
    if (!defined) {
        put_nothing(row);
        return;
    }
    if (row->style == ROW_CSV)
        text_value(text, value);
    else
        text_short_value(text, value);
    fputs(text, row->out);
}

/* For people: bounds where no more is known, and rounded. */
static void put_short_percentile(const Row *row, size_t k)
{
    const ImgstatRecord *const record = row->report->record;
    char from[TEXT_NUMBER], to[TEXT_NUMBER];
    double lo, hi;
    if (imgstat_record_bounds(record, row->channel, k, &lo, &hi)) {
        text_short(from, lo);
        text_short(to, hi);
        fprintf(row->out, "%s to %s", from, to);
    } else {
        text_short_percentile(from, record, row->channel, k);
        fputs(from, row->out);
    }
}

static void put_percentile(const Row *row, size_t k)
{
    char text[TEXT_NUMBER];
    if (row->style == ROW_TABLE) {
        put_short_percentile(row, k);
        return;
    }
    text_percentile(text, row->report->record, row->channel, k);
    fputs(text, row->out);
}

static void put_sum(const Row *row)
{
    char sum[TEXT_NUMBER];
    if (row->stats.count > 0 && !text_is_float(row->report->page->sample)) {
        imgstat_record_sum(row->report->record, row->channel, sum);
        fputs(sum, row->out);
    } else {
        put_real(row, row->stats.count > 0 ? row->stats.sum : row->stats.mean); /* no number */
    }
}

/* Writes the page that an extremum is on. */
static void put_page_of(const Row *row, uint32_t page)
{
    if (row->stats.count == 0)
        put_nothing(row);
    else if (row->report->merged != NULL)
        put_count(row, page, true);
    else
        put_text(row, report_name_of(row->report, page).text);
}

/* Writes a field that says something about the image. */
static void put_of_image(const Row *row, Field field)
{
    const Report *const report = row->report;
    const ImgstatPage *const page = report->page;
    const MergedImages *const merged = report->merged;
    const bool has_size = merged == NULL && report_same_size(report);
    char *pages;
    switch (field) {
    case FIELD_FILE:
        put_text(row, report->name);
        break;
    case FIELD_PAGE:
        if (merged != NULL) {
            put_nothing(row);
            break;
        }
        pages = report_page_list(report);
        put_text(row, pages);
        free(pages);
        break;
    case FIELD_PAGES:
        put_count(row, merged != NULL ? merged->pages : page->pages, true);
        break;
    case FIELD_FORMAT:
        if (merged != NULL)
            put_nothing(row);
        else
            put_text(row, page->format);
        break;
    case FIELD_WIDTH:
        put_count(row, page->width, has_size);
        break;
    case FIELD_HEIGHT:
        put_count(row, page->height, has_size);
        break;
    case FIELD_SAMPLE:
        put_text(row, imgstat_sample_name(page->sample));
        break;
    case FIELD_BITS:
        put_count(row, page->bits, true);
        break;
    case FIELD_PHOTOMETRIC:
        put_text(row, page->photometric);
        break;
    case FIELD_DEVICE:
        put_text(row, report->device);
        break;
    case FIELD_HASH:
        put_text(row, report_hash(report).text);
        break;
    case FIELD_FILES:
        put_count(row, merged != NULL ? merged->files : 1, true);
        break;
    case FIELD_FAILED:
        put_count(row, merged != NULL ? merged->failed : 0, merged != NULL);
        break;
    default:
        break;
    }
}

/* Writes a field of a channel. */
static void put_of_channel(const Row *row, Field field)
{
    const ImgstatStats *const s = &row->stats;
    const bool any = s->count > 0;
    const bool has_min = any && s->min_width > 0, has_max = any && s->max_width > 0;
    switch (field) {
    case FIELD_CHANNEL:
        put_text(row, report_channel(row->report, row->channel));
        break;
    case FIELD_COUNT:
        put_count(row, s->count, true);
        break;
    case FIELD_NAN:
        put_count(row, s->nan, true);
        break;
    case FIELD_INF:
        put_count(row, s->inf, true);
        break;
    case FIELD_NODATA:
        put_count(row, s->nodata, true);
        break;
    case FIELD_MASKED:
        put_count(row, s->masked, true);
        break;
    case FIELD_MIN_X:
        put_count(row, has_min ? s->min_at % s->min_width : 0, has_min);
        break;
    case FIELD_MIN_Y:
        put_count(row, has_min ? s->min_at / s->min_width : 0, has_min);
        break;
    case FIELD_MAX_X:
        put_count(row, has_max ? s->max_at % s->max_width : 0, has_max);
        break;
    case FIELD_MAX_Y:
        put_count(row, has_max ? s->max_at / s->max_width : 0, has_max);
        break;
    case FIELD_MIN_PAGE:
        put_page_of(row, s->min_page);
        break;
    case FIELD_MAX_PAGE:
        put_page_of(row, s->max_page);
        break;
    case FIELD_MIN:
        put_value(row, s->min, any);
        break;
    case FIELD_MAX:
        put_value(row, s->max, any);
        break;
    case FIELD_MIN_FILE:
    case FIELD_MAX_FILE:
        if (any && row->report->merged != NULL)
            put_text(row, field == FIELD_MIN_FILE ? s->min_file : s->max_file);
        else
            put_nothing(row);
        break;
    case FIELD_SUM:
        put_sum(row);
        break;
    case FIELD_MEAN:
        put_real(row, s->mean);
        break;
    case FIELD_STDDEV:
        put_real(row, s->stddev);
        break;
    case FIELD_MEDIAN:
        put_percentile(row, IMGSTAT_MEDIAN);
        break;
    case FIELD_MODE:
        put_value(row, s->mode, any && report_has_mode(row->report));
        break;
    case FIELD_ENTROPY:
        put_real(row, s->entropy);
        break;
    case FIELD_LOW:
        put_count(row, s->low, s->low != IMGSTAT_COUNT_UNKNOWN);
        break;
    case FIELD_HIGH:
        put_count(row, s->high, s->high != IMGSTAT_COUNT_UNKNOWN);
        break;
    case FIELD_SKEWNESS:
        put_real(row, s->skewness);
        break;
    case FIELD_KURTOSIS:
        put_real(row, s->kurtosis);
        break;
    default:
        break;
    }
}

static void begin_cell(FILE *out, Field field, bool first, RowStyle style)
{
    if (style == ROW_CSV)
        fputs(first ? "" : ",", out);
    else if (!field_table[field].is_text)
        fputc(CELL_RIGHT, out);
}

static void end_cell(FILE *out, RowStyle style)
{
    if (style == ROW_TABLE)
        fputc('\t', out);
}

void print_fields_header(FILE *out, const Options *options, const FieldList *fields, RowStyle style)
{
    for (size_t i = 0; i < fields->n; i++) {
        const Field field = fields->items[i];
        const bool several = field == FIELD_PERCENTILES;
        for (size_t k = 0; k < (several ? options->n_percentiles : 1); k++) {
            begin_cell(out, field, i + k == 0, style);
            if (!several)
                fputs(field_table[field].name, out);
            else
                fprintf(out, style == ROW_CSV ? "p%s" : "%s%%", options->percentile_keys[k]);
            end_cell(out, style);
        }
    }
}

void print_fields_row(FILE *out, const Report *report, uint16_t channel, const FieldList *fields,
                      RowStyle style)
{
    Row row = {.out = out, .report = report, .channel = channel, .style = style};
    imgstat_record_stats(report->record, channel, &row.stats);
    for (size_t i = 0; i < fields->n; i++) {
        const Field field = fields->items[i];
        const bool several = field == FIELD_PERCENTILES;
        for (size_t k = 0; k < (several ? report->options->n_percentiles : 1); k++) {
            begin_cell(out, field, i + k == 0, style);
            if (several)
                put_percentile(&row, k);
            else if (field_table[field].of_channel)
                put_of_channel(&row, field);
            else
                put_of_image(&row, field);
            end_cell(out, style);
        }
    }
}

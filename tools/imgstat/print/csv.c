/* SPDX-License-Identifier: MIT */
/* csv.c: rows of statistics and of histogram bins. What is undefined is null, as in JSON. */
#include "print/csv.h"
#include "print/fields.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_edge(FILE *out, const Report *report, uint16_t channel, uint32_t k)
{
    char text[TEXT_NUMBER];
    text_edge(text, report->record, channel, k, !text_is_float(report->page->sample));
    fprintf(out, ",%s", text);
}

static FieldList fields_of(const Options *o)
{
    FieldList list = {.n = 0};
    const bool grouped = o->by == IMGSTAT_BY_CHANNEL || o->by == IMGSTAT_BY_FILE;
    for (int i = 0; i < N_FIELDS && o->fields.n == 0; i++) {
        const Field field = (Field)i;
        const bool is_place = field == FIELD_MIN_PAGE || field == FIELD_MAX_PAGE;
        const bool is_of_set = field >= FIELD_MIN_FILE && field <= FIELD_FAILED;
        const bool is_shape = field == FIELD_SKEWNESS || field == FIELD_KURTOSIS;
        if ((field != FIELD_HASH || o->hash) && (!is_shape || o->shape) &&
            (!is_place || grouped || o->by == IMGSTAT_BY_ALL) &&
            (!is_of_set || o->by == IMGSTAT_BY_ALL))
            fields_add(&list, field);
    }
    return o->fields.n > 0 ? o->fields : list;
}

void print_csv_header(FILE *out, const Options *options)
{
    const FieldList fields = fields_of(options);
    print_fields_header(out, options, &fields, ROW_CSV);
    fputc('\n', out);
}

void print_csv_page(FILE *out, const Report *report)
{
    const FieldList fields = fields_of(report->options);
    const uint16_t n = fields_have_channels(&fields) ? imgstat_record_channels(report->record) : 1;
    for (uint16_t c = 0; c < n; c++) {
        print_fields_row(out, report, c, &fields, ROW_CSV);
        fputc('\n', out);
    }
}

void print_csv_bins_header(FILE *out)
{
    fputs("file,page,channel,bin,lo,hi,count,cdf\n", out);
}

void print_csv_bins(FILE *out, const Report *report)
{
    const uint16_t n = imgstat_record_channels(report->record);
    char *const name = text_utf8(report->name);
    char *const pages = report->merged != NULL ? text_copy("null") : report_page_list(report);
    for (uint16_t c = 0; c < n; c++) {
        ImgstatHistogram histogram;
        if (!imgstat_record_histogram(report->record, c, &histogram))
            continue;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < histogram.bins; i++) {
            sum += histogram.counts[i];
            print_csv_text(out, name);
            fputc(',', out);
            print_csv_text(out, pages);
            fputc(',', out);
            print_csv_text(out, report_channel(report, c));
            fprintf(out, ",%" PRIu32, i);
            put_edge(out, report, c, i);
            put_edge(out, report, c, histogram.per_value ? i : i + 1); /* ends there */
            fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", histogram.counts[i], sum);
        }
    }
    free(name);
    free(pages);
}

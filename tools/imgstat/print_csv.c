/* SPDX-License-Identifier: MIT */
/* print_csv.c: rows of statistics and of histogram bins. What is undefined is null, as in JSON. */
#include "print_csv.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_text(FILE *out, const char *bytes)
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

static void put_real(FILE *out, double value)
{
    char text[TEXT_NUMBER];
    text_real(text, value);
    fprintf(out, ",%s", text);
}

static void put_edge(FILE *out, const Report *report, uint16_t channel, uint32_t k)
{
    char text[TEXT_NUMBER];
    text_edge(text, report->record, channel, k, !text_is_float(report->page->sample));
    fprintf(out, ",%s", text);
}

static void put_percentile(FILE *out, const Report *report, uint16_t channel, size_t k)
{
    char text[TEXT_NUMBER];
    text_percentile(text, report->record, channel, k);
    fprintf(out, ",%s", text);
}

static void put_value(FILE *out, ImgstatValue value, bool defined)
{
    char text[TEXT_NUMBER] = "null";
    if (defined)
        text_value(text, value);
    fprintf(out, ",%s", text);
}

static void put_position(FILE *out, uint64_t at, uint32_t width, bool defined)
{
    if (defined)
        fprintf(out, ",%" PRIu64 ",%" PRIu64, at % width, at / width);
    else
        fputs(",null,null", out);
}

/* Whether positions need the page that they are on. */
static bool is_grouped(const Options *options)
{
    return options->by == IMGSTAT_BY_CHANNEL || options->by == IMGSTAT_BY_FILE;
}

/* What was measured, of a file. */
static void put_pages(FILE *out, const Report *report)
{
    const ImgstatPage *const page = report->page;
    char *const pages = report_page_list(report);
    fputc(',', out);
    put_text(out, pages);
    free(pages);
    fprintf(out, ",%" PRIu32 ",%s,", page->pages, page->format);
    if (report_same_size(report))
        fprintf(out, "%" PRIu32 ",%" PRIu32, page->width, page->height);
    else
        fputs("null,null", out);
}

/* Where the extrema of a data set are, and what it is of. */
static void put_files(FILE *out, const MergedImages *merged, const ImgstatStats *stats)
{
    if (stats->count > 0) {
        fprintf(out, ",%" PRIu32 ",%" PRIu32 ",", stats->min_page, stats->max_page);
        put_text(out, stats->min_file);
        fputc(',', out);
        put_text(out, stats->max_file);
    } else {
        fputs(",null,null,null,null", out);
    }
    fprintf(out, ",%" PRIu64 ",%zu", merged->files, merged->failed);
}

static void put_channel(FILE *out, const Report *report, uint16_t channel)
{
    const Options *const o = report->options;
    const ImgstatPage *const page = report->page;
    const bool whole = !text_is_float(page->sample);
    ImgstatStats stats;
    imgstat_record_stats(report->record, channel, &stats);
    const bool any = stats.count > 0;
    char sum[TEXT_NUMBER];
    imgstat_record_sum(report->record, channel, sum);

    put_text(out, report->name);
    if (report->merged != NULL)
        fprintf(out, ",null,%" PRIu64 ",null,null,null", report->merged->pages);
    else
        put_pages(out, report);
    fprintf(out, ",%s,%u,", imgstat_sample_name(page->sample), page->bits);
    put_text(out, page->photometric);
    fprintf(out, ",%s,", report->device);
    if (o->hash)
        fprintf(out, "%s,", report_hash(report).text);
    put_text(out, report_channel(report, channel));
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, stats.count,
            stats.nan, stats.inf, stats.nodata, stats.masked);
    put_value(out, stats.min, any);
    put_value(out, stats.max, any);
    put_position(out, stats.min_at, stats.min_width, any && stats.min_width > 0);
    put_position(out, stats.max_at, stats.max_width, any && stats.max_width > 0);
    if (report->merged != NULL)
        put_files(out, report->merged, &stats);
    else if (any && is_grouped(o))
        fprintf(out, ",%s,%s", report_name_of(report, stats.min_page).text,
                report_name_of(report, stats.max_page).text);
    else if (is_grouped(o))
        fputs(",null,null", out);
    if (any && whole)
        fprintf(out, ",%s", sum);
    else
        put_real(out, any ? stats.sum : stats.mean); /* the mean of nothing is no number */
    put_real(out, stats.mean);
    put_real(out, stats.stddev);
    put_percentile(out, report, channel, IMGSTAT_MEDIAN);
    put_value(out, stats.mode, any && report_has_mode(report));
    put_real(out, stats.entropy);
    if (o->shape) {
        put_real(out, stats.skewness);
        put_real(out, stats.kurtosis);
    }
    for (size_t k = 0; k < o->n_percentiles; k++)
        put_percentile(out, report, channel, k);
    fputc('\n', out);
}

void print_csv_header(FILE *out, const Options *options)
{
    fprintf(out,
            "file,page,pages,format,width,height,sample,bits,photometric,device,%schannel,"
            "count,nan,inf,nodata,masked,min,max,min_x,min_y,max_x,max_y,",
            options->hash ? "hash," : "");
    if (is_grouped(options))
        fputs("min_page,max_page,", out);
    if (options->by == IMGSTAT_BY_ALL)
        fputs("min_page,max_page,min_file,max_file,files,failed,", out);
    fputs("sum,mean,stddev,median,mode,entropy", out);
    if (options->shape)
        fputs(",skewness,kurtosis", out);
    for (size_t k = 0; k < options->n_percentiles; k++)
        fprintf(out, ",p%s", options->percentile_keys[k]);
    fputc('\n', out);
}

void print_csv_page(FILE *out, const Report *report)
{
    const uint16_t n = imgstat_record_channels(report->record);
    for (uint16_t c = 0; c < n; c++)
        put_channel(out, report, c);
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
            put_text(out, name);
            fputc(',', out);
            put_text(out, pages);
            fputc(',', out);
            put_text(out, report_channel(report, c));
            fprintf(out, ",%" PRIu32, i);
            put_edge(out, report, c, i);
            put_edge(out, report, c, histogram.per_value ? i : i + 1); /* ends there */
            fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", histogram.counts[i], sum);
        }
    }
    free(name);
    free(pages);
}

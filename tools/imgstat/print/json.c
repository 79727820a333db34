/* SPDX-License-Identifier: MIT */
/* json.c: pages, outputs and errors as JSON. */
#include "print/json.h"
#include "text/json_line.h"
#include "text/memory_stream.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_object *new_edge(const Report *report, uint16_t channel, uint32_t k)
{
    char text[TEXT_NUMBER];
    text_edge(text, report->record, channel, k, !text_is_float(report->page->sample));
    return line_raw(text);
}

static json_object *new_position(uint64_t at, uint32_t width, bool defined)
{
    char text[TEXT_NUMBER] = "null";
    if (defined && width > 0)
        snprintf(text, sizeof text, "[%" PRIu64 ",%" PRIu64 "]", at % width, at / width);
    return line_raw(text);
}

/* The counts, or their inclusive prefix sums. One raw text, not one object per bin: a page can
 * have millions of them. */
static json_object *new_counts(const ImgstatHistogram *histogram, bool cumulate)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const stream = memory_stream_open(&text, &bytes);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < histogram->bins; i++) {
        sum = cumulate ? sum + histogram->counts[i] : histogram->counts[i];
        fprintf(stream, "%c%" PRIu64, i == 0 ? '[' : ',', sum);
    }
    fputc(']', stream);
    memory_stream_close(stream);
    json_object *const counts = line_raw(text);
    free(text);
    return counts;
}

static json_object *new_histogram(const Report *report, uint16_t channel,
                                  const ImgstatHistogram *histogram)
{
    json_object *const object = line_object();
    line_add(object, "lo", new_edge(report, channel, 0));
    line_add(object, "hi", new_edge(report, channel, histogram->bins));
    line_add(object, "bins", line_count(histogram->bins));
    line_add(object, "counts", new_counts(histogram, false));
    return object;
}

static json_object *new_percentile(const Report *report, uint16_t channel, size_t k)
{
    char text[TEXT_NUMBER];
    text_percentile(text, report->record, channel, k);
    return line_raw(text);
}

static void add_bounds(json_object *object, const char *key, const Report *report, uint16_t channel,
                       size_t k)
{
    double lo, hi;
    char text[2 * TEXT_NUMBER + 4], from[TEXT_NUMBER], to[TEXT_NUMBER];
    const bool whole = !text_is_float(report->page->sample);
    if (!imgstat_record_bounds(report->record, channel, k, &lo, &hi))
        return;
    text_number(from, lo, whole);
    text_number(to, hi, whole);
    snprintf(text, sizeof text, "[%s,%s]", from, to);
    line_add(object, key, line_raw(text));
}

/* Adds what is known of percentiles that are null, which the pixels were not read again for. */
static void add_all_bounds(json_object *object, const Report *report, uint16_t channel)
{
    const Options *const o = report->options;
    json_object *const bounds = line_object();
    add_bounds(bounds, "median", report, channel, IMGSTAT_MEDIAN);
    for (size_t k = 0; k < o->n_percentiles; k++)
        add_bounds(bounds, o->percentile_keys[k], report, channel, k);
    if (json_object_object_length(bounds) > 0)
        line_add(object, "bounds", bounds);
    else
        json_object_put(bounds);
}

static json_object *new_percentiles(const Report *report, uint16_t channel)
{
    const Options *const o = report->options;
    json_object *const object = line_object();
    for (size_t k = 0; k < o->n_percentiles; k++)
        line_add(object, o->percentile_keys[k], new_percentile(report, channel, k));
    return object;
}

/* Adds the number of a page, and the name of one in a SubIFD, which no number is. prefix: "", or
 * "min_" and the like. */
static void add_page_keys(json_object *object, const char *prefix, uint32_t page, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "%spage", prefix);
    line_add(object, key, line_count(page));
    if (strchr(name, '.') == NULL)
        return;
    snprintf(key, sizeof key, "%spage_name", prefix);
    line_add(object, key, line_string(name));
}

static void add_page(json_object *object, uint32_t page, const char *name)
{
    add_page_keys(object, "", page, name);
}

/* Adds the page that an extremum is on. */
static void add_page_of(json_object *object, const char *prefix, const Report *report,
                        uint32_t page, bool defined)
{
    char key[32];
    if (defined) {
        add_page_keys(object, prefix, page, report_name_of(report, page).text);
        return;
    }
    snprintf(key, sizeof key, "%spage", prefix);
    line_add(object, key, line_raw("null"));
}

/* Where an extremum of a data set is. */
static json_object *new_place(const char *file, uint32_t page, uint64_t at, uint32_t width,
                              bool defined)
{
    if (!defined)
        return line_raw("null");
    json_object *const place = line_object();
    line_add(place, "file", line_string(file));
    line_add(place, "page", line_count(page));
    line_add(place, "at", new_position(at, width, true));
    return place;
}

static void add_positions(json_object *object, const Report *report, const ImgstatStats *stats)
{
    const bool any = stats->count > 0;
    if (report->merged != NULL) {
        line_add(object, "min_at",
                 new_place(stats->min_file, stats->min_page, stats->min_at, stats->min_width, any));
        line_add(object, "max_at",
                 new_place(stats->max_file, stats->max_page, stats->max_at, stats->max_width, any));
        return;
    }
    line_add(object, "min_at", new_position(stats->min_at, stats->min_width, any));
    line_add(object, "max_at", new_position(stats->max_at, stats->max_width, any));
    if (report->by == IMGSTAT_BY_PAGE)
        return;
    add_page_of(object, "min_", report, stats->min_page, any);
    add_page_of(object, "max_", report, stats->max_page, any);
}

static json_object *new_channel(const Report *report, uint16_t channel)
{
    const Options *const o = report->options;
    const bool whole = !text_is_float(report->page->sample);
    ImgstatStats stats;
    imgstat_record_stats(report->record, channel, &stats);
    const bool any = stats.count > 0;
    char sum[TEXT_NUMBER];
    imgstat_record_sum(report->record, channel, sum);

    json_object *const object = line_object();
    line_add(object, "name", line_string(report_channel(report, channel)));
    line_add(object, "count", line_count(stats.count));
    line_add(object, "nan", line_count(stats.nan));
    line_add(object, "inf", line_count(stats.inf));
    line_add(object, "nodata", line_count(stats.nodata));
    if (stats.masked > 0) /* few images have a mask */
        line_add(object, "masked", line_count(stats.masked));
    line_add(object, "min", line_value(stats.min, any));
    line_add(object, "max", line_value(stats.max, any));
    add_positions(object, report, &stats);
    line_add(object, "sum", !any ? line_raw("null") : whole ? line_raw(sum) : line_real(stats.sum));
    line_add(object, "mean", line_real(stats.mean));
    line_add(object, "stddev", line_real(stats.stddev));
    line_add(object, "median", new_percentile(report, channel, IMGSTAT_MEDIAN));
    if (report_has_mode(report))
        line_add(object, "mode", line_value(stats.mode, any));
    line_add(object, "entropy", line_real(stats.entropy));
    line_add(object, "low", line_count(stats.low));
    line_add(object, "high", line_count(stats.high));
    if (o->shape) {
        line_add(object, "skewness", line_real(stats.skewness));
        line_add(object, "kurtosis", line_real(stats.kurtosis));
    }
    if (o->n_percentiles > 0)
        line_add(object, "percentiles", new_percentiles(report, channel));
    add_all_bounds(object, report, channel);
    ImgstatHistogram histogram;
    if ((o->histogram || o->cdf) && imgstat_record_histogram(report->record, channel, &histogram)) {
        if (o->histogram)
            line_add(object, "histogram", new_histogram(report, channel, &histogram));
        if (o->cdf)
            line_add(object, "cdf", new_counts(&histogram, true));
    }
    return object;
}

/* The part of a page that was measured, where it is not all. */
static void add_region(json_object *object, const ImgstatRegion *region)
{
    if (region->width == 0)
        return;
    char text[4 * TEXT_NUMBER];
    snprintf(text, sizeof text, "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", region->x,
             region->y, region->width, region->height);
    line_add(object, "region", line_raw(text));
}

/* What was measured: a page, or a group of pages. */
static void add_pages(json_object *object, const Report *report)
{
    const ImgstatPage *const page = report->page;
    if (report->by == IMGSTAT_BY_PAGE) {
        add_page(object, page->page, report_name_of(report, page->page).text);
    } else {
        const bool channel = report->by == IMGSTAT_BY_CHANNEL;
        char *const list = report_page_list(report);
        line_add(object, "by", line_string(channel ? "channel" : "file"));
        if (channel) {
            line_add(object, "c", line_count(page->axis_c));
            line_add(object, "channel", line_string(page->axis_name));
        }
        line_add(object, "page_list", line_string(list));
        free(list);
    }
    line_add(object, "pages", line_count(page->pages));
}

/* Which page of which file, and how large. */
static void add_image(json_object *object, const Report *report)
{
    const ImgstatPage *const page = report->page;
    const bool same_size = report_same_size(report);
    add_pages(object, report);
    if (report->options->levels)
        line_add(object, "role", line_string(imgstat_role_name(page->role)));
    line_add(object, "format", line_string(page->format));
    line_add(object, "width", same_size ? line_count(page->width) : line_raw("null"));
    line_add(object, "height", same_size ? line_count(page->height) : line_raw("null"));
    add_region(object, &report->options->region);
}

/* Which images of a data set, and how they were read. */
static void add_images(json_object *object, const MergedImages *merged)
{
    line_add(object, "files", line_count(merged->files));
    line_add(object, "pages", line_count(merged->pages));
    line_add(object, "group", line_string(merged->group));
    line_add(object, "failed", line_count(merged->failed));
    add_region(object, &merged->kind.region);
    if (merged->kind.has_nodata) { /* integers: null is a number that none of them has */
        const bool whole = !text_is_float(merged->kind.sample);
        line_add(object, "nodata",
                 whole ? line_value(merged->kind.nodata, true) : line_nodata(merged->kind.nodata));
    }
}

static bool has_key(const FieldInfo *info, const char *key)
{
    const size_t length = strlen(key);
    const char *at = info->keys;
    while (strncmp(at, key, length) != 0 || (at[length] != ' ' && at[length] != '\0')) {
        at += strcspn(at, " ");
        if (*at++ == '\0')
            return false;
    }
    return true;
}

/* Removes what is not among these fields. */
static void keep_fields(json_object *object, const FieldList *fields, bool of_channel)
{
    static const char asked[] = " channels histogram cdf "; /* by options of their own */
    json_object_object_foreach(object, key, value)
    {
        char word[64];
        bool kept = false;
        (void)value;
        snprintf(word, sizeof word, " %s ", key);
        for (size_t i = 0; i < fields->n; i++) {
            const FieldInfo *const info = &field_table[fields->items[i]];
            kept = kept || (info->of_channel == of_channel && has_key(info, key));
        }
        if (!kept && strstr(asked, word) == NULL)
            json_object_object_del(object, key);
    }
}

void print_json_page(FILE *out, const Report *report)
{
    const ImgstatPage *const page = report->page;
    json_object *const object = line_object();
    line_add(object, "file", line_string(report->name));
    if (report->merged != NULL)
        add_images(object, report->merged);
    else
        add_image(object, report);
    line_add(object, "sample", line_string(imgstat_sample_name(page->sample)));
    line_add(object, "bits", line_count(page->bits));
    line_add(object, "photometric", line_string(page->photometric));
    if (report->merged == NULL) /* a data set may be of several */
        line_add(object, "device", line_string(report->device));
    if (report->options->hash)
        line_add(object, "hash", line_string(report_hash(report).text));
    json_object *const channels = line_array();
    const uint16_t n = imgstat_record_channels(report->record);
    const FieldList *const fields = &report->options->fields;
    for (uint16_t c = 0; c < n; c++) {
        json_object *const channel = new_channel(report, c);
        if (fields->n > 0)
            keep_fields(channel, fields, true);
        line_append(channels, channel);
    }
    line_add(object, "channels", channels);
    if (report->warnings->n > 0)
        line_add(object, "warnings", line_sentences(report->warnings));
    if (fields->n > 0)
        keep_fields(object, fields, false);
    if (fields->n > 0 && !fields_have_channels(fields) && !report->options->histogram &&
        !report->options->cdf)
        json_object_object_del(object, "channels");
    line_print(out, object);
}

void print_json_error(FILE *out, const char *name, const uint32_t *page, const char *word,
                      const char *sentence)
{
    json_object *const object = line_object();
    line_add(object, "file", line_string(name));
    if (page != NULL)
        line_add(object, "page", line_count(*page));
    line_add(object, "error", line_string(word));
    line_add(object, "message", line_string(sentence));
    line_print(out, object);
}

/* The beginning of a line about an output. */
static json_object *new_output(const ImgstatJob *job)
{
    json_object *const object = line_object();
    line_add(object, "file", line_string(job->input));
    line_add(object, "output", line_string(job->output));
    return object;
}

static json_object *new_clamped(const ImgstatClamped *clamped)
{
    const double n = clamped->n > 0 ? (double)clamped->n : 1;
    json_object *const object = line_object();
    line_add(object, "samples", line_count(clamped->n));
    line_add(object, "low", line_count(clamped->low));
    line_add(object, "high", line_count(clamped->high));
    line_add(object, "share", line_real((double)(clamped->low + clamped->high) / n));
    return object;
}

void print_json_output(FILE *out, const ImgstatJob *job, const ImgstatDone *done,
                       const ImgstatRegion *region, const Sentences *warnings)
{
    if (done->skipped) {
        json_object *const object = new_output(job);
        line_add(object, "skipped", line_boolean(true));
        line_print(out, object);
        return;
    }
    static const Sentences none = {0};
    for (size_t i = 0; i < done->n_mapped; i++) {
        const ImgstatMapped *const mapped = &done->mapped[i];
        json_object *const object = new_output(job);
        add_page(object, mapped->page, mapped->name);
        line_add(object, "pages", line_count(mapped->pages));
        add_region(object, region);
        line_add(object, "group", line_count(mapped->group));
        line_add(object, "groups", line_count(mapped->groups));
        line_add(object, "transfer", line_raw(mapped->transfer));
        if (mapped->has_clamped)
            line_add(object, "clamped", new_clamped(&mapped->clamped));
        line_add(object, "warnings", line_sentences(i == 0 ? warnings : &none));
        line_print(out, object);
    }
}

void print_json_plan(FILE *out, const ImgstatJob *job, bool exists)
{
    json_object *const object = new_output(job);
    line_add(object, "exists", line_boolean(exists));
    line_print(out, object);
}

/* A page of the same file; null: there is none. */
static json_object *new_page(uint32_t page)
{
    return page == IMGSTAT_NO_PAGE ? line_raw("null") : line_count(page);
}

static json_object *new_layout(const ImgstatLayout *layout)
{
    json_object *const object = line_object();
    line_add(object, "tiled", line_boolean(layout->tiled));
    line_add(object, "width", line_count(layout->tile_width));
    line_add(object, "height", line_count(layout->tile_height));
    line_add(object, "count", line_count(layout->tiles));
    line_add(object, "planar", line_boolean(layout->planar));
    line_add(object, "interlaced", line_boolean(layout->interlaced));
    return object;
}

/* The places of a plane along its axes; null where none are declared. */
static json_object *new_axes(const ImgstatPage *page)
{
    if (!page->has_axes)
        return line_raw("null");
    json_object *const axes = line_object();
    line_add(axes, "c", line_count(page->axis_c));
    line_add(axes, "z", line_count(page->axis_z));
    line_add(axes, "t", line_count(page->axis_t));
    return axes;
}

static json_object *new_count_or_null(uint64_t value)
{
    return value > 0 ? line_count(value) : line_raw("null");
}

void print_json_info(FILE *out, const char *name, const ImgstatFile *file, const ImgstatPage *page,
                     const ImgstatLayout *layout, const char *unsupported)
{
    char page_name[64] = "";
    (void)imgstat_file_page_name(file, page->page, page_name, sizeof page_name);
    json_object *const object = line_object(), *const channels = line_array(),
                       *const metadata = line_array();
    line_add(object, "file", line_string(name));
    line_add(object, "page", line_count(page->page));
    line_add(object, "pages", line_count(page->pages));
    line_add(object, "name", line_string(page_name));
    line_add(object, "role", line_string(imgstat_role_name(page->role)));
    line_add(object, "owner", new_page(page->owner));
    line_add(object, "mask", new_page(page->mask));
    line_add(object, "parent", new_page(page->parent));
    line_add(object, "axes", new_axes(page));
    line_add(object, "format", line_string(page->format));
    line_add(object, "width", new_count_or_null(page->width));
    line_add(object, "height", new_count_or_null(page->height));
    line_add(object, "sample", line_string(unsupported ? NULL : imgstat_sample_name(page->sample)));
    line_add(object, "bits", new_count_or_null(page->bits));
    line_add(object, "photometric", line_string(page->photometric));
    for (uint16_t c = 0; c < page->channels; c++)
        line_append(channels, line_string(unsupported ? NULL : imgstat_file_channel(file, c)));
    line_add(object, "channels", channels);
    line_add(object, "alpha",
             page->alpha < 0 ? line_raw("null") : line_count((uint64_t)page->alpha));
    line_add(object, "nodata", page->has_nodata ? line_nodata(page->nodata) : line_raw("null"));
    line_add(object, "compression", line_string(layout->compression));
    line_add(object, "predictor", line_string(unsupported ? NULL : layout->predictor));
    line_add(object, "layout", unsupported ? line_raw("null") : new_layout(layout));
    line_add(object, "byte_order", line_string(layout->big_endian ? "big" : "little"));
    line_add(object, "bigtiff", line_boolean(layout->big_file));
    line_add(object, "cloud_optimized", line_boolean(layout->cloud_optimized));
    for (uint32_t i = 0; i < layout->n_metadata; i++)
        line_append(metadata, line_string(layout->metadata[i]));
    line_add(object, "metadata", metadata);
    line_add(object, "unsupported", line_string(unsupported));
    line_print(out, object);
}

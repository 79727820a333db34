/* SPDX-License-Identifier: MIT */
/* print_json.c: pages and errors as JSON; numbers are written exactly, by text.c. */
#include "print_json.h"
#include "text.h"

#include <inttypes.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>

static void check(const void *object)
{
    if (object == NULL)
        text_no_memory();
}

static void add(json_object *object, const char *key, json_object *value)
{
    if (json_object_object_add(object, key, value) != 0)
        check(NULL);
}

static json_object *new_string(const char *bytes)
{
    char *const utf8 = text_utf8(bytes);
    json_object *const string = json_object_new_string(utf8);
    free(utf8);
    check(string);
    return string;
}

/* JSON text that is written as it stands. */
static json_object *new_raw(const char *text)
{
    json_object *const raw = json_object_new_double_s(0, text);
    check(raw);
    return raw;
}

static json_object *new_count(uint64_t value)
{
    json_object *const count = json_object_new_uint64(value);
    check(count);
    return count;
}

static json_object *new_real(double value)
{
    char text[TEXT_NUMBER];
    text_real(text, value);
    return new_raw(text);
}

static json_object *new_edge(const Report *report, uint16_t channel, uint32_t k)
{
    char text[TEXT_NUMBER];
    text_edge(text, report->record, channel, k, !text_is_float(report->page->sample));
    return new_raw(text);
}

static json_object *new_value(ImgstatValue value, bool defined)
{
    char text[TEXT_NUMBER] = "null";
    if (defined)
        text_value(text, value);
    return new_raw(text);
}

static json_object *new_position(uint64_t at, uint32_t width, bool defined)
{
    char text[TEXT_NUMBER] = "null";
    if (defined && width > 0)
        snprintf(text, sizeof text, "[%" PRIu64 ",%" PRIu64 "]", at % width, at / width);
    return new_raw(text);
}

/* The counts, or their inclusive prefix sums. One raw text, not one object per bin: a page can
 * have millions of them. */
static json_object *new_counts(const ImgstatHistogram *histogram, bool cumulate)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const stream = open_memstream(&text, &bytes);
    check(stream);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < histogram->bins; i++) {
        sum = cumulate ? sum + histogram->counts[i] : histogram->counts[i];
        fprintf(stream, "%c%" PRIu64, i == 0 ? '[' : ',', sum);
    }
    fputc(']', stream);
    if (fclose(stream) != 0)
        check(NULL);
    json_object *const counts = new_raw(text);
    free(text);
    return counts;
}

static json_object *new_histogram(const Report *report, uint16_t channel,
                                  const ImgstatHistogram *histogram)
{
    json_object *const object = json_object_new_object();
    check(object);
    add(object, "lo", new_edge(report, channel, 0));
    add(object, "hi", new_edge(report, channel, histogram->bins));
    add(object, "bins", new_count(histogram->bins));
    add(object, "counts", new_counts(histogram, false));
    return object;
}

static json_object *new_percentile(const Report *report, uint16_t channel, size_t k)
{
    char text[TEXT_NUMBER];
    text_percentile(text, report->record, channel, k);
    return new_raw(text);
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
    add(object, key, new_raw(text));
}

/* Adds what is known of percentiles that are null, which the pixels were not read again for. */
static void add_all_bounds(json_object *object, const Report *report, uint16_t channel)
{
    const Options *const o = report->options;
    json_object *const bounds = json_object_new_object();
    check(bounds);
    add_bounds(bounds, "median", report, channel, IMGSTAT_MEDIAN);
    for (size_t k = 0; k < o->n_percentiles; k++)
        add_bounds(bounds, o->percentile_keys[k], report, channel, k);
    if (json_object_object_length(bounds) > 0)
        add(object, "bounds", bounds);
    else
        json_object_put(bounds);
}

static json_object *new_percentiles(const Report *report, uint16_t channel)
{
    const Options *const o = report->options;
    json_object *const object = json_object_new_object();
    check(object);
    for (size_t k = 0; k < o->n_percentiles; k++)
        add(object, o->percentile_keys[k], new_percentile(report, channel, k));
    return object;
}

/* Adds the number of a page, and the name of one in a SubIFD, which no number is. prefix: "", or
 * "min_" and the like. */
static void add_page_keys(json_object *object, const char *prefix, uint32_t page, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "%spage", prefix);
    add(object, key, new_count(page));
    if (strchr(name, '.') == NULL)
        return;
    snprintf(key, sizeof key, "%spage_name", prefix);
    add(object, key, new_string(name));
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
    add(object, key, new_raw("null"));
}

/* Where an extremum of a data set is. */
static json_object *new_place(const char *file, uint32_t page, uint64_t at, uint32_t width,
                              bool defined)
{
    if (!defined)
        return new_raw("null");
    json_object *const place = json_object_new_object();
    check(place);
    add(place, "file", new_string(file));
    add(place, "page", new_count(page));
    add(place, "at", new_position(at, width, true));
    return place;
}

static void add_positions(json_object *object, const Report *report, const ImgstatStats *stats)
{
    const bool any = stats->count > 0;
    if (report->merged != NULL) {
        add(object, "min_at",
            new_place(stats->min_file, stats->min_page, stats->min_at, stats->min_width, any));
        add(object, "max_at",
            new_place(stats->max_file, stats->max_page, stats->max_at, stats->max_width, any));
        return;
    }
    add(object, "min_at", new_position(stats->min_at, stats->min_width, any));
    add(object, "max_at", new_position(stats->max_at, stats->max_width, any));
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

    json_object *const object = json_object_new_object();
    check(object);
    add(object, "name", new_string(report_channel(report, channel)));
    add(object, "count", new_count(stats.count));
    add(object, "nan", new_count(stats.nan));
    add(object, "inf", new_count(stats.inf));
    add(object, "nodata", new_count(stats.nodata));
    if (stats.masked > 0) /* few images have a mask */
        add(object, "masked", new_count(stats.masked));
    add(object, "min", new_value(stats.min, any));
    add(object, "max", new_value(stats.max, any));
    add_positions(object, report, &stats);
    add(object, "sum", !any ? new_raw("null") : whole ? new_raw(sum) : new_real(stats.sum));
    add(object, "mean", new_real(stats.mean));
    add(object, "stddev", new_real(stats.stddev));
    add(object, "median", new_percentile(report, channel, IMGSTAT_MEDIAN));
    if (report_has_mode(report))
        add(object, "mode", new_value(stats.mode, any));
    add(object, "entropy", new_real(stats.entropy));
    if (o->shape) {
        add(object, "skewness", new_real(stats.skewness));
        add(object, "kurtosis", new_real(stats.kurtosis));
    }
    if (o->n_percentiles > 0)
        add(object, "percentiles", new_percentiles(report, channel));
    add_all_bounds(object, report, channel);
    ImgstatHistogram histogram;
    if ((o->histogram || o->cdf) && imgstat_record_histogram(report->record, channel, &histogram)) {
        if (o->histogram)
            add(object, "histogram", new_histogram(report, channel, &histogram));
        if (o->cdf)
            add(object, "cdf", new_counts(&histogram, true));
    }
    return object;
}

static void print_and_put(FILE *out, json_object *object)
{
    size_t bytes;
    const char *const text = json_object_to_json_string_length(
        object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &bytes);
    check(text);
    fwrite(text, 1, bytes, out);
    fputc('\n', out);
    json_object_put(object);
}

static json_object *new_sentences(const Sentences *list)
{
    json_object *const array = json_object_new_array();
    check(array);
    for (size_t i = 0; i < list->n; i++)
        if (json_object_array_add(array, new_string(list->items[i])) != 0)
            check(NULL);
    return array;
}

/* The part of a page that was measured, where it is not all. */
static void add_region(json_object *object, const ImgstatRegion *region)
{
    if (region->width == 0)
        return;
    char text[4 * TEXT_NUMBER];
    snprintf(text, sizeof text, "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", region->x,
             region->y, region->width, region->height);
    add(object, "region", new_raw(text));
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
        add(object, "by", new_string(channel ? "channel" : "file"));
        if (channel) {
            add(object, "c", new_count(page->axis_c));
            add(object, "channel",
                page->axis_name != NULL ? new_string(page->axis_name) : new_raw("null"));
        }
        add(object, "page_list", new_string(list));
        free(list);
    }
    add(object, "pages", new_count(page->pages));
}

/* Which page of which file, and how large. */
static void add_image(json_object *object, const Report *report)
{
    const ImgstatPage *const page = report->page;
    const bool same_size = report_same_size(report);
    add_pages(object, report);
    if (report->options->levels)
        add(object, "role", new_string(imgstat_role_name(page->role)));
    add(object, "format", new_string(page->format));
    add(object, "width", same_size ? new_count(page->width) : new_raw("null"));
    add(object, "height", same_size ? new_count(page->height) : new_raw("null"));
    add_region(object, &report->options->region);
}

/* Which images of a data set, and how they were read. */
static void add_images(json_object *object, const MergedImages *merged)
{
    add(object, "files", new_count(merged->files));
    add(object, "pages", new_count(merged->pages));
    add(object, "group", new_string(merged->group));
    add(object, "failed", new_count(merged->failed));
    add_region(object, &merged->kind.region);
    if (merged->kind.has_nodata)
        add(object, "nodata", new_value(merged->kind.nodata, true));
}

void print_json_page(FILE *out, const Report *report)
{
    const ImgstatPage *const page = report->page;
    json_object *const object = json_object_new_object();
    check(object);
    add(object, "file", new_string(report->name));
    if (report->merged != NULL)
        add_images(object, report->merged);
    else
        add_image(object, report);
    add(object, "sample", new_string(imgstat_sample_name(page->sample)));
    add(object, "bits", new_count(page->bits));
    add(object, "photometric", new_string(page->photometric));
    if (report->merged == NULL) /* a data set may be of several */
        add(object, "device", new_string(report->device));
    json_object *const channels = json_object_new_array();
    check(channels);
    const uint16_t n = imgstat_record_channels(report->record);
    for (uint16_t c = 0; c < n; c++)
        if (json_object_array_add(channels, new_channel(report, c)) != 0)
            check(NULL);
    add(object, "channels", channels);
    if (report->warnings->n > 0)
        add(object, "warnings", new_sentences(report->warnings));
    print_and_put(out, object);
}

void print_json_error(FILE *out, const char *name, const uint32_t *page, const char *word,
                      const char *sentence)
{
    json_object *const object = json_object_new_object();
    check(object);
    add(object, "file", new_string(name));
    if (page != NULL)
        add(object, "page", json_object_new_int64(*page));
    add(object, "error", new_string(word));
    add(object, "message", new_string(sentence));
    print_and_put(out, object);
}

/* The beginning of a line about an output. */
static json_object *new_output(const ImgstatJob *job)
{
    json_object *const object = json_object_new_object();
    check(object);
    add(object, "file", new_string(job->input));
    add(object, "output", new_string(job->output));
    return object;
}

static json_object *new_bool(bool value)
{
    json_object *const object = json_object_new_boolean(value);
    check(object);
    return object;
}

static json_object *new_clamped(const ImgstatClamped *clamped)
{
    const double n = clamped->n > 0 ? (double)clamped->n : 1;
    json_object *const object = json_object_new_object();
    check(object);
    add(object, "samples", json_object_new_uint64(clamped->n));
    add(object, "low", json_object_new_uint64(clamped->low));
    add(object, "high", json_object_new_uint64(clamped->high));
    add(object, "share", new_real((double)(clamped->low + clamped->high) / n));
    return object;
}

void print_json_output(FILE *out, const ImgstatJob *job, const ImgstatDone *done,
                       const ImgstatRegion *region, const Sentences *warnings)
{
    if (done->skipped) {
        json_object *const object = new_output(job);
        add(object, "skipped", new_bool(true));
        print_and_put(out, object);
        return;
    }
    static const Sentences none = {0};
    for (size_t i = 0; i < done->n_mapped; i++) {
        const ImgstatMapped *const mapped = &done->mapped[i];
        json_object *const object = new_output(job);
        add_page(object, mapped->page, mapped->name);
        add(object, "pages", new_count(mapped->pages));
        add_region(object, region);
        add(object, "group", new_count(mapped->group));
        add(object, "groups", new_count(mapped->groups));
        add(object, "transfer", new_raw(mapped->transfer));
        if (mapped->has_clamped)
            add(object, "clamped", new_clamped(&mapped->clamped));
        add(object, "warnings", new_sentences(i == 0 ? warnings : &none));
        print_and_put(out, object);
    }
}

void print_json_plan(FILE *out, const ImgstatJob *job, bool exists)
{
    json_object *const object = new_output(job);
    add(object, "exists", new_bool(exists));
    print_and_put(out, object);
}

/* A page of the same file; null: there is none. */
static json_object *new_page(uint32_t page)
{
    return page == IMGSTAT_NO_PAGE ? new_raw("null") : new_count(page);
}

static json_object *new_layout(const ImgstatLayout *layout)
{
    json_object *const object = json_object_new_object();
    check(object);
    add(object, "tiled", new_bool(layout->tiled));
    add(object, "width", new_count(layout->tile_width));
    add(object, "height", new_count(layout->tile_height));
    add(object, "count", new_count(layout->tiles));
    add(object, "planar", new_bool(layout->planar));
    add(object, "interlaced", new_bool(layout->interlaced));
    return object;
}

/* The places of a plane along its axes; null where none are declared. */
static json_object *new_axes(const ImgstatPage *page)
{
    if (!page->has_axes)
        return new_raw("null");
    json_object *const axes = json_object_new_object();
    check(axes);
    add(axes, "c", new_count(page->axis_c));
    add(axes, "z", new_count(page->axis_z));
    add(axes, "t", new_count(page->axis_t));
    return axes;
}

static json_object *new_count_or_null(uint64_t value)
{
    return value > 0 ? new_count(value) : new_raw("null");
}

void print_json_info(FILE *out, const char *name, const ImgstatFile *file, const ImgstatPage *page,
                     const ImgstatLayout *layout, const char *unsupported)
{
    char page_name[64] = "";
    (void)imgstat_file_page_name(file, page->page, page_name, sizeof page_name);
    json_object *const object = json_object_new_object(), *const channels = json_object_new_array(),
                       *const metadata = json_object_new_array();
    check(object);
    check(channels);
    check(metadata);
    add(object, "file", new_string(name));
    add(object, "page", new_count(page->page));
    add(object, "pages", new_count(page->pages));
    add(object, "name", new_string(page_name));
    add(object, "role", new_string(imgstat_role_name(page->role)));
    add(object, "owner", new_page(page->owner));
    add(object, "mask", new_page(page->mask));
    add(object, "parent", new_page(page->parent));
    add(object, "axes", new_axes(page));
    add(object, "format", new_string(page->format));
    add(object, "width", new_count_or_null(page->width));
    add(object, "height", new_count_or_null(page->height));
    add(object, "sample",
        unsupported ? new_raw("null") : new_string(imgstat_sample_name(page->sample)));
    add(object, "bits", new_count_or_null(page->bits));
    add(object, "photometric", new_string(page->photometric));
    for (uint16_t c = 0; c < page->channels; c++)
        if (json_object_array_add(channels, unsupported
                                                ? new_raw("null")
                                                : new_string(imgstat_file_channel(file, c))) != 0)
            check(NULL);
    add(object, "channels", channels);
    add(object, "alpha", page->alpha < 0 ? new_raw("null") : new_count((uint64_t)page->alpha));
    add(object, "nodata", new_value(page->nodata, page->has_nodata));
    add(object, "compression", new_string(layout->compression));
    add(object, "predictor", unsupported ? new_raw("null") : new_string(layout->predictor));
    add(object, "layout", unsupported ? new_raw("null") : new_layout(layout));
    add(object, "byte_order", new_string(layout->big_endian ? "big" : "little"));
    add(object, "bigtiff", new_bool(layout->big_file));
    add(object, "cloud_optimized", new_bool(layout->cloud_optimized));
    for (uint32_t i = 0; i < layout->n_metadata; i++)
        if (json_object_array_add(metadata, new_string(layout->metadata[i])) != 0)
            check(NULL);
    add(object, "metadata", metadata);
    add(object, "unsupported", unsupported ? new_string(unsupported) : new_raw("null"));
    print_and_put(out, object);
}

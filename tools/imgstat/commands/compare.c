/* SPDX-License-Identifier: MIT */
/* compare.c: compare: two images or records side by side, as a table or JSON. */
#include "compare/compare.h"
#include "commands/commands.h"
#include "compare/plot.h"
#include "inputs/inputs.h"
#include "plot/file.h"
#include "print/table.h"
#include "text/json_line.h"
#include "text/status.h"
#include "text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Comparison {
    const Options *options;
    Compared a, b;
    double quantiles[COMPARE_QUANTILES];
    bool alike; /* samples are compared one by one */
    SampleDifference samples;
} Comparison;

/* ---- Opening and measuring --------------------------------------------------------------------
 */

static ImgstatMeasure measure_of(const Comparison *c, ImgstatSample sample)
{
    return (ImgstatMeasure){.percentiles = c->quantiles,
                            .n_percentiles = COMPARE_QUANTILES,
                            .median = true,
                            .histogram = imgstat_sample_bytes(sample) <= 2};
}

static void on_warning(void *context, const char *sentence)
{
    const Input *const input = context;
    text_put_file_warning(stderr, input->path, sentence);
}

/* Selects the page that the input names, or its only image. */
static ImgstatResult select_page(const Input *input, Compared *out, ImgstatError *err)
{
    uint32_t page = 0, n = 0;
    const ImgstatResult result = imgstat_file_find(out->file, input->pages, &page, 1, &n, err);
    if (result != IMGSTAT_OK)
        return result;
    if (n != 1) {
        char *const name = text_display(input->path);
        *err = (ImgstatError){.code = IMGSTAT_ERR_ARG};
        snprintf(err->message, sizeof err->message,
                 "%s: these are %u images: name one, as in FILE[0]", name, (unsigned)n);
        free(name);
        return IMGSTAT_ERR_ARG;
    }
    return imgstat_file_page(out->file, page, &out->page, err);
}

/* With the page, if one is named. */
static char *name_of(const Input *input, const Compared *of)
{
    char page[64] = "";
    if (input->pages == NULL)
        return text_copy(input->path);
    (void)imgstat_file_page_name(of->file, of->page.page, page, sizeof page);
    const size_t bytes = strlen(input->path) + sizeof page + 3;
    char *const name = text_alloc(bytes);
    snprintf(name, bytes, "%s[%s]", input->path, page);
    return name;
}

static ImgstatResult open_image(const Comparison *c, const Input *input, Compared *out,
                                ImgstatError *err)
{
    const ImgstatJob job = input_job(input);
    ImgstatOpen open = options_open(c->options);
    ImgstatDevice *device = NULL;
    open.warn = c->options->quiet ? NULL : on_warning;
    open.warn_context = (void *)(uintptr_t)input;
    ImgstatResult result = input_open(&job, &open, &out->file, err);
    if (result == IMGSTAT_OK)
        result = select_page(input, out, err);
    if (result == IMGSTAT_OK) {
        out->name = name_of(input, out);
        result = imgstat_device_open("cpu", c->options->jobs, &device, err);
    }
    if (result == IMGSTAT_OK) {
        const ImgstatMeasure how = measure_of(c, out->page.sample);
        result = imgstat_measure_file(device, out->file, out->page.page, &how, &out->record, err);
    }
    imgstat_device_close(device);
    return result;
}

static ImgstatResult open_record(const Comparison *c, const char *name, Compared *out,
                                 ImgstatError *err)
{
    out->name = text_copy(name);
    const ImgstatResult result = imgstat_record_load(name, &out->record, err);
    if (result != IMGSTAT_OK)
        return result;
    imgstat_record_kind(out->record, &out->kind);
    const ImgstatMeasure how = measure_of(c, out->kind.sample);
    return imgstat_record_compute(out->record, &how, err);
}

static ImgstatResult open_both(Comparison *c, InputList *inputs, ImgstatError *err)
{
    const Options *const o = c->options;
    if (o->records) {
        const ImgstatResult result = open_record(c, o->names[0], &c->a, err);
        return result == IMGSTAT_OK ? open_record(c, o->names[1], &c->b, err) : result;
    }
    InputStream *const stream = inputs_open(o, (InputPart){0}, true);
    inputs_collect(stream, inputs);
    inputs_close(stream);
    *err = (ImgstatError){.code = IMGSTAT_ERR_IO};
    for (size_t i = 0; i < inputs->n; i++)
        if (inputs->items[i].problem != NULL) {
            snprintf(err->message, sizeof err->message, "%s", inputs->items[i].problem);
            return IMGSTAT_ERR_IO;
        }
    if (inputs->n != 2) {
        snprintf(err->message, sizeof err->message, "%s: two images are compared; these are %zu",
                 o->command, inputs->n);
        return IMGSTAT_ERR_ARG;
    }
    const ImgstatResult result = open_image(c, &inputs->items[0], &c->a, err);
    return result == IMGSTAT_OK ? open_image(c, &inputs->items[1], &c->b, err) : result;
}

static uint16_t channels_of(const Comparison *c)
{
    const uint16_t a = c->a.kind.channels, b = c->b.kind.channels;
    return a < b ? a : b;
}

/* ---- For people --------------------------------------------------------------------------------
 */

static void put_form(const Compared *of, FILE *out)
{
    char *const name = text_display(of->name);
    fprintf(out, "%s: ", name);
    if (of->file != NULL)
        fprintf(out, "%" PRIu32 " x %" PRIu32 ", ", of->page.width, of->page.height);
    fprintf(out, "%s, %s", of->kind.photometric, imgstat_sample_name(of->kind.sample));
    if (of->kind.bits != 8 * imgstat_sample_bytes(of->kind.sample))
        fprintf(out, " (%u bit%s used)", of->kind.bits, of->kind.bits == 1 ? "" : "s");
    fputc('\n', out);
    free(name);
}

/* One value of both, side by side. */
static void add_row(Table *table, const char *channel, const char *name, const char *a,
                    const char *b)
{
    char line[4 * TEXT_NUMBER + 300];
    snprintf(line, sizeof line, "%s\t%s\t\x1f%s\t\x1f%s", channel, name, a, b);
    table_add(table, line);
}

static void add_numbers(Table *table, const char *name, double a, double b)
{
    char of_a[TEXT_NUMBER], of_b[TEXT_NUMBER];
    text_short(of_a, a);
    text_short(of_b, b);
    add_row(table, "", name, isfinite(a) ? of_a : "-", isfinite(b) ? of_b : "-");
}

/* Values of samples, of integers exactly. */
static void add_values(Table *table, const char *name, ImgstatValue a, bool has_a, ImgstatValue b,
                       bool has_b)
{
    char of_a[TEXT_NUMBER], of_b[TEXT_NUMBER];
    text_short_value(of_a, a);
    text_short_value(of_b, b);
    add_row(table, "", name, has_a ? of_a : "-", has_b ? of_b : "-");
}

static void add_channel(const Comparison *c, Table *table, uint16_t channel)
{
    ImgstatStats a, b;
    char of_a[TEXT_NUMBER] = "-", of_b[TEXT_NUMBER] = "-", text[TEXT_NUMBER];
    char *const name = text_display(c->a.kind.names[channel]);
    imgstat_record_stats(c->a.record, channel, &a);
    imgstat_record_stats(c->b.record, channel, &b);
    text_grouped(of_a, a.count);
    text_grouped(of_b, b.count);
    add_row(table, name, "count", of_a, of_b);
    add_values(table, "min", a.min, a.count > 0, b.min, b.count > 0);
    add_values(table, "max", a.max, a.count > 0, b.max, b.count > 0);
    add_numbers(table, "mean", a.mean, b.mean);
    add_numbers(table, "stddev", a.stddev, b.stddev);
    text_short_percentile(of_a, c->a.record, channel, IMGSTAT_MEDIAN);
    text_short_percentile(of_b, c->b.record, channel, IMGSTAT_MEDIAN);
    add_row(table, "", "median", of_a, of_b);
    const Apart apart = compare_distributions(&c->a, &c->b, channel);
    text_short(text, apart.distance);
    add_row(table, "", "distance", "", isfinite(apart.distance) ? text : "-");
    free(name);
}

static void put_samples(const Comparison *c)
{
    const SampleDifference *const d = &c->samples;
    char different[TEXT_NUMBER], all[TEXT_NUMBER], largest[TEXT_NUMBER], mean[TEXT_NUMBER],
        rms[TEXT_NUMBER];
    if (!c->alike)
        return;
    text_grouped(all, d->samples);
    if (d->different == 0) {
        printf("All %s samples are equal.\n", all);
        return;
    }
    text_grouped(different, d->different);
    if (!(d->largest > 0)) {
        printf("%s of %s samples differ; no difference is a finite number.\n", different, all);
        return;
    }
    text_short(largest, d->largest);
    text_short(mean, d->mean);
    text_short(rms, d->rms);
    char *const name = text_display(c->a.kind.names[d->channel]);
    printf("%s of %s samples differ, by at most %s (%s at %" PRIu32 ",%" PRIu32
           "); mean %s, rms %s.\n",
           different, all, largest, name, d->x, d->y, mean, rms);
    free(name);
}

static void print_people(const Comparison *c)
{
    Table *const table = table_create();
    put_form(&c->a, stdout);
    put_form(&c->b, stdout);
    table_add(table, "channel\tstatistic\t\x1f"
                     "first\t\x1fsecond");
    for (uint16_t i = 0; i < channels_of(c); i++)
        add_channel(c, table, i);
    table_flush(table);
    table_destroy(table);
    put_samples(c);
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static void add_pair(json_object *object, const char *key, json_object *a, json_object *b)
{
    json_object *const pair = line_array();
    line_append(pair, a);
    line_append(pair, b);
    line_add(object, key, pair);
}

static json_object *new_channel(const Comparison *c, uint16_t channel)
{
    ImgstatStats a, b;
    char of_a[TEXT_NUMBER], of_b[TEXT_NUMBER];
    json_object *const object = line_object();
    imgstat_record_stats(c->a.record, channel, &a);
    imgstat_record_stats(c->b.record, channel, &b);
    const Apart apart = compare_distributions(&c->a, &c->b, channel);
    text_percentile(of_a, c->a.record, channel, IMGSTAT_MEDIAN);
    text_percentile(of_b, c->b.record, channel, IMGSTAT_MEDIAN);
    line_add(object, "name", line_string(c->a.kind.names[channel]));
    add_pair(object, "count", line_count(a.count), line_count(b.count));
    add_pair(object, "min", line_value(a.min, a.count > 0), line_value(b.min, b.count > 0));
    add_pair(object, "max", line_value(a.max, a.count > 0), line_value(b.max, b.count > 0));
    add_pair(object, "mean", line_real(a.mean), line_real(b.mean));
    add_pair(object, "stddev", line_real(a.stddev), line_real(b.stddev));
    add_pair(object, "median", line_raw(of_a), line_raw(of_b));
    line_add(object, "distance", line_real(apart.distance));
    line_add(object, "share", line_real(apart.share));
    return object;
}

static json_object *new_samples(const Comparison *c)
{
    const SampleDifference *const d = &c->samples;
    char at[2 * TEXT_NUMBER], largest[TEXT_NUMBER];
    if (!c->alike)
        return line_raw("null");
    json_object *const object = line_object();
    snprintf(at, sizeof at, "[%" PRIu32 ",%" PRIu32 "]", d->x, d->y);
    snprintf(largest, sizeof largest, "%" PRIu64, d->largest_integer);
    line_add(object, "count", line_count(d->samples));
    line_add(object, "different", line_count(d->different));
    line_add(object, "largest",
             text_is_float(c->a.page.sample) ? line_real(d->largest) : line_raw(largest));
    line_add(object, "at", line_raw(d->largest > 0 ? at : "null"));
    line_add(object, "channel", line_string(d->largest > 0 ? c->a.kind.names[d->channel] : NULL));
    line_add(object, "mean", line_real(d->mean));
    line_add(object, "rms", line_real(d->rms));
    return object;
}

static void print_json(const Comparison *c)
{
    json_object *const object = line_object(), *const channels = line_array();
    line_add(object, "first", line_string(c->a.name));
    line_add(object, "second", line_string(c->b.name));
    for (uint16_t i = 0; i < channels_of(c); i++)
        line_append(channels, new_channel(c, i));
    line_add(object, "channels", channels);
    line_add(object, "samples", new_samples(c));
    line_print(stdout, object);
}

/* Says which channels only one of the two has. */
static void warn_channels(const Comparison *c)
{
    const uint16_t n = channels_of(c);
    const Compared *const more = c->a.kind.channels > n ? &c->a : &c->b;
    if (c->options->quiet || more->kind.channels == n)
        return;
    const Compared *const less = more == &c->a ? &c->b : &c->a;
    char *const name = text_display(more->name), *const other = text_display(less->name);
    text_put_warning(stderr, name, "%u of its %u channels %s compared: %s has no more", (unsigned)n,
                     (unsigned)more->kind.channels, n == 1 ? "is" : "are", other);
    free(name);
    free(other);
}

static bool draw(const Comparison *c)
{
    const Options *const o = c->options;
    const ComparePlot both = {&c->a, &c->b};
    const Plot plot = compare_plot_of(&both);
    if (c->a.kind.sample == c->b.kind.sample)
        return plot_file_write(o->plot, o->force, &plot, stdout, stderr);
    fprintf(stderr, "%s: --plot shows one type of samples, not %s and %s\n", o->command,
            imgstat_sample_name(c->a.kind.sample), imgstat_sample_name(c->b.kind.sample));
    return false;
}

/* ---- The whole ---------------------------------------------------------------------------------
 */

static void release(Compared *of)
{
    if (of->file != NULL && imgstat_file_lost_rows(of->file) > 0)
        status_raise(STATUS_FAILED);
    imgstat_record_destroy(of->record);
    imgstat_file_close(of->file);
    free(of->name);
}

void cmd_compare(Options *o)
{
    Comparison c = {.options = o};
    InputList inputs = {.n = 0};
    ImgstatError error;
    if (o->plot != NULL && !plot_file_check(o->plot, o->force))
        return;
    for (int k = 0; k < COMPARE_QUANTILES; k++)
        c.quantiles[k] = 100 * (k + 0.5) / COMPARE_QUANTILES;
    ImgstatResult result = open_both(&c, &inputs, &error);
    if (result == IMGSTAT_OK) {
        imgstat_record_kind(c.a.record, &c.a.kind);
        imgstat_record_kind(c.b.record, &c.b.kind);
        warn_channels(&c);
        c.alike = compare_is_alike(&c.a, &c.b);
        if (c.alike)
            result = compare_samples(&c.a, &c.b, &c.samples, &error);
    }
    if (result != IMGSTAT_OK) {
        fprintf(stderr, "%s%s\n",
                result == IMGSTAT_ERR_MEMORY && error.file_bytes == 0 ? "imgstat: " : "",
                error.message);
        status_raise(STATUS_FAILED);
    } else if (o->style == OUTPUT_JSON) {
        print_json(&c);
    } else if (o->plot == NULL || strcmp(o->plot, "-") != 0) {
        print_people(&c);
    }
    if (result == IMGSTAT_OK && o->plot != NULL && !draw(&c))
        status_raise(STATUS_FAILED);
    release(&c.a);
    release(&c.b);
    inputs_release(&inputs);
}

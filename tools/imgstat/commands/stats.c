/* SPDX-License-Identifier: MIT */
/* stats.c: stats and merge: statistics of each channel, as a table, JSON or CSV. */
#include "commands/commands.h"
#include "measure/dataset.h"
#include "measure/files.h"
#include "print/csv.h"
#include "print/json.h"
#include "print/table.h"
#include "text/memory_stream.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct Stats {
    const Options *options;
    bool several;  /* inputs */
    bool one_page; /* one page of each was asked for */
    Table *table;  /* main thread only */
} Stats;

static bool print_page(void *context, const Report *report, FILE *out, FILE *err)
{
    const Stats *const stats = context;
    (void)err;
    switch (report->options->style) {
    case OUTPUT_JSON:
        print_json_page(out, report);
        break;
    case OUTPUT_CSV:
        print_csv_page(out, report);
        break;
    case OUTPUT_PEOPLE:
        /* One image has a heading; rows of several begin with the file's name. */
        if (!stats->several && report->options->fields.n == 0 &&
            (report->page->pages == 1 || stats->one_page || report->by == IMGSTAT_BY_FILE)) {
            print_table_heading(out, report);
            print_table_page(out, report, false);
        } else {
            print_table_page(out, report, true);
        }
        break;
    }
    return true;
}

static void add_header(Stats *stats, bool named)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *const stream = memory_stream_open(&line, &bytes);
    print_table_header(stream, stats->options, named);
    memory_stream_close(stream);
    line[strcspn(line, "\n")] = '\0';
    table_add(stats->table, line);
    free(line);
}

/* Lines of one input go into the table; the header follows the heading, or comes first. */
static void emit(void *context, const char *text, size_t bytes)
{
    Stats *const stats = context;
    const char *const end = text + bytes;
    while (text < end) {
        const char *const newline = memchr(text, '\n', (size_t)(end - text));
        const size_t length = (size_t)((newline != NULL ? newline : end) - text);
        char *const line = text_copy_part(text, length);
        const bool heading = strchr(line, '\t') == NULL;
        if (stats->table == NULL) {
            stats->table = table_create();
            if (heading)
                table_add(stats->table, line);
            add_header(stats, !heading || stats->several);
            if (!heading)
                table_add(stats->table, line);
        } else {
            table_add(stats->table, line);
        }
        free(line);
        text += length + 1;
    }
}

/* The table shows less than JSON and CSV do, and chosen fields less than all, so they cost less. */
static ImgstatMeasure plan_measure(const Options *o)
{
    const FieldList *const fields = &o->fields;
    const bool all = o->style != OUTPUT_PEOPLE && fields->n == 0;
    const bool binned = all || o->histogram || o->cdf || fields_have(fields, FIELD_ENTROPY) ||
                        fields_have(fields, FIELD_MODE);
    return (ImgstatMeasure){.percentiles = o->percentiles,
                            .n_percentiles = o->n_percentiles,
                            .percentile_method = o->percentile_method,
                            .median = fields->n == 0 || fields_have(fields, FIELD_MEDIAN) ||
                                      fields_have(fields, FIELD_LOW) ||
                                      fields_have(fields, FIELD_HIGH), /* counted in its read */
                            .mode = o->mode,
                            .shape = o->shape,
                            .histogram = binned,
                            .bins = o->bins,
                            .region = o->region,
                            .has_range = o->has_range,
                            .lo = o->lo,
                            .hi = o->hi,
                            .ddof = o->ddof,
                            .hash = o->hash};
}

/* Prints a record of a data set. */
static bool print_merged(void *context, const Report *report)
{
    Stats *const stats = context;
    char *text = NULL;
    size_t bytes = 0;
    stats->several = report->merged->several;
    FILE *const out = memory_stream_open(&text, &bytes);
    if (report->options->style == OUTPUT_CSV && report->merged->first)
        print_csv_header(out, report->options);
    if (report->options->style == OUTPUT_PEOPLE && report->options->fields.n == 0 &&
        report->merged->several && report->merged->first)
        print_table_heading(out, report);
    (void)print_page(stats, report, out, stderr);
    memory_stream_close(out);
    if (report->options->style == OUTPUT_PEOPLE)
        emit(stats, text, bytes);
    else
        fwrite(text, 1, bytes, stdout);
    free(text);
    return true;
}

/* run: NULL where the inputs are records. */
static void work_merged(const Options *o, PartRun *run, InputList *window)
{
    const ImgstatMeasure how = plan_measure(o);
    Stats stats = {.options = o};
    const DatasetPrint print = {.how = &how, .context = &stats, .print = print_merged};
    if (run != NULL)
        dataset_of_images(run, window, &print);
    else
        dataset_of_records(o, &print);
    if (stats.table != NULL)
        table_flush(stats.table);
    table_destroy(stats.table);
}

static void work(PartRun *run)
{
    const Options *const o = run->options;
    InputList window = {.n = 0};
    (void)inputs_next(run->inputs, &window);
    const ImgstatMeasure how = plan_measure(o);
    if (o->by == IMGSTAT_BY_ALL) {
        work_merged(o, run, &window);
        inputs_release(&window);
        return;
    }
    Stats stats = {.options = o,
                   .several = run->captured ? run->several : window.n > 1,
                   .one_page = window.n == 1 && input_has_one_page(&window.items[0])};
    const MeasureFiles what = {.part = run,
                               .window = &window,
                               .how = &how,
                               .context = &stats,
                               .print = print_page,
                               .emit = o->style == OUTPUT_PEOPLE && !run->captured ? emit : NULL};
    if (o->style == OUTPUT_CSV && run->first)
        print_csv_header(stdout, o);
    measure_files(&what);
    if (stats.table != NULL)
        table_flush(stats.table);
    table_destroy(stats.table);
    inputs_release(&window);
}

/* The lines of a shard go into the table of all. */
static void emit_shard(void *context, const char *text, size_t bytes)
{
    emit(context, text, bytes);
}

static void finish(void *context)
{
    Stats *const stats = context;
    if (stats->table != NULL)
        table_flush(stats->table);
    table_destroy(stats->table);
    stats->table = NULL;
}

void cmd_stats(Options *options)
{
    if (options->records) {
        work_merged(options, NULL, NULL);
        return;
    }
    const bool tables = options->style == OUTPUT_PEOPLE && options->by != IMGSTAT_BY_ALL;
    Stats stats = {.options = options};
    const ShardCommand command = {.work = work,
                                  .context = &stats,
                                  .done = "measured",
                                  .emit = tables ? emit_shard : NULL,
                                  .finish = tables ? finish : NULL};
    shard_text_run(options, &command);
}

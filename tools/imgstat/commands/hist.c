/* SPDX-License-Identifier: MIT */
/* hist.c: histograms, drawn or listed. */
#include "commands/commands.h"
#include "measure/dataset.h"
#include "measure/files.h"
#include "plot/draw.h"
#include "plot/file.h"
#include "plot/terminal.h"
#include "print/csv.h"
#include "print/json.h"
#include "print/table.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool print_page(void *context, const Report *report, FILE *out, FILE *err)
{
    (void)context;
    const Options *const o = report->options;
    const Plot plot = plot_of(report);
    if (o->plot != NULL && report->continues)
        return true; /* a plot shows one image: the first */
    if (o->plot != NULL)
        return plot_file_write(o->plot, o->force, &plot, out, err);
    switch (o->style) {
    case OUTPUT_JSON:
        print_json_page(out, report);
        break;
    case OUTPUT_CSV:
        print_csv_bins(out, report);
        break;
    case OUTPUT_PEOPLE:
        print_table_heading(out, report);
        plot_terminal(out, report);
        fputc('\n', out);
        break;
    }
    return true;
}

/* What was left open and the terminal decides. */
static void complete_options(Options *o)
{
    static const struct {
        double value;
        const char *key;
    } usual[] = {{1, "1"}, {5, "5"}, {25, "25"}, {50, "50"}, {75, "75"}, {95, "95"}, {99, "99"}};
    enum { N_USUAL = sizeof usual / sizeof usual[0] };
    o->histogram = o->cdf = true;
    if (o->style == OUTPUT_PEOPLE && o->plot == NULL && o->n_percentiles == 0) {
        o->percentiles = text_alloc(N_USUAL * sizeof *o->percentiles);
        o->percentile_keys = text_alloc(N_USUAL * sizeof *o->percentile_keys);
        for (size_t i = 0; i < N_USUAL; i++) {
            o->percentiles[i] = usual[i].value;
            o->percentile_keys[i] = strcpy(text_alloc(strlen(usual[i].key) + 1), usual[i].key);
        }
        o->n_percentiles = N_USUAL;
    }
    struct winsize size;
    if (o->plot_width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        o->plot_width = size.ws_col < 1000 ? size.ws_col : 1000;
    if (!text_is_utf8())
        o->ascii = true;
}

static ImgstatMeasure plan_measure(const Options *o)
{
    const bool json = o->style == OUTPUT_JSON;
    return (ImgstatMeasure){.percentiles = o->percentiles,
                            .n_percentiles = o->n_percentiles,
                            .percentile_method = o->percentile_method,
                            .median = json,
                            .mode = o->mode,
                            .histogram = true,
                            .bins = o->bins,
                            .region = o->region,
                            .has_range = o->has_range,
                            .lo = o->lo,
                            .hi = o->hi};
}

static bool check_plot(const Options *o, InputStream *inputs, const InputList *window)
{
    Input more;
    size_t n = window->n;
    if (o->plot == NULL)
        return true;
    for (; n > 1 && inputs_next_one(inputs, &more); n++)
        input_release(&more);
    if (n > 1)
        fprintf(stderr, "%s: --plot draws one image, this names %zu\n", o->command, n);
    else if (o->by != IMGSTAT_BY_FILE && n == 1 && window->items[0].pages != NULL &&
             !input_has_one_page(&window->items[0]))
        fprintf(stderr, "%s: --plot draws one page, not %s\n", o->command, window->items[0].pages);
    else
        return plot_file_check(o->plot, o->force);
    status_raise(STATUS_USAGE);
    return false;
}

/* Returns the name of the first image of a file, which the caller frees. NULL: it can be read only
 * once, or not at all. */
static char *first_image(const Options *o, const Input *input)
{
    const ImgstatJob job = input_job(input);
    const ImgstatOpen how = options_open(o);
    ImgstatFile *file = NULL;
    ImgstatError error;
    uint32_t page = 0, n = 0;
    char name[64] = "";
    if (input->problem == NULL && input_is_readable_again(&job) &&
        input_open(&job, &how, &file, &error) == IMGSTAT_OK &&
        imgstat_file_find(file, NULL, &page, 1, &n, &error) == IMGSTAT_OK && n > 0)
        (void)imgstat_file_page_name(file, page, name, sizeof name);
    imgstat_file_close(file);
    return *name != '\0' ? text_copy(name) : NULL;
}

/* Prints a record of a data set. */
static bool print_merged(void *context, const Report *report)
{
    if (report->options->style == OUTPUT_CSV && report->merged->first)
        print_csv_bins_header(stdout);
    return print_page(context, report, stdout, stderr);
}

static void work(PartRun *run)
{
    const Options *const o = run->options;
    InputList window = {.n = 0};
    (void)inputs_next(run->inputs, &window);
    if (o->by == IMGSTAT_BY_ALL) {
        const ImgstatMeasure how = plan_measure(o);
        const DatasetPrint print = {.how = &how, .print = print_merged};
        dataset_of_images(run, &window, &print);
    } else if (check_plot(o, run->inputs, &window)) {
        if (o->plot != NULL && o->by != IMGSTAT_BY_FILE && window.n == 1 &&
            window.items[0].pages == NULL)
            window.items[0].pages = first_image(o, &window.items[0]);
        const ImgstatMeasure how = plan_measure(o);
        const MeasureFiles what = {
            .part = run, .window = &window, .how = &how, .print = print_page};
        if (o->style == OUTPUT_CSV && run->first)
            print_csv_bins_header(stdout);
        measure_files(&what);
    }
    inputs_release(&window);
}

void cmd_hist(Options *options)
{
    complete_options(options);
    if (options->records) {
        const ImgstatMeasure how = plan_measure(options);
        const DatasetPrint print = {.how = &how, .print = print_merged};
        dataset_of_records(options, &print);
    } else {
        const ShardCommand command = {.work = work, .done = "measured"};
        shard_text_run(options, &command);
    }
}

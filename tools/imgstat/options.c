/* SPDX-License-Identifier: MIT */
/* options.c: option tables, from which parsing and help both come. */
#include "options.h"
#include "options_value.h"
#include "text.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_STDIN_PAGE = '[' }; /* of "-[N]", which looks like an option and is a name */

/* Options without a short form. */
enum {
    KEY_JSON = 0x100,
    KEY_CSV,
    KEY_PERCENTILES,
    KEY_METHOD,
    KEY_BINS,
    KEY_RANGE,
    KEY_HISTOGRAM,
    KEY_CDF,
    KEY_SHAPE,
    KEY_DDOF,
    KEY_INDICES,
    KEY_PAGE,
    KEY_DEVICE,
    KEY_MEMORY,
    KEY_MAX_WIDTH,
    KEY_MAX_HEIGHT,
    KEY_MAX_PIXELS,
    KEY_MAX_BYTES,
    KEY_MAX_PAGES,
    KEY_PLOT,
    KEY_LOG,
    KEY_ASCII,
    KEY_FORCE,
    KEY_WIDTH,
    KEY_HEIGHT,
    KEY_TRANSFORM = 0x200 /* from here on those of transform_options.c */
};

static const struct argp_option output_table[] = {
    {NULL, 0, NULL, 0, "Output:", 1},
    {"json", KEY_JSON, NULL, 0, "One JSON object per page, one per line", 1},
    {"csv", KEY_CSV, NULL, 0, "One header line, then one row per page and channel (hist: per bin)",
     1},
    {"quiet", 'q', NULL, 0, "No warnings, no progress; errors only", 1},
    {"verbose", 'v', NULL, 0, "Say on stderr what each input took", 1},
    {0},
};

static const struct argp_option stats_table[] = {
    {"histogram", KEY_HISTOGRAM, NULL, 0, "With --json: add the counts of each bin", 2},
    {"cdf", KEY_CDF, NULL, 0, "With --json: add their inclusive prefix sums", 2},
    {"shape", KEY_SHAPE, NULL, 0, "Add skewness and excess kurtosis", 2},
    {"ddof", KEY_DDOF, "N", 0,
     "Divide the variance by count - N; samples (default: 0, the population)", 2},
    {0},
};

static const struct argp_option measure_table[] = {
    {NULL, 0, NULL, 0, "Statistics:", 2},
    {"percentiles", KEY_PERCENTILES, "LIST", 0,
     "Percentiles in percent, 0 to 100, separated by commas: 1,50,99.5 (default: none; where hist "
     "draws, 1,5,25,50,75,95,99)",
     2},
    {"percentile-method", KEY_METHOD, "NAME", 0,
     "linear: between the two nearest samples; nearest: a sample, by rank (default: linear)", 2},
    {"bins", KEY_BINS, "N", 0,
     "Histogram bins, a count up to 16777216 (default: one per value up to 16 bits, else 256)", 2},
    {"range", KEY_RANGE, "LO,HI", 0,
     "Histogram from LO to HI, in sample values (default: all values up to 16 bits, else minimum "
     "to maximum)",
     2},
    {0},
};

static const struct argp_option plot_table[] = {
    {NULL, 0, NULL, 0, "Plot:", 3},
    {"plot", KEY_PLOT, "FILE", 0,
     "Write a plot of one image as FILE.svg or FILE.png; - is SVG on stdout (default: none)", 3},
    {"force", KEY_FORCE, NULL, 0, "Let --plot replace an existing file", 3},
    {"log", KEY_LOG, NULL, 0, "Logarithmic counts (default: linear)", 3},
    {"width", KEY_WIDTH, "N", 0,
     "Width of the terminal plot in characters, 20 to 1000 (default: the terminal's, or 80)", 3},
    {"height", KEY_HEIGHT, "N", 0, "Its height in lines, 1 to 200 (default: 8)", 3},
    {"ascii", KEY_ASCII, NULL, 0, "Draw with ASCII characters (default: where not UTF-8)", 3},
    {0},
};

static const struct argp_option input_table[] = {
    {NULL, 0, NULL, 0, "Input:", 4},
    {"recursive", 'r', NULL, 0, "Enter the directories inside directories (default: no)", 4},
    {"page", KEY_PAGE, "N", 0,
     "Measure page N only, counted from 0, as FILE[N] does (default: all)", 4},
    {"indices", KEY_INDICES, NULL, 0,
     "Measure the indices of palette images (default: their colours)", 4},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "Refuse a file whose strip, tile or interlaced image decodes to more bytes; suffixes K, M, G, "
     "T (default: 2G)",
     4},
    {0},
};

static const struct argp_option limits_table[] = {
    {"max-width", KEY_MAX_WIDTH, "N", 0, "Refuse wider images; pixels (default: 1000000)", 4},
    {"max-height", KEY_MAX_HEIGHT, "N", 0, "Refuse higher images; pixels (default: 1000000)", 4},
    {"max-pixels", KEY_MAX_PIXELS, "N", 0, "Refuse larger pages; pixels (default: 64G, 2^36)", 4},
    {"max-bytes", KEY_MAX_BYTES, "SIZE", 0,
     "Refuse pages that decode to more; bytes (default: 1T, 2^40)", 4},
    {"max-pages", KEY_MAX_PAGES, "N", 0, "Refuse files with more pages (default: 65535)", 4},
    {0},
};

static const struct argp_option run_table[] = {
    {NULL, 0, NULL, 0, "Running:", 5},
    {"device", KEY_DEVICE, "NAME", 0,
     "auto, cpu, cuda or cuda:N; a device named here is used or is an error (default: "
     "$IMGSTAT_DEVICE, or auto)",
     5},
    {"jobs", 'j', "N", 0,
     "CPU threads in all; several files are measured at once (default: $IMGSTAT_JOBS, or as many "
     "as there are processors)",
     5},
    {0},
};

static const struct argp_option help_table[] = {
    {"help", 'h', NULL, 0, "Print this help", -1},
    {NULL, KEY_STDIN_PAGE, "N]", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL, 0},
    {0},
};

static error_t set_style(struct argp_state *state, Options *o, OutputStyle style)
{
    if (o->style != OUTPUT_PEOPLE && o->style != style)
        return value_error(state, "--json and --csv exclude each other");
    o->style = style;
    return 0;
}

static error_t parse_limit(int key, char *arg, struct argp_state *state, ImgstatLimits *limits)
{
    switch (key) {
    case KEY_MEMORY:
        return value_size(state, "--memory", arg, &limits->max_chunk_bytes);
    case KEY_MAX_WIDTH:
        return value_count(state, "--max-width", arg, 1, UINT32_MAX, &limits->max_width);
    case KEY_MAX_HEIGHT:
        return value_count(state, "--max-height", arg, 1, UINT32_MAX, &limits->max_height);
    case KEY_MAX_PIXELS:
        return value_size(state, "--max-pixels", arg, &limits->max_pixels);
    case KEY_MAX_BYTES:
        return value_size(state, "--max-bytes", arg, &limits->max_bytes);
    case KEY_MAX_PAGES:
        return value_count(state, "--max-pages", arg, 1, UINT32_MAX, &limits->max_pages);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_plot(int key, char *arg, struct argp_state *state, Options *o)
{
    switch (key) {
    case KEY_PLOT:
        o->plot = arg;
        return 0;
    case KEY_LOG:
        o->log = true;
        return 0;
    case KEY_ASCII:
        o->ascii = true;
        return 0;
    case KEY_FORCE:
        o->force = true;
        return 0;
    case KEY_WIDTH:
        return value_count(state, "--width", arg, 20, 1000, &o->plot_width);
    case KEY_HEIGHT:
        return value_count(state, "--height", arg, 1, 200, &o->plot_height);
    default:
        return key < KEY_TRANSFORM ? parse_limit(key, arg, state, &o->limits)
                                   : transform_parse(key, arg, state, &o->transform);
    }
}

static error_t parse_measure(int key, char *arg, struct argp_state *state, Options *o)
{
    switch (key) {
    case KEY_PERCENTILES:
        return value_percentiles(state, arg, o);
    case KEY_METHOD:
        if (strcmp(arg, "linear") != 0 && strcmp(arg, "nearest") != 0)
            return value_error(state, "--percentile-method is linear or nearest, not '%s'", arg);
        o->percentile_method = arg[0] == 'l' ? IMGSTAT_LINEAR : IMGSTAT_NEAREST;
        return 0;
    case KEY_BINS:
        return value_count(state, "--bins", arg, 1, 1u << 24, &o->bins);
    case KEY_RANGE:
        o->has_range = true;
        return value_range(state, arg, &o->lo, &o->hi);
    case KEY_HISTOGRAM:
        o->histogram = true;
        return 0;
    case KEY_CDF:
        o->cdf = true;
        return 0;
    case KEY_SHAPE:
        o->shape = true;
        return 0;
    case KEY_DDOF:
        return value_count(state, "--ddof", arg, 0, 1000000, &o->ddof);
    default:
        return parse_plot(key, arg, state, o);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    Options *const o = state->input;
    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
        return ECANCELED;
    case 'q':
        o->quiet = true;
        return 0;
    case 'v':
        o->verbose = true;
        return 0;
    case 'r':
        o->recursive = true;
        return 0;
    case 'j':
        return value_count(state, "--jobs", arg, 1, 1024, &o->jobs);
    case 'o':
        return transform_parse(key, arg, state, &o->transform);
    case KEY_JSON:
        return set_style(state, o, OUTPUT_JSON);
    case KEY_CSV:
        return set_style(state, o, OUTPUT_CSV);
    case KEY_INDICES:
        o->indices = true;
        return 0;
    case KEY_PAGE:
        o->has_page = true;
        return value_count(state, "--page", arg, 0, UINT32_MAX - 1, &o->page);
    case KEY_DEVICE:
        o->device = arg;
        return 0;
    default:
        return parse_measure(key, arg, state, o);
    }
}

/* Every table has this parser, and every parser the one Options. */
static const struct argp output_argp = {output_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp stats_argp = {stats_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp measure_argp = {measure_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp plot_argp = {plot_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp input_argp = {input_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp limits_argp = {limits_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp normalize_argp = {
    normalize_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp equalize_argp = {equalize_table, parse_option, NULL, NULL,
                                          NULL,           NULL,         NULL};
static const struct argp map_argp = {map_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp write_argp = {write_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp transform_input_argp = {
    transform_input_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp transform_run_argp = {
    transform_run_table, parse_option, NULL, NULL, NULL, NULL, NULL};
static const struct argp run_argp = {run_table, parse_option, NULL, NULL, NULL, NULL, NULL};

static const struct argp_child stats_children[] = {
    {&output_argp, 0, NULL, 0},
    {&measure_argp, 0, NULL, 0},
    {&stats_argp, 0, NULL, 0},
    {&input_argp, 0, NULL, 0},
    {&limits_argp, 0, NULL, 0},
    {&run_argp, 0, NULL, 0},
    {0},
};
static const struct argp_child hist_children[] = {
    {&output_argp, 0, NULL, 0},
    {&measure_argp, 0, NULL, 0},
    {&plot_argp, 0, NULL, 0},
    {&input_argp, 0, NULL, 0},
    {&limits_argp, 0, NULL, 0},
    {&run_argp, 0, NULL, 0},
    {0},
};
static const struct argp_child normalize_children[] = {
    {&normalize_argp, 0, NULL, 0}, {&map_argp, 0, NULL, 0},
    {&write_argp, 0, NULL, 0},     {&transform_input_argp, 0, NULL, 0},
    {&limits_argp, 0, NULL, 0},    {&transform_run_argp, 0, NULL, 0},
    {&run_argp, 0, NULL, 0},       {0},
};
static const struct argp_child equalize_children[] = {
    {&equalize_argp, 0, NULL, 0}, {&map_argp, 0, NULL, 0},
    {&write_argp, 0, NULL, 0},    {&transform_input_argp, 0, NULL, 0},
    {&limits_argp, 0, NULL, 0},   {&transform_run_argp, 0, NULL, 0},
    {&run_argp, 0, NULL, 0},      {0},
};
static const struct argp_child apply_children[] = {
    {&write_argp, 0, NULL, 0},  {&transform_input_argp, 0, NULL, 0},
    {&limits_argp, 0, NULL, 0}, {&transform_run_argp, 0, NULL, 0},
    {&run_argp, 0, NULL, 0},    {0},
};

/* A word that begins with "-[" is a name: a page of standard input. */
static error_t parse_stdin_page(struct argp_state *state)
{
    Options *const o = state->input;
    char *const word = state->argv[state->next - 1];
    if (word[1] != KEY_STDIN_PAGE)
        return value_error(state, "invalid option -- '%s'", word);
    o->names[o->n_names++] = word;
    return 0;
}

/* The command's own parser: shares the input with the children, takes what is no option. */
static error_t parse_command(int key, char *arg, struct argp_state *state)
{
    Options *const o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (size_t i = 0;
             state->root_argp->children != NULL && state->root_argp->children[i].argp != NULL; i++)
            state->child_inputs[i] = o;
        state->err_stream = NULL; /* keeps argp from adding its own "Try ..." line and exiting */
        return 0;
    case ARGP_KEY_ARG:
        o->names[o->n_names++] = arg;
        return 0;
    case KEY_STDIN_PAGE:
        return parse_stdin_page(state);
    default:
        return key == 'h' ? parse_option(key, arg, state) : ARGP_ERR_UNKNOWN;
    }
}

/* What the help of several commands says before their examples. */
static const char help_reads[] =
    "A directory stands for the files in it that end in .png, .tif, .tiff,\n"
    ".gtiff, .btf or .tf8, sorted. - is standard input. FILE[N] is page N of\n"
    "FILE, counted from 0.\n";
static const char help_writes[] =
    "A directory stands for the files in it that end in .png, .tif, .tiff,\n"
    ".gtiff, .btf or .tf8, sorted; OUT is then a folder that mirrors it. - is\n"
    "standard input, and as OUT standard output. FILE[N] is page N of FILE,\n"
    "counted from 0.\n";
static const char help_ends[] = "Exit status: 0 all good, 1 some input failed, 2 wrong usage,\n"
                                "130 interrupted.\n\n";

/* Puts what is said of inputs before the examples, which argp frees. It would add a sentence about
 * the arguments of short options, which nobody asks for. */
static char *filter_help(int key, const char *text, const char *inputs)
{
    if (key == ARGP_KEY_HELP_DUP_ARGS_NOTE)
        return NULL;
    if (key != ARGP_KEY_HELP_POST_DOC || text == NULL)
        return (char *)(uintptr_t)text;
    const size_t bytes = strlen(inputs) + sizeof help_ends + strlen(text);
    char *const all = text_alloc(bytes);
    snprintf(all, bytes, "%s%s%s", inputs, help_ends, text);
    return all;
}

static char *reading(int key, const char *text, void *input)
{
    (void)input;
    return filter_help(key, text, help_reads);
}

static char *writing(int key, const char *text, void *input)
{
    (void)input;
    return filter_help(key, text, help_writes);
}

static const struct argp commands[] = {
    [COMMAND_STATS] = {help_table, parse_command, "FILE|DIR...",
                       "Print the statistics of each channel of PNG and TIFF images.\v"
                       "Examples:\n"
                       "  imgstat photo.tif\n"
                       "  imgstat stats --json --percentiles 1,50,99 scans/*.tif\n"
                       "  imgstat stats --csv --recursive scans > scans.csv",
                       stats_children, reading, NULL},
    [COMMAND_HIST] = {help_table, parse_command, "FILE|DIR...",
                      "Draw the histogram and the percentiles of each channel.\v"
                      "Examples:\n"
                      "  imgstat hist photo.tif\n"
                      "  imgstat hist --log --plot photo.svg photo.tif\n"
                      "  imgstat hist --csv --bins 64 --range 0,4095 scan.tif",
                      hist_children, reading, NULL},
    [COMMAND_NORMALIZE] = {help_table, parse_command, "FILE|DIR... -o OUT",
                           "Rescale the samples of PNG and TIFF images to the output range.\v"
                           "Examples:\n"
                           "  imgstat normalize scan.tif -o full.tif\n"
                           "  imgstat normalize --clip 0.5,0.5 --together in/ -o out/\n"
                           "  imgstat normalize --method gamma --gamma 0.5 - -o - < a.png > b.png",
                           normalize_children, writing, NULL},
    [COMMAND_EQUALIZE] = {help_table, parse_command, "FILE|DIR... -o OUT",
                          "Equalize the histograms of PNG and TIFF images.\v"
                          "Examples:\n"
                          "  imgstat equalize photo.png -o equalized.png\n"
                          "  imgstat equalize --clahe --grid 16,16 --recursive in/ -o out/\n"
                          "  imgstat equalize --like opencv - -o - < a.tif > b.tif",
                          equalize_children, writing, NULL},
    [COMMAND_APPLY] = {help_table, parse_command, "TRANSFER.json FILE|DIR... -o OUT",
                       "Apply a transfer that --save-transfer wrote to other images.\v"
                       "Examples:\n"
                       "  imgstat apply t.json scan.tif -o out.tif\n"
                       "  imgstat apply t.json --recursive in/ -o out/\n"
                       "  imgstat apply t.json - -o - < a.png > b.png",
                       apply_children, writing, NULL},
    [COMMAND_DEVICES] = {help_table, parse_command, NULL,
                         "List the devices that --device can name on this machine.\v"
                         "Examples:\n"
                         "  imgstat devices\n"
                         "  imgstat stats --device cpu photo.tif\n"
                         "  IMGSTAT_DEVICE=cpu imgstat photo.tif",
                         NULL, NULL, NULL},
};

static bool is_standard_input(const char *path)
{
    return path != NULL && (strcmp(path, "-") == 0 || strncmp(path, "-[", 2) == 0);
}

/* What no single option can see. */
static error_t check_together(Command command, const char *name, Options *o)
{
    if (command == COMMAND_DEVICES)
        return o->n_names == 0 ? 0 : usage_error(name, "devices takes no file");
    const bool apply = command == COMMAND_APPLY;
    if (apply && o->n_names > 0) {
        o->transform.transfer = o->names[0];
        memmove(o->names, o->names + 1, --o->n_names * sizeof *o->names);
    }
    if (apply && o->transform.transfer == NULL)
        return usage_error(name, "name the transfer, and at least one file or directory");
    const char *const other = apply ? o->transform.transfer : o->transform.reference;
    for (size_t i = 0; is_standard_input(other) && i < o->n_names; i++)
        if (is_standard_input(o->names[i]))
            return usage_error(name, "standard input is the %s already; %s needs it, too",
                               apply ? "transfer" : "reference", o->names[i]);
    if (o->n_names == 0)
        return usage_error(name, "name at least one file or directory, or - for standard input");
    if (apply || command == COMMAND_NORMALIZE || command == COMMAND_EQUALIZE)
        return transform_check(name, apply, &o->transform);
    if ((o->bins > 0 || o->has_range) && command == COMMAND_STATS && o->style == OUTPUT_PEOPLE)
        return usage_error(name, "--bins and --range need --json or --csv; 'imgstat hist' draws");
    if ((o->histogram || o->cdf) && o->style != OUTPUT_JSON)
        return usage_error(name, "--histogram and --cdf need --json; 'imgstat hist' draws them");
    if (o->plot != NULL && (o->n_names > 1 || o->style != OUTPUT_PEOPLE))
        return usage_error(name, "--plot draws one image and excludes --json and --csv");
    if (o->plot != NULL && strcmp(o->plot, "-") != 0) {
        const char *const dot = strrchr(o->plot, '.');
        if (dot == NULL || (strcasecmp(dot, ".svg") != 0 && strcasecmp(dot, ".png") != 0))
            return usage_error(name, "--plot writes FILE.svg, FILE.png or -, not '%s'", o->plot);
    }
    return 0;
}

ParseResult options_parse(Command command, int argc, char **argv, Options *out)
{
    *out = (Options){.command = argv[0], .device = "auto"};
    out->names = text_alloc((size_t)argc * sizeof *out->names);

    if (command == COMMAND_EQUALIZE)
        out->transform.method.transform = IMGSTAT_EQUALIZE;

    const char *const device = getenv("IMGSTAT_DEVICE");
    if (device != NULL && *device != '\0')
        out->device = device;
    /* In order: names that look like options must not overtake the others. */
    const unsigned flags = ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER;
    error_t error = argp_parse(&commands[command], argc, argv, flags, NULL, out);
    if (error == ECANCELED)
        return PARSE_DONE;
    const char *const jobs = getenv("IMGSTAT_JOBS");
    if (error == 0 && out->jobs == 0 && jobs != NULL && *jobs != '\0')
        error = value_count_named(argv[0], "IMGSTAT_JOBS", jobs, 1, 1024, &out->jobs);
    if (error == 0)
        error = check_together(command, argv[0], out);
    if (error != 0) {
        fprintf(stderr, "Try '%s --help'.\n", argv[0]);
        return PARSE_ERROR;
    }
    return PARSE_RUN;
}

void options_release(Options *options)
{
    for (size_t i = 0; i < options->n_percentiles; i++)
        free(options->percentile_keys[i]);
    free(options->percentile_keys);
    free(options->percentiles);
    free(options->names);
}

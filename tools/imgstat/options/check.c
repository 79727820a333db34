/* SPDX-License-Identifier: MIT */
/* check.c: options that do not go together. */
#include "options/check.h"
#include "inputs/inputs.h"
#include "options/value.h"
#include "text/path.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool option_is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Whether `input`, a file, FILE[LIST] or a member of an archive, lies in the file of `output`. */
static bool is_file_of(const char *input, const char *output)
{
    char *path = NULL, *pages = NULL;
    if (!input_names_pages(input, &path, &pages))
        path = text_copy(input);
    const size_t archive = tar_length(path);
    if (archive > 0)
        path[archive] = '\0';
    const bool same = input_is_same_file(path, output);
    free(path);
    free(pages);
    return same;
}

/* Checks that no result takes the place of a file of a directory or of a list. */
static bool check_members(const char *name, const Options *o, const char *output)
{
    bool is_kept = true;
    Input input;
    if (o->records || (imgstat_format_of_name(output) == NULL && o->include.n + o->n_list == 0))
        return true; /* directories have no such inputs, and may be large */
    InputStream *const stream = inputs_open(o, (InputPart){0}, false);
    while (is_kept && inputs_next_one(stream, &input)) {
        const char *const file = input_file(&input);
        is_kept = input.problem != NULL || !input_is_same_file(file, output) ||
                  usage_error(name, "%s would replace %s, which is an input", output, file);
        input_release(&input);
    }
    inputs_close(stream);
    return is_kept;
}

/* Checks that no result takes the place of the list of inputs. */
static bool check_list(const char *name, const Options *o, const char *output)
{
    return output == NULL || o->files0_from == NULL || !input_is_file(output) ||
           !input_is_same_file(o->files0_from, output) ||
           usage_error(name, "%s would replace the list of --files0-from", output);
}

/* Checks that no result takes the place of an input. */
static bool check_kept(const char *name, const Options *o, const char *output)
{
    if (output == NULL || !input_is_file(output))
        return true;
    for (size_t i = 0; i < o->n_names; i++)
        if (is_file_of(o->names[i], output))
            return usage_error(name, "%s would replace %s, which is an input", output,
                               strcmp(o->names[i], "-") == 0 ? "standard input" : o->names[i]);
    if (o->mask != NULL && is_file_of(o->mask, output))
        return usage_error(name, "%s would replace the mask", output);
    return check_list(name, o, output) && check_members(name, o, output);
}

/* Checks the options of report. */
static bool check_report(const char *name, const Options *o)
{
    if (option_is_standard_output(o->report) && o->style == OUTPUT_JSON)
        return usage_error(name, "--json prints to standard output: -o must name a file");
    if (o->report != NULL && *o->report == '\0')
        return usage_error(name, "-o names a file: an empty name is none");
    if (o->report == NULL && (o->has_thumbs || o->force))
        return usage_error(name, "--thumbs and --force are for the page that -o names");
    return check_kept(name, o, o->report);
}

static bool check_plot_name(const char *name, const Options *o)
{
    if (o->plot == NULL || option_is_standard_output(o->plot))
        return true;
    const char *const dot = strrchr(o->plot, '.');
    return (dot != NULL && (strcasecmp(dot, ".svg") == 0 || strcasecmp(dot, ".png") == 0)) ||
           usage_error(name, "--plot writes FILE.svg, FILE.png or -, not '%s'", o->plot);
}

/* Checks the options of compare. */
static bool check_compare(const char *name, const Options *o)
{
    if (o->n_names != 2)
        return usage_error(name, "name two images, or two records");
    if (option_is_standard_output(o->plot) && o->style == OUTPUT_JSON)
        return usage_error(name, "--json prints to standard output: --plot must name a file");
    if (o->force && o->plot == NULL)
        return usage_error(name, "--force is for the file that --plot names");
    return check_plot_name(name, o) && check_kept(name, o, o->plot);
}

bool check_measuring(Command command, const char *name, const Options *o)
{
    if (command == COMMAND_REPORT)
        return check_report(name, o);
    if (command == COMMAND_COMPARE)
        return check_compare(name, o);
    if (o->force && o->plot == NULL && o->save_record == NULL)
        return usage_error(name, "--force is for the file that %s names",
                           command == COMMAND_HIST    ? "--plot or --save-record"
                           : command == COMMAND_MERGE ? "-o"
                                                      : "--save-record");
    if ((o->bins > 0 || o->has_range) && command != COMMAND_HIST && o->style == OUTPUT_PEOPLE)
        return usage_error(name, "--bins and --range need --json or --csv; 'imgstat hist' draws");
    if ((o->log || o->ascii || o->plot_width > 0 || o->plot_height > 0) &&
        o->style != OUTPUT_PEOPLE)
        return usage_error(name, "--log, --width, --height and --ascii are for what is drawn: they "
                                 "exclude --json and --csv");
    if ((o->histogram || o->cdf) && o->style != OUTPUT_JSON)
        return usage_error(name, "--histogram and --cdf need --json; 'imgstat hist' draws them");
    if (fields_have(&o->fields, FIELD_PERCENTILES) && o->n_percentiles == 0)
        return usage_error(name, "--fields: percentiles are those of --percentiles, which is "
                                 "missing");
    if (o->mode && o->style == OUTPUT_PEOPLE && o->fields.n == 0)
        return usage_error(name, "--mode needs --json or --csv");
    if (o->hash && o->style == OUTPUT_PEOPLE && o->fields.n == 0)
        return usage_error(name, "--hash needs --json or --csv");
    if (o->hash && o->by == IMGSTAT_BY_ALL)
        return usage_error(name, "--hash is that of one image: it excludes --by all and --by "
                                 "group");
    if (o->save_record != NULL && o->by != IMGSTAT_BY_ALL)
        return usage_error(name, "--save-record saves what is merged: by --by all, or --by "
                                 "group=REGEX");
    if (option_is_standard_output(o->save_record) && o->style != OUTPUT_PEOPLE)
        return usage_error(name, "--json and --csv print to standard output: --save-record must "
                                 "name a file");
    if (o->plot != NULL && o->save_record != NULL && path_is_same(o->plot, o->save_record))
        return usage_error(name, "--plot and --save-record would both become %s", o->plot);
    if (o->levels && o->by == IMGSTAT_BY_ALL)
        return usage_error(name, "--levels measures the same pixels again: it excludes --by all "
                                 "and --by group");
    if (o->plot != NULL &&
        ((o->n_names + o->n_list > 1 && o->by != IMGSTAT_BY_ALL) || o->style != OUTPUT_PEOPLE))
        return usage_error(name, "--plot draws one image and excludes --json and --csv");
    if (o->plot != NULL && o->by == IMGSTAT_BY_CHANNEL)
        return usage_error(name, "--plot draws one histogram, --by channel makes several");
    return check_plot_name(name, o) && check_kept(name, o, o->plot) &&
           (o->records ? check_list(name, o, o->save_record) : check_kept(name, o, o->save_record));
}

static bool has_ending(const char *name, const char *ending)
{
    const size_t length = strlen(name), n = strlen(ending);
    return length > n && strcmp(name + length - n, ending) == 0;
}

bool check_records(Command command, const char *name, Options *o)
{
    const bool reads = command == COMMAND_STATS || command == COMMAND_HIST ||
                       command == COMMAND_REPORT || command == COMMAND_COMPARE;
    if (!reads || o->n_names == 0)
        return true;
    if (!imgstat_dataset_is_file(o->names[0])) {
        for (size_t i = 1; i < o->n_names; i++)
            if (has_ending(o->names[i], ".rec") && imgstat_dataset_is_file(o->names[i]))
                return usage_error(name, "%s holds records: they are not mixed with images",
                                   o->names[i]);
        return true;
    }
    const char *const asked = o->by != IMGSTAT_BY_DEFAULT          ? "--by"
                              : o->region.width > 0                ? "--region"
                              : o->has_nodata                      ? "--nodata"
                              : o->mask != NULL || o->ignore_masks ? "--mask"
                              : o->alpha > 0                       ? "--alpha"
                              : o->pages != NULL                   ? "--page"
                              : o->levels                          ? "--levels"
                              : o->hash                            ? "--hash"
                              : o->indices                         ? "--indices"
                              : o->salvage                         ? "--salvage"
                              : o->mode                            ? "--mode"
                              : o->shards > 0                      ? "--shard"
                                                                   : NULL;
    if (asked != NULL)
        return usage_error(name,
                           "%s is for images, and %s holds records, which were measured "
                           "already",
                           asked, o->names[0]);
    o->records = true;
    o->by = IMGSTAT_BY_ALL;
    return true;
}

bool check_outputs(const char *name, const Options *o)
{
    const TransformOptions *const t = &o->transform;
    const bool measures = t->together == IMGSTAT_BY_ALL && t->save_transfer != NULL && !t->dry_run;
    if (o->style == OUTPUT_JSON &&
        (option_is_standard_output(t->output) || option_is_standard_output(t->save_transfer)))
        return usage_error(name, "--json prints to standard output: -o and --save-transfer must "
                                 "name files");
    if (t->save_transfer != NULL && o->group.text != NULL)
        return usage_error(name, "--together group makes a transfer for each group, and "
                                 "--save-transfer saves one: name the files of one group");
    if (t->only != NULL && t->together != IMGSTAT_BY_ALL)
        return usage_error(name, "--only is for --together all and --together group");
    if (o->report != NULL &&
        (t->output == NULL || t->dry_run || o->shards > 0 || option_is_standard_output(t->output)))
        return usage_error(name, "--report is about outputs that are files, all written by one "
                                 "process: it needs -o, and excludes --dry-run and shards");
    if (o->report != NULL && (*o->report == '\0' || strcmp(o->report, "-") == 0))
        return usage_error(name, "--report names a file");
    if (t->output == NULL && measures)
        return true;
    if (t->output == NULL && t->save_transfer != NULL && !t->dry_run)
        return usage_error(name, "-o names the output; without it, --together --save-transfer "
                                 "measures all inputs and saves their transfer");
    if (t->output == NULL && !t->dry_run)
        return usage_error(name, "-o names the output: a file, a folder, or - for standard output");
    if (t->output == NULL)
        return usage_error(name, "--dry-run needs -o as well");
    if (t->output[0] == '\0' || (t->save_transfer != NULL && t->save_transfer[0] == '\0'))
        return usage_error(name, "-o and --save-transfer name files: an empty name is none");
    if (t->skip_existing && t->write.replace)
        return usage_error(name, "--skip-existing and --force exclude each other");
    return true;
}

/* What the library says of each image is known before all of them. */
static bool check_like(const char *name, const ImgstatMethod *m)
{
    ImgstatError error;
    return m->like == IMGSTAT_LIKE_IMGSTAT || imgstat_method_check(m, &error) == IMGSTAT_OK ||
           usage_error(name, "--like: %s", error.message);
}

bool check_method(const char *name, const TransformOptions *t)
{
    const ImgstatTransform transform = t->method.transform;
    if (transform == IMGSTAT_MEANSTD && (!t->has_mean || !t->has_stddev))
        return usage_error(name, "meanstd needs --mean and --stddev");
    if (transform == IMGSTAT_GAMMA && !t->has_gamma)
        return usage_error(name, "gamma needs its exponent: --gamma 2.2");
    if (transform == IMGSTAT_MATCH && t->reference == NULL)
        return usage_error(name, "match needs the image to resemble: --match FILE");
    if (t->method.has_in_range && transform != IMGSTAT_STRETCH)
        return usage_error(name, "--in-range is for a stretch and excludes other methods");
    const bool measures = transform != IMGSTAT_GAMMA && !t->method.has_in_range;
    if (t->method.region.width > 0 && (transform == IMGSTAT_CLAHE || !measures))
        return usage_error(name, "--region is for methods that measure each image, and not for "
                                 "--clahe");
    if (t->has_grid && transform != IMGSTAT_CLAHE)
        return usage_error(name, "--grid and --clip-limit belong to --clahe");
    if (transform == IMGSTAT_CLAHE && (t->together > IMGSTAT_BY_PAGE || t->save_transfer != NULL))
        return usage_error(name, "--clahe depends on the place in each image: it cannot be made "
                                 "--together or saved");
    return check_like(name, &t->method);
}

static ImgstatResult read_nothing(void *context, uint64_t offset, void *to, size_t bytes,
                                  size_t *got, ImgstatError *err)
{
    (void)context, (void)offset, (void)to, (void)bytes, (void)err;
    *got = 0;
    return IMGSTAT_OK;
}

bool check_codecs(const Options *o)
{
    const ImgstatInput nothing = {.read_at = read_nothing};
    const ImgstatOpen open = {.codecs = o->codecs};
    ImgstatFile *file = NULL;
    ImgstatError error;
    if (o->codecs != NULL && *o->codecs == '\0')
        return usage_error(o->command, "--codecs names codecs: an empty list would allow all");
    const ImgstatResult result = imgstat_file_open_input("", &nothing, &open, &file, &error);
    imgstat_file_close(file);
    return result != IMGSTAT_ERR_ARG || usage_error(o->command, "%s", error.message);
}

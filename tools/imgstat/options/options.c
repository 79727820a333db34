/* SPDX-License-Identifier: MIT */
/* options.c: reads the words of a command by the table of options. */
#include "options/options.h"
#include "measure/shard_team.h"
#include "options/check.h"
#include "options/help.h"
#include "options/name_list.h"
#include "options/sandbox.h"
#include "options/table.h"
#include "options/value.h"
#include "text/nearest.h"
#include "text/text.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* getopt_long's codes: a letter for short options, this plus the option's place for long ones. */
enum { CODE_WORD = 1, CODE_STDIN_PAGE = '[', CODE_LONG = 0x100 };

/* The options of a command as getopt_long takes them. */
typedef struct Syntax {
    char letters[64];
    struct option *longs;
} Syntax;

static bool belongs(const Option *option, Command command)
{
    return (option->commands >> command & 1) != 0;
}

static Syntax syntax_of(Command command)
{
    /* Words come in order ('-'), so that names that look like options do not overtake the others.
     * A missing value has a code of its own (':'). "-[N]" looks like an option and is a name. */
    size_t n_options = 0;
    while (option_at(n_options) != NULL)
        n_options++;
    Syntax syntax = {.letters = "-:[::",
                     .longs = text_alloc((n_options + 1) * sizeof *syntax.longs)};
    size_t n = 0, end = strlen(syntax.letters);
    for (size_t i = 0; i < n_options; i++) {
        const Option *const option = option_at(i);
        if (!belongs(option, command))
            continue;
        syntax.longs[n++] =
            (struct option){.name = option->name,
                            .has_arg = option->argument == NULL  ? no_argument
                                       : option->implied != NULL ? optional_argument
                                                                 : required_argument,
                            .val = CODE_LONG + (int)i};
        if (option->letter != 0)
            end += (size_t)snprintf(syntax.letters + end, sizeof syntax.letters - end, "%c%s",
                                    option->letter, option->argument != NULL ? ":" : "");
    }
    syntax.longs[n] = (struct option){0};
    return syntax;
}

static const Option *find_option(Command command, int code)
{
    if (code >= CODE_LONG)
        return option_at((size_t)(code - CODE_LONG));
    const Option *option = option_at(0);
    for (size_t i = 0; option != NULL && !(belongs(option, command) && option->letter == code);)
        option = option_at(++i);
    return option;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool apply_option(const Option *option, const char *text, Options *o)
{
    char name[40];
    unsigned place;
    void *const target = (char *)o + option->target;
    if (text == NULL)
        text = option->implied;
    snprintf(name, sizeof name, "--%s", option->name);
    if (option->given != 0)
        *(bool *)((char *)o + option->given) = true;
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return true;
    case OPTION_TEXT:
        *(const char **)target = text;
        return true;
    case OPTION_WORD:
        *(const char **)target = text;
        return value_word(o->command, name, text, option->words, &place);
    case OPTION_CHOICE:
        if (!value_word(o->command, name, text, option->words, &place))
            return false;
        *(unsigned *)target = (unsigned)option->least + place;
        return true;
    case OPTION_COUNT:
        return value_count(o->command, name, text, (uint32_t)option->least, (uint32_t)option->most,
                           target);
    case OPTION_SIZE:
        return value_size(o->command, name, text, option->least, target);
    case OPTION_RANGE:
        return value_range(o->command, name, text, target);
    case OPTION_CALL:
        return option->set(text, o);
    }
    return false;
}

/* ---- What is no option ------------------------------------------------------------------------
 */

static bool has_option(Command command, const char *name, size_t length)
{
    const Option *option;
    for (size_t i = 0; (option = option_at(i)) != NULL; i++)
        if (belongs(option, command) && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0)
            return true;
    return false;
}

/* "normalize, equalize": the commands that have an option. */
static void name_commands(const char *name, size_t length, char out[80])
{
    size_t end = 0;
    for (int i = 0; i < N_COMMANDS; i++)
        if (has_option((Command)i, name, length))
            end += (size_t)snprintf(out + end, 80 - end, "%s%s", end > 0 ? ", " : "",
                                    command_table[i].name);
}

/* word: "--colour=red", "-x", or a name that only begins like "-[2]". */
static bool answer_unknown(Command command, const Options *o, const char *word)
{
    const bool is_long = strncmp(word, "--", 2) == 0;
    const char *const name = is_long ? word + 2 : word;
    const size_t length = strcspn(name, "=");
    Nearest nearest = nearest_to(name, length);
    const Option *option;
    size_t begins = 0;
    for (size_t i = 0; is_long && (option = option_at(i)) != NULL; i++) {
        if (belongs(option, command)) {
            nearest_offer(&nearest, option->name);
            begins += strncmp(option->name, name, length) == 0;
        }
    }
    if (begins > 1)
        return usage_error(o->command, "'%s' is short for several options", word);
    char commands[80] = "";
    if (is_long)
        name_commands(name, length, commands);
    if (commands[0] != '\0')
        return usage_error(o->command, "--%.*s is an option of %s", (int)length, name, commands);
    if (nearest.word != NULL)
        return usage_error(o->command, "unknown option '%s'; did you mean '--%s'?", word,
                           nearest.word);
    return usage_error(o->command, "unknown option '%s'", word);
}

/* code: '?' or ':', as getopt_long answers it. */
static bool answer_wrong(Command command, int code, char *const *argv, const Options *o)
{
    const Option *const option = optopt != 0 ? find_option(command, optopt) : NULL;
    if (option != NULL && code == ':')
        return usage_error(o->command, "--%s takes a value: --%s=%s", option->name, option->name,
                           option->argument);
    if (option != NULL)
        return usage_error(o->command, "--%s takes no value", option->name);
    if (optopt == 0 || optopt >= CODE_LONG)
        return answer_unknown(command, o, argv[optind - 1]);
    return answer_unknown(command, o, (const char[]){'-', (char)optopt, '\0'});
}

/* Notes an option, unless it changes no result. */
static void note_argument(const Option *option, const char *text, Options *o)
{
    static const char neutral[] =
        " device jobs memory quiet verbose color save-record files0-from shard "
        "shards state force skip-existing no-sandbox ";
    char name[40];
    snprintf(name, sizeof name, " %s ", option->name);
    if (strstr(neutral, name) != NULL)
        return;
    const char *const before = o->arguments != NULL ? o->arguments : "";
    const char *const value = text != NULL ? text : "";
    const size_t bytes = strlen(before) + strlen(option->name) + strlen(value) + 5;
    char *const line = text_alloc(bytes), *const after = text_alloc(2 * bytes);
    snprintf(line, bytes, "--%s%s%s\n", option->name, text != NULL ? "=" : "", value);
    /* Behind the lines that are not larger: the same options in any order are the same text. */
    const char *at = before;
    while (*at != '\0' && strncmp(at, line, strcspn(at, "\n") + 1) <= 0)
        at += strcspn(at, "\n") + 1;
    snprintf(after, 2 * bytes, "%.*s%s%s", (int)(at - before), before, line, at);
    free(line);
    free(o->arguments);
    o->arguments = after;
}

/* Whether a word is a value of an option, and not a name of a file. */
static bool is_value(const Option *option, const char *word)
{
    for (const char *value = option->words; value != NULL && *value != '\0';) {
        const size_t length = strcspn(value, " ");
        const bool begins = value[length - 1] == '='; /* what follows is free */
        if (strncmp(word, value, length) == 0 && (begins || word[length] == '\0'))
            return true;
        value += length + strspn(value + length, " ");
    }
    return false;
}

static bool read_words(Command command, int argc, char **argv, Options *o)
{
    const Syntax syntax = syntax_of(command);
    bool good = true;
    int code;
    opterr = 0;
    optind = 0; /* so that getopt begins anew in a process that runs several commands */
    while (good && (code = getopt_long(argc, argv, syntax.letters, syntax.longs, NULL)) != -1) {
        char *const word = argv[optind - 1];
        const Option *const option = find_option(command, code);
        if (option != NULL && option->implied != NULL && optarg == NULL && optind < argc &&
            is_value(option, argv[optind]))
            optarg = argv[optind++]; /* "--together all", as with other options */
        if (code == CODE_WORD)
            o->names[o->n_names++] = optarg;
        else if (code == CODE_STDIN_PAGE && word[1] == CODE_STDIN_PAGE)
            o->names[o->n_names++] = word;
        else if (code == CODE_STDIN_PAGE)
            good = answer_unknown(command, o, word);
        else if (code == '?' || code == ':')
            good = answer_wrong(command, code, argv, o);
        else
            good = apply_option(option, optarg, o);
        if (good && code != CODE_WORD && code != CODE_STDIN_PAGE)
            note_argument(option, optarg, o);
        if (o->help != HELP_NONE)
            break;
    }
    for (; good && optind < argc; optind++) /* behind "--" */
        o->names[o->n_names++] = argv[optind];
    free(syntax.longs);
    return good;
}

/* ---- What no single option can see ------------------------------------------------------------
 */

bool option_is_standard_input(const char *path)
{
    return path != NULL && (strcmp(path, "-") == 0 || strncmp(path, "-[", 2) == 0);
}

/* --together group finds the records of --from and makes no transfer. */
static bool check_from(const char *name, Options *o)
{
    TransformOptions *const t = &o->transform;
    if (t->record == NULL)
        return true;
    if (t->reference != NULL || t->method.transform == IMGSTAT_CLAHE)
        return usage_error(name, "--from measures nothing but the record: it excludes --match and "
                                 "--clahe");
    if (o->region.width > 0 || t->only != NULL ||
        (t->together != IMGSTAT_BY_DEFAULT && o->group.text == NULL))
        return usage_error(name, "--from measures no image: it excludes --region, --only, and "
                                 "--together with anything but group=REGEX");
    t->together = IMGSTAT_BY_DEFAULT;
    return true;
}

/* Gives the method its values. */
static void take_scaled(TransformOptions *t)
{
    ImgstatMethod *const m = &t->method;
    const struct {
        const ScaledValue *from;
        double *to;
        bool *percent;
    } values[] = {
        {&t->out_lo, &m->lo, &m->lo_percent},      {&t->out_hi, &m->hi, &m->hi_percent},
        {&t->in_lo, &m->in_lo, &m->in_lo_percent}, {&t->in_hi, &m->in_hi, &m->in_hi_percent},
        {&t->mean, &m->mean, &m->mean_percent},    {&t->stddev, &m->stddev, &m->stddev_percent}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        *values[i].to = values[i].from->value;
        *values[i].percent = values[i].from->percent;
    }
}

static bool check_standard_input(const char *name, bool apply, const Options *o)
{
    const char *const other = apply ? o->transform.transfer : o->transform.reference;
    const bool is_list = o->files0_from != NULL && option_is_standard_input(o->files0_from);
    if (is_list && option_is_standard_input(other))
        return usage_error(name,
                           "standard input is the list of --files0-from already: it cannot "
                           "be the %s as well",
                           apply ? "transfer" : "reference");
    const char *first = NULL; /* the first name that means standard input */
    for (size_t i = 0; first == NULL && i < o->n_names; i++)
        if (option_is_standard_input(o->names[i]))
            first = o->names[i];
    if (first == NULL)
        first = o->list_standard;
    if (is_list && first != NULL)
        return usage_error(name,
                           "standard input is the list of --files0-from already: %s cannot be "
                           "read as well",
                           first);
    if (option_is_standard_input(other) && first != NULL)
        return usage_error(name, "standard input is the %s already: %s cannot be read as well",
                           apply ? "transfer" : "reference", first);
    return true;
}

static bool check_shards(const char *name, Command command, Options *o)
{
    TransformOptions *const t = &o->transform;
    if (o->state != NULL && *o->state == '\0')
        return usage_error(name, "--state names a folder: an empty name is none");
    if (shard_team != NULL && command == COMMAND_COMPARE)
        return usage_error(name, "one process compares two images: run imgstat compare");
    if (shard_team != NULL && command == COMMAND_REPORT)
        return usage_error(name, "one process makes a report: measure by 'stats --by all "
                                 "--save-record a.rec', then report a.rec");
    if (shard_team != NULL && t->dry_run)
        return usage_error(name, "one process lists what would be written: run %s --dry-run", name);
    if (shard_team != NULL && o->shard > 0)
        return usage_error(name, "the members of a job do all shards: --shard is for one process");
    if (shard_team == NULL && o->shards > 0 && o->shard == 0 && o->state == NULL)
        return usage_error(name, "--shards needs --state, the folder that keeps what is done");
    if (o->state != NULL && o->shards == 0)
        return usage_error(name, "--state needs --shards N, or --shard K/N for one of them");
    if (o->shards == 0 && shard_team != NULL)
        o->shards = shard_team_shards();
    if (o->shards == 0)
        return true;
    for (size_t i = 0; i < o->n_names; i++)
        if (option_is_standard_input(o->names[i]))
            return usage_error(name, "standard input cannot be in shards");
    const bool all = shard_team != NULL || (o->state != NULL && o->shard == 0);
    if (command_table[command].input == INPUT_READ && o->by == IMGSTAT_BY_ALL)
        return true;
    if (command_table[command].input == INPUT_READ && o->plot != NULL)
        return usage_error(name, "--plot draws one image, which is not done in shards");
    if (command_table[command].input == INPUT_READ)
        return o->style != OUTPUT_PEOPLE || all ||
               usage_error(name, "shards need --json%s",
                           command == COMMAND_INFO ? "" : " or --csv");
    if (t->together == IMGSTAT_BY_ALL ? !all : t->save_transfer != NULL)
        return o->group.text != NULL
                   ? usage_error(name,
                                 "a shard has only a part of the images: measure all by 'imgstat "
                                 "stats --by group=REGEX --save-record g.rec IN', then write the "
                                 "shard by '%s --from g.rec --together group=REGEX --shard "
                                 "%u/%u IN -o OUT'",
                                 name, (unsigned)o->shard, (unsigned)o->shards)
                   : usage_error(name,
                                 "a shard has only a part of the images: make the transfer of all "
                                 "by '%s --together --save-transfer t.json IN', then write "
                                 "shards by 'imgstat apply t.json IN -o OUT' with --shard or "
                                 "--state",
                                 name);
    if (o->state != NULL && t->output == NULL)
        return usage_error(name, "--state keeps what is written: -o names where");
    if (option_is_standard_output(t->output))
        return usage_error(name, "shards need a folder for -o");
    if (o->state != NULL && t->dry_run)
        return usage_error(name, "--dry-run does nothing that --state could keep");
    t->skip_existing = t->skip_existing || (o->state != NULL && !t->write.replace);
    return true;
}

static bool check_together(Command command, const char *name, Options *o)
{
    if (command == COMMAND_DEVICES)
        return o->n_names == 0 || usage_error(name, "devices takes no file");
    for (size_t i = 0; i < o->n_names; i++)
        if (*o->names[i] == '\0')
            return usage_error(name, "file name %zu is empty", i + 1);
    const bool apply = command == COMMAND_APPLY;
    if (apply && o->n_names > 0) {
        o->transform.transfer = o->names[0];
        memmove(o->names, o->names + 1, --o->n_names * sizeof *o->names);
    }
    if (apply && o->transform.transfer == NULL)
        return usage_error(name, "name the transfer, and at least one file or directory");
    if (shard_team != NULL && o->files0_from != NULL && strcmp(o->files0_from, "-") == 0)
        return usage_error(name, "the members of a job share no standard input: --files0-from "
                                 "needs a file");
    if (o->files0_from != NULL && !name_list_open(o))
        return false;
    if (!check_standard_input(name, apply, o))
        return false;
    if (o->n_names + o->n_list == 0 && o->files0_from != NULL)
        return usage_error(name, "--files0-from: %s holds no name", o->files0_from);
    if (o->n_names + o->n_list == 0)
        return usage_error(name, "name at least one file or directory, or - for standard input");
    if (!check_from(name, o) || !check_shards(name, command, o))
        return false;
    if (command_table[command].input == INPUT_READ)
        return check_records(command, name, o) && check_measuring(command, name, o);
    take_scaled(&o->transform);
    o->transform.method.region = o->region;
    return check_outputs(name, o) && (apply || check_method(name, &o->transform));
}

static bool read_environment(Options *o)
{
    const char *const device = getenv("IMGSTAT_DEVICE"), *const jobs = getenv("IMGSTAT_JOBS");
    if (o->device == NULL)
        o->device = device != NULL && *device != '\0' ? device : "auto";
    return o->jobs > 0 || jobs == NULL || *jobs == '\0' ||
           value_count(o->command, "IMGSTAT_JOBS", jobs, 1, JOBS_MAX, &o->jobs);
}

ParseResult options_parse(Command command, int argc, char **argv, Options *out)
{
    *out = (Options){.command = argv[0], .list_fd = -1};
    out->names = text_alloc((size_t)argc * sizeof *out->names);
    out->records = out->merges = command == COMMAND_MERGE;
    if (out->records)
        out->by = IMGSTAT_BY_ALL;
    if (command == COMMAND_EQUALIZE)
        out->transform.method.transform = IMGSTAT_EQUALIZE;
    const bool good = read_words(command, argc, argv, out);
    /* What shards print is kept in files. */
    terminal_want_colours(out->shards > 0 || out->state != NULL ? COLOUR_NEVER : out->colour);
    if (out->help != HELP_NONE) {
        help_command(stdout, command, out->help == HELP_ALL);
        return PARSE_DONE;
    }
    if (good && read_environment(out) &&
        (command_table[command].input == INPUT_NONE || check_codecs(out)) &&
        check_together(command, argv[0], out)) {
        if (command_table[command].input != INPUT_NONE)
            sandbox_enter(out);
        return PARSE_RUN;
    }
    fprintf(stderr, "Try '%s --help'.\n", argv[0]);
    return PARSE_ERROR;
}

ImgstatOpen options_open(const Options *options)
{
    return (ImgstatOpen){.limits = options->limits,
                         .codecs = options->codecs,
                         .salvage = options->salvage,
                         .indices = options->indices,
                         .ignore_masks = options->ignore_masks,
                         .alpha_masks = options->alpha == 1,
                         .mask = options->mask,
                         .mask_page = options->mask_page,
                         .has_nodata = options->has_nodata,
                         .nodata = options->nodata};
}

void options_release(Options *options)
{
    group_name_release(&options->group);
    free(options->mask);
    free(options->mask_page);
    for (size_t i = 0; i < options->n_percentiles; i++)
        free(options->percentile_keys[i]);
    free(options->percentile_keys);
    free(options->percentiles);
    free(options->include.items);
    free(options->exclude.items);
    free(options->names);
    free(options->list_standard);
    free(options->arguments);
    if (options->list_fd >= 0)
        close(options->list_fd);
}

/* SPDX-License-Identifier: MIT */
/* options.h: what a command was asked to do. */
#ifndef IMGSTAT_TOOLS_OPTIONS_OPTIONS_H
#define IMGSTAT_TOOLS_OPTIONS_OPTIONS_H

#include "imgstat.h"
#include "options/field_list.h"
#include "options/group_name.h"
#include "text/terminal.h"

#include <sys/types.h>

typedef enum OutputStyle {
    OUTPUT_PEOPLE, /* a table, or a plot in the terminal */
    OUTPUT_JSON,
    OUTPUT_CSV
} OutputStyle;

typedef enum HelpWanted { HELP_NONE, HELP_EVERYDAY, HELP_ALL } HelpWanted;

enum { JOBS_MAX = 1024, SHARDS_MAX = 1000000 };

/* A number, or so many per cent of full scale. */
typedef struct ScaledValue {
    double value;
    bool percent;
} ScaledValue;

typedef enum LevelsWanted { LEVELS_KEEP, LEVELS_DROP } LevelsWanted;

/* What normalize, equalize and apply were asked to do. */
typedef struct TransformOptions {
    ImgstatMethod method;
    ScaledValue out_lo, out_hi, in_lo, in_hi, mean, stddev; /* for `method` */
    bool has_method, has_mean, has_stddev, has_gamma, has_grid;
    const char *reference;     /* of match */
    const char *transfer;      /* of apply: the saved one */
    const char *save_transfer; /* NULL for none */
    const char *record;        /* the saved record that is measured in place of images; or NULL */
    const char *output;        /* file, folder or "-" */
    ImgstatWrite write;
    ImgstatGrouping together;
    const char *only; /* the list of those that are measured; NULL: all */
    bool skip_existing, dry_run;
    LevelsWanted levels;
    uint64_t memory;
} TransformOptions;

/* Patterns of --include or --exclude, from argv. */
typedef struct GlobList {
    const char **items; /* owned; n of them */
    size_t n;
} GlobList;

typedef struct Options {
    const char *command; /* "imgstat stats" */
    char **names;        /* files, directories and "-", as given; owned, the texts are not */
    size_t n_names;
    const char *files0_from; /* the file with more of them, or "-"; NULL for none */
    int list_fd;             /* that file, or a copy; -1 for none; owned */
    size_t n_list;           /* its names */
    char *list_standard;     /* the first that is standard input; NULL for none; owned */
    GlobList include, exclude;
    uint32_t shard, shards; /* --shard 3/16; shard 0: all of them, shards 0: not in shards */
    const char *state;      /* the folder that keeps what is done; NULL for none */
    char *arguments;        /* the options that change results, a line each, sorted; owned */

    OutputStyle style;
    bool quiet, verbose;
    ColourWanted colour;
    HelpWanted help;

    bool recursive, indices, salvage, no_sandbox;
    ImgstatRegion region; /* width 0: whole pages */
    const char *pages;    /* as ImgstatJob has them; NULL: all images */
    ImgstatLimits limits;
    const char *codecs; /* NULL: all */
    bool ignore_masks;
    char *mask, *mask_page; /* as ImgstatOpen has them; owned */
    unsigned alpha;         /* 1: pixels with an alpha of 0 are masked */
    bool has_nodata;
    ImgstatValue nodata;

    GroupName group; /* of --by and --together group=REGEX */

    const char *device; /* "auto" or what imgstat_device_open takes */
    unsigned jobs;      /* threads in all; 0 for as many as the process may run on */

    double *percentiles; /* n_percentiles of them, with their spellings; owned */
    char **percentile_keys;
    size_t n_percentiles;
    ImgstatPercentile percentile_method;
    uint32_t bins;
    bool has_range;
    double lo, hi;
    bool mode, histogram, cdf, shape, levels, hash;
    ImgstatGrouping by;      /* IMGSTAT_BY_ALL: into a data set */
    const char *save_record; /* NULL for none */
    bool records;            /* the inputs are records */
    bool merges;             /* the command is merge: what it saves it does not print */
    bool partial;            /* shards may be missing */
    unsigned ddof;
    FieldList fields; /* of stats; none: those that a style has */

    /* hist only */
    const char *plot;                 /* NULL for none */
    bool log, ascii, force;           /* force: also of save_record */
    unsigned plot_width, plot_height; /* characters; 0 for the terminal's */

    /* report only */
    const char *report;  /* the page; NULL for none */
    const char *fail_on; /* flags that raise the exit status; NULL: none */
    uint32_t thumbs;     /* thumbnails on the page, at most */
    bool has_thumbs;

    /* normalize, equalize, apply only */
    TransformOptions transform;
    bool has_leave_out; /* a folder inside a directory that is not walked: the outputs' */
    dev_t leave_out_device;
    ino_t leave_out_inode;
} Options;

typedef enum Command {
    COMMAND_STATS,
    COMMAND_HIST,
    COMMAND_INFO,
    COMMAND_REPORT,
    COMMAND_COMPARE,
    COMMAND_NORMALIZE,
    COMMAND_EQUALIZE,
    COMMAND_APPLY,
    COMMAND_MERGE,
    COMMAND_DEVICES,
    N_COMMANDS
} Command;

typedef enum ParseResult {
    PARSE_RUN,  /* go on */
    PARSE_DONE, /* help was printed */
    PARSE_ERROR /* a sentence was printed to stderr; exit status 2 */
} ParseResult;

/* argv[0] is the command's full name, "imgstat stats". Environment variables stand for options that
 * are not given. Prints help where that is asked for. */
ParseResult options_parse(Command command, int argc, char **argv, Options *out);

/* Whether a name stands for standard input: "-", "-[2]". */
bool option_is_standard_input(const char *name);

/* How the inputs are opened. */
ImgstatOpen options_open(const Options *options);

void options_release(Options *options);

#endif

/* SPDX-License-Identifier: MIT */
/* of_inputs.c: what is read, and how a command runs. */
#include "options/rows.h"
#include "options/set.h"
#include "options/value.h"

/* What the batch needs at least: docs/transforms.md. */
#define MEMORY_LEAST (32u << 20)

/* One member a line would make the table twice as long. */
/* clang-format off */
static const Option rows[] = {
    /* ---- Input ---- */
    {.name = "partial", .type = OPTION_FLAG, .target = PLACE(partial), .commands = MERGE,
     .group = GROUP_INPUT,
     .help = "Merge what is there of a set of shards",
     .otherwise = "a missing shard is an error"},
    {.name = "salvage", .type = OPTION_FLAG, .target = PLACE(salvage), .commands = OPENING,
     .group = GROUP_INPUT, .rare = true,
     .help = "Use what can be decoded of damaged files; the exit status is 1 nevertheless",
     .otherwise = "a damaged file is an error",
     .more = "Tiles and rows that cannot be decoded do not count; they are masked. In outputs they are "
             "nodata, or 0 where the input has no nodata value. Rows that the decoder completes count. "
             "A warning says how many they are."},
    {.name = "region", .argument = "X,Y,W,H", .type = OPTION_CALL, .set = set_region,
     .commands = MEASURING, .group = GROUP_INPUT,
     .help = "Measure W by H pixels from column X and row Y on, counted from 0",
     .otherwise = "whole pages"},
    {.name = "region", .argument = "X,Y,W,H", .type = OPTION_CALL, .set = set_region,
     .commands = MAKING, .group = GROUP_INPUT, .rare = true,
     .help = "Measure W by H pixels from column X and row Y on, counted from 0; map whole pages",
     .otherwise = "whole pages"},
    {.name = "recursive", .letter = 'r', .type = OPTION_FLAG, .target = PLACE(recursive),
     .commands = READING, .group = GROUP_INPUT,
     .help = "Enter the directories inside directories",
     .more = "Each is entered once, whatever links lead to it; a warning names links that lead "
             "to it again."},
    {.name = "include", .argument = "GLOB", .type = OPTION_CALL, .set = set_include,
     .commands = READING, .group = GROUP_INPUT, .rare = true,
     .help = "Of a directory take only files that match GLOB, whatever their ending; several are "
             "allowed",
     .otherwise = "those with the ending of a PNG or TIFF file",
     .more = "A GLOB with a slash is compared with the path below the directory that you name, "
             "any other with the last part of it. * stands for any characters, slashes included, "
             "? for one, [abc] for one of these. A file with another ending is taken if it begins "
             "as PNG or TIFF files do."},
    {.name = "exclude", .argument = "GLOB", .type = OPTION_CALL, .set = set_exclude,
     .commands = READING, .group = GROUP_INPUT, .rare = true,
     .help = "Of a directory leave out files and directories that match GLOB; several are allowed",
     .more = "GLOB is compared as that of --include is. A name that matches both is left out."},
    {.name = "files0-from", .argument = "FILE", .type = OPTION_CALL, .set = set_files0_from,
     .commands = READING | MERGE, .group = GROUP_INPUT, .rare = true,
     .help = "Read more names of files and directories from FILE, each ended by a NUL byte; - is "
             "standard input",
     .more = "find -print0 prints such names. OUT is then a folder."},
    {.name = "shard", .argument = "K/N", .type = OPTION_CALL, .set = set_shard,
     .commands = SHARDING, .group = GROUP_INPUT, .rare = true,
     .help = "Take only the Kth of N parts of the inputs, of about as many bytes each, in the order "
             "of all",
     .more = "What the parts print, one behind the other, is what is printed without this option. "
             "OUT is a folder."},
    {.name = "shards", .argument = "N", .type = OPTION_CALL, .set = set_shards,
     .commands = SHARDING, .group = GROUP_INPUT, .rare = true,
     .help = "With --state: do N parts, one after the other"},
    {.name = "state", .argument = "DIR", .type = OPTION_TEXT, .target = PLACE(state),
     .commands = SHARDING, .group = GROUP_INPUT, .rare = true,
     .help = "Keep in DIR what is done of --shard K/N or --shards N; what is there is not done "
             "again",
     .more = "A command that was interrupted is given again, with the same DIR, by any number of "
             "processes. DIR belongs to one command with its inputs and options. Outputs that exist "
             "are taken for done unless --force is given."},
    {.name = "page", .argument = "LIST", .type = OPTION_CALL, .set = set_pages,
     .commands = READING, .group = GROUP_INPUT,
     .help = "Use these pages only, counted from 0, as FILE[LIST] does: 0,3-5, or 2.1 for a SubIFD",
     .otherwise = "all images; info: all pages"},
    {.name = "indices", .type = OPTION_FLAG, .target = PLACE(indices), .commands = MEASURING | REPORT | COMPARE,
     .group = GROUP_INPUT, .rare = true,
     .help = "Measure the indices of palette images",
     .otherwise = "their colours"},
    {.name = "mask", .argument = "FILE", .type = OPTION_CALL, .set = set_mask,
     .commands = OPENING, .group = GROUP_INPUT, .rare = true,
     .help = "Leave out pixels where the first channel of FILE is 0, beside those that the mask of "
             "a page leaves out; none ignores the masks of pages",
     .otherwise = "the masks of pages",
     .more = "FILE has the size of the images; FILE[N] names one of its pages. Transforms let "
             "masked samples pass unchanged where the type stays."},
    {.name = "alpha", .argument = "USE", .type = OPTION_CHOICE, .target = PLACE(alpha),
     .words = "channel mask", .commands = OPENING, .group = GROUP_INPUT, .rare = true,
     .help = "Take alpha for a channel like others, or for a mask as well: pixels with an alpha of "
             "0 are left out",
     .otherwise = "channel"},
    {.name = "nodata", .argument = "V", .type = OPTION_CALL, .set = set_nodata,
     .commands = OPENING, .group = GROUP_INPUT, .rare = true,
     .help = "Leave out samples of the value V, a number or nan",
     .otherwise = "the value that the file names"},
    {.name = "max-tile", .argument = "SIZE", .type = OPTION_SIZE,
     .target = PLACE(limits.max_tile_bytes), .least = 1, .commands = LIMITED,
     .group = GROUP_INPUT, .rare = true,
     .help = "Refuse files with a strip, tile or interlaced image that decodes to more bytes; "
             "K, M, G and T multiply by powers of 1024",
     .otherwise = "2G"},
    {.name = "max-width", .argument = "N", .type = OPTION_COUNT,
     .target = PLACE(limits.max_width), .least = 1, .most = UINT32_MAX, .commands = LIMITED,
     .group = GROUP_INPUT, .rare = true,
     .help = "Refuse images that are wider, in pixels",
     .otherwise = "1000000"},
    {.name = "max-height", .argument = "N", .type = OPTION_COUNT,
     .target = PLACE(limits.max_height), .least = 1, .most = UINT32_MAX, .commands = LIMITED,
     .group = GROUP_INPUT, .rare = true,
     .help = "Refuse images that are taller, in pixels",
     .otherwise = "1000000"},
    {.name = "max-pixels", .argument = "N", .type = OPTION_SIZE,
     .target = PLACE(limits.max_pixels), .least = 1, .commands = LIMITED, .group = GROUP_INPUT,
     .rare = true,
     .help = "Refuse pages with more pixels",
     .otherwise = "64G, 2^36"},
    {.name = "max-bytes", .argument = "SIZE", .type = OPTION_SIZE,
     .target = PLACE(limits.max_bytes), .least = 1, .commands = LIMITED, .group = GROUP_INPUT,
     .rare = true,
     .help = "Refuse pages that decode to more bytes",
     .otherwise = "1T, 2^40"},
    {.name = "max-pages", .argument = "N", .type = OPTION_COUNT,
     .target = PLACE(limits.max_pages), .least = 1, .most = UINT32_MAX, .commands = LIMITED,
     .group = GROUP_INPUT, .rare = true,
     .help = "Refuse files with more pages",
     .otherwise = "65535"},

    {.name = "unlimited", .type = OPTION_FLAG, .target = PLACE(limits.unlimited),
     .commands = LIMITED, .group = GROUP_INPUT, .rare = true,
     .help = "Read small files that ask for much work, and write outputs more than 1,000 times as "
             "large as their inputs",
     .otherwise = "they are refused",
     .more = "A file of up to 10 MB may ask for the work of 8 GiB of samples that are measured, a "
             "third that are mapped, a sixth for --clahe."},
    {.name = "codecs", .argument = "LIST", .type = OPTION_TEXT, .target = PLACE(codecs),
     .commands = LIMITED, .group = GROUP_INPUT, .rare = true,
     .help = "Decode only by these codecs: png, tiff, or compressions such as tiff:none,lzw,deflate; "
             "-NAME leaves one out, as in -jbig,-old-jpeg",
     .otherwise = "$IMGSTAT_CODECS, or all"},

    /* ---- Running ---- */
    {.name = "device", .argument = "NAME", .type = OPTION_TEXT, .target = PLACE(device),
     .words = "auto cpu cuda", .commands = RUNNING, .group = GROUP_RUNNING,
     .help = "Use auto, cpu, cuda, cuda:N, several GPUs such as cuda:0,1, or cuda:all; a device "
             "named here is used or is an error",
     .otherwise = "$IMGSTAT_DEVICE, or auto"},
    {.name = "jobs", .letter = 'j', .argument = "N", .type = OPTION_COUNT, .target = PLACE(jobs),
     .least = 1, .most = JOBS_MAX, .commands = OPENING, .group = GROUP_RUNNING,
     .help = "Use N CPU threads in all, 1 to 1024, for several files at once",
     .otherwise = "$IMGSTAT_JOBS, or one a processor",
     .more = "Results come in the order of the inputs."},
    {.name = "memory", .argument = "SIZE", .type = OPTION_SIZE, .target = PLACE(transform.memory),
     .least = MEMORY_LEAST, .commands = RUNNING, .group = GROUP_RUNNING, .rare = true,
     .help = "Take at most SIZE bytes of memory, from 32M on; K, M, G and T multiply by powers "
             "of 1024",
     .otherwise = "1G; no limit for stats and hist",
     .more = "Images that do not fit are read twice, by bands. On a GPU the memory that its "
             "driver takes of the processor's, and the buffers for pixels on their way, come on "
             "top."},
    {.name = "no-sandbox", .type = OPTION_FLAG, .target = PLACE(no_sandbox),
     .commands = LIMITED | MERGE, .group = GROUP_RUNNING, .rare = true,
     .help = "Keep all rights of the process",
     .otherwise = "Linux lets it read inputs, write into folders of outputs, run no program and use "
                  "no network",
     .more = "A directory or a list among the inputs allows reading everything. There is no sandbox "
             "where a GPU may be used, and in imgstat-mpi."},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .target = PLACE(quiet),
     .commands = LIMITED | MERGE, .group = GROUP_RUNNING,
     .help = "Print errors only: no warnings, no progress",
     .more = "A summary follows where some input failed."},
    {.name = "verbose", .letter = 'v', .type = OPTION_FLAG, .target = PLACE(verbose),
     .commands = RUNNING, .group = GROUP_RUNNING,
     .help = "Report the device and each input's time on stderr"},
    {.name = "color", .argument = "WHEN", .type = OPTION_CHOICE, .target = PLACE(colour),
     .words = "auto always never", .least = COLOUR_AUTO, .commands = LIMITED | MERGE,
     .group = GROUP_RUNNING, .rare = true,
     .help = "Use colours for people: auto, always or never",
     .otherwise = "auto: on a terminal, unless $NO_COLOR is set or $TERM is dumb",
     .more = "JSON, CSV and files have none. On a terminal long names are shortened in the middle, so "
             "that tables fit, and progress is shown."},

    /* ---- Help ---- */
    {.name = "help", .letter = 'h', .type = OPTION_CALL, .set = set_help, .commands = COMMAND_ANY,
     .group = GROUP_HELP,
     .help = "Print this help"},
    {.name = "help-all", .type = OPTION_CALL, .set = set_help_all, .commands = LIMITED | MERGE,
     .group = GROUP_HELP,
     .help = "Print all options, the rare ones included"},
    {.name = "version", .letter = 'V', .commands = COMMAND_MAIN, .group = GROUP_HELP,
     .help = "Print the version, the devices and the libraries"},
};
/* clang-format on */

const OptionRows options_of_inputs = {rows, sizeof rows / sizeof rows[0]};

/* SPDX-License-Identifier: MIT */
/* of_results.c: what is printed, written and plotted. */
#include "options/rows.h"
#include "options/set.h"
#include "options/value.h"

/* One member a line would make the table twice as long. */
/* clang-format off */
static const Option rows[] = {
    /* ---- Output ---- */
    {.name = "json", .type = OPTION_CALL, .set = set_json, .commands = MEASURING | INFO | MERGE,
     .group = GROUP_OUTPUT,
     .help = "Print one JSON object a page, each on its own line",
     .more = "An input that fails gives an object with the keys file, error and message. A "
             "number that is not finite or not defined is null."},
    {.name = "json", .type = OPTION_CALL, .set = set_json, .commands = WRITING,
     .group = GROUP_OUTPUT,
     .help = "Print one JSON object for each page written, on its own line: its transfer, and "
             "warnings",
     .more = "An input that fails gives an object with the keys file, error and message."},
    {.name = "output", .letter = 'o', .argument = "FILE", .type = OPTION_TEXT,
     .target = PLACE(report), .commands = REPORT, .group = GROUP_OUTPUT,
     .help = "Write the page to FILE, such as report.html; - is standard output",
     .otherwise = "no page: how many images have which flag",
     .more = "It is one file that needs no other, no network, and no script to be read."},
    {.name = "json", .type = OPTION_CALL, .set = set_json, .commands = REPORT,
     .group = GROUP_OUTPUT,
     .help = "Print one JSON object an image, each on its own line: its flags and measures"},
    {.name = "json", .type = OPTION_CALL, .set = set_json, .commands = COMPARE,
     .group = GROUP_OUTPUT,
     .help = "Print one JSON object"},
    {.name = "fail-on", .argument = "FLAGS", .type = OPTION_TEXT, .target = PLACE(fail_on),
     .commands = REPORT, .group = GROUP_OUTPUT,
     .help = "Exit with status 1 if an image has one of these flags, as in 'clipped>1%,constant'\n"
             "damaged, empty, constant, clipped-low, clipped-high, clipped-low-all, "
             "clipped-high-all, few-levels, stepped, low-contrast, dark, bright, odd-form, "
             "duplicate, outlier\n"
             "clipped: all that begin so\n"
             "A threshold may follow after > or <",
     .more = "It is that of the page and of --json as well. docs/reports.md defines the flags."},
    {.name = "thumbs", .argument = "N", .type = OPTION_COUNT, .target = PLACE(thumbs),
     .given = PLACE(has_thumbs), .most = 100000, .commands = REPORT, .group = GROUP_OUTPUT,
     .rare = true,
     .help = "Show at most N thumbnails, of images with flags before others; 0: none",
     .otherwise = "1000 up to 1000 images, else 200"},
    {.name = "csv", .type = OPTION_CALL, .set = set_csv, .commands = STATS | MERGE, .group = GROUP_OUTPUT,
     .help = "Print a header line, then one row for each page and channel",
     .more = "A number that is not finite or not defined is null."},
    {.name = "csv", .type = OPTION_CALL, .set = set_csv, .commands = HIST, .group = GROUP_OUTPUT,
     .help = "Print a header line, then one row for each page, channel and bin"},
    {.name = "output", .letter = 'o', .argument = "FILE", .type = OPTION_CALL,
     .set = set_save_record, .commands = MERGE, .group = GROUP_OUTPUT,
     .help = "Save the merged records to FILE and print nothing; - is standard output",
     .otherwise = "print their statistics as 'imgstat stats' does"},
    {.name = "force", .type = OPTION_FLAG, .target = PLACE(force), .commands = MERGE | REPORT,
     .group = GROUP_OUTPUT,
     .help = "With -o: replace an existing file"},
    {.name = "output", .letter = 'o', .argument = "OUT", .type = OPTION_CALL, .set = set_output,
     .commands = WRITING, .group = GROUP_OUTPUT,
     .help = "Write one image to the file OUT, or several to the folder OUT; - is standard "
             "output",
     .more = "The folder mirrors the tree of a directory. It is made where it is missing, and "
             "is not walked where it lies inside the input. An input is never replaced without "
             "--force, another input never. The ending of another format, such as .jpg, is "
             "refused unless --format names the format. Without -o, --together --save-transfer "
             "measures the inputs and writes no image."},
    {.name = "format", .argument = "NAME", .type = OPTION_CALL, .set = set_format,
     .words = "png tiff", .commands = WRITING, .group = GROUP_OUTPUT,
     .help = "Write png or tiff",
     .otherwise = "by the ending of OUT, else the input's"},
    {.name = "compression", .argument = "NAME", .type = OPTION_WORD,
     .target = PLACE(transform.write.compression),
     .words = "none deflate lzw packbits zstd lzma ccittfax4", .commands = WRITING,
     .group = GROUP_OUTPUT, .rare = true,
     .help = "Compress by none or deflate; TIFF also by lzw, packbits, zstd, lzma or ccittfax4",
     .otherwise = "the input's where it is lossless, else deflate",
     .more = "ccittfax4 is for images of 1 bit."},
    {.name = "level", .argument = "N", .type = OPTION_COUNT,
     .target = PLACE(transform.write.level), .given = PLACE(transform.write.has_level),
     .most = 22, .commands = WRITING, .group = GROUP_OUTPUT, .rare = true,
     .help = "Set the level of the compression, 0 to 22",
     .otherwise = "6 for deflate",
     .more = "A level above the highest of a compression means the highest."},
    {.name = "fast", .type = OPTION_FLAG, .target = PLACE(transform.write.fast),
     .commands = WRITING, .group = GROUP_OUTPUT, .rare = true,
     .help = "Write faster; files may be larger"},
    {.name = "force", .type = OPTION_FLAG, .target = PLACE(transform.write.replace),
     .commands = WRITING, .group = GROUP_OUTPUT,
     .help = "Replace existing files; each stays until the new one is complete"},
    {.name = "levels", .argument = "WHAT", .type = OPTION_CHOICE, .target = PLACE(transform.levels),
     .words = "keep drop", .least = LEVELS_KEEP, .commands = WRITING, .group = GROUP_OUTPUT,
     .rare = true,
     .help = "keep or drop the levels (overviews) of images, and their masks",
     .otherwise = "keep",
     .more = "Levels get the transfer of their image; with --clahe they are made anew from the "
             "result."},
    {.name = "skip-existing", .type = OPTION_FLAG, .target = PLACE(transform.skip_existing),
     .commands = WRITING, .group = GROUP_OUTPUT,
     .help = "Skip images whose output exists: resume an interrupted run"},
    {.name = "dry-run", .type = OPTION_FLAG, .target = PLACE(transform.dry_run),
     .commands = WRITING, .group = GROUP_OUTPUT,
     .help = "List the outputs without writing them; mark those that exist",
     .more = "The list goes to standard output. apply also names inputs whose headers show that "
             "the transfer does not fit them."},

    {.name = "report", .argument = "FILE", .type = OPTION_TEXT, .target = PLACE(report),
     .commands = WRITING, .group = GROUP_OUTPUT, .rare = true,
     .help = "Write a page to FILE about the inputs and the outputs beside them",
     .more = "docs/reports.md describes it. Inputs are measured before and outputs behind the work, "
             "which takes more reads."},
    {.name = "out-nodata", .argument = "V", .type = OPTION_CALL, .set = set_out_nodata,
     .commands = WRITING, .group = GROUP_OUTPUT, .rare = true,
     .help = "Write V for samples that are undefined: nodata, masked, and in integers NaN; no other "
             "sample becomes V",
     .otherwise = "the input's nodata value if the output type holds it, else 0",
     .more = "TIFF names V as the nodata value. Where 0 stands in for a nodata value, other "
             "samples begin at 1. Floats have NaN in place of 0."},

    /* ---- Statistics ---- */
    {.name = "fields", .argument = "LIST", .type = OPTION_CALL, .set = set_fields,
     .commands = STATS | MERGE, .group = GROUP_STATISTICS,
     .help = "Print these fields only, named as the columns of --csv, in this order: "
             "file,channel,mean",
     .more = "It holds for tables, --csv and --json, whose keys stay in their own order. Warnings are "
             "on standard error alone then. percentiles stands for all of --percentiles. Without a "
             "field of channels a row is about an image. What is not printed is not measured."},
    {.name = "percentiles", .argument = "LIST", .type = OPTION_CALL, .set = value_percentiles,
     .commands = STATS | MERGE, .group = GROUP_STATISTICS,
     .help = "Add percentiles: numbers from 0 to 100, separated by commas, such as 1,50,99.5"},
    {.name = "percentiles", .argument = "LIST", .type = OPTION_CALL, .set = value_percentiles,
     .commands = HIST, .group = GROUP_STATISTICS,
     .help = "Show these percentiles: numbers from 0 to 100, separated by commas",
     .otherwise = "1,5,25,50,75,95,99; none with --json",
     .more = "Rows of --csv and pictures have none."},
    {.name = "interpolation", .argument = "NAME", .type = OPTION_CHOICE,
     .target = PLACE(percentile_method), .words = "linear nearest", .least = IMGSTAT_LINEAR,
     .commands = MEASURING | MERGE, .group = GROUP_STATISTICS, .rare = true,
     .help = "Find percentiles by linear interpolation between two samples, as numpy does, or "
             "take the nearest sample by rank",
     .otherwise = "linear"},
    {.name = "mode", .type = OPTION_FLAG, .target = PLACE(mode), .commands = MEASURING,
     .group = GROUP_STATISTICS, .rare = true,
     .help = "With --json or --csv: find the mode of samples of more than 16 bits as well, "
             "which takes a sort of all samples",
     .otherwise = "only up to 16 bits"},
    {.name = "levels", .type = OPTION_FLAG, .target = PLACE(levels), .commands = MEASURING,
     .group = GROUP_STATISTICS, .rare = true,
     .help = "Measure the levels (overviews) of images as well"},
    {.name = "shape", .type = OPTION_FLAG, .target = PLACE(shape), .commands = STATS | MERGE,
     .group = GROUP_STATISTICS,
     .help = "Add skewness and excess kurtosis"},
    {.name = "hash", .type = OPTION_FLAG, .target = PLACE(hash), .commands = STATS,
     .group = GROUP_STATISTICS,
     .help = "With --json or --csv: add the hash of the samples, which is equal for equal pixels "
             "in any format",
     .more = "It is XXH3 of 128 bits, of size, type and samples."},
    {.name = "ddof", .argument = "N", .type = OPTION_COUNT, .target = PLACE(ddof),
     .most = 1000000, .commands = STATS | MERGE, .group = GROUP_STATISTICS, .rare = true,
     .help = "Divide the variance by count - N, in samples",
     .otherwise = "0, the population"},
    {.name = "histogram", .type = OPTION_FLAG, .target = PLACE(histogram), .commands = STATS | MERGE,
     .group = GROUP_STATISTICS,
     .help = "With --json: add the counts of the histogram's bins"},
    {.name = "cdf", .type = OPTION_FLAG, .target = PLACE(cdf), .commands = STATS | MERGE,
     .group = GROUP_STATISTICS, .rare = true,
     .help = "With --json: add the inclusive prefix sums of the counts"},
    {.name = "bins", .argument = "N", .type = OPTION_COUNT, .target = PLACE(bins), .least = 1,
     .most = 1u << 24, .commands = MEASURING | MERGE, .group = GROUP_STATISTICS,
     .help = "Divide the histogram into N bins, up to 16777216",
     .otherwise = "one a value up to 16 bits, else 256",
     .more = "stats needs --json or --csv for it, and for --range."},
    {.name = "range", .argument = "LO,HI", .type = OPTION_RANGE, .target = PLACE(lo),
     .given = PLACE(has_range), .commands = MEASURING | MERGE, .group = GROUP_STATISTICS,
     .help = "Let the histogram reach from LO to HI, in sample values",
     .otherwise = "all values up to 16 bits, else minimum to maximum",
     .more = "The last bin includes HI."},

    {.name = "by", .argument = "WHAT", .type = OPTION_CALL, .set = set_by,
     .words = "page channel file all group=", .commands = MEASURING, .group = GROUP_STATISTICS,
     .help = "Choose what is measured as one\n"
             "page: each page\n"
             "channel: all pages of a channel, where the file declares axes\n"
             "file: all images of a file\n"
             "all: all images of all files\n"
             "group=REGEX: those whose file's name has the same part in the first parentheses of "
             "REGEX, or the same match\n",
     .otherwise = "page",
     .more = "REGEX is a POSIX extended regular expression. Names without a match are in the group "
             "\"\". Images of several types in a group are several results. Wider types than 16 "
             "bits are read again."},
    {.name = "save-record", .argument = "FILE", .type = OPTION_CALL, .set = set_save_record,
     .commands = MEASURING, .group = GROUP_STATISTICS,
     .help = "With --by all or group: save what was merged, for 'imgstat merge' and as an input in "
             "place of the images"},

    /* ---- Plot ---- */
    {.name = "plot", .argument = "FILE", .type = OPTION_TEXT, .target = PLACE(plot),
     .commands = HIST, .group = GROUP_PLOT,
     .help = "Write a plot of one image to FILE.svg or FILE.png; - is SVG on standard output",
     .more = "It shows the first image unless --page names another."},
    {.name = "plot", .argument = "FILE", .type = OPTION_TEXT, .target = PLACE(plot),
     .commands = COMPARE, .group = GROUP_PLOT,
     .help = "Draw both distributions of each channel to FILE.svg or FILE.png; - is SVG on standard "
             "output",
     .more = "Of integers of up to 16 bits the histograms and the cumulative distributions, of other "
             "types these alone."},
    {.name = "force", .type = OPTION_FLAG, .target = PLACE(force), .commands = HIST,
     .group = GROUP_PLOT,
     .help = "With --plot or --save-record: replace an existing file"},
    {.name = "force", .type = OPTION_FLAG, .target = PLACE(force), .commands = COMPARE,
     .group = GROUP_PLOT,
     .help = "With --plot: replace an existing file"},
    {.name = "force", .type = OPTION_FLAG, .target = PLACE(force), .commands = STATS,
     .group = GROUP_STATISTICS, .rare = true,
     .help = "With --save-record: replace an existing file"},
    {.name = "log", .type = OPTION_FLAG, .target = PLACE(log), .commands = HIST,
     .group = GROUP_PLOT,
     .help = "Draw logarithms of the counts",
     .otherwise = "the counts"},
    {.name = "width", .argument = "N", .type = OPTION_COUNT, .target = PLACE(plot_width),
     .least = 20, .most = 1000, .commands = HIST, .group = GROUP_PLOT, .rare = true,
     .help = "Draw N characters wide in the terminal, 20 to 1000",
     .otherwise = "the terminal's width, or 80"},
    {.name = "height", .argument = "N", .type = OPTION_COUNT, .target = PLACE(plot_height),
     .least = 1, .most = 200, .commands = HIST, .group = GROUP_PLOT, .rare = true,
     .help = "Draw N lines high in the terminal, 1 to 200",
     .otherwise = "8"},
    {.name = "ascii", .type = OPTION_FLAG, .target = PLACE(ascii), .commands = HIST,
     .group = GROUP_PLOT, .rare = true,
     .help = "Draw with ASCII characters",
     .otherwise = "only where the character set is not UTF-8"},
};
/* clang-format on */

const OptionRows options_of_results = {rows, sizeof rows / sizeof rows[0]};

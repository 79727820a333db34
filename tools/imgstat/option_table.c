/* SPDX-License-Identifier: MIT */
/* option_table.c: the options. */
#include "option_table.h"
#include "option_set.h"
#include "option_value.h"

#include <stddef.h>

enum {
    STATS = 1 << COMMAND_STATS,
    HIST = 1 << COMMAND_HIST,
    INFO = 1 << COMMAND_INFO,
    REPORT = 1 << COMMAND_REPORT,
    COMPARE = 1 << COMMAND_COMPARE,
    NORMALIZE = 1 << COMMAND_NORMALIZE,
    EQUALIZE = 1 << COMMAND_EQUALIZE,
    APPLY = 1 << COMMAND_APPLY,
    DEVICES = 1 << COMMAND_DEVICES,
    MERGE = 1 << COMMAND_MERGE,
    MEASURING = STATS | HIST,
    MAKING = NORMALIZE | EQUALIZE, /* a transfer */
    WRITING = MAKING | APPLY,
    RUNNING = MEASURING | WRITING,
    SHARDING = RUNNING | INFO,
    OPENING = RUNNING | REPORT | COMPARE,
    READING = SHARDING | REPORT,
    LIMITED = READING | COMPARE
};

/* What the batch needs at least: docs/transforms.md. */
#define MEMORY_LEAST (32u << 20)

#define PLACE(member) offsetof(Options, member)

/* One member a line would make the table twice as long. */
/* clang-format off */
const Option option_table[] = {
    /* ---- Method ---- */
    {.name = "method", .argument = "NAME", .type = OPTION_CALL, .set = set_method,
     .words = "stretch percentile meanstd gamma match", .commands = NORMALIZE,
     .group = GROUP_METHOD,
     .help = "Choose the method. stretch: extrema to the ends of the output range; percentile: "
             "the same after a cut; meanstd: to a mean and a deviation; gamma: to a power; "
             "match: to the histogram of another image. A value may follow: meanstd=128,40, "
             "gamma=2.2, match=FILE",
     .otherwise = "stretch"},
    {.name = "in-range", .argument = "LO,HI", .type = OPTION_CALL, .set = set_in_range,
     .commands = NORMALIZE, .group = GROUP_METHOD,
     .help = "With stretch: map LO to black and HI to white, in input values or, as 0%,80%, in per "
             "cent of full scale; nothing is measured",
     .otherwise = "the extrema"},
    {.name = "clip", .argument = "LO,HI", .type = OPTION_CALL, .set = set_clip,
     .commands = NORMALIZE, .group = GROUP_METHOD,
     .help = "With percentile: cut LO percent of the samples at the dark end and HI percent at "
             "the bright end",
     .otherwise = "0.175,0.175"},
    {.name = "mean", .argument = "M", .type = OPTION_CALL, .set = set_mean, .commands = NORMALIZE,
     .group = GROUP_METHOD,
     .help = "With meanstd: set the mean, in output values or, as 50%, in per cent of full scale"},
    {.name = "stddev", .argument = "S", .type = OPTION_CALL, .set = set_stddev,
     .commands = NORMALIZE, .group = GROUP_METHOD,
     .help = "With meanstd: set the standard deviation, in output values or per cent"},
    {.name = "gamma", .argument = "G", .type = OPTION_CALL, .set = set_gamma,
     .commands = NORMALIZE, .group = GROUP_METHOD,
     .help = "With gamma: set the exponent; above 1 darkens"},
    {.name = "clahe", .type = OPTION_CALL, .set = set_clahe, .commands = EQUALIZE,
     .group = GROUP_METHOD,
     .help = "Equalize adaptively: by tiles, with limited contrast",
     .otherwise = "one map for the whole image",
     .more = "Integers of at most 16 bits."},
    {.name = "grid", .argument = "X,Y", .type = OPTION_CALL, .set = set_grid,
     .commands = EQUALIZE, .group = GROUP_METHOD,
     .help = "With --clahe: divide the image into X by Y tiles; one number means both",
     .otherwise = "8,8"},
    {.name = "clip-limit", .argument = "C", .type = OPTION_CALL, .set = set_clip_limit,
     .commands = EQUALIZE, .group = GROUP_METHOD,
     .help = "With --clahe: limit each of 256 levels to this share of a tile's samples",
     .otherwise = "0.01; with --like opencv 40, in OpenCV's unit"},
    {.name = "match", .argument = "FILE", .type = OPTION_CALL, .set = set_match,
     .commands = MAKING, .group = GROUP_METHOD,
     .help = "Match the histogram of FILE",
     .more = "Its first page counts, or page N of FILE[N]."},

    /* ---- Mapping ---- */
    {.name = "channels", .argument = "MODE", .type = OPTION_CHOICE,
     .target = PLACE(transform.method.channels), .words = "each joint luma",
     .least = IMGSTAT_EACH, .commands = NORMALIZE, .group = GROUP_MAPPING,
     .help = "each: map every channel by itself; joint: map all channels by one map; luma: map "
             "the luma of RGB and keep hue and saturation",
     .otherwise = "joint; each for match"},
    {.name = "channels", .argument = "MODE", .type = OPTION_CHOICE,
     .target = PLACE(transform.method.channels), .words = "each joint luma",
     .least = IMGSTAT_EACH, .commands = EQUALIZE, .group = GROUP_MAPPING,
     .help = "each: map every channel by itself; joint: map all channels by one map; luma: map "
             "the luma of RGB and keep hue and saturation",
     .otherwise = "luma of RGB, else each; each for --match"},
    {.name = "out-range", .argument = "LO,HI", .type = OPTION_CALL, .set = set_out_range,
     .commands = MAKING, .group = GROUP_MAPPING, .rare = true,
     .help = "Map to the range from LO to HI, in output values or per cent of full scale",
     .otherwise = "full scale, which is 0,1 for floats; with meanstd floats are not limited"},
    {.name = "depth", .argument = "D", .type = OPTION_CHOICE,
     .target = PLACE(transform.method.depth), .words = "8 16 float", .least = IMGSTAT_DEPTH_8,
     .commands = MAKING, .group = GROUP_MAPPING,
     .help = "Write samples of 8 or 16 bits, or floats",
     .otherwise = "those of the input"},
    {.name = "like", .argument = "NAME", .type = OPTION_CHOICE,
     .target = PLACE(transform.method.like),
     .words = "opencv skimage imagemagick imagej imagej-classic pillow vips",
     .least = IMGSTAT_LIKE_OPENCV, .commands = MAKING, .group = GROUP_MAPPING, .rare = true,
     .help = "Use the formula of opencv, skimage, imagemagick, imagej, imagej-classic, pillow "
             "or vips",
     .otherwise = "imgstat's own"},
    {.name = "together", .argument = "WHAT", .implied = "all", .type = OPTION_CALL,
     .set = set_together, .words = "page channel file all group=", .commands = MAKING,
     .group = GROUP_MAPPING,
     .help = "Make one transfer from several images, which are read twice: page: from each page; "
             "channel: from all pages of a channel of a file; file: from all images of a file; all: "
             "from all images of all files, of each channel where files declare axes, also without "
             "=WHAT; group=REGEX: the same from files whose name has the same part in the first "
             "parentheses of REGEX, or the same match",
     .otherwise = "channel where a file declares axes, else page",
     .more = "REGEX is a POSIX extended regular expression. Names without a match are in the group "
             "\"\". WHAT may follow a blank as well: a file that is named all is ./all then."},
    {.name = "only", .argument = "LIST", .type = OPTION_TEXT, .target = PLACE(transform.only),
     .commands = MAKING, .group = GROUP_MAPPING, .rare = true,
     .help = "With --together all or group: make the transfers from the inputs alone that the file "
             "LIST names, and write all",
     .more = "LIST has names or patterns such as *_ctrl.tif, one a line, or ended by NUL bytes. "
             "Those with a slash are compared with the whole name as it was given, others with "
             "its last part."},
    {.name = "from", .argument = "FILE", .type = OPTION_TEXT, .target = PLACE(transform.record),
     .commands = MAKING, .group = GROUP_MAPPING, .rare = true,
     .help = "Make the transfers from the records that FILE holds, which stats --save-record wrote; "
             "no image is measured",
     .more = "One record is for all inputs. Of several each image takes that of its kind (sample "
             "type, bits, channels, colours) and group, which --together group=REGEX gives it; an "
             "image without one fails. Records know the channels and not their luma: RGB needs "
             "--channels joint or each."},
    {.name = "save-transfer", .argument = "FILE", .type = OPTION_CALL, .set = set_save_transfer,
     .commands = MAKING, .group = GROUP_MAPPING,
     .help = "Write the transfer of one page, or with --together of all channels and depths, as JSON "
             "for 'imgstat apply'"},

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
     .help = "Exit with status 1 if an image has one of these flags: damaged, empty, constant, "
             "clipped-low, clipped-high, clipped-low-all, clipped-high-all, few-levels, stepped, "
             "low-contrast, dark, bright, odd-form, duplicate, outlier; clipped means those that "
             "begin so. A threshold may follow, as in 'clipped>1%,constant'",
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
    {.name = "partial", .type = OPTION_FLAG, .target = PLACE(partial), .commands = MERGE,
     .group = GROUP_INPUT,
     .help = "Merge what is there of a set of shards",
     .otherwise = "a missing shard is an error"},
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
     .help = "page: measure each page by itself; channel: as one all pages of a channel, where the "
             "file declares axes; file: as one all images of a file; all: as one all images of all "
             "files; group=REGEX: those whose file's name has the same part in the first "
             "parentheses of REGEX, or the same match",
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
     .more = "It shows the first page unless --page names another."},
    {.name = "force", .type = OPTION_FLAG, .target = PLACE(force), .commands = HIST,
     .group = GROUP_PLOT,
     .help = "With --plot or --save-record: replace an existing file"},
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

    /* ---- Input ---- */
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
     .least = MEMORY_LEAST, .commands = WRITING, .group = GROUP_RUNNING, .rare = true,
     .help = "Take at most SIZE bytes of memory, from 32M on; K, M, G and T multiply by powers "
             "of 1024",
     .otherwise = "1G",
     .more = "Images that do not fit are read twice, by bands. On a GPU the memory that its "
             "driver takes of the processor's, and the buffers for pixels on their way, come on "
             "top."},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .target = PLACE(quiet),
     .commands = LIMITED | MERGE, .group = GROUP_RUNNING,
     .help = "Print errors only: no warnings, no progress",
     .more = "A summary follows where some input failed."},
    {.name = "verbose", .letter = 'v', .type = OPTION_FLAG, .target = PLACE(verbose),
     .commands = RUNNING, .group = GROUP_RUNNING,
     .help = "Report the device and each input's time on stderr"},

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

const size_t option_table_n = sizeof option_table / sizeof option_table[0];

/* SPDX-License-Identifier: MIT */
/* of_transforms.c: how transfers are made. */
#include "options/rows.h"
#include "options/set.h"
#include "options/value.h"

/* One member a line would make the table twice as long. */
/* clang-format off */
static const Option rows[] = {
    /* ---- Method ---- */
    {.name = "method", .argument = "NAME", .type = OPTION_CALL, .set = set_method,
     .words = "stretch percentile meanstd gamma match", .commands = NORMALIZE,
     .group = GROUP_METHOD,
     .help = "Choose the method; a value may follow\n"
             "stretch: extrema to the ends of the output range\n"
             "percentile: the same after a cut, see --clip\n"
             "meanstd=M,S: to a mean and a deviation\n"
             "gamma=G: to a power\n"
             "match=FILE: to the histogram of another image\n",
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
     .help = "Choose what has one map\n"
             "each: every channel its own\n"
             "joint: all channels the same\n"
             "luma: the luma of RGB; hue and saturation stay\n",
     .otherwise = "joint; each for match"},
    {.name = "channels", .argument = "MODE", .type = OPTION_CHOICE,
     .target = PLACE(transform.method.channels), .words = "each joint luma",
     .least = IMGSTAT_EACH, .commands = EQUALIZE, .group = GROUP_MAPPING,
     .help = "Choose what has one map\n"
             "each: every channel its own\n"
             "joint: all channels the same\n"
             "luma: the luma of RGB; hue and saturation stay\n",
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
     .help = "Make one transfer from several images, which are read twice\n"
             "page: from each page\n"
             "channel: from all pages of a channel of a file\n"
             "file: from all images of a file\n"
             "all, or no WHAT: from all images of all files, of each channel where files declare "
             "axes\n"
             "group=REGEX: the same from files whose name has the same part in the first "
             "parentheses of REGEX, or the same match\n",
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
};
/* clang-format on */

const OptionRows options_of_transforms = {rows, sizeof rows / sizeof rows[0]};

/* SPDX-License-Identifier: MIT */
/* transform_options.c: the options of normalize, equalize and apply. */
#include "transform_options.h"
#include "codec/encoder.h"
#include "options_value.h"

#include <string.h>

/* Options without a short form; options.c counts from 0x100. */
enum {
    KEY_METHOD = 0x200,
    KEY_CLIP,
    KEY_MEAN,
    KEY_STDDEV,
    KEY_GAMMA,
    KEY_MATCH,
    KEY_CLAHE,
    KEY_GRID,
    KEY_CLIP_LIMIT,
    KEY_CHANNELS,
    KEY_OUT_RANGE,
    KEY_DEPTH,
    KEY_LIKE,
    KEY_SAVE_TRANSFER,
    KEY_FORMAT,
    KEY_COMPRESSION,
    KEY_LEVEL,
    KEY_FAST,
    KEY_FORCE,
    KEY_SKIP_EXISTING,
    KEY_DRY_RUN,
    KEY_TOGETHER,
    KEY_MEMORY
};

const struct argp_option normalize_table[] = {
    {NULL, 0, NULL, 0, "Method:", 1},
    {"method", KEY_METHOD, "NAME", 0,
     "stretch: extrema to the ends of the output range; percentile: the same after a cut; meanstd: "
     "to a mean and a deviation; gamma: to a power; match: to the histogram of another image. A "
     "value may follow: meanstd=128,40, gamma=2.2, match=FILE (default: stretch)",
     1},
    {"clip", KEY_CLIP, "LO,HI", 0,
     "Method percentile: cut LO percent of the samples at the dark end, HI at the bright one "
     "(default: 0.175,0.175)",
     1},
    {"mean", KEY_MEAN, "M", 0, "Method meanstd: the mean, in output values", 1},
    {"stddev", KEY_STDDEV, "S", 0, "Method meanstd: the deviation, in output values", 1},
    {"gamma", KEY_GAMMA, "G", 0, "Method gamma: the exponent; above 1 darkens", 1},
    {"match", KEY_MATCH, "FILE", 0, "Method match: the image to resemble", 1},
    {0},
};

const struct argp_option equalize_table[] = {
    {NULL, 0, NULL, 0, "Method:", 1},
    {"clahe", KEY_CLAHE, NULL, 0,
     "Adaptively: by tiles, contrast limited (default: one map for the whole image)", 1},
    {"grid", KEY_GRID, "X,Y", 0,
     "With --clahe: tiles across and down; one number is both (default: 8,8)", 1},
    {"clip-limit", KEY_CLIP_LIMIT, "C", 0,
     "With --clahe: largest share of a tile in one of 256 levels (default: 0.01; like opencv: its "
     "own unit, 40)",
     1},
    {"match", KEY_MATCH, "FILE", 0, "To the histogram of this image (default: to a flat one)", 1},
    {0},
};

const struct argp_option map_table[] = {
    {"channels", KEY_CHANNELS, "MODE", 0,
     "each: every channel by itself; joint: all by one map; luma: the luma of RGB, hue and "
     "saturation hold (default: joint; luma for equalize; each for match)",
     2},
    {"out-range", KEY_OUT_RANGE, "LO,HI", 0,
     "Output range, in output values (default: full scale; floats: 0,1)", 2},
    {"depth", KEY_DEPTH, "D", 0, "Output samples: 8 or 16 bits, or float (default: as the input)",
     2},
    {"like", KEY_LIKE, "NAME", 0,
     "The formula of opencv, skimage, imagemagick, imagej, imagej-classic, pillow or vips "
     "(default: imgstat's own)",
     2},
    {"save-transfer", KEY_SAVE_TRANSFER, "FILE", 0,
     "Write the transfer of one page, or with --together of all, as JSON for 'imgstat apply'", 2},
    {"together", KEY_TOGETHER, NULL, 0,
     "One transfer from all images, which are read twice (default: each image its own)", 2},
    {0},
};

const struct argp_option write_table[] = {
    {NULL, 0, NULL, 0, "Output:", 3},
    {"output", 'o', "OUT", 0,
     "File for one image; folder for several or for a directory, whose tree it mirrors; - is "
     "standard output",
     3},
    {"format", KEY_FORMAT, "NAME", 0,
     "png or tiff (default: by the ending of OUT, else as the input)", 3},
    {"compression", KEY_COMPRESSION, "NAME", 0,
     "none or deflate; TIFF: lzw, packbits, zstd, lzma, ccittfax4, too (default: as the input, "
     "where it is lossless)",
     3},
    {"level", KEY_LEVEL, "N", 0, "Of the compression, 0 to 22 (default: 6 of deflate)", 3},
    {"fast", KEY_FAST, NULL, 0, "Files may be larger, and are written faster", 3},
    {"force", KEY_FORCE, NULL, 0, "Replace existing files; each stays until the new one is whole",
     3},
    {"skip-existing", KEY_SKIP_EXISTING, NULL, 0,
     "Leave out images whose output exists: resumes an interrupted run", 3},
    {"dry-run", KEY_DRY_RUN, NULL, 0,
     "Only list what would be written, and what of it exists already", 3},
    {0},
};

const struct argp_option transform_input_table[] = {
    {NULL, 0, NULL, 0, "Input:", 4},
    {"recursive", 'r', NULL, 0, "Enter the directories inside directories (default: no)", 4},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "Bytes that the program may take, not below 48M; suffixes K, M, G, T (default: 1G)", 4},
    {0},
};

/* Under the heading of the options that every command has. */
const struct argp_option transform_run_table[] = {
    {"quiet", 'q', NULL, 0,
     "No warnings, no progress; errors only, and a summary if some input failed", 5},
    {"verbose", 'v', NULL, 0, "Say on stderr what was written and how long it took", 5},
    {0},
};

/* ---- Values ---------------------------------------------------------------------------------- */

typedef struct Choice {
    const char *name;
    int value;
} Choice;

/* The value of `name` among choices, which end with NULL; -1 if there is none such. */
static int choose(const Choice *choices, const char *name)
{
    for (; choices->name != NULL; choices++)
        if (strcmp(choices->name, name) == 0)
            return choices->value;
    return -1;
}

static error_t set_transform(const struct argp_state *state, TransformOptions *t,
                             ImgstatTransform transform)
{
    if (t->has_method && t->method.transform != transform)
        return value_error(state, "two methods exclude each other");
    t->has_method = true;
    t->method.transform = transform;
    return 0;
}

static error_t set_gamma(const struct argp_state *state, const char *text, TransformOptions *t)
{
    t->has_gamma = true;
    if (!value_real(text, &t->method.gamma) || !(t->method.gamma > 0))
        return value_error(state, "--gamma takes a number above 0, such as 2.2, not '%s'", text);
    return set_transform(state, t, IMGSTAT_GAMMA);
}

static error_t set_clip(const struct argp_state *state, const char *text, TransformOptions *t)
{
    t->method.has_clip = true;
    if (!value_pair(text, &t->method.clip_lo, &t->method.clip_hi) || t->method.clip_lo < 0 ||
        t->method.clip_hi < 0 || t->method.clip_lo + t->method.clip_hi >= 100)
        return value_error(state,
                           "--clip takes two percentages that leave something, such as 0.5,0.5, "
                           "not '%s'",
                           text);
    return set_transform(state, t, IMGSTAT_PERCENTILE);
}

static error_t set_moment(const struct argp_state *state, const char *option, const char *text,
                          double *out, bool *has, TransformOptions *t)
{
    const bool deviation = out == &t->method.stddev;
    *has = true;
    if (!value_real(text, out) || (deviation && *out < 0))
        return value_error(state, "%s takes a number%s, such as %s, not '%s'", option,
                           deviation ? " not below 0" : "", deviation ? "40" : "128", text);
    return set_transform(state, t, IMGSTAT_MEANSTD);
}

static error_t set_match(const struct argp_state *state, const char *path, TransformOptions *t)
{
    t->reference = path;
    return set_transform(state, t, IMGSTAT_MATCH);
}

/* "gamma", "gamma=2.2"; a colon or a blank does too. */
static error_t set_method(const struct argp_state *state, const char *text, TransformOptions *t)
{
    static const Choice methods[] = {
        {"stretch", IMGSTAT_STRETCH}, {"percentile", IMGSTAT_PERCENTILE},
        {"meanstd", IMGSTAT_MEANSTD}, {"gamma", IMGSTAT_GAMMA},
        {"match", IMGSTAT_MATCH},     {NULL, 0},
    };
    char name[16] = "";
    const size_t length = strcspn(text, "=: ");
    if (length < sizeof name)
        memcpy(name, text, length);
    const char *const value = text[length] != '\0' ? text + length + 1 : NULL;
    const int method = choose(methods, name);
    if (method < 0 || (value != NULL && method == IMGSTAT_STRETCH))
        return value_error(
            state, "--method is stretch, percentile, meanstd, gamma or match, not '%s'", text);
    if (value == NULL)
        return set_transform(state, t, (ImgstatTransform)method);
    if (method == IMGSTAT_PERCENTILE)
        return set_clip(state, value, t);
    if (method == IMGSTAT_GAMMA)
        return set_gamma(state, value, t);
    if (method == IMGSTAT_MATCH)
        return set_match(state, value, t);
    t->has_mean = t->has_stddev = true;
    if (!value_pair(value, &t->method.mean, &t->method.stddev) || t->method.stddev < 0)
        return value_error(state, "meanstd takes M,S, a mean and a deviation, not '%s'", value);
    return set_transform(state, t, IMGSTAT_MEANSTD);
}

static error_t set_grid(const struct argp_state *state, const char *text, TransformOptions *t)
{
    double x = 0, y = 0;
    t->has_grid = true;
    const bool one = value_real(text, &x);
    if (one)
        y = x;
    if ((!one && !value_pair(text, &x, &y)) || !(x >= 1 && x <= 65536 && y >= 1 && y <= 65536) ||
        x != (uint32_t)x || y != (uint32_t)y)
        return value_error(state, "--grid takes X,Y, two whole numbers from 1 to 65536, not '%s'",
                           text);
    t->method.tiles_x = (uint32_t)x;
    t->method.tiles_y = (uint32_t)y;
    return 0;
}

/* By that name a file that standard output leads to would be refused, as it exists. */
static const char *output_name(const char *name)
{
    return strcmp(name, "/dev/stdout") == 0 ? "-" : name;
}

static error_t parse_map(int key, const char *arg, const struct argp_state *state,
                         TransformOptions *t)
{
    static const Choice modes[] = {
        {"each", IMGSTAT_EACH}, {"joint", IMGSTAT_JOINT}, {"luma", IMGSTAT_LUMA}, {NULL, 0}};
    static const Choice depths[] = {{"8", IMGSTAT_DEPTH_8},
                                    {"16", IMGSTAT_DEPTH_16},
                                    {"float", IMGSTAT_DEPTH_FLOAT},
                                    {NULL, 0}};
    static const Choice programs[] = {{"opencv", IMGSTAT_LIKE_OPENCV},
                                      {"skimage", IMGSTAT_LIKE_SKIMAGE},
                                      {"imagemagick", IMGSTAT_LIKE_IMAGEMAGICK},
                                      {"imagej", IMGSTAT_LIKE_IMAGEJ},
                                      {"imagej-classic", IMGSTAT_LIKE_IMAGEJ_CLASSIC},
                                      {"pillow", IMGSTAT_LIKE_PILLOW},
                                      {"vips", IMGSTAT_LIKE_VIPS},
                                      {NULL, 0}};
    int value;
    switch (key) {
    case KEY_CHANNELS:
        if ((value = choose(modes, arg)) < 0)
            return value_error(state, "--channels is each, joint or luma, not '%s'", arg);
        t->method.channels = (ImgstatChannels)value;
        return 0;
    case KEY_DEPTH:
        if ((value = choose(depths, arg)) < 0)
            return value_error(state, "--depth is 8, 16 or float, not '%s'", arg);
        t->method.depth = (ImgstatDepth)value;
        return 0;
    case KEY_LIKE:
        if ((value = choose(programs, arg)) < 0)
            return value_error(state,
                               "--like is opencv, skimage, imagemagick, imagej, imagej-classic, "
                               "pillow or vips, not '%s'",
                               arg);
        t->method.like = (ImgstatLike)value;
        return 0;
    case KEY_OUT_RANGE:
        t->method.has_range = true;
        if (!value_pair(arg, &t->method.lo, &t->method.hi) || !(t->method.lo < t->method.hi))
            return value_error(
                state, "--out-range takes LO,HI with LO below HI, such as 0,4095, not '%s'", arg);
        return 0;
    case KEY_SAVE_TRANSFER:
        t->save_transfer = output_name(arg);
        return 0;
    case KEY_TOGETHER:
        t->together = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_write(int key, const char *arg, const struct argp_state *state,
                           TransformOptions *t)
{
    uint32_t level = 0;
    error_t error;
    switch (key) {
    case 'o':
        t->output = output_name(arg);
        return 0;
    case KEY_FORMAT:
        if (strcmp(arg, "png") != 0 && strcmp(arg, "tiff") != 0 && strcmp(arg, "tif") != 0)
            return value_error(state, "--format is png or tiff, not '%s'", arg);
        t->write.format = arg[0] == 'p' ? "png" : "tiff";
        return 0;
    case KEY_COMPRESSION:
        if (!encode_compression_known(&tiff_format, arg)) /* PNG has fewer */
            return value_error(state,
                               "--compression is none, deflate, lzw, packbits, zstd, lzma or "
                               "ccittfax4, not '%s'",
                               arg);
        t->write.compression = arg;
        return 0;
    case KEY_LEVEL:
        error = value_count(state, "--level", arg, 0, 22, &level);
        t->write.has_level = true;
        t->write.level = (int)level;
        return error;
    case KEY_FAST:
        t->write.fast = true;
        return 0;
    case KEY_FORCE:
        t->write.replace = true;
        return 0;
    case KEY_SKIP_EXISTING:
        t->skip_existing = true;
        return 0;
    case KEY_DRY_RUN:
        t->dry_run = true;
        return 0;
    case KEY_MEMORY:
        return value_size(state, "--memory", arg, &t->memory);
    default:
        return parse_map(key, arg, state, t);
    }
}

error_t transform_parse(int key, char *arg, const struct argp_state *state, TransformOptions *t)
{
    switch (key) {
    case KEY_METHOD:
        return set_method(state, arg, t);
    case KEY_CLIP:
        return set_clip(state, arg, t);
    case KEY_MEAN:
        return set_moment(state, "--mean", arg, &t->method.mean, &t->has_mean, t);
    case KEY_STDDEV:
        return set_moment(state, "--stddev", arg, &t->method.stddev, &t->has_stddev, t);
    case KEY_GAMMA:
        return set_gamma(state, arg, t);
    case KEY_MATCH:
        return set_match(state, arg, t);
    case KEY_CLAHE:
        return set_transform(state, t, IMGSTAT_CLAHE);
    case KEY_GRID:
        return set_grid(state, arg, t);
    case KEY_CLIP_LIMIT:
        t->has_grid = true;
        if (!value_real(arg, &t->method.clip_limit) || !(t->method.clip_limit > 0))
            return value_error(state, "--clip-limit takes a number above 0, not '%s'", arg);
        return 0;
    default:
        return parse_write(key, arg, state, t);
    }
}

error_t transform_check(const char *name, bool apply, TransformOptions *t)
{
    const ImgstatTransform transform = t->method.transform;
    if (t->output == NULL && !t->dry_run)
        return usage_error(name, "-o names the output: a file, a folder, or - for standard output");
    if (t->output == NULL)
        return usage_error(name, "--dry-run needs -o too");
    if (t->output[0] == '\0' || (t->save_transfer != NULL && t->save_transfer[0] == '\0'))
        return usage_error(name, "-o and --save-transfer name files: an empty name is none");
    if (t->skip_existing && t->write.replace)
        return usage_error(name, "--skip-existing and --force exclude each other");
    if (apply)
        return 0;
    if (transform == IMGSTAT_MEANSTD && (!t->has_mean || !t->has_stddev))
        return usage_error(name, "meanstd needs --mean and --stddev");
    if (transform == IMGSTAT_GAMMA && !t->has_gamma)
        return usage_error(name, "gamma needs its exponent: --gamma 2.2");
    if (transform == IMGSTAT_MATCH && t->reference == NULL)
        return usage_error(name, "match needs the image to resemble: --match FILE");
    if (t->has_grid && transform != IMGSTAT_CLAHE)
        return usage_error(name, "--grid and --clip-limit belong to --clahe");
    if (transform == IMGSTAT_CLAHE && (t->together || t->save_transfer != NULL))
        return usage_error(name, "--clahe depends on the place in each image: it cannot be made "
                                 "--together or saved");
    return 0;
}

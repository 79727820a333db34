/* SPDX-License-Identifier: MIT */
/* method.c: keyword arguments that say how images are transformed. */
#include "method.h"
#include "error.h"
#include "values.h"

#include <math.h>
#include <string.h>

const Keyword method_keywords[] = {
    {"clip", offsetof(MethodOptions, clip)},
    {"in_range", offsetof(MethodOptions, in_range)},
    {"out_range", offsetof(MethodOptions, out_range)},
    {"mean", offsetof(MethodOptions, mean)},
    {"std", offsetof(MethodOptions, std)},
    {"gamma", offsetof(MethodOptions, gamma)},
    {"tiles", offsetof(MethodOptions, tiles)},
    {"clip_limit", offsetof(MethodOptions, clip_limit)},
    {"channels", offsetof(MethodOptions, channels)},
    {"like", offsetof(MethodOptions, like)},
    {"dtype", offsetof(MethodOptions, dtype)},
    {NULL, 0},
};

/* ---- Words ----------------------------------------------------------------------------------- */

typedef struct Word {
    const char *name; /* NULL ends a list */
    unsigned value;
} Word;

static const Word transforms[] = {
    {"stretch", IMGSTAT_STRETCH},   {"percentile", IMGSTAT_PERCENTILE},
    {"meanstd", IMGSTAT_MEANSTD},   {"gamma", IMGSTAT_GAMMA},
    {"equalize", IMGSTAT_EQUALIZE}, {"match", IMGSTAT_MATCH},
    {"clahe", IMGSTAT_CLAHE},       {NULL, 0},
};

static const Word channels[] = {
    {"each", IMGSTAT_EACH}, {"joint", IMGSTAT_JOINT}, {"luma", IMGSTAT_LUMA}, {NULL, 0}};

static const Word likes[] = {
    {"imgstat", IMGSTAT_LIKE_IMGSTAT},
    {"opencv", IMGSTAT_LIKE_OPENCV},
    {"skimage", IMGSTAT_LIKE_SKIMAGE},
    {"imagemagick", IMGSTAT_LIKE_IMAGEMAGICK},
    {"imagej", IMGSTAT_LIKE_IMAGEJ},
    {"imagej-classic", IMGSTAT_LIKE_IMAGEJ_CLASSIC},
    {"pillow", IMGSTAT_LIKE_PILLOW},
    {"vips", IMGSTAT_LIKE_VIPS},
    {NULL, 0},
};

static const Word depths[] = {{"uint8", IMGSTAT_DEPTH_8},
                              {"uint16", IMGSTAT_DEPTH_16},
                              {"float", IMGSTAT_DEPTH_FLOAT},
                              {NULL, 0}};

static void refuse_word(const char *option, PyObject *given, const Word *words)
{
    char list[160] = "";
    for (const Word *word = words; word->name; word++) {
        const size_t n = strlen(list);
        PyOS_snprintf(list + n, sizeof list - n, "%s\"%s\"", n ? ", " : "", word->name);
    }
    PyErr_Format(PyExc_ValueError, "%s=%R should be one of %s", option, given, list);
}

static int read_word(PyObject *given, const char *option, const Word *words, unsigned *out)
{
    if (!option_given(given))
        return 0;
    for (const Word *word = words; word->name && PyUnicode_Check(given); word++)
        if (PyUnicode_CompareWithASCIIString(given, word->name) == 0) {
            *out = word->value;
            return 0;
        }
    refuse_word(option, given, words);
    return -1;
}

/* A sample type: its name, a type (numpy.uint8), or what prints as one (a dtype, torch.uint8). */
static int read_type(PyObject *given, const char *option, const Word *words, unsigned *out)
{
    if (!option_given(given) || PyUnicode_Check(given))
        return read_word(given, option, words, out);
    PyObject *const text =
        PyType_Check(given) ? PyObject_GetAttrString(given, "__name__") : PyObject_Str(given);
    PyObject *const parts = text ? PyObject_CallMethod(text, "rpartition", "s", ".") : NULL;
    const int status = parts ? read_word(PyTuple_GetItem(parts, 2), option, words, out) : -1;
    Py_XDECREF(parts);
    Py_XDECREF(text);
    return status;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* A number, or text such as "5%". */
static int read_amount(PyObject *given, const char *option, double *out, bool *percent)
{
    *percent = PyUnicode_Check(given) != 0;
    if (!*percent)
        return number_read(given, option, out);
    const char *text;
    char *end;
    if (text_read(given, option, &text) < 0)
        return -1;
    *out = PyOS_string_to_double(text, &end, NULL);
    if (!error_dismiss())
        return -1;
    if (end != text && strcmp(end, "%") == 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s=%R should be a number or text such as \"5%%\"", option,
                 given);
    return -1;
}

/* A pair of amounts. percent: NULL where they are numbers. */
static int read_pair(PyObject *given, const char *option, double *lo, double *hi, bool *lo_percent,
                     bool *hi_percent)
{
    bool unused;
    if (!PySequence_Check(given) || PyUnicode_Check(given) || PySequence_Size(given) != 2) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s=%R should be a pair of numbers", option, given);
        return -1;
    }
    PyObject *const first = PySequence_GetItem(given, 0), *const last =
                                                              PySequence_GetItem(given, 1);
    const int status =
        first && last && read_amount(first, option, lo, lo_percent ? lo_percent : &unused) == 0 &&
                read_amount(last, option, hi, hi_percent ? hi_percent : &unused) == 0
            ? 0
            : -1;
    Py_XDECREF(first);
    Py_XDECREF(last);
    return status;
}

static int read_clip(PyObject *clip, ImgstatMethod *out)
{
    if (!option_given(clip))
        return 0;
    out->has_clip = true;
    if (read_pair(clip, "clip", &out->clip_lo, &out->clip_hi, NULL, NULL) < 0)
        return -1;
    if (out->clip_hi > 50) /* nobody cuts the brighter half: it is a percentile */
        out->clip_hi = 100 - out->clip_hi;
    if (out->clip_lo >= 0 && out->clip_hi >= 0 && out->clip_lo + out->clip_hi < 100)
        return 0;
    PyErr_Format(PyExc_ValueError, "clip=%R should be two percentages that leave something", clip);
    return -1;
}

static int read_ranges(const MethodOptions *options, ImgstatMethod *out)
{
    out->has_in_range = option_given(options->in_range);
    out->has_range = option_given(options->out_range);
    if (out->has_in_range && read_pair(options->in_range, "in_range", &out->in_lo, &out->in_hi,
                                       &out->in_lo_percent, &out->in_hi_percent) < 0)
        return -1;
    return out->has_range ? read_pair(options->out_range, "out_range", &out->lo, &out->hi,
                                      &out->lo_percent, &out->hi_percent)
                          : 0;
}

static int read_mean(const MethodOptions *options, ImgstatMethod *out)
{
    if (!option_given(options->mean) || !option_given(options->std)) {
        PyErr_SetString(PyExc_ValueError, "method=\"meanstd\" needs mean= and std=");
        return -1;
    }
    return read_amount(options->mean, "mean", &out->mean, &out->mean_percent) < 0 ||
                   read_amount(options->std, "std", &out->stddev, &out->stddev_percent) < 0
               ? -1
               : 0;
}

static int read_gamma(const MethodOptions *options, ImgstatMethod *out)
{
    if (option_given(options->gamma))
        return number_read(options->gamma, "gamma", &out->gamma);
    PyErr_SetString(PyExc_ValueError, "method=\"gamma\" needs gamma=");
    return -1;
}

static int read_tiles(PyObject *tiles, ImgstatMethod *out)
{
    double across = 0, down = 0;
    if (!option_given(tiles))
        return 0;
    if (PyNumber_Check(tiles) && !PySequence_Check(tiles)) {
        if (number_read(tiles, "tiles", &across) < 0)
            return -1;
        down = across;
    } else if (read_pair(tiles, "tiles", &across, &down, NULL, NULL) < 0) {
        return -1;
    }
    if (!(across >= 1 && down >= 1 && across <= INT32_MAX && down <= INT32_MAX &&
          across == floor(across) && down == floor(down))) {
        PyErr_Format(PyExc_ValueError, "tiles=%R should be one or two whole numbers from 1", tiles);
        return -1;
    }
    out->tiles_x = (uint32_t)across;
    out->tiles_y = (uint32_t)down;
    return 0;
}

/* ---- Methods --------------------------------------------------------------------------------- */

int transform_of_name(PyObject *name, const MethodOptions *options, ImgstatTransform *out)
{
    unsigned value = option_given(options->gamma)                                ? IMGSTAT_GAMMA
                     : option_given(options->mean) || option_given(options->std) ? IMGSTAT_MEANSTD
                     : option_given(options->clip) ? IMGSTAT_PERCENTILE
                                                   : IMGSTAT_STRETCH;
    const int status = read_word(name, "method", transforms, &value);
    *out = (ImgstatTransform)value;
    return status;
}

/* Refuses an option that another transform has. */
static int only_for(PyObject *option, const char *name, bool fits, ImgstatTransform transform)
{
    if (!option_given(option) || fits)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s= is not for method=\"%s\"", name,
                 transforms[transform].name);
    return -1;
}

int method_read(const MethodOptions *options, ImgstatTransform transform, ImgstatMethod *out)
{
    unsigned channel = 0, like = 0, depth = 0;
    memset(out, 0, sizeof *out); /* so that equal methods are equal bytes */
    out->transform = transform;
    const bool clahe = transform == IMGSTAT_CLAHE, meanstd = transform == IMGSTAT_MEANSTD;
    if (only_for(options->clip, "clip", transform == IMGSTAT_PERCENTILE, transform) < 0 ||
        only_for(options->in_range, "in_range", transform == IMGSTAT_STRETCH, transform) < 0 ||
        only_for(options->mean, "mean", meanstd, transform) < 0 ||
        only_for(options->std, "std", meanstd, transform) < 0 ||
        only_for(options->gamma, "gamma", transform == IMGSTAT_GAMMA, transform) < 0 ||
        only_for(options->tiles, "tiles", clahe, transform) < 0 ||
        only_for(options->clip_limit, "clip_limit", clahe, transform) < 0 ||
        read_word(options->channels, "channels", channels, &channel) < 0 ||
        read_word(options->like, "like", likes, &like) < 0 ||
        read_type(options->dtype, "dtype", depths, &depth) < 0 ||
        read_clip(options->clip, out) < 0 || read_ranges(options, out) < 0 ||
        (meanstd && read_mean(options, out) < 0) ||
        (transform == IMGSTAT_GAMMA && read_gamma(options, out) < 0) ||
        read_tiles(options->tiles, out) < 0 ||
        (option_given(options->clip_limit) &&
         number_read(options->clip_limit, "clip_limit", &out->clip_limit) < 0))
        return -1;
    out->channels = (ImgstatChannels)channel;
    out->like = (ImgstatLike)like;
    out->depth = (ImgstatDepth)depth;
    return 0;
}

ImgstatSample method_output(const ImgstatMethod *method, ImgstatSample sample)
{
    switch (method->depth) {
    case IMGSTAT_DEPTH_8:
        return IMGSTAT_U8;
    case IMGSTAT_DEPTH_16:
        return IMGSTAT_U16;
    case IMGSTAT_DEPTH_FLOAT:
        return sample == IMGSTAT_F64 ? IMGSTAT_F64 : IMGSTAT_F32;
    default:
        return sample;
    }
}

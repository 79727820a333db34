/* SPDX-License-Identifier: MIT */
/* transform.c: the functions normalize, equalize, clahe and match of arrays. */
#include "method.h"
#include "methods.h"
#include "transform_array.h"

/* What a call of one of the functions says. */
typedef struct Words {
    MethodOptions method;
    ArrayOptions array;
    RunOptions run;
    PyObject *out, *reference;
} Words;

static const Keyword own_keywords[] = {
    {"alpha", offsetof(Words, array.alpha)},
    {"out", offsetof(Words, out)},
    {NULL, 0},
};

static const Keyword match_keywords[] = {
    {"reference", offsetof(Words, reference)},
    {"alpha", offsetof(Words, array.alpha)},
    {"out", offsetof(Words, out)},
    {NULL, 0},
};

static int read_words(const char *function, const Keyword *own, PyObject *kwargs, Words *words)
{
    const KeywordSet sets[] = {{method_keywords, &words->method},
                               {array_keywords, &words->array},
                               {run_keywords, &words->run},
                               {own, words}};
    return keywords_read(function, kwargs, sets, sizeof sets / sizeof sets[0]);
}

static PyObject *transformed(PyObject *module, PyObject *x, PyObject *reference,
                             ImgstatTransform transform, const Words *words)
{
    ImgstatMethod method;
    if (method_read(&words->method, transform, &method) < 0)
        return NULL;
    const TransformWork work = {.method = &method, .reference = reference};
    return transform_array(state_of(module), x, words->out, &work, &words->array, &words->run);
}

#define ARRAY_WORDS                                                                           \
    "x: integers of 8 to 64 bits or floats of 16, 32 or 64, of any library: (H, W), (H, W, "  \
    "C) with C <= 4,\n  or what axes says, a letter for each axis: 'CHW', 'NHWC' ... Each "   \
    "image of a batch is mapped by itself.\n  Arrays on a GPU are mapped there.\n"            \
    "Returns an array of the same library, shape and device, and of the same type unless "    \
    "dtype is given.\n\n"                                                                     \
    "out: an array that is written to and returned; it may be x.\n"                           \
    "dtype: 'uint8', 'uint16' or 'float' (float32; float64 of float64).\n"                    \
    "out_range: (lo, hi) instead of the full scale of the type ([0, 1] for floats); '5%' is " \
    "of full scale.\n"                                                                        \
    "channels: 'each', 'joint' or 'luma'. like: the program whose formula counts, such as "   \
    "'opencv'.\n"                                                                             \
    "mask: bool or uint8 array of H x W; pixels where it is 0 do not count and stay as they " \
    "are.\n"                                                                                  \
    "nodata: a number; samples that have it do not count and keep it.\n"                      \
    "alpha: index of a channel that does not count and stays as it is.\n"                     \
    "bits: significant bits of integers, such as 12 in uint16; the result has as many, "      \
    "unless dtype is given.\n"                                                                \
    "device: 'cpu' or 'cuda:0' for arrays in host memory. threads: 0 for all processors.\n"   \
    "stream: of arrays on a GPU; by default their library's current one."

#define COMMON_SIGNATURE                                                                       \
    "dtype=None, out_range=None, channels=None, like=None,\n    axes=None, mask=None, "        \
    "nodata=None, alpha=None, bits=None, out=None, device=None, threads=0, stream=None)\n--\n" \
    "\n"

PyDoc_STRVAR(
    normalize_doc,
    "normalize(x, /, method=None, *, clip=None, in_range=None, mean=None, std=None, "
    "gamma=None,\n    " COMMON_SIGNATURE "Rescales an image.\n\n"
    "method: 'stretch' maps the extrema to the ends of the output range, or in_range="
    "(black, white);\n  'percentile' does so after cutting clip=(lo, hi) per cent at both "
    "ends, or between the percentiles lo and hi\n  where hi is above 50 (default 0.175, "
    "0.175); 'meanstd' gives it mean= and std=; 'gamma' raises the unit\n  range to the "
    "power gamma=. By default the one that the arguments are for, else 'stretch'.\n" ARRAY_WORDS);

static PyObject *normalize(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const Keyword by_name[] = {{"method", 0}, {NULL, 0}};
    PyObject *x, *name = NULL;
    Words words = {.out = NULL};
    ImgstatTransform transform;
    if (!PyArg_ParseTuple(args, "O|O:normalize", &x, &name))
        return NULL;
    const KeywordSet sets[] = {{method_keywords, &words.method},
                               {array_keywords, &words.array},
                               {run_keywords, &words.run},
                               {own_keywords, &words},
                               {by_name, &name}};
    if (keywords_read("normalize", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        transform_of_name(name, &words.method, &transform) < 0)
        return NULL;
    if (transform <= IMGSTAT_GAMMA)
        return transformed(module, x, NULL, transform, &words);
    PyErr_Format(PyExc_ValueError, "method=%R has a function of its own: equalize, match or clahe",
                 name);
    return NULL;
}

PyDoc_STRVAR(
    equalize_doc,
    "equalize(x, /, *, " COMMON_SIGNATURE
    "Equalizes the histogram of an image: docs/transforms.md has the formula. Of RGB "
    "images the luma,\nso that hue and saturation stay, of others each channel.\n\n" ARRAY_WORDS);

/* A function of one array. format: as PyArg_ParseTuple takes it, "O:" and its name. */
static PyObject *of_array(PyObject *module, PyObject *args, PyObject *kwargs, const char *format,
                          ImgstatTransform transform)
{
    PyObject *x;
    Words words = {.out = NULL};
    if (!PyArg_ParseTuple(args, format, &x) ||
        read_words(format + 2, own_keywords, kwargs, &words) < 0)
        return NULL;
    return transformed(module, x, NULL, transform, &words);
}

static PyObject *equalize(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return of_array(module, args, kwargs, "O:equalize", IMGSTAT_EQUALIZE);
}

PyDoc_STRVAR(
    clahe_doc,
    "clahe(x, /, *, tiles=8, clip_limit=None, " COMMON_SIGNATURE
    "Equalizes an image adaptively, with limited contrast.\n\n"
    "tiles: number of tiles (across, down), or one number for both.\n"
    "clip_limit: share of a tile that a bin may hold (default 0.01); with like='opencv' or "
    "'skimage' in their units.\n" ARRAY_WORDS);

static PyObject *clahe(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return of_array(module, args, kwargs, "O:clahe", IMGSTAT_CLAHE);
}

PyDoc_STRVAR(match_doc,
             "match(x, /, reference, *, " COMMON_SIGNATURE
             "Gives an image the distribution of values of a reference, channel by channel.\n\n"
             "reference: an image of any size, in the same memory, with the axes of x but for a "
             "batch.\n" ARRAY_WORDS);

static PyObject *match(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *x;
    Words words = {.out = NULL};
    if (!PyArg_ParseTuple(args, "O|O:match", &x, &words.reference) ||
        read_words("match", match_keywords, kwargs, &words) < 0)
        return NULL;
    if (words.reference)
        return transformed(module, x, words.reference, IMGSTAT_MATCH, &words);
    return PyErr_Format(PyExc_TypeError, "match() needs the argument 'reference'");
}

PyMethodDef transform_functions[] = {
    {"normalize", WITH_WORDS(normalize), normalize_doc},
    {"equalize", WITH_WORDS(equalize), equalize_doc},
    {"clahe", WITH_WORDS(clahe), clahe_doc},
    {"match", WITH_WORDS(match), match_doc},
    {NULL, NULL, 0, NULL},
};

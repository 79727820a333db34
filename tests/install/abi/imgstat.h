/* SPDX-License-Identifier: MIT */
/* imgstat.h: measure images and make them comparable. The only installed header. */
#ifndef IMGSTAT_H
#define IMGSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define IMGSTAT_API        __attribute__((visibility("default")))
#define IMGSTAT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define IMGSTAT_API
#define IMGSTAT_MUST_CHECK
#endif

#define IMGSTAT_VERSION_MAJOR 0
#define IMGSTAT_VERSION_MINOR 1
#define IMGSTAT_VERSION_PATCH 0

/* ---- Results -----------------------------------------------------------------------------
 * Every fallible function returns a code for programs and, where err is not NULL, one sentence
 * for people that names the file and the cause. The library never prints, exits, installs
 * signal handlers or keeps mutable globals. Distinct objects may be used by distinct threads.
 *
 * Pointers are not NULL but for `err` and where a comment allows it: a function that can fail
 * answers NULL with IMGSTAT_ERR_ARG, the others need their arguments. What a function makes goes to
 * *out, which is NULL (an empty image) after a failure, and is the caller's, who ends it by the
 * destroy, close or release of its type. Texts that are returned are never the caller's. */

typedef enum ImgstatResult {
    IMGSTAT_OK = 0,
    IMGSTAT_ERR_ARG,         /* the caller asked for something that makes no sense */
    IMGSTAT_ERR_MEMORY,      /* host or device memory ran out */
    IMGSTAT_ERR_IO,          /* the operating system refused: missing, unreadable, disk full */
    IMGSTAT_ERR_FORMAT,      /* the file contradicts its format, or is no PNG or TIFF */
    IMGSTAT_ERR_TRUNCATED,   /* the file ends before its pixels do */
    IMGSTAT_ERR_UNSUPPORTED, /* a valid file that holds something imgstat does not measure */
    IMGSTAT_ERR_LIMIT,       /* larger than ImgstatLimits allow */
    IMGSTAT_ERR_DEVICE,      /* the device is absent, lost, or failed */
    IMGSTAT_ERR_CANCELLED    /* a callback asked to stop */
} ImgstatResult;

typedef struct ImgstatError {
    ImgstatResult code;
    char message[1024]; /* UTF-8, no newline, control characters masked */
} ImgstatError;

/* The word that JSON output uses for a code: "truncated", "limit", ... Never NULL. */
IMGSTAT_API const char *imgstat_result_name(ImgstatResult code);

/* Receives each warning of a decoder once: one sentence that starts with the file's name. While a
 * file is measured the call may come from another thread; never two at once for one file. */
typedef void (*ImgstatWarn)(void *context, const char *sentence);

IMGSTAT_API const char *imgstat_version(void);   /* "1.2.3" */
IMGSTAT_API const char *imgstat_libraries(void); /* "libpng 1.6.39, libtiff 4.5.0, ..." */
/* "cpu", or "cpu, cuda" if the module of the CUDA device is found where imgstat_device_open looks
 * for it. Nothing is opened. */
IMGSTAT_API const char *imgstat_devices_built(void);

/* ---- For programs of their own ------------------------------------------------------------ */

/* Makes printable text of bytes that may be anything, such as the name of a file: each maximal
 * invalid piece of UTF-8 becomes U+FFFD; with `mask`, control characters become '?', as in
 * messages. Writes at most `capacity` bytes with their NUL (none where capacity is 0) and returns
 * the length of the whole text. */
IMGSTAT_API size_t imgstat_text_utf8(const char *bytes, bool mask, char *out, size_t capacity);
/* Sets what malloc keeps of freed memory, for the whole program: so much that the records and
 * tables of one image serve the next. memory: what the program may take, a small part of which
 * stays unused; 0: no bound. Call it before threads start. */
IMGSTAT_API void imgstat_heap_keep(uint64_t memory);

/* ---- Samples ---------------------------------------------------------------------------- */

typedef enum ImgstatSample {
    IMGSTAT_U8,
    IMGSTAT_I8,
    IMGSTAT_U16,
    IMGSTAT_I16,
    IMGSTAT_F16, /* IEEE binary16 */
    IMGSTAT_U32,
    IMGSTAT_I32,
    IMGSTAT_F32,
    IMGSTAT_U64,
    IMGSTAT_I64,
    IMGSTAT_F64
} ImgstatSample;

IMGSTAT_API const char *imgstat_sample_name(ImgstatSample sample); /* "u8" ... "f64" */
IMGSTAT_API size_t imgstat_sample_bytes(ImgstatSample sample);     /* 1, 2, 4 or 8 */

/* One sample's value: u for unsigned types, i for signed integers, f for floats. */
typedef struct ImgstatValue {
    ImgstatSample sample;
    union {
        uint64_t u;
        int64_t i;
        double f;
    } as;
} ImgstatValue;

IMGSTAT_API double imgstat_value_double(ImgstatValue value); /* nearest double */

/* ---- Devices ---------------------------------------------------------------------------- */

typedef struct ImgstatDevice ImgstatDevice;

typedef struct ImgstatDeviceInfo {
    char name[16];         /* what imgstat_device_open takes: "cpu", "cuda:0" */
    char description[112]; /* "AMD EPYC, 2 threads, avx512" */
    uint64_t memory_bytes;
} ImgstatDeviceInfo;

/* Opens "cpu", "cuda" or "cuda:N". A device that was named never falls back to another one;
 * an unknown name is an error that lists the valid ones. threads: CPU threads to use, 0 for as
 * many as the process may run on. The device outlives every image and record made on it. Calls
 * leave a thread the CUDA device that was current in it; memory that is freed stays in the GPU's
 * default pool.
 *
 * "cuda" opens a module, libimgstat-cuda.so: the file that the environment variable
 * IMGSTAT_CUDA_MODULE names, or else the first that exists of those in the folder of the library or
 * program that contains imgstat, in its subfolder imgstat, and in the folder LIBDIR/imgstat of the
 * installation. A module that is missing, or of another version, is IMGSTAT_ERR_DEVICE, with
 * "no CUDA device: ". No other device opens it. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_device_open(const char *name, unsigned threads,
                                                                 ImgstatDevice **out,
                                                                 ImgstatError *err);
IMGSTAT_API void imgstat_device_close(ImgstatDevice *device); /* accepts NULL */
/* What it is called and has; as imgstat_device_list tells it. */
IMGSTAT_API void imgstat_device_describe(const ImgstatDevice *device, ImgstatDeviceInfo *out);
/* Lists up to capacity devices that could be opened here; returns how many there are. out may be
 * NULL where only their number is asked for. */
IMGSTAT_API size_t imgstat_device_list(ImgstatDeviceInfo *out, size_t capacity);

/* ---- Images ----------------------------------------------------------------------------- */

/* Where pixels live. The values are DLPack's DLDeviceType (kDLCPU, kDLCUDA, kDLCUDAHost). */
typedef enum ImgstatMemory {
    IMGSTAT_HOST = 1,
    IMGSTAT_CUDA = 2,
    IMGSTAT_PINNED = 3 /* host memory that a GPU reads directly */
} ImgstatMemory;

/* An address in device memory: a type of its own, so that host code cannot index it. */
typedef struct ImgstatDevPtr {
    uint64_t address;
} ImgstatDevPtr;

/* Pixels of an image, or of a band of its rows: interleaved, host byte order. Made by
 * imgstat_image_create or imgstat_image_wrap, which check the geometry once; read-only after, but
 * for mask and mask_pitch, which the program sets where it has a mask (width bytes or more between
 * its rows). */
typedef struct ImagePro {
    ImgstatMemory memory;
    int32_t device_id; /* CUDA device index (DLDevice.device_id); 0 for host memory */
    void *host;        /* height rows of pitch bytes, where memory is HOST or PINNED; else NULL */
    ImgstatDevPtr device; /* the same where memory is CUDA; else 0 */
    size_t pitch;         /* bytes between row starts, >= width * channels * sample bytes */
    uint32_t width;       /* pixels a row; 0 is an empty image */
    uint32_t height;      /* rows here */
    uint32_t first_row;   /* row of the page that row 0 here is; 0 for a whole image */
    uint16_t channels;    /* > 0 */
    ImgstatSample sample;
    uint8_t bits;        /* significant bits of a sample: 12 for a 12-bit scan held as u16 */
    bool has_nodata;     /* samples whose order key is nodata_key are excluded and counted */
    uint64_t nodata_key; /* set by imgstat_image_set_nodata */
    const uint8_t *mask; /* NULL, or height rows of width bytes in the same memory: 0 excludes */
    size_t mask_pitch;   /* bytes between rows of mask */
    void (*release)(void *context); /* called once by imgstat_image_release; may be NULL */
    void *context;
} ImagePro;

/* Allocates zeroed host memory. bits: 0 for the full width of the sample type. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_create(uint32_t width, uint32_t height,
                                                                  uint16_t channels,
                                                                  ImgstatSample sample,
                                                                  uint8_t bits, ImagePro *out,
                                                                  ImgstatError *err);

/* Describes memory that someone else owns; nothing is copied. For CUDA memory `pixels` is the
 * device address (the CUDA array interface's data[0], DLPack's data + byte_offset). release may
 * be NULL. pitch 0 means rows without gaps. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_wrap(
    ImgstatMemory memory, int32_t device_id, const void *pixels, size_t pitch, uint32_t width,
    uint32_t height, uint16_t channels, ImgstatSample sample, uint8_t bits, void (*release)(void *),
    void *context, ImagePro *out, ImgstatError *err);

/* Marks one value as undefined, as GDAL does. A value that the sample type cannot hold, NaN
 * included, marks nothing. */
IMGSTAT_API void imgstat_image_set_nodata(ImagePro *image, ImgstatValue value);
IMGSTAT_API void imgstat_image_release(ImagePro *image); /* contents only; accepts NULL */

/* ---- Files ------------------------------------------------------------------------------ */

/* Checked before anything is allocated. 0 in a field means its default. */
typedef struct ImgstatLimits {
    uint32_t max_width, max_height; /* default 1,000,000 each */
    uint64_t max_pixels;            /* a page; default 2^36 */
    uint64_t max_bytes;             /* a page, decoded; default 2^40 */
    uint32_t max_pages;             /* a file; default 65,535 */
    uint64_t max_chunk_bytes; /* one strip, tile or PNG chunk, decoded, and twice what is held of an
                                 interlaced PNG; default 2 GiB */
} ImgstatLimits;

typedef struct ImgstatOpen {
    ImgstatLimits limits;
    bool indices;     /* palette images: raw indices instead of colours */
    ImgstatWarn warn; /* NULL: warnings are dropped */
    void *warn_context;
} ImgstatOpen;

typedef struct ImgstatPage {
    const char *format; /* "png", "tiff" */
    const char
        *photometric; /* "gray", "min-is-white", "rgb", "palette", "cmyk", "ycbcr", "lab" ... */
    uint32_t page, pages;
    uint32_t width, height;
    uint16_t channels;
    ImgstatSample sample;
    uint8_t bits;
    int16_t alpha; /* index of the alpha channel, -1 where there is none */
    bool has_nodata;
    ImgstatValue nodata;
} ImgstatPage;

typedef struct ImgstatFile ImgstatFile;

/* The format that the ending of a name stands for, "png" or "tiff"; NULL for other endings. */
IMGSTAT_API const char *imgstat_format_of_name(const char *path);

/* Opens a PNG or TIFF by path; "-" reads standard input to its end first. NULL how: defaults. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_open(const char *path,
                                                               const ImgstatOpen *how,
                                                               ImgstatFile **out,
                                                               ImgstatError *err);
IMGSTAT_API void imgstat_file_close(ImgstatFile *file);           /* accepts NULL */
IMGSTAT_API uint32_t imgstat_file_pages(const ImgstatFile *file); /* at least 1 */
/* Selects a page, counted from 0; reading starts again at its first row. out may be NULL. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_page(ImgstatFile *file, uint32_t page,
                                                               ImgstatPage *out, ImgstatError *err);
/* "red", "alpha", "cyan", "extra1" ...: channel's name on the page selected last, until another is;
 * "" where there is none. */
IMGSTAT_API const char *imgstat_file_channel(const ImgstatFile *file, uint16_t channel);
/* Reads the next `image->height` rows of the selected page into a host image made for them: of the
 * page's width, channels and type. More rows than are left are an IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_read(ImgstatFile *file, ImagePro *image,
                                                               ImgstatError *err);

/* ---- Measuring -------------------------------------------------------------------------- */

typedef enum ImgstatPercentile {
    IMGSTAT_LINEAR, /* numpy's "linear": h = (n-1)p/100, between x[floor h] and x[ceil h] */
    IMGSTAT_NEAREST /* nearest rank: x[max(ceil(n p/100), 1) - 1] */
} ImgstatPercentile;

/* What to find beyond counts, extrema, sums and moments. All zero, or NULL in its place: only
 * those, and of samples of at most 16 bits median and mode. */
typedef struct ImgstatMeasure {
    const double *percentiles; /* 0..100 each, taken to nine decimals; n_percentiles of them */
    size_t n_percentiles;
    ImgstatPercentile percentile_method;
    bool median;    /* exact; free for samples of at most 16 bits */
    bool mode;      /* smallest value with the largest count, exact */
    bool shape;     /* skewness and excess kurtosis */
    bool histogram; /* and entropy */
    uint32_t bins;  /* of the histogram; 0: one a value up to 16 bits, else 256 */
    bool has_range; /* histogram over [lo, hi]; else all values, or [min, max] */
    double lo, hi;
    unsigned ddof; /* variance divides by n - ddof */
} ImgstatMeasure;

/* Not a number stands for "undefined": no valid samples, or an infinite result. */
typedef struct ImgstatStats {
    uint64_t count, nan, inf, nodata, masked; /* count: finite and valid samples */
    ImgstatValue min, max;                    /* undefined where count is 0 */
    uint64_t min_at, max_at;                  /* y * width + x of the first occurrence */
    double sum;                               /* nearest double; exact: imgstat_record_sum */
    double mean, variance, stddev;
    double median, entropy;    /* entropy in bits */
    double skewness, kurtosis; /* kurtosis is excess: 0 for a normal distribution */
    ImgstatValue mode;         /* undefined where count is 0 */
} ImgstatStats;

/* Counts of [lo + k w, lo + (k+1) w), w = (hi - lo) / bins, the last bin closed. */
typedef struct ImgstatHistogram {
    double lo, hi;
    uint32_t bins;
    bool per_value;         /* one bin a value: bin k counts the value lo + k exactly */
    const uint64_t *counts; /* owned by the record */
} ImgstatHistogram;

typedef struct ImgstatRecord ImgstatRecord;

/* Selects a page, counted from 0, and measures it, band by band. Rows are read with
 * imgstat_file_read after another imgstat_file_page only. how: NULL for no more than the record
 * holds anyway. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_file(ImgstatDevice *device,
                                                                  ImgstatFile *file, uint32_t page,
                                                                  const ImgstatMeasure *how,
                                                                  ImgstatRecord **out,
                                                                  ImgstatError *err);
/* The same of an image in host memory or in the device's own, whose pixels nobody writes meanwhile.
 */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_image(ImgstatDevice *device,
                                                                   const ImagePro *image,
                                                                   const ImgstatMeasure *how,
                                                                   ImgstatRecord **out,
                                                                   ImgstatError *err);
IMGSTAT_API void imgstat_record_destroy(ImgstatRecord *record); /* accepts NULL */
/* Channels are those of the image, from 0. One that is not there has a count of 0, no histogram,
 * and nothing that is defined. */
IMGSTAT_API uint16_t imgstat_record_channels(const ImgstatRecord *record);
/* All that is one number. */
IMGSTAT_API void imgstat_record_stats(const ImgstatRecord *record, uint16_t channel,
                                      ImgstatStats *out);
/* Percentile k of the list asked for; not a number where count is 0. */
IMGSTAT_API double imgstat_record_percentile(const ImgstatRecord *record, uint16_t channel,
                                             size_t k);
/* Whether percentile k of the list, or the median, is the value of a sample (of integers: any whole
 * number) and not a point between two; then that value, which a double does not hold exactly beyond
 * 2^53. */
#define IMGSTAT_MEDIAN SIZE_MAX
IMGSTAT_API bool imgstat_record_exact(const ImgstatRecord *record, uint16_t channel, size_t k,
                                      ImgstatValue *out);
/* False where no histogram was asked for. */
IMGSTAT_API bool imgstat_record_histogram(const ImgstatRecord *record, uint16_t channel,
                                          ImgstatHistogram *out);
/* Where bin k begins, or with k = bins the last one ends: lo + k (hi - lo) / bins, of bins finer
 * than two steps of double the next double at or above it; of bins that each are one value, that
 * value. An F64; but of integers beyond 2^53, between their extrema, one of these. False where no
 * histogram was asked for, or k > bins. */
IMGSTAT_API bool imgstat_record_edge(const ImgstatRecord *record, uint16_t channel, uint32_t k,
                                     ImgstatValue *out);
/* The sum as decimal text: exact for integers, nearest double for floats; "null" without samples.
 */
IMGSTAT_API void imgstat_record_sum(const ImgstatRecord *record, uint16_t channel, char text[48]);

/* ---- Measuring without waiting ------------------------------------------------------------
 * For programs whose pixels are on the GPU already. Wrap them (imgstat_image_wrap with
 * IMGSTAT_CUDA), make an ImgstatPending for them once, and measure as often as wanted. */

/* Room for the statistics of one image in device memory, and for what measuring needs. */
typedef struct ImgstatPending ImgstatPending;

/* Allocates, and waits for that: not while a graph is recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_create(ImgstatDevice *device,
                                                                    ImgstatSample sample,
                                                                    uint16_t channels,
                                                                    ImgstatPending **out,
                                                                    ImgstatError *err);
IMGSTAT_API void imgstat_pending_destroy(ImgstatPending *pending); /* accepts NULL */
/* Enqueues the measurement of an image of that type on the caller's stream: a cudaStream_t, or 1
 * or 2 for the legacy and the per-thread default stream, as in the CUDA array interface. Nothing
 * waits and nothing is allocated, so a CUDA graph can record it once it has run before; what was
 * measured before is replaced. Samples lie on their boundaries, the mask (if any) in the same
 * memory. One stream at a time. The CPU device measures host images, and is done on return. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_async(ImgstatPending *pending,
                                                                   const ImagePro *image,
                                                                   void *stream, ImgstatError *err);
/* Where the counts of a channel's samples of at most 16 bits are, for kernels that follow on the
 * stream: 256 or 65,536 of 64 bits in ascending order of values, NaN, infinite and nodata samples
 * included, masked ones not. 0 for wider types. */
IMGSTAT_API ImgstatDevPtr imgstat_pending_counts(const ImgstatPending *pending, uint16_t channel);
/* Waits for the stream and turns what was measured last into a record. how: NULL, or what the
 * counts or a first read can tell; what would read the pixels again is an IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_record(ImgstatPending *pending,
                                                                    void *stream,
                                                                    const ImgstatMeasure *how,
                                                                    ImgstatRecord **out,
                                                                    ImgstatError *err);

/* ---- Transfers ---------------------------------------------------------------------------
 * A transfer maps the samples of one type to an output range. docs/transforms.md has the formulas.
 */

typedef enum ImgstatTransform {
    IMGSTAT_STRETCH,    /* smallest and largest value to the ends of the output range */
    IMGSTAT_PERCENTILE, /* the same after cutting clip_lo and clip_hi percent of the samples */
    IMGSTAT_MEANSTD,    /* to a mean and a standard deviation, in output units */
    IMGSTAT_GAMMA,      /* unit range to the power gamma */
    IMGSTAT_EQUALIZE,
    IMGSTAT_MATCH, /* to the distribution of a reference */
    IMGSTAT_CLAHE  /* contrast-limited adaptive equalization */
} ImgstatTransform;

typedef enum ImgstatChannels {
    IMGSTAT_CHANNELS_DEFAULT, /* joint; for equalize and CLAHE luma of RGB, else each; each for
                                 match */
    IMGSTAT_EACH,
    IMGSTAT_JOINT, /* one transfer from all channels but alpha */
    IMGSTAT_LUMA   /* from Rec. 709 luma, applied so that hue and saturation hold; RGB only */
} ImgstatChannels;

/* Whose formula: 8- and 16-bit unsigned samples only. */
typedef enum ImgstatLike {
    IMGSTAT_LIKE_IMGSTAT,
    IMGSTAT_LIKE_OPENCV,
    IMGSTAT_LIKE_SKIMAGE,
    IMGSTAT_LIKE_IMAGEMAGICK,
    IMGSTAT_LIKE_IMAGEJ,
    IMGSTAT_LIKE_IMAGEJ_CLASSIC,
    IMGSTAT_LIKE_PILLOW,
    IMGSTAT_LIKE_VIPS
} ImgstatLike;

typedef enum ImgstatDepth {
    IMGSTAT_DEPTH_KEEP,
    IMGSTAT_DEPTH_8,
    IMGSTAT_DEPTH_16,
    IMGSTAT_DEPTH_FLOAT
} ImgstatDepth;

/* What to do. All zero: stretch to the full scale of the input's type. */
typedef struct ImgstatMethod {
    ImgstatTransform transform;
    ImgstatChannels channels;
    ImgstatLike like;
    ImgstatDepth depth;
    bool has_range;            /* output range; else full scale */
    double lo, hi;             /* lo < hi; whole numbers for integers */
    bool has_clip;             /* else 0.175 each */
    double clip_lo, clip_hi;   /* percent, to nine decimals; together below 100 */
    double mean, stddev;       /* of meanstd; stddev >= 0 */
    double gamma;              /* > 0 */
    uint32_t tiles_x, tiles_y; /* of CLAHE; 0: 8 */
    double clip_limit;         /* of CLAHE; 0: 0.01 of a tile in a bin (like OpenCV: its 40) */
} ImgstatMethod;

typedef struct ImgstatTransfer ImgstatTransfer;

/* Images here are in host memory or in the device's own; nothing else works on their pixels during
 * a call, which ends when all is done. One of three channels, with or without alpha behind them, is
 * taken for RGB: a program that holds something else (Lab, say) asks for IMGSTAT_EACH or
 * IMGSTAT_JOINT.
 *
 * Measures an image and makes its transfer. reference: the image that IMGSTAT_MATCH matches it to,
 * else NULL. alpha: index of the channel that is not counted, or -1. Not for IMGSTAT_CLAHE. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_create(
    ImgstatDevice *device, const ImgstatMethod *method, const ImagePro *image, int16_t alpha,
    const ImagePro *reference, ImgstatTransfer **out, ImgstatError *err);
IMGSTAT_API void imgstat_transfer_destroy(ImgstatTransfer *transfer); /* accepts NULL */
/* The sample type that it makes, and its significant bits (bits may be NULL): what
 * imgstat_image_create takes. */
IMGSTAT_API ImgstatSample imgstat_transfer_output(const ImgstatTransfer *transfer, uint8_t *bits);
/* JSON (docs/transforms.md); "-" is standard output, or input. An existing file is replaced only
 * with `replace`. Loading checks all of it. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_save(const ImgstatTransfer *transfer,
                                                                   const char *path, bool replace,
                                                                   ImgstatError *err);
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_load(const char *path,
                                                                   ImgstatTransfer **out,
                                                                   ImgstatError *err);
/* Whether the transfer can map such a page: its sample type and channels fit, or it is the mask of
 * another page, which stays as it is. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_fits(const ImgstatTransfer *transfer,
                                                                   const ImgstatPage *page,
                                                                   ImgstatError *err);
/* Maps pixels; `to` has the transfer's output type and may be `from` itself where the types are
 * equal. alpha: index of the channel to leave alone, or -1. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_apply(ImgstatDevice *device,
                                                                    const ImgstatTransfer *transfer,
                                                                    const ImagePro *from,
                                                                    int16_t alpha, ImagePro *to,
                                                                    ImgstatError *err);
/* Everything in one call, IMGSTAT_CLAHE too; alpha and reference as above. Of a host image *to
 * becomes the transformed copy, which the caller releases; for one in device memory `to` is the
 * caller's, as imgstat_transfer_apply takes it. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_image_transform(ImgstatDevice *device, const ImgstatMethod *method, const ImagePro *image,
                        int16_t alpha, const ImagePro *reference, ImagePro *to, ImgstatError *err);

/* ---- Transforming without waiting ---------------------------------------------------------
 * For programs whose pixels are on the GPU already: measuring them, making the transfer and
 * applying it follow each other in the caller's stream, without the host. Wrap the pixels
 * (imgstat_image_wrap with IMGSTAT_CUDA), make an ImgstatChain for their kind once, and transform
 * as often as wanted. */

/* A method for images of one kind, with all the memory that it takes. */
typedef struct ImgstatChain ImgstatChain;

/* like: an image of that kind (type, bits, channels, nodata), as large as the largest that will
 * come; its pixels are not looked at. alpha: index of the channel that is left alone, or -1.
 * Samples of at most 16 bits; IMGSTAT_STRETCH, IMGSTAT_PERCENTILE and IMGSTAT_EQUALIZE by imgstat's
 * own formulas, to any depth: the rest is an IMGSTAT_ERR_UNSUPPORTED. Allocates (of 16 bits some
 * 2 MiB a channel, and up to 256 KiB a multiprocessor), and waits for that: not while a graph is
 * recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_chain_create(ImgstatDevice *device,
                                                                  const ImgstatMethod *method,
                                                                  const ImagePro *like,
                                                                  int16_t alpha, ImgstatChain **out,
                                                                  ImgstatError *err);
/* Before its device is closed, once its stream is done with it. */
IMGSTAT_API void imgstat_chain_destroy(ImgstatChain *chain); /* accepts NULL */
/* As imgstat_transfer_output. */
IMGSTAT_API ImgstatSample imgstat_chain_output(const ImgstatChain *chain, uint8_t *bits);
/* Enqueues all of it on the caller's stream, as imgstat_measure_async does: nothing waits and
 * nothing is allocated, so a CUDA graph can record it once it has run before. `to` has from's
 * geometry and the output type; it may be `from` where the type stays. Samples lie on their
 * boundaries, the mask (if any) in the same memory. The bytes are those of
 * imgstat_image_transform. The CPU device takes host images, and is done on return. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transform_async(ImgstatChain *chain,
                                                                     const ImagePro *from,
                                                                     ImagePro *to, void *stream,
                                                                     ImgstatError *err);

/* ---- Loading and saving --------------------------------------------------------------------- */

/* How a file is written. All zero: as the input. */
typedef struct ImgstatWrite {
    const char *format; /* "png", "tiff"; NULL: by the ending of the name, else the input's */
    /* "none", "deflate"; of TIFF "lzw", "packbits", "zstd", "lzma", "ccittfax4" (of 1 bit), too.
     * NULL: the input's where it is lossless, else deflate */
    const char *compression;
    bool has_level;
    int level;    /* of the compression, 0 to 22; what it cannot reach is its highest */
    bool fast;    /* larger files where pixels repeat, written faster */
    bool replace; /* an existing file may be replaced; it stays whole until the new one is */
} ImgstatWrite;

/* Reads one page, counted from 0, into memory. how and info may be NULL. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_load(const char *path,
                                                                const ImgstatOpen *how,
                                                                uint32_t page, ImagePro *out,
                                                                ImgstatPage *info,
                                                                ImgstatError *err);
/* Writes a host image; "-" is standard output. like: NULL, or the file and page (the one selected)
 * whose profiles, tags and layout the output takes over. how: NULL, or as above. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_save(const ImagePro *image,
                                                                int16_t alpha, const char *path,
                                                                ImgstatFile *like,
                                                                const ImgstatWrite *how,
                                                                ImgstatError *err);

/* ---- Many files ----------------------------------------------------------------------------- */

typedef struct ImgstatJob {
    const char *input;  /* "-" is standard input */
    const char *output; /* "-" is standard output; else its folder exists; NULL for measuring */
    bool has_page;      /* one page only; else all of them */
    uint32_t page;
} ImgstatJob;

/* What became of one job. */
typedef struct ImgstatDone {
    size_t job; /* its index; told in ascending order */
    ImgstatResult result;
    const char *message; /* one sentence where it failed, else "" */
    bool skipped;        /* its output existed */
    double seconds;      /* that it took */
} ImgstatDone;

typedef struct ImgstatBatch {
    ImgstatMethod method;
    const ImgstatTransfer *transfer; /* applied to all of them; NULL: made by the method */
    const char *reference;           /* path, of IMGSTAT_MATCH */
    uint32_t reference_page;         /* of that file, counted from 0 */
    bool together;      /* one transfer from all pages of all files, which are read twice */
    bool skip_existing; /* jobs whose output exists are done */
    ImgstatWrite write;
    ImgstatOpen open;   /* warnings are told on the calling thread */
    const char *device; /* as imgstat_device_open takes it; NULL: "cpu" */
    /* NULL: what the device cannot do fails. Else the CPU takes over, for good, where the device
     * cannot be opened, is lost or runs out of memory: it does that job from its start (but one of
     * standard input, which is gone) and all that follow. Called once, on the calling thread, with
     * a sentence of why. */
    void (*fallen_back)(void *context, const char *why);
    unsigned threads; /* in all; 0: as many as the process may run on */
    /* Bytes for pixels and codecs of all files at work; 0: 1 GiB; else at least 32 MiB. The
     * program's peak memory stays below that plus 64 MiB. A GPU's driver comes on top, with up to
     * 48 MiB of buffers for each worker. A file whose estimate is higher fails with
     * IMGSTAT_ERR_LIMIT. */
    uint64_t memory;
    /* NULL, or called for every job on the calling thread; false: stop. */
    bool (*progress)(void *context, const ImgstatDone *done);
    /* NULL, or called on the calling thread while `together` reads all of them first: `measured` so
     * far. Further reads begin anew. */
    void (*measuring)(void *context, size_t measured);
    /* NULL, or asked often, from any thread; true: stop. What is half-written is removed. */
    bool (*cancelled)(void *context);
    void *context;
    ImgstatTransfer **made; /* NULL, or takes the transfer of `together` or of a single page */
} ImgstatBatch;

/* The work on every image, for imgstat_device_choose: exactly one of the three is not NULL. */
typedef struct ImgstatWork {
    const ImgstatMeasure *measure;
    const ImgstatMethod *method;     /* measure each image, make its transfer, map it */
    const ImgstatTransfer *transfer; /* map each image */
} ImgstatWork;

/* Names the device that should finish this work first: "cpu" or "cuda". Reads the headers of at
 * most 16 of the inputs (outputs may be NULL) and opens no device. open: as the files will be
 * opened; may be NULL. threads: 0 for as many as the process may run on. Writes the reason, at most
 * why_bytes with its NUL, to `why`. */
IMGSTAT_API const char *imgstat_device_choose(const ImgstatJob *jobs, size_t n,
                                              const ImgstatWork *work, const ImgstatOpen *open,
                                              unsigned threads, char *why, size_t why_bytes);

/* A page of a job, or a failure. */
typedef struct ImgstatMeasured {
    size_t job;
    ImgstatResult result;
    const char *message;     /* one sentence where it failed, else "" */
    bool has_number;         /* false: it is the file that failed, or its only page */
    uint32_t number;         /* of the page, counted from 0 */
    bool first;              /* the first page of the job that is measured */
    const ImgstatFile *file; /* the page selected; NULL, as the rest, where it failed */
    const ImgstatPage *page;
    const ImgstatRecord *record;
    const char *device; /* that measured it: "cpu", "cuda:0" */
    double seconds;     /* that it took */
} ImgstatMeasured;

typedef struct ImgstatMeasureBatch {
    const ImgstatMeasure *how; /* NULL: as for imgstat_measure_file */
    ImgstatOpen open;          /* its warn is not called: warned is */
    const char *device;        /* as in ImgstatBatch, and so is fallen_back */
    void (*fallen_back)(void *context, const char *why);
    unsigned threads; /* in all; 0: as many as the process may run on */
    /* Called for every page and every failure of a job, in the order of pages; from any thread, but
     * never two at once for one job. A page that fails does not stop those after it; where no page
     * of a file is good, the first failure alone is reported. False: the rest of the job is left
     * out, and the job is IMGSTAT_ERR_CANCELLED. */
    bool (*page)(void *context, const ImgstatMeasured *measured);
    /* NULL, or called as `page` is: a warning of the job's file. */
    void (*warned)(void *context, size_t job, const char *sentence);
    /* NULL, or called as `page` is: the CPU measures the job from its start, and what was reported
     * of it is void. */
    void (*restarted)(void *context, size_t job);
    /* NULL, or called for every job in ascending order on the calling thread, after all its pages;
     * false: stop. result and message are those of the first failure. */
    bool (*progress)(void *context, const ImgstatDone *done);
    void *context;
} ImgstatMeasureBatch;

/* Measures files, several at a time. A job that fails does not stop the others and is no error
 * here; a device that cannot be opened is. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_batch_measure(const ImgstatMeasureBatch *batch,
                                                                   const ImgstatJob *jobs, size_t n,
                                                                   ImgstatError *err);

/* Transforms files, several at a time. A job that fails does not stop the others and is no error
 * here: progress tells. Inputs are never changed, unless a job names one as its output. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_batch_run(const ImgstatBatch *batch,
                                                               const ImgstatJob *jobs, size_t n,
                                                               ImgstatError *err);

#ifdef __cplusplus
}
#endif
#endif

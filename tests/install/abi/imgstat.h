/* SPDX-License-Identifier: MIT */
/* imgstat.h: measure images and make them comparable. imgstat_async.h adds streams. */
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
 * Pointers other than `err` must not be NULL unless a comment allows it: a function that can fail
 * then returns IMGSTAT_ERR_ARG, the others need their arguments. A function stores what it makes in
 * *out, which is NULL (an empty image) after a failure. The caller owns it, and ends it by destroy,
 * close or release of its type. Returned strings belong to the library; do not free them.
 *
 * The library reads the environment in three places: IMGSTAT_CPU and IMGSTAT_CUDA_MODULE when it
 * opens a device, IMGSTAT_DECODE and IMGSTAT_CODECS when it opens a file, and TMPDIR when it reads
 * or writes what is no regular file. Change the environment before you use the library.
 */

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
    uint16_t file_bytes; /* bytes of the file's name, with which message begins; 0: it names none */
    bool has_page;       /* whether the error belongs to a page of that file */
    uint32_t page;       /* counted from 0 */
    char message[1024];  /* one sentence: UTF-8, no newline, control characters masked */
} ImgstatError;

/* The word that JSON output uses for a code: "truncated", "limit", ... Never NULL. */
IMGSTAT_API const char *imgstat_result_name(ImgstatResult code);

/* Receives each warning of a decoder once: one sentence that starts with the file's name. While a
 * file is measured, any thread may make the call, but one call at a time for a file. */
typedef void (*ImgstatWarn)(void *context, const char *sentence);

IMGSTAT_API const char *imgstat_version(void);   /* "1.2.3" */
IMGSTAT_API const char *imgstat_libraries(void); /* "libpng 1.6.39, libtiff 4.5.0, ..." */
/* Returns "cpu", or "cpu, cuda" if the CUDA module is found where imgstat_device_open looks for it.
 * Opens nothing. */
IMGSTAT_API const char *imgstat_devices_built(void);

/* ---- For programs of their own ------------------------------------------------------------ */

/* Turns any bytes, such as the name of a file, into printable text: each maximal invalid piece of
 * UTF-8 becomes U+FFFD; with `mask`, control characters become '?', as in
 * messages. Writes at most `capacity` bytes with their NUL (none where capacity is 0) and returns
 * the length of the whole text. */
IMGSTAT_API size_t imgstat_text_utf8(const char *bytes, bool mask, char *out, size_t capacity);
/* Makes malloc keep freed memory, for the whole program, so that the records and tables of one
 * image serve the next. memory: bytes that the program may take; a small part of them may stay
 * unused; 0: no bound. Call it before threads start. */
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
 * an unknown name is an error that lists the valid ones. threads: CPU threads to use, at most
 * 1,024; 0 for as many as the process may run on. The device must outlive every image and record
 * made on it. Calls do not change the current CUDA device of a thread. Freed memory stays in the
 * default pool of the GPU.
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
/* Fills in the name, description and memory of a device, as imgstat_device_list does. */
IMGSTAT_API void imgstat_device_describe(const ImgstatDevice *device, ImgstatDeviceInfo *out);
/* `cancelled` is called often while the device works and files are read for it, from any thread.
 * True: the call of the library ends with IMGSTAT_ERR_CANCELLED; of an output in memory a part may
 * be written. A GPU ends what it has begun. NULL, as at first: nothing ends early. Not during a
 * call. */
IMGSTAT_API void imgstat_device_cancel(ImgstatDevice *device, bool (*cancelled)(void *context),
                                       void *context);
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
 * imgstat_image_create or imgstat_image_wrap, which check the geometry once. Do not change it after
 * that, except mask and mask_pitch, which a program with a mask sets (width bytes or more between
 * rows). */
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

/* Describes memory of the caller; nothing is copied. For CUDA memory `pixels` is the
 * device address (the CUDA array interface's data[0], DLPack's data + byte_offset). release may
 * be NULL. pitch 0 means rows without gaps. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_wrap(
    ImgstatMemory memory, int32_t device_id, const void *pixels, size_t pitch, uint32_t width,
    uint32_t height, uint16_t channels, ImgstatSample sample, uint8_t bits, void (*release)(void *),
    void *context, ImagePro *out, ImgstatError *err);

/* Marks one value as undefined, as GDAL does. A value that the sample type cannot hold, NaN
 * included, marks nothing; in floats the nearest one is marked: 0.1f by 0.1. */
IMGSTAT_API void imgstat_image_set_nodata(ImagePro *image, ImgstatValue value);
IMGSTAT_API void imgstat_image_release(ImagePro *image); /* contents only; accepts NULL */

/* ---- Files ------------------------------------------------------------------------------ */

/* Checked before anything is allocated. 0 in a field means its default. */
typedef struct ImgstatLimits {
    uint32_t max_width, max_height; /* default 1,000,000 each */
    uint64_t max_pixels;            /* a page; default 2^36 */
    uint64_t max_bytes;             /* a page, decoded; default 2^40 */
    uint32_t max_pages;             /* a file; default 65,535 */
    uint64_t max_tile_bytes; /* one strip, tile or PNG chunk, decoded, and twice what is held of an
                                 interlaced PNG; default 2 GiB */
    bool unlimited; /* no limit of work and of output. By default the pages of a file of 10 MB that
                       are read may take ten seconds of a processor, more of larger files, by an
                       estimate: docs/formats.md; and an output has at most 256 MiB or 1,000 times
                       the bytes of its input */
} ImgstatLimits;

typedef struct ImgstatOpen {
    ImgstatLimits limits;
    bool salvage; /* damaged files: samples that cannot be decoded are masked, and nodata or 0, with
                     a warning; rows that the decoder completes count as completed */
    bool indices; /* palette images: raw indices instead of colours */
    /* Which pixels count. All zero: those where the page's own mask is not 0. Other pixels are
     * masked: they are not measured, and pass through transforms. */
    bool ignore_masks;     /* the pages' own masks do not count */
    bool alpha_masks;      /* pixels whose alpha is 0 are masked */
    const char *mask;      /* NULL, or a file: pixels are masked where its first channel is 0. It is
                            * as large as the images. The text outlives the open file */
    const char *mask_page; /* name of a page of that file, which outlives the open file as well;
                            * NULL: its first image */
    bool has_nodata;       /* nodata is given, in place of what files say */
    ImgstatValue nodata;   /* of any type; a sample type that cannot hold it has no nodata */
    /* NULL, or the codecs that are allowed: "png,tiff:none,lzw,deflate", "-jbig,-old-jpeg"
     * (docs/formats.md). The text outlives the open file. The environment variable IMGSTAT_CODECS
     * and the build may allow fewer. */
    const char *codecs;
    ImgstatWarn warn; /* NULL: warnings are dropped */
    void *warn_context;
} ImgstatOpen;

/* What a page of a file is. docs/formats.md has the rules. */
typedef enum ImgstatRole {
    IMGSTAT_ROLE_IMAGE,    /* an image in its full resolution: measured and transformed */
    IMGSTAT_ROLE_LEVEL,    /* an image at a lower resolution, for viewers: follows its image */
    IMGSTAT_ROLE_MASK,     /* which pixels of an image or of a level are valid: where it is not 0 */
    IMGSTAT_ROLE_THUMBNAIL /* a preview that no image of the file has the shape of */
} ImgstatRole;

IMGSTAT_API const char *imgstat_role_name(ImgstatRole role); /* "image", "level" ... */

/* Stands for "no page". */
#define IMGSTAT_NO_PAGE UINT32_MAX

typedef struct ImgstatPage {
    const char *format; /* "png", "tiff" */
    const char
        *photometric; /* "gray", "min-is-white", "rgb", "palette", "cmyk", "ycbcr", "lab" ... */
    uint32_t page;    /* as imgstat_file_page takes it */
    uint32_t pages;   /* of the chain: those with no parent */
    ImgstatRole role;
    uint32_t owner;  /* of a level: its image; of a mask: what it masks; else this page, or none */
    uint32_t mask;   /* the page with its mask, or none */
    uint32_t parent; /* the page whose SubIFD it is, or none */
    uint32_t number; /* its place in the chain, or among these SubIFDs, counted from 0 */
    bool has_axes;   /* the file says where the page lies along channel, z and time */
    uint32_t axis_c, axis_z, axis_t;
    const char
        *axis_name;    /* of channel axis_c, valid until the file is closed; NULL: it has none */
    bool axis_repeats; /* another channel of the file has that name */
    uint32_t width, height;
    uint16_t channels;
    ImgstatSample sample;
    uint8_t bits;
    int16_t alpha; /* index of the alpha channel, -1 where there is none */
    bool has_nodata;
    ImgstatValue nodata;
} ImgstatPage;

/* Which images are measured or transformed as one. More values may follow. */
typedef enum ImgstatGrouping {
    IMGSTAT_BY_DEFAULT, /* measuring: as IMGSTAT_BY_PAGE; transforms: as ImgstatBatch says */
    IMGSTAT_BY_PAGE,    /* each by itself */
    IMGSTAT_BY_CHANNEL, /* pages of a file at one place of its channel axis; those without axes are
                           alone */
    IMGSTAT_BY_FILE,    /* all images of a file */
    IMGSTAT_BY_ALL      /* all images of all files, but each channel of a channel axis by itself:
                           channels of one name are one, or without names those at one place. Images
                           of files without axes are one as well */
} ImgstatGrouping;

typedef struct ImgstatFile ImgstatFile;

/* Returns the format of the ending of a name, "png" or "tiff"; NULL for other endings. */
IMGSTAT_API const char *imgstat_format_of_name(const char *path);
/* Returns the format by the first bytes of a regular file, "png" or "tiff"; NULL for other files
 * and for those that cannot be read. */
IMGSTAT_API const char *imgstat_format_of_file(const char *path);

/* Opens a PNG or TIFF by path; "-" reads standard input to its end first. NULL how: defaults. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_open(const char *path,
                                                               const ImgstatOpen *how,
                                                               ImgstatFile **out,
                                                               ImgstatError *err);
/* An input that is no file: memory, a member of an archive, an object of a store. */
typedef struct ImgstatInput {
    uint64_t bytes; /* in all */
    /* NULL, or called each time that the input is opened, before it is read. An input may be open
     * more than once at a time, and be opened again. */
    ImgstatResult (*open)(void *context, ImgstatError *err);
    /* Reads up to `bytes` bytes from `offset` on, within the input, and sets *got to their number.
     * The library asks for missing bytes again; 0 means that the input ends there, earlier than
     * declared. Called on any thread, on several at once, each with its own `to`. */
    ImgstatResult (*read_at)(void *context, uint64_t offset, void *to, size_t bytes, size_t *got,
                             ImgstatError *err);
    /* NULL, or called once for each time that the input was opened, after its last read. */
    void (*close)(void *context);
    void *context;
} ImgstatInput;
/* In these functions err is all zero and never NULL. On failure they may write a sentence to
 * err->message; the library puts the name of the input before it. */

/* What records keep: bytes of the name of an input, or of a group. */
enum { IMGSTAT_NAME_MOST = 65535 };

/* imgstat_file_open of an input. name: begins messages; with more than IMGSTAT_NAME_MOST bytes it
 * is an IMGSTAT_ERR_ARG. The struct is copied; what `context` points to outlives the open file. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_open_input(const char *name,
                                                                     const ImgstatInput *input,
                                                                     const ImgstatOpen *how,
                                                                     ImgstatFile **out,
                                                                     ImgstatError *err);
IMGSTAT_API void imgstat_file_close(ImgstatFile *file); /* accepts NULL */
/* Returns the number of all pages, at least 1: first those of the chain, then those of SubIFDs,
 * each behind its parent. */
IMGSTAT_API uint32_t imgstat_file_pages(const ImgstatFile *file);
/* Writes the name of a page, at most `capacity` bytes with their NUL: its place in the chain, "2",
 * or behind that of its parent its place among the SubIFDs, "2.0". Returns the length of the whole
 * name; 0 where there is no such page. */
IMGSTAT_API size_t imgstat_file_page_name(const ImgstatFile *file, uint32_t page, char *out,
                                          size_t capacity);
/* Checks that a text names pages as ImgstatJob.pages does, none of them twice, of whatever file. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pages_check(const char *pages,
                                                                 ImgstatError *err);
/* Finds the pages that a text names as ImgstatJob.pages does; NULL: all images. *n becomes their
 * number, out receives at most `capacity` of them. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_find(const ImgstatFile *file,
                                                               const char *pages, uint32_t *out,
                                                               uint32_t capacity, uint32_t *n,
                                                               ImgstatError *err);
/* Selects a page, counted from 0; reading starts again at its first row. out may be NULL. A page of
 * a TIFF that cannot be decoded is an IMGSTAT_ERR_UNSUPPORTED. If its directory is sound, *out and
 * imgstat_file_layout then describe it by that: a size, bits or channels that it lacks are 0;
 * sample, alpha and nodata mean nothing, and kinds of metadata are not listed. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_page(ImgstatFile *file, uint32_t page,
                                                               ImgstatPage *out, ImgstatError *err);
/* Returns the name of a channel of the selected page, "red", "alpha", "extra1" ..., valid until
 * another page is selected; "" if there is no such channel. */
IMGSTAT_API const char *imgstat_file_channel(const ImgstatFile *file, uint16_t channel);
/* How a page lies in its file. The texts are constants. */
typedef struct ImgstatLayout {
    const char *compression;          /* "none", "deflate", "LZW", "JPEG" ... */
    const char *predictor;            /* "none", "horizontal", "float" */
    bool tiled;                       /* tiles; else strips */
    bool planar;                      /* each channel in tiles of its own */
    bool interlaced;                  /* PNG */
    bool big_endian;                  /* the order of bytes in the file */
    bool big_file;                    /* BigTIFF: offsets of 64 bits */
    bool cloud_optimized;             /* the file says that it is a COG, behind its header */
    uint32_t tile_width, tile_height; /* of a tile or strip */
    uint64_t tiles;                   /* number of tiles or strips */
    const char *metadata[16]; /* n_metadata kinds: "icc", "exif", "gps", "geotiff", "ome-xml" ... */
    uint32_t n_metadata;
} ImgstatLayout;

/* Returns how many damaged rows ImgstatOpen.salvage has found so far, in all pages: rows with
 * samples that are lost, or that the decoder made up. */
IMGSTAT_API uint64_t imgstat_file_lost_rows(const ImgstatFile *file);

/* Describes how the selected page lies in the file, or one that imgstat_file_page cannot decode. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_layout(ImgstatFile *file,
                                                                 ImgstatLayout *out,
                                                                 ImgstatError *err);
/* Reads the next `image->height` rows of the selected page into a host image made for them: of the
 * page's width, channels and type. More rows than are left are an IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_file_read(ImgstatFile *file, ImagePro *image,
                                                               ImgstatError *err);

/* ---- Measuring -------------------------------------------------------------------------- */

typedef enum ImgstatPercentile {
    IMGSTAT_LINEAR, /* numpy's "linear": h = (n-1)p/100, between x[floor h] and x[ceil h] */
    IMGSTAT_NEAREST /* nearest rank: x[max(ceil(n p/100), 1) - 1] */
} ImgstatPercentile;

/* A part of a page. Width and height 0: the whole page. */
typedef struct ImgstatRegion {
    uint32_t x, y, width, height;
} ImgstatRegion;

/* What to find besides counts, extrema, sums and moments. All zero, or NULL: nothing else, but the
 * median and mode of samples of at most 16 bits. */
typedef struct ImgstatMeasure {
    const double *percentiles; /* 0..100 each, taken to nine decimals; n_percentiles of them */
    size_t n_percentiles;
    ImgstatPercentile percentile_method;
    bool median;    /* exact; free for samples of at most 16 bits */
    bool mode;      /* smallest value with the largest count, exact; free for samples of at most 16
                     * bits. Wider ones are read again and sorted: 64 MiB at a time, or what
                     * ImgstatLimits.max_tile_bytes allows if that is less */
    bool shape;     /* skewness and excess kurtosis */
    bool histogram; /* and entropy */
    uint32_t bins; /* of the histogram, at most 2^24; 0: one a value of integers up to 16 bits, else
                    * 256 */
    bool has_range; /* histogram over [lo, hi]; else all values, or [min, max] */
    double lo, hi;
    unsigned ddof;        /* variance divides by n - ddof */
    ImgstatRegion region; /* that is measured; positions are those of the page */
    /* The record is for imgstat_record_merge: it holds what merges, of wider types the counts of
     * the leading 16 bits of order keys too, and no statistics before imgstat_record_compute. Of
     * the fields above only region counts. */
    bool mergeable;
    /* A hash of the samples (imgstat_record_hash), found in the first read. Devices do not decode
     * then. Of images in device memory it is IMGSTAT_ERR_UNSUPPORTED. */
    bool hash;
    /* Largest side of a small copy (imgstat_record_preview), made in the first read as the hash is;
     * 0: none. */
    uint32_t preview;
    /* Pixels that are clipped in all colours (imgstat_record_clipped), counted in the first read as
     * the hash is made; of integers of at most 16 bits. */
    bool clipped;
} ImgstatMeasure;

#define IMGSTAT_COUNT_UNKNOWN UINT64_MAX

/* Not a number stands for "undefined": no valid samples, or only ddof of them, or a sum that
 * overflows. */
typedef struct ImgstatStats {
    uint64_t count, nan, inf, nodata, masked; /* count: finite and valid samples */
    ImgstatValue min, max;                    /* undefined where count is 0; -0 counts as 0 */
    uint64_t min_at, max_at;                  /* y * width + x of the first occurrence */
    uint32_t min_page, max_page;   /* the page that this is on; 0 of an image in memory */
    uint32_t min_width, max_width; /* the width of that page; 0 of an image in memory */
    /* The name of the file that this is in, as it was given; "" of an image in memory. Owned by the
     * record, and valid until it changes. */
    const char *min_file, *max_file;
    double sum; /* nearest double, of floats docs/float-sums.md; exact: imgstat_record_sum */
    double mean, variance, stddev;
    double median, entropy;    /* entropy in bits */
    double skewness, kurtosis; /* kurtosis is excess: 0 for a normal distribution */
    ImgstatValue mode;         /* undefined where count is 0 */
    /* How many samples lie at the ends of full scale, 0 to 2^bits - 1, with sign -2^(bits - 1) to
     * 2^(bits - 1) - 1: clipped ones, say. IMGSTAT_COUNT_UNKNOWN where count is 0, of floats, and
     * of integers beyond 16 bits with samples there and others, unless the pixels were read again:
     * for a median, percentiles, a mode, a histogram or a shape. */
    uint64_t low, high;
} ImgstatStats;

/* Counts of [lo + k w, lo + (k+1) w), w = (hi - lo) / bins, the last bin closed. */
typedef struct ImgstatHistogram {
    double lo, hi;
    uint32_t bins;
    bool per_value;         /* one bin a value: bin k counts the value lo + k exactly */
    const uint64_t *counts; /* owned by the record */
} ImgstatHistogram;

typedef struct ImgstatRecord ImgstatRecord;

/* Measures a page, counted from 0, band by band. The selected page stays selected, and the next row
 * for imgstat_file_read stays the next; if no page is selected, this one becomes it. how: NULL
 * means all zero. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_file(ImgstatDevice *device,
                                                                  ImgstatFile *file, uint32_t page,
                                                                  const ImgstatMeasure *how,
                                                                  ImgstatRecord **out,
                                                                  ImgstatError *err);
/* Measures n pages of one sample type, as many significant bits and channels, as if they were one
 * image: each page has its own nodata value and mask. A page that comes twice counts twice.
 * Percentiles, modes and histograms are as exact as those of a page: where that takes further
 * reads, all pages are read again. A page that differs is IMGSTAT_ERR_ARG, and the message names
 * it. Extrema are on the page with the smallest number that has them. Otherwise as
 * imgstat_measure_file. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_measure_pages(ImgstatDevice *device, ImgstatFile *file, const uint32_t *pages, uint32_t n,
                      const ImgstatMeasure *how, ImgstatRecord **out, ImgstatError *err);
/* Measures an image in host memory or in the device's own. Do not write its pixels meanwhile.
 */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_image(ImgstatDevice *device,
                                                                   const ImagePro *image,
                                                                   const ImgstatMeasure *how,
                                                                   ImgstatRecord **out,
                                                                   ImgstatError *err);
/* imgstat_measure_image of n images of any sizes and kinds, which takes less time where they are
 * small: a GPU counts many at once. records: n of them; after a failure all are NULL. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_measure_images(ImgstatDevice *device, const ImagePro *images, size_t n,
                       const ImgstatMeasure *how, ImgstatRecord **records, ImgstatError *err);
IMGSTAT_API void imgstat_record_destroy(ImgstatRecord *record); /* accepts NULL */
/* Channels are those of the image, from 0. One that is not there has a count of 0, no histogram,
 * and nothing that is defined. */
IMGSTAT_API uint16_t imgstat_record_channels(const ImgstatRecord *record);
/* Receives all single numbers. Before a record is computed: the counts and the extrema. */
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
/* Receives where bin k begins, or with k = bins where the last one ends: lo + k (hi - lo) / bins;
 * for bins finer than two steps of double the next double at or above it; for bins of one value
 * that value. It is an F64, but for integers beyond 2^53, between their extrema, an integer.
 * Returns false if no histogram was asked for, or k > bins. */
IMGSTAT_API bool imgstat_record_edge(const ImgstatRecord *record, uint16_t channel, uint32_t k,
                                     ImgstatValue *out);
/* The sum as decimal text: exact for integers, ImgstatStats.sum for floats; "null" if undefined. */
IMGSTAT_API void imgstat_record_sum(const ImgstatRecord *record, uint16_t channel, char text[48]);
/* Receives the XXH3 hash of 128 bits, high byte first, of size, type and samples of what was
 * measured (docs/statistics.md). False where it was not asked for, and of merged records. */
IMGSTAT_API bool imgstat_record_hash(const ImgstatRecord *record, uint8_t hash[16]);
/* Receives how many pixels have valid samples in all colour channels, and how many of these have
 * all of them at the low or at the high end of full scale. False where it was not asked for, of
 * wider types and of merged records. */
IMGSTAT_API bool imgstat_record_clipped(const ImgstatRecord *record, uint64_t *pixels,
                                        uint64_t *low, uint64_t *high);
/* Returns a small copy of what was measured (of several pages: the first): interleaved channels in
 * rows without gaps, in the values of the samples. Each is the mean of the valid ones of 3 by 3
 * samples, evenly spaced over the part that it stands for; NaN if none is valid. The record owns
 * it. NULL if it was not asked for, and for merged records. */
IMGSTAT_API const float *imgstat_record_preview(const ImgstatRecord *record, uint32_t *width,
                                                uint32_t *height);

/* ---- Records and data sets ----------------------------------------------------------------
 * A record merges with others of its kind: bands, pages, files, shards, in any order and grouping,
 * with the same result. What merges are counts, extrema, exact sums and bins; statistics are
 * computed from them, and are dropped when the record changes. docs/record-format.md has the bytes
 * that a record is saved as: they depend on the samples and the names of the files alone.
 *
 * A thread may use a record or a data set while no other one changes it. */

/* Images whose records merge: what they are, and by which rules they were read. */
typedef struct ImgstatKind {
    ImgstatSample sample;
    uint8_t bits; /* significant bits of a sample; 0: the full width */
    uint16_t channels;
    int16_t alpha;            /* index of the alpha channel, -1 where there is none */
    const char *photometric;  /* as in ImgstatPage; "" of images in memory; NULL is "" */
    const char *const *names; /* of the channels: "red" ...; "" of images in memory; NULL: all "" */
    bool has_nodata; /* the nodata value was given, in place of what files say; theirs are no rule:
                        each page is read by its own */
    ImgstatValue
        nodata;        /* of type `sample`; a double that is not a number if that cannot hold it */
    bool ignore_masks; /* as in ImgstatOpen */
    bool alpha_masks;  /* as in ImgstatOpen; false where there is no alpha channel */
    bool mask;         /* a mask was given */
    bool indices;      /* of palettes */
    ImgstatRegion region; /* that was measured; width 0: all */
} ImgstatKind;

/* Creates the record of no samples. Its kind is copied. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_create(const ImgstatKind *kind,
                                                                   ImgstatRecord **out,
                                                                   ImgstatError *err);
/* Adds what `from` holds, and drops what was computed of `into`. Associative and commutative.
 * IMGSTAT_ERR_ARG where the kinds differ, where one of two records of a wider type holds no
 * counts of leading bits (see ImgstatMeasure.mergeable), and where `into` is the record of a data
 * set, whose group and kind cannot change; IMGSTAT_ERR_LIMIT from 2^63 samples, files or pages on.
 * After a failure `into` is as it was. The record of an image in memory fits every kind of its
 * sample type, bits, channels and rules. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_merge(ImgstatRecord *into,
                                                                  const ImgstatRecord *from,
                                                                  ImgstatError *err);
/* Computes statistics from what merges; nothing is read again. Of samples of at most 16 bits
 * everything follows; of wider types what is exact: no mode, shape or histogram (asking for one is
 * IMGSTAT_ERR_ARG), and of percentiles and the median bounds (imgstat_record_bounds). The region is
 * that of the record, or none. how: NULL as for imgstat_measure_file. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_compute(ImgstatRecord *record,
                                                                    const ImgstatMeasure *how,
                                                                    ImgstatError *err);
/* Whether percentile k of the list, or the median (IMGSTAT_MEDIAN), is known by bounds alone: it is
 * not a number then, and lies in [*lo, *hi]. */
IMGSTAT_API bool imgstat_record_bounds(const ImgstatRecord *record, uint16_t channel, size_t k,
                                       double *lo, double *hi);
/* Receives the kind of a record, whose texts live until the kind is set or the record changes. */
IMGSTAT_API void imgstat_record_kind(const ImgstatRecord *record, ImgstatKind *out);
/* Sets what the images of a record are and by which rules they were read, where a program knows
 * that of images in memory. The kind is copied. IMGSTAT_ERR_ARG, and nothing changes, for other
 * samples, bits or channels, for other colours than those of files, and for the record of a data
 * set. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_set_kind(ImgstatRecord *record,
                                                                     const ImgstatKind *kind,
                                                                     ImgstatError *err);
/* Returns the name of the record's group in its data set; "" elsewhere. */
IMGSTAT_API const char *imgstat_record_group(const ImgstatRecord *record);
/* Counts what was measured into a record. Images in memory are pages of no file; pages of a file
 * that are measured by several calls count it as often. Both may be NULL. */
IMGSTAT_API void imgstat_record_images(const ImgstatRecord *record, uint64_t *files,
                                       uint64_t *pages);

/* Writes a record as the bytes of a data set that holds it alone, if they are at most `capacity`.
 * Returns their number; 0 if memory runs out. out: NULL where only that is asked for. */
IMGSTAT_API size_t imgstat_record_bytes(const ImgstatRecord *record, void *out, size_t capacity);
/* Creates a record from such bytes, which are checked completely. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_from_bytes(const void *bytes, size_t n,
                                                                       ImgstatRecord **out,
                                                                       ImgstatError *err);
/* Writes these bytes as a file. path: "-" is standard output. replace: an existing file may be
 * replaced, at once. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_save(const ImgstatRecord *record,
                                                                 const char *path, bool replace,
                                                                 ImgstatError *err);
/* Creates a record from the file of a data set that holds it alone. path: "-" is standard input. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_record_load(const char *path,
                                                                 ImgstatRecord **out,
                                                                 ImgstatError *err);

/* Records of many files: one for each group and kind; and what became of the files. */
typedef struct ImgstatDataset ImgstatDataset;

IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_create(ImgstatDataset **out,
                                                                    ImgstatError *err);
IMGSTAT_API void imgstat_dataset_destroy(ImgstatDataset *dataset); /* accepts NULL */
/* Returns the number of records. */
IMGSTAT_API size_t imgstat_dataset_records(ImgstatDataset *dataset);
/* Returns record i of them in ascending order of group, then kind; NULL beyond the last. It is the
 * data set's and lives until that is destroyed. It may be computed, saved, and merged into other
 * records, not merged into: data sets merge as a whole. */
IMGSTAT_API ImgstatRecord *imgstat_dataset_record(ImgstatDataset *dataset, size_t i);
/* Adds the records and the account of `from`, which stays as it is. Associative and commutative.
 * IMGSTAT_ERR_ARG, with a sentence that names what differs, and nothing changed:
 *   - a group with records of other kinds in `into` than in `from`, unless both are shards of one
 *     set;
 *   - shards of different sets, the same shard twice, a shard and what is none and not empty;
 *   - `into` itself.
 * The last shard of a set completes it: it is then as if it had never been in shards. After
 * IMGSTAT_ERR_MEMORY `into` may hold a part of `from`, and is of no use but to be destroyed. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_merge(ImgstatDataset *into,
                                                                   const ImgstatDataset *from,
                                                                   ImgstatError *err);

/* Adds a data set that was saved: imgstat_dataset_load and imgstat_dataset_merge, in less time. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_merge_file(ImgstatDataset *into,
                                                                        const char *path,
                                                                        uint64_t memory,
                                                                        ImgstatError *err);

/* Writes a data set as bytes, as imgstat_record_bytes does. */
IMGSTAT_API size_t imgstat_dataset_bytes(ImgstatDataset *dataset, void *out, size_t capacity);
/* Creates a data set from such bytes, which are checked completely. name: NULL, or what messages
 * call it, those of imgstat_dataset_merge too. memory: bytes that the counters of its records may
 * take; 0: 4 GiB; more is IMGSTAT_ERR_LIMIT, before it is allocated. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_from_bytes(const char *name,
                                                                        const void *bytes, size_t n,
                                                                        uint64_t memory,
                                                                        ImgstatDataset **out,
                                                                        ImgstatError *err);
/* Writes a data set as a file, as imgstat_record_save does. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_save(ImgstatDataset *dataset,
                                                                  const char *path, bool replace,
                                                                  ImgstatError *err);
/* Creates a data set from a file. path: "-" is standard input. memory: as for
 * imgstat_dataset_from_bytes. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_load(const char *path, uint64_t memory,
                                                                  ImgstatDataset **out,
                                                                  ImgstatError *err);
/* Whether the first bytes of a regular file are those of a data set; false for files that cannot be
 * read. */
IMGSTAT_API bool imgstat_dataset_is_file(const char *path);

/* A file, or a page of it, that was not measured. */
typedef struct ImgstatFailure {
    const char *name;
    ImgstatResult code;
    const char *message; /* one sentence */
} ImgstatFailure;

typedef struct ImgstatAccount {
    uint64_t files;                 /* that were to be measured */
    uint64_t failed;                /* files that were not, or only some of their pages */
    uint64_t pages;                 /* that were measured */
    const ImgstatFailure *failures; /* n_failures, in ascending order of name, code and message */
    size_t n_failures;              /* the first of all_failures */
    uint64_t all_failures;
    /* Of the names of the files: the sum modulo 2^128 of their XXH3 hashes of 128 bits, low byte
     * first. Their order does not count, how often each comes does. */
    uint8_t digest[16];
    uint16_t version[3]; /* of the latest imgstat that had a part in it */
    uint32_t shards;     /* of the set that this is a part of; 0: it is none */
    uint32_t n_done;     /* shards that are in here */
    const uint8_t *done; /* bit k % 8 of byte k / 8: whether shard k is, counted from 0 */
    uint8_t set[16];     /* names the set */
} ImgstatAccount;

/* Makes a data set shard `shard`, counted from 0, of a set of n, at most 2^24, which 16 bytes name:
 * imgstat merges each shard of a set once, and a set of one shard is none. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_dataset_set_shard(ImgstatDataset *dataset,
                                                                       uint32_t shard, uint32_t n,
                                                                       const uint8_t set[16],
                                                                       ImgstatError *err);
enum { IMGSTAT_FAILURES_LISTED = 10000 };
/* Sets how many failures a data set lists: IMGSTAT_FAILURES_LISTED, or those that its file lists,
 * unless this says otherwise. It counts the others. SIZE_MAX: it lists all. */
IMGSTAT_API void imgstat_dataset_list_failures(ImgstatDataset *dataset, size_t most);
/* Receives the account of a data set, whose lists live until that changes. */
IMGSTAT_API void imgstat_dataset_account(ImgstatDataset *dataset, ImgstatAccount *out);

/* ---- Transfers ---------------------------------------------------------------------------
 * A transfer maps the samples of one type to an output range, and never changes: threads may share
 * it. docs/transforms.md has the formulas. */

typedef enum ImgstatTransform {
    IMGSTAT_STRETCH,    /* smallest and largest value to the ends of the output range */
    IMGSTAT_PERCENTILE, /* a stretch after cutting clip_lo and clip_hi percent of the samples */
    IMGSTAT_MEANSTD,    /* to a mean and a standard deviation, in output units */
    IMGSTAT_GAMMA,      /* unit range to the power gamma */
    IMGSTAT_EQUALIZE,   /* to an even distribution */
    IMGSTAT_MATCH,      /* to the distribution of a reference */
    IMGSTAT_CLAHE       /* contrast-limited adaptive equalization */
} ImgstatTransform;

typedef enum ImgstatChannels {
    IMGSTAT_CHANNELS_DEFAULT, /* each for match; luma for equalize and CLAHE of RGB, each for those
                                 of other images; joint for the rest */
    IMGSTAT_EACH,             /* one transfer for each channel */
    IMGSTAT_JOINT,            /* one transfer from all channels but alpha */
    IMGSTAT_LUMA              /* one transfer from Rec. 709 luma, which keeps hue and saturation;
                                 RGB, or one channel but alpha */
} ImgstatChannels;

/* The program with the formula. Others than IMGSTAT_LIKE_IMGSTAT take u8 and u16 only, and bring
 * samples of fewer bits to the full scale of these types. */
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

/* The output type. */
typedef enum ImgstatDepth {
    IMGSTAT_DEPTH_KEEP, /* that of the input */
    IMGSTAT_DEPTH_8,    /* u8 */
    IMGSTAT_DEPTH_16,   /* u16 */
    IMGSTAT_DEPTH_FLOAT /* f32; f64 of f64 */
} ImgstatDepth;

/* How a transfer is made. All zero: a stretch to the full scale of the input's type. */
typedef struct ImgstatMethod {
    ImgstatTransform transform;
    ImgstatChannels channels;
    ImgstatLike like;
    ImgstatDepth depth;
    bool has_range; /* lo and hi are given; else the output has the full scale, and floats
                       of IMGSTAT_MEANSTD any value */
    double lo, hi;  /* output range; lo < hi; whole numbers for integers */
    bool lo_percent, hi_percent; /* in per cent of the full scale of the output */
    bool has_in_range;   /* for IMGSTAT_STRETCH: in_lo and in_hi are black and white; nothing
                            is measured */
    double in_lo, in_hi; /* in_lo < in_hi; whole numbers for integers */
    bool in_lo_percent, in_hi_percent; /* in per cent of the full scale of the input */
    bool has_clip;                     /* clip_lo and clip_hi are given; else both are 0.175 */
    double clip_lo, clip_hi;           /* percent, to nine decimals; together below 100 */
    double mean, stddev;               /* for IMGSTAT_MEANSTD; stddev >= 0 */
    bool mean_percent, stddev_percent; /* in per cent of the full scale of the output */
    double gamma;                      /* for IMGSTAT_GAMMA; > 0 */
    ImgstatRegion region;      /* that is measured; all is mapped. Not for methods that measure
                                  nothing, and not for IMGSTAT_CLAHE */
    uint32_t tiles_x, tiles_y; /* for IMGSTAT_CLAHE; 0: 8 */
    double clip_limit;         /* for IMGSTAT_CLAHE; share of a tile in a bin; 0: 0.01 (like OpenCV:
                                  its own unit and 40) */
} ImgstatMethod;

/* Checks a method as far as that needs no image. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_method_check(const ImgstatMethod *method,
                                                                  ImgstatError *err);

typedef struct ImgstatTransfer ImgstatTransfer;

/* In this section images are in host memory or in the device's own. A call returns when its work is
 * done; nothing else may use the pixels meanwhile. Three channels, with or without alpha after
 * them, count as RGB: for other colours (Lab, say) choose IMGSTAT_EACH or IMGSTAT_JOINT. */

/* Measures an image and creates its transfer. reference: the image that IMGSTAT_MATCH matches, else
 * NULL. alpha: index of the channel that is not counted, or -1. Not for IMGSTAT_CLAHE. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_create(
    ImgstatDevice *device, const ImgstatMethod *method, const ImagePro *image, int16_t alpha,
    const ImagePro *reference, ImgstatTransfer **out, ImgstatError *err);

/* Creates the transfer that imgstat_transfer_create makes of all images of a record, from the
 * record: any method for samples of at most 16 bits; for wider ones a stretch, IMGSTAT_MEANSTD and
 * IMGSTAT_GAMMA. reference: the record that IMGSTAT_MATCH matches, else NULL. IMGSTAT_LUMA, and
 * what needs the pixels, are IMGSTAT_ERR_ARG. The record need not be computed. The nodata value of
 * a record is that of its kind: it does not know those of images in memory and of files. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_from_record(
    const ImgstatMethod *method, const ImgstatRecord *record, const ImgstatRecord *reference,
    ImgstatTransfer **out, ImgstatError *err);

/* Creates the set of transfers that imgstat_transfer_from_record makes of the records of a data
 * set: each image gets that of its group, which ImgstatJob.group names, and of its kind, the rules
 * of reading apart. An image without one is an IMGSTAT_ERR_ARG. Not for IMGSTAT_MATCH. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_from_dataset(
    const ImgstatMethod *method, ImgstatDataset *dataset, ImgstatTransfer **out, ImgstatError *err);

/* Accepts NULL. */
IMGSTAT_API void imgstat_transfer_destroy(ImgstatTransfer *transfer);

/* A transfer may be a set, with a transfer for each channel of a channel axis and for each depth.
 * ImgstatBatch makes sets, and all calls take them. Images in memory have no channel axis. */

/* Returns the output type, of a set that of its first transfer. bits: NULL, or receives its
 * significant bits. */
IMGSTAT_API ImgstatSample imgstat_transfer_output(const ImgstatTransfer *transfer, uint8_t *bits);

/* Writes a transfer as JSON (docs/transforms.md). path: "-" is standard output. replace: an
 * existing file may be replaced. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_save(const ImgstatTransfer *transfer,
                                                                   const char *path, bool replace,
                                                                   ImgstatError *err);

/* Describes a transfer as JSON on one line: what imgstat_transfer_save writes, without tables and
 * knots but with the numbers that the maps were made from: black and white, mean and stddev, gamma.
 * Writes at most `capacity` bytes with their NUL (none where capacity is 0) and returns the length
 * of the whole text; 0 on allocation failure. */
IMGSTAT_API size_t imgstat_transfer_describe(const ImgstatTransfer *transfer, char *out,
                                             size_t capacity);

/* Creates a transfer from a saved one, which is checked completely. path: "-" is standard input.
 * memory: bytes that reading it may take; 0: 1 GiB; more is IMGSTAT_ERR_LIMIT. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_load(const char *path,
                                                                   uint64_t memory,
                                                                   ImgstatTransfer **out,
                                                                   ImgstatError *err);

/* Writes as text what imgstat_transfer_save writes, without the newline at its end: at most
 * `capacity` bytes with their NUL (none where capacity is 0). Returns the length of the whole text;
 * 0 on allocation failure, and of a set for groups of files or kinds of images, which has none. */
IMGSTAT_API size_t imgstat_transfer_text(const ImgstatTransfer *transfer, char *out,
                                         size_t capacity);

/* Creates a transfer from n bytes of such text, which is checked completely. name: begins messages.
 */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_from_text(const char *name,
                                                                        const char *text, size_t n,
                                                                        ImgstatTransfer **out,
                                                                        ImgstatError *err);

/* Returns the number of transfers in a set; 1 of a transfer that is alone. */
IMGSTAT_API size_t imgstat_transfer_count(const ImgstatTransfer *transfer);

/* Checks that a transfer can map a page: its sample type and channels fit, or it is the mask of
 * another page and passes. group: of the file, as ImgstatJob has it. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_fits(const ImgstatTransfer *transfer,
                                                                   const ImgstatPage *page,
                                                                   const char *group,
                                                                   ImgstatError *err);

/* Maps an image. `to` has its geometry and the output type; it may be `from` if the types are
 * equal, and must not share only some samples with it: an error if both have one pitch or no gaps
 * between rows. alpha: index of the channel that passes, or -1. Nodata and masked samples become
 * what those of files become where ImgstatWrite.nodata is not given; the nodata value is that of
 * `from`, or else the one that the transfer was made for. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transfer_apply(ImgstatDevice *device,
                                                                    const ImgstatTransfer *transfer,
                                                                    const ImagePro *from,
                                                                    int16_t alpha, ImagePro *to,
                                                                    ImgstatError *err);

/* Measures and maps an image by any method, IMGSTAT_CLAHE included. alpha: index of the channel
 * that is not counted and passes, or -1. reference: as in imgstat_transfer_create. If the image is
 * in host memory, *to receives the transformed copy, which the caller releases; its nodata value is
 * the one that undefined samples become. Else the caller supplies `to` as for
 * imgstat_transfer_apply. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_image_transform(ImgstatDevice *device, const ImgstatMethod *method, const ImagePro *image,
                        int16_t alpha, const ImagePro *reference, ImagePro *to, ImgstatError *err);

/* imgstat_image_transform into an image of the caller, in host memory or in the device's own, as
 * for imgstat_transfer_apply. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_transform_to(
    ImgstatDevice *device, const ImgstatMethod *method, const ImagePro *image, int16_t alpha,
    const ImagePro *reference, ImagePro *to, ImgstatError *err);

/* ---- Loading and saving --------------------------------------------------------------------- */

/* How a file is written. All zero: in the format, compression and layout of the input. */
typedef struct ImgstatWrite {
    const char *format; /* "png", "tiff"; NULL: by the ending of the name, else the input's */
    /* "none", "deflate"; for TIFF also "lzw", "packbits", "zstd", "lzma", and "ccittfax4" for 1
     * bit. NULL: that of the input if it is lossless, else deflate. */
    const char *compression;
    bool has_level; /* level is given */
    int level;      /* of the compression, 0 to 22, or -1 as if it were not given; values above its
                       highest level mean that level */
    /* What undefined samples become in a batch: nodata, masked ones, and in integers NaN. No other
     * sample gets the value. imgstat_image_save writes samples as they are. Not given: the nodata
     * value of the input if the output type holds it, else 0, of floats NaN; masked samples pass
     * where the type stays. */
    bool has_nodata;
    ImgstatValue nodata; /* of any type; one that the output type cannot hold is an error */
    bool fast;           /* writes faster; files with repeating pixels become larger */
    bool replace; /* an existing file may be replaced, at once, when the new one is complete */
    /* Receives each warning about what the output lacks of its input, of imgstat_image_save only; a
     * batch reports warnings with the job. NULL: they are dropped. */
    ImgstatWarn warn;
    void *warn_context;
    /* NULL, or called often, from any thread, of imgstat_image_save only. True: the call ends with
     * IMGSTAT_ERR_CANCELLED, and the file is as it was. */
    bool (*cancelled)(void *context);
    void *cancelled_context;
} ImgstatWrite;

/* An output that is no file. It receives the bytes in order, once the image is complete; until then
 * they are in a temporary file without a name. */
typedef struct ImgstatOutput {
    /* Takes the next n bytes. err: as in ImgstatInput. */
    ImgstatResult (*write)(void *context, const void *bytes, size_t n, ImgstatError *err);
    /* NULL, or called once after the last `write`, if there was one. complete: false where an error
     * or a cancellation came between; what was written is then worth nothing, and the result does
     * not count. */
    ImgstatResult (*finish)(void *context, bool complete, ImgstatError *err);
    void *context;
} ImgstatOutput;

/* Reads one page, counted from 0, into memory. how: NULL, or how the file is opened. info: NULL, or
 * receives the description of the page. The caller releases the image. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_load(const char *path,
                                                                const ImgstatOpen *how,
                                                                uint32_t page, ImagePro *out,
                                                                ImgstatPage *info,
                                                                ImgstatError *err);

/* Writes a host image as a file of one page. path: "-" is standard output. like: NULL, or a file
 * with a selected page; the output takes over the profiles, tags and layout of that page. The
 * nodata value of the image is recorded where the format has one. Samples beyond the bits that the
 * file records are limited; PNG has no 3, 5 to 7 and 9 to 15 bits, and gets samples scaled to 8 or
 * 16. how: NULL means all zero. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_save(const ImagePro *image,
                                                                int16_t alpha, const char *path,
                                                                ImgstatFile *like,
                                                                const ImgstatWrite *how,
                                                                ImgstatError *err);

/* imgstat_image_save to an output. name: begins messages; its ending may name the format. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_image_save_to(
    const ImagePro *image, int16_t alpha, const char *name, const ImgstatOutput *output,
    ImgstatFile *like, const ImgstatWrite *how, ImgstatError *err);

/* ---- Many files ----------------------------------------------------------------------------- */

/* A file to transform or measure. */
typedef struct ImgstatJob {
    const char *input;  /* "-" is standard input */
    const char *output; /* "-" is standard output; else its folder exists, and no other job has it;
                           NULL for measuring, also where a batch together by all measures and
                           writes nothing */
    /* Names of pages and ranges of the chain, such as "0,3-5" or "2.1", none of them twice. NULL:
     * all images. Transforms write levels and masks behind their images. */
    const char *pages;
    /* NULL, or where the bytes come from and go to. `input` and `output` are then names: they begin
     * messages, and an ending may name the format. Both live until the batch ends. */
    const ImgstatInput *source;
    const ImgstatOutput *sink; /* its functions are called on one thread at a time */
    /* NULL (""), or the group of a data set that its images belong to. With more than
     * IMGSTAT_NAME_MOST bytes the job fails, as with such a name of a `source`. */
    const char *group;
    bool only_mapped; /* with IMGSTAT_BY_ALL: not measured; it gets the transfer of the others */
} ImgstatJob;

/* Any number of jobs, one after another, without a list of them. They are taken some time before
 * they begin: as many as threads, or some thousand where a GPU may decode files. */
typedef struct ImgstatJobStream {
    /* Fills in the next job, which is all zero. False: there is none. Its texts stay until the next
     * call, its `source` until the job is reported. Any thread, one call at a time. */
    bool (*next)(void *context, ImgstatJob *job);
    /* NULL, or makes the first job the next one again: every time the same jobs in the same order.
     * False: they cannot be read again. */
    bool (*restart)(void *context);
    void *context;
} ImgstatJobStream;

/* Samples that a transfer limits: those below black and above white, of IMGSTAT_MEANSTD those with
 * an output beyond the range. With IMGSTAT_LUMA pixels. */
typedef struct ImgstatClamped {
    uint64_t n;         /* mapped: not alpha, defined, not masked */
    uint64_t low, high; /* limited to the low and to the high end */
} ImgstatClamped;

/* What was done to a page. */
typedef struct ImgstatMapped {
    uint32_t page;    /* as imgstat_file_page takes it */
    uint32_t pages;   /* as ImgstatPage has it */
    const char *name; /* as imgstat_file_page_name writes it */
    const char
        *transfer;    /* as imgstat_transfer_describe writes it, of a set the one for the page */
    uint32_t group;   /* the images that have one transfer: their number ... */
    uint32_t groups;  /* ... of so many in the file, or in the batch if a set is given or made */
    bool has_clamped; /* false: the method limits nothing, or the transfer lacks its parameters */
    ImgstatClamped clamped;
} ImgstatMapped;

/* The outcome of a job. */
typedef struct ImgstatDone {
    size_t job; /* index; jobs are reported in ascending order */
    ImgstatResult result;
    const char *message;         /* one sentence if the job failed, else "" */
    bool skipped;                /* the output existed */
    const ImgstatMapped *mapped; /* n_mapped pages, if the batch describes them */
    size_t n_mapped;
    uint64_t lost_rows; /* as imgstat_file_lost_rows counts them, with those of the reference */
    double seconds;     /* duration of the job */
    const ImgstatError *error; /* that has the sentence; NULL if the job did not fail */
} ImgstatDone;

/* Processes that measure the same files in one call, each a part of them. All make the call, and
 * each gets its result. The functions are called on the calling thread. */
typedef struct ImgstatPeers {
    uint32_t rank, n; /* this process, counted from 0, of n */
    /* Sends bytes to process `to`, which receives them in the order of sending, in memory that
     * free() frees. NULL: they cannot be received, and the call fails. */
    void (*send)(void *context, uint32_t to, const void *bytes, size_t n);
    void *(*receive)(void *context, uint32_t from, size_t *n);
    void *context;
} ImgstatPeers;

/* How files are transformed. */
typedef struct ImgstatBatch {
    ImgstatMethod method;
    const ImgstatTransfer *transfer; /* applied to every page; NULL: each gets one by the method */
    const char *reference;           /* path, for IMGSTAT_MATCH; else NULL */
    const char *reference_page;      /* name of a page of that file; NULL: its first image */
    /* Images that get one transfer, which is made from all of them; they are read twice, and their
     * sample types, significant bits and nodata values must be equal. With IMGSTAT_BY_ALL unsigned
     * samples may have several depths of at most 16 bits that are scaled to one exactly, such as 1,
     * 2, 4, 8 and 16, or 3, 6 and 12; each depth keeps its own. Jobs of several groups have a
     * transfer for each. By default those of a channel, where a file declares axes, else each by
     * itself, with a warning where a file has several of one size and type. IMGSTAT_CLAHE and a
     * given transfer have no groups. */
    ImgstatGrouping together;
    bool skip_existing; /* a job whose output exists is done */
    bool drop_levels;   /* levels that no job names are left out, and their masks */
    bool describe;      /* ImgstatDone.mapped is wanted */
    ImgstatWrite write;
    ImgstatOpen open; /* its warn is called on the calling thread */
    /* As imgstat_device_open takes it, or up to 64 GPUs, such as "cuda:0,1" or "cuda:all"; NULL:
     * "cpu". Jobs go to the devices of a list as these become free; a job stays on one. Each device
     * needs a thread, and a GPU that is named several times gets as many more jobs at a time.
     * Results do not depend on the list. A list that is none, or names a GPU that is not here, is
     * an error of the call. */
    const char *device;
    /* NULL: a job fails if its device cannot be opened, is lost or runs out of memory; later jobs
     * go to the other devices of a list, unless all are lost. Else these, and the CPU in place of
     * the last, take over for the rest of the batch, and start that job again unless it reads
     * standard input. Called once for each device that fails, on the calling thread; why: the
     * reason in a sentence. */
    void (*fallen_back)(void *context, const char *why);
    unsigned threads; /* in all; 0: as many as the process may run on */
    /* Bytes for pixels and codecs of all files at work; at least 32 MiB; 0: 1 GiB. The peak memory
     * of the program stays below that plus 64 MiB; a GPU's driver adds its own, and up to 48 MiB of
     * buffers for each worker. A file with a higher estimate fails with IMGSTAT_ERR_LIMIT. */
    uint64_t memory;
    /* NULL, or called for every job on the calling thread. False: no further job begins, and the
     * result is IMGSTAT_ERR_CANCELLED. */
    bool (*progress)(void *context, const ImgstatDone *done);
    /* NULL, or called on the calling thread during each read of all files for IMGSTAT_BY_ALL.
     * measured: the number of files read so far. */
    void (*measuring)(void *context, size_t measured);
    /* NULL, or called once on the calling thread, when IMGSTAT_BY_ALL has its transfer and before
     * the first output is begun. False: nothing is written, and the result is
     * IMGSTAT_ERR_CANCELLED. */
    bool (*agreed)(void *context, const ImgstatTransfer *transfer);
    /* NULL, or called often, from any thread. True: the batch stops, and incomplete outputs are
     * removed. */
    bool (*cancelled)(void *context);
    void *context;          /* argument of the functions above */
    ImgstatTransfer **made; /* NULL, or receives the transfer of all files, which may be a set, or
                             * that of one file if one was made; after IMGSTAT_ERR_CANCELLED as
                             * well */
    /* NULL, or the processes that measure for IMGSTAT_BY_ALL: job i is measured by process i modulo
     * n. All have the same jobs, without outputs; what they need is `made`, for the files that each
     * transforms later. Each of them reports all jobs. */
    const ImgstatPeers *peers;
} ImgstatBatch;

/* The work on every image, for imgstat_device_choose. Exactly one of the first three is not NULL.
 */
typedef struct ImgstatWork {
    const ImgstatMeasure *measure;
    const ImgstatMethod *method;     /* measure each image, make its transfer, map it */
    const ImgstatTransfer *transfer; /* map each image */
    ImgstatGrouping together;        /* as ImgstatBatch.together, ImgstatMeasureBatch.by */
    const ImgstatWrite *write;       /* NULL, or how mapped images are written */
    size_t jobs; /* how many there are, if those that are given stand for more; else 0 */
} ImgstatWork;

/* Returns the device that is expected to finish the work first: "cpu" or "cuda". Reads the headers
 * of at most 16 inputs and opens no device. Outputs may be NULL. open: NULL, or how the files will
 * be opened. threads: 0 for as many as the process may run on. why: receives the reason, at most
 * why_bytes with its NUL. */
IMGSTAT_API const char *imgstat_device_choose(const ImgstatJob *jobs, size_t n,
                                              const ImgstatWork *work, const ImgstatOpen *open,
                                              unsigned threads, char *why, size_t why_bytes);

/* A measured page of a job, or a failure. */
typedef struct ImgstatMeasured {
    size_t job;
    ImgstatResult result;
    const char *message; /* one sentence after a failure, else "" */
    bool has_number;     /* false: the file failed, or its only page */
    uint32_t number;     /* page, as imgstat_file_page takes it */
    bool first;          /* the first page or group of the job that is measured */
    /* NULL and 0 after a failure: */
    const ImgstatFile *file;  /* that page is selected */
    const ImgstatPage *page;  /* of a group, the first page */
    ImgstatGrouping by;       /* IMGSTAT_BY_PAGE: the record is that of the page; else of a group */
    const ImgstatPage *pages; /* n_pages of them: the group, or that page */
    uint32_t n_pages;
    const ImgstatRecord *record; /* destroyed after the call */
    const char *device;          /* "cpu", "cuda:0" */
    double seconds;              /* duration of opening and measuring the page */
} ImgstatMeasured;

/* How files are measured. */
typedef struct ImgstatMeasureBatch {
    const ImgstatMeasure *how; /* NULL: as for imgstat_measure_file */
    /* Pages that are measured as one: `page` is called for each group, in the order of their first
     * pages. A group with a page that fails has failed. IMGSTAT_BY_ALL is an IMGSTAT_ERR_ARG. */
    ImgstatGrouping by;
    ImgstatOpen open;                                    /* its warn is not used; see `warned` */
    const char *device;                                  /* as in ImgstatBatch */
    void (*fallen_back)(void *context, const char *why); /* as in ImgstatBatch */
    unsigned threads; /* in all; 0: as many as the process may run on */
    bool levels;      /* levels of images are measured as well; pages come in the file's order */
    /* Bytes for pixels and codecs of all files at work, at least 32 MiB; 0: no limit. Fewer files
     * are measured at a time, by fewer threads; files with a strip, a tile or a row of them beyond
     * a quarter are refused. Peak memory of the program stays below that plus 64 MiB. */
    size_t memory;
    /* Called for every page and every failure of a job, in the order of pages. Any thread, but one
     * call at a time for a job. Pages after a failed one are measured as well; if no page of a file
     * is good, only the first failure is reported. False: the rest of the job is left out, a
     * data set has nothing of it, and its result is IMGSTAT_ERR_CANCELLED if no page failed. */
    bool (*page)(void *context, const ImgstatMeasured *measured);
    /* NULL, or called like `page`: a warning about the job's file. */
    void (*warned)(void *context, size_t job, const char *sentence);
    /* NULL, or called like `page`: another device starts the job again; its earlier calls do not
     * count. */
    void (*restarted)(void *context, size_t job);
    /* NULL, or called for every job in ascending order on the calling thread, after all its pages.
     * result and message are those of the first failure. False: no further job begins; this is no
     * error of the call, but of imgstat_dataset_measure. */
    bool (*progress)(void *context, const ImgstatDone *done);
    /* NULL, or called on the calling thread during each read of imgstat_dataset_compute. files: the
     * number of those read so far. False: it ends with IMGSTAT_ERR_CANCELLED. */
    bool (*reading)(void *context, size_t files);
    /* NULL, or called often, from any thread. True: no further job begins, and the result is
     * IMGSTAT_ERR_CANCELLED, as is that of jobs at work; a data set has nothing of these. */
    bool (*cancelled)(void *context);
    void *context; /* argument of the functions above */
    /* NULL, or the processes that share the reads of imgstat_dataset_compute: each has the whole
     * data set, and a part of its files as jobs. */
    const ImgstatPeers *peers;
} ImgstatMeasureBatch;

/* Measures files, several at a time. A failed job does not stop the others and is no error of the
 * call; a device that cannot be opened is, unless another of a list can. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_batch_measure(const ImgstatMeasureBatch *batch,
                                                                   const ImgstatJob *jobs, size_t n,
                                                                   ImgstatError *err);

/* Does the same with jobs that need not all be known. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_batch_measure_stream(
    const ImgstatMeasureBatch *batch, const ImgstatJobStream *jobs, ImgstatError *err);

/* Measures the images of files into a data set, which may hold some: each image into the record of
 * its kind in the group of its job. A file or page that fails is in the account of the data set.
 * Memory does not grow with the number of files but by failures and groups. Of batch->how only
 * region, hash and preview count. by: IMGSTAT_BY_ALL, which is the default, or IMGSTAT_BY_CHANNEL:
 * pages on a channel axis are in groups of their own, which the name of the channel, or "channel
 * 1", is added to after that of the job. batch->page may be NULL; the record that it receives is
 * that of the image alone, and is not computed. IMGSTAT_ERR_CANCELLED if batch->progress ends it;
 * the data set holds those that were reported, and some more. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_dataset_measure(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                        const ImgstatJobStream *jobs, ImgstatError *err);

/* Computes the statistics of all records of a data set, as imgstat_record_compute does; batch->how
 * says which. jobs: NULL, or the files that it was measured from: wider types are then as exact as
 * those of one image, and these files are read again for them. That takes one more read for
 * percentiles and the median of 32-bit samples, three for those of 64-bit samples, and as many more
 * for each 128 of them a record; histogram and shape are found in the first of these, and modes
 * take more. Without jobs, the mode, the shape and the histogram of wider types are not defined. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_dataset_compute(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                        const ImgstatJobStream *jobs, ImgstatError *err);

/* Transforms files, several at a time. A failed job does not stop the others and is no error of the
 * call: batch->progress receives it. Inputs stay as they are unless a job names its own as its
 * output; that of another job, the reference or the mask is IMGSTAT_ERR_ARG, before anything is
 * written.
 * A method with values that are not per cent is IMGSTAT_ERR_ARG, before anything is written, if the
 * full scales that they refer to differ among the inputs. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_batch_run(const ImgstatBatch *batch,
                                                               const ImgstatJob *jobs, size_t n,
                                                               ImgstatError *err);

#ifdef __cplusplus
}
#endif
#endif

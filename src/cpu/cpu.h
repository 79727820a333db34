/* SPDX-License-Identifier: MIT */
/* cpu.h: inside the CPU device: its threads' scratch, the rectangles that work is cut into, and
 * the loops that exist once per instruction set. */
#ifndef IMGSTAT_CPU_CPU_H
#define IMGSTAT_CPU_CPU_H

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "cpu/extrema_position.h"
#include "cpu/loops.h"
#include "device/device.h"

#include <pthread.h>

/* Part of an image: rows [y0, y1), columns [x0, x1). x0 is a multiple of PIECE, and x1 is one or
 * is the width: a rectangle holds whole pieces (docs/float-sums.md). */
typedef struct CpuRect {
    const ImagePro *image;
    uint32_t y0, y1, x0, x1;
} CpuRect;

enum { CPU_SCRATCH = 1 << 20 };

/* How the counters of a partial record lie. */
typedef enum CpuCounting {
    COUNT_NOTHING, /* no bins */
    COUNT_BYTES,   /* by raw byte: cpu_byte_counters */
    COUNT_PAIRS,   /* by raw byte and by pairs of them: cpu_byte_counters */
    COUNT_WORDS,   /* by raw word: cpu_word_counters */
    COUNT_LEADING  /* by the leading 16 bits of the key: cpu_word_counters */
} CpuCounting;

/* What one thread holds between the tasks of one call. */
typedef struct CpuThread {
    size_t owner;        /* image whose partial record this is; SIZE_MAX: none */
    uint64_t pending;    /* samples a channel in counts: below 2^32, so 32-bit counters are exact */
    Tally *tally;        /* a channel each; extrema start at their identities */
    CpuExtrema *extrema; /* a channel each */
    uint32_t *counts;    /* laid out by CpuCounting */
    LoopChoice choice;   /* how the image is counted */
    void *scratch;       /* CPU_SCRATCH bytes on a 64-byte boundary, for the loop that runs */
} CpuThread;

/* Grown memory: kept by the device, so that a batch does not allocate per image. */
typedef struct CpuMemory {
    void *memory;
    size_t bytes;
} CpuMemory;

typedef struct CpuDevice {
    Device base;
    CpuLevel level;
    const CpuLoops *loops;
    ThreadPool *pool;
    pthread_mutex_t lock; /* merging into records and host counters */
    unsigned threads;     /* that it was opened with */
    CpuThread *thread;    /* so many of each of these three */
    CpuMemory *tallies;
    CpuMemory *counts;      /* all zero between calls */
    CpuMemory plan;         /* of the tasks of a call */
    ImgstatDeviceInfo info; /* asking the processor takes long in a virtual machine */
} CpuDevice;

/* Returns at least `bytes` bytes, zeroed only where new; NULL if there is no memory. */
void *cpu_memory_reserve(CpuMemory *memory, size_t bytes);

/* How the rectangles of one image follow each other: row bands of column segments. */
typedef struct CpuGrid {
    uint32_t segment, segments; /* columns a rectangle, rectangles side by side */
    uint32_t rows, bands;
} CpuGrid;

CpuGrid cpu_grid(const ImagePro *image);
/* The grid of an image of a source: rectangles are tiles, or rows that fit a core's cache, where
 * the image has no memory. */
CpuGrid cpu_source_grid(const PixelSource *source, const ImagePro *image);
CpuRect cpu_rect(const ImagePro *image, const CpuGrid *grid, size_t task);

/* Fetches the pixels of a rectangle of an image without memory for `thread`: rect becomes one of
 * *rows. Returns false if they cannot be read. */
bool cpu_rect_fetch(const PixelSource *source, unsigned thread, CpuRect *rect, ImagePro *rows);

/* Fails with IMGSTAT_ERR_ARG for pixels that the CPU cannot read. */
ImgstatResult cpu_check_image(const ImagePro *image, ImgstatError *err);
/* Checks all images of a source. */
ImgstatResult cpu_check_source(const PixelSource *source, ImgstatError *err);

/* cpu/clahe.c: calls use with the luma of the rows of an image, some megabytes at a time: images of
 * one channel. */
ImgstatResult cpu_luma_pieces(Device *device, const ImagePro *image, UseBand use, void *context,
                              ImgstatError *err);

CpuCounting cpu_counting(const ImagePro *image, bool bins);
size_t cpu_counters(const ImagePro *image, CpuCounting counting);
/* Counters of COUNT_BYTES and COUNT_PAIRS. */
LoopBytes cpu_byte_counters(uint32_t *counts, unsigned channels, CpuCounting counting);
/* Counters of COUNT_WORDS and COUNT_LEADING. */
LoopWords cpu_word_counters(uint32_t *counts, unsigned channels);

/* Adds a rectangle to the thread's tallies and counters, and to its extrema, which extrema_end
 * enters among the tallies. From extrema_begin to extrema_end, rectangles follow each other in
 * raster order (all of one are before all of the next), and their pixels stay. */
void cpu_measure_rect(const CpuLoops *loops, CpuThread *thread, const CpuRect *rect,
                      CpuCounting counting);

/* cpu/apply.c: calls use for slices of rows of both images by all threads; the first error. */
typedef ImgstatResult CpuSlice(const void *context, const ImagePro *from, ImagePro *to,
                               ImgstatError *err);
ImgstatResult cpu_slices(Device *device, const ImagePro *from, ImagePro *to, CpuSlice *use,
                         const void *context, ImgstatError *err);

/* The slots that are not in cpu/device.c. */
ImgstatResult cpu_measure(Device *device, const PixelSource *source, PixelView view,
                          const DeviceRecord *records, ImgstatError *err);
ImgstatResult cpu_read(Device *device, const PixelSource *source, PixelView view,
                       const ReadRequest *request, ImgstatError *err);
ImgstatResult cpu_apply(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                        int16_t alpha, ImagePro *to, ImgstatError *err);
ImgstatResult cpu_clahe_read(Device *device, ClahePage *page, const ImagePro *band,
                             ImgstatError *err);
ImgstatResult cpu_clahe_finish(Device *device, ClahePage *page, ImgstatError *err);
ImgstatResult cpu_clahe_apply(Device *device, const ClahePage *page, const ImagePro *from,
                              ImagePro *to, ImgstatError *err);
ImgstatResult cpu_transform_create(Device *device, const ImgstatMethod *method,
                                   const struct TransferShape *shape, uint64_t pixels,
                                   DeviceTransform **out, ImgstatError *err);
void cpu_transform_destroy(DeviceTransform *transform);
ImgstatResult cpu_transform_async(DeviceTransform *transform, void *stream, const ImagePro *from,
                                  ImagePro *to, ImgstatError *err);

#endif

/* SPDX-License-Identifier: MIT */
/* cpu.h: inside the CPU device: its threads' scratch, the rectangles that work is cut into, and
 * the loops that exist once per instruction set. */
#ifndef IMGSTAT_CPU_CPU_H
#define IMGSTAT_CPU_CPU_H

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "cpu/counters.h"
#include "device/device.h"

#include <pthread.h>

/* Part of an image: rows [y0, y1), columns [x0, x1). x0 is a multiple of PIECE; x1 is one too, or
 * the width. So a rectangle has whole pieces (docs/float-sums.md). */
typedef struct CpuRect {
    const ImagePro *image;
    uint32_t y0, y1, x0, x1;
    uint32_t left; /* columns of the page left of column 0 of a fetched tile; else 0 */
} CpuRect;

/* Bytes of CpuThread.scratch. */
enum { CPU_SCRATCH = 1 << 20 };

/* Pixels that follow each other in memory. In the image, other pixels may lie between one row of
 * the rectangle and the next. */
typedef struct CpuBlock {
    const unsigned char *pixels;
    const uint8_t *mask; /* NULL, or a byte a pixel */
    uint64_t at;         /* raster index of the first */
    size_t n;
    uint32_t
        gap; /* number of those other pixels; 0 if there are none, or the block lies in one row */
    uint32_t left;  /* if gap > 0: pixels of the block in its first row */
    uint32_t width; /* if gap > 0: pixels of the block in each of the next rows */
} CpuBlock;

/* Extrema of a channel as order keys, and the blocks where they occur first. Positions are looked
 * up once, at the end. */
typedef struct CpuExtrema {
    uint64_t min, max;
    CpuBlock min_block, max_block; /* n is 0 before the first extremum */
} CpuExtrema;

/* What a thread keeps from task to task of one call. */
typedef struct CpuThread {
    size_t owner;        /* image whose partial record this is; SIZE_MAX: none */
    uint64_t pending;    /* samples a channel in counts; below 2^32: 32-bit counters are exact */
    Tally *tally;        /* one a channel; extrema start at their identities */
    CpuExtrema *extrema; /* one a channel */
    uint32_t *counts;    /* laid out by CpuCounting */
    LoopChoice choice;   /* how the image is counted */
    void *scratch;       /* CPU_SCRATCH bytes on a 64-byte boundary, for the loop that runs */
} CpuThread;

/* Memory that the device keeps and grows, so that a batch does not allocate for each image. */
typedef struct CpuMemory {
    void *memory;
    size_t bytes;
} CpuMemory;

typedef struct CpuDevice {
    Device base;
    CpuLevel level;
    const CpuLoops *loops;
    ThreadPool *pool;
    pthread_mutex_t lock; /* protects records and host counters while threads merge */
    unsigned threads;     /* thread count that the device was opened with */
    CpuThread *thread;    /* one a thread; so are the next two */
    CpuMemory *tallies;
    CpuMemory *counts; /* all zero between calls */
    CpuMemory plan;    /* tasks of a call */
} CpuDevice;

/* Returns at least `bytes` bytes. Only new memory is zeroed. Returns NULL if memory runs out. */
void *cpu_memory_reserve(CpuMemory *memory, size_t bytes);

/* Runs tasks as thread_pool_run does, until the device is cancelled: IMGSTAT_ERR_CANCELLED. */
ImgstatResult cpu_run(CpuDevice *device, size_t tasks,
                      void (*work)(void *context, size_t task, unsigned thread), void *context,
                      ImgstatError *err);

/* The rectangles of an image: `bands` bands of `segments` rectangles. */
typedef struct CpuGrid {
    uint32_t segment, segments; /* columns of a rectangle; rectangles side by side */
    uint32_t rows, bands;       /* rows of a rectangle; bands */
} CpuGrid;

/* Returns the grid of an image of a source. If the image has no memory, rectangles are tiles, or
 * rows that fit the cache of a core. */
CpuGrid cpu_source_grid(const PixelSource *source, const ImagePro *image);

/* Returns rectangle number `task` of a grid. */
CpuRect cpu_rect(const ImagePro *image, const CpuGrid *grid, size_t task);

/* Fetches the pixels of a rectangle for `thread`, if its image has no memory. *rect becomes a
 * rectangle of *rows. Returns false if the pixels cannot be read. */
bool cpu_rect_fetch(const PixelSource *source, unsigned thread, CpuRect *rect, ImagePro *rows);

/* Fails with IMGSTAT_ERR_ARG for pixels that the CPU cannot read. */
ImgstatResult cpu_check_image(const ImagePro *image, ImgstatError *err);
/* Checks all images of a source. */
ImgstatResult cpu_check_source(const PixelSource *source, ImgstatError *err);

/* cpu/luma.c: computes the luma of the rows of an image, some megabytes at a time, and calls `use`
 * with each band: images of one channel. */
ImgstatResult cpu_luma_bands(Device *device, const ImagePro *image, UseBand use, void *context,
                             ImgstatError *err);

/* Adds a rectangle to the thread's tallies, counters and extrema. extrema_end adds the extrema to
 * the tallies. Between extrema_begin and extrema_end, rectangles come in raster order (all pixels
 * of one precede all of the next), and their pixels stay in memory. */
void cpu_measure_rect(const CpuLoops *loops, CpuThread *thread, const CpuRect *rect,
                      CpuCounting counting);

/* Empties the extrema of all channels. */
void extrema_begin(CpuExtrema *extrema, uint16_t channels);

/* Adds the extrema of every channel to its tally, with their positions, and empties them. The
 * pixels of all blocks are in memory. */
void extrema_end(CpuExtrema *extrema, const ImagePro *image, Tally *tally);

/* cpu/map_rows.c: calls `use` from all threads for slices of rows of both images; returns the first
 * error. */
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
                                  ImagePro *to, const DeviceSeries *series, ImgstatError *err);

#endif

/* SPDX-License-Identifier: MIT */
/* device.h: the seam between the library and what computes: one complete table per device. */
#ifndef IMGSTAT_DEVICE_DEVICE_H
#define IMGSTAT_DEVICE_DEVICE_H

#include "base/buffer_cache.h"
#include "record/record.h"

typedef struct ImgstatDevice Device;
typedef struct ClahePage ClahePage; /* transfer/clahe.h */
struct TransferShape;               /* transfer.h */
struct RankKnot;                    /* record/quantile_table.h */
struct ReadRequest;                 /* device/read_request.h */

/* A method for images of one kind, with all the memory that a device takes for it. */
typedef struct DeviceTransform DeviceTransform;

/* Counting by the next 16 bits of the key among samples whose leading key bits are known: one step
 * of a radix select. bins[k] counts the valid samples of `channel` with key >> (shift + 16) ==
 * prefix and (key >> shift) & 0xFFFF == k. */
typedef struct DigitCount {
    uint16_t channel;
    uint8_t shift; /* 0, 16 or 32 */
    uint64_t prefix;
    uint64_t *bins; /* 65,536 on the host, added to */
} DigitCount;

/* Counting between edges: bins[k] counts the valid samples of `channel` with
 * edge[k] <= key < edge[k+1]; edges ascend; what lies outside is not counted. */
typedef struct RangeCount {
    uint16_t channel;
    uint32_t n_bins;
    const uint64_t *edge; /* n_bins + 1 order keys, on the host */
    double lo, per_bin;   /* (value - lo) * per_bin is bin k to within a bin: a guess to start from;
                           * per_bin is 0 where no such guess exists: search the edges */
    uint64_t *bins;       /* n_bins on the host, added to */
} RangeCount;

/* Gathering: the keys of the valid samples of `channel` with lo <= key <= hi, in any order. */
typedef struct KeyGather {
    uint16_t channel;
    uint64_t lo, hi;
    uint64_t *keys;  /* on the host */
    size_t capacity; /* the caller knows the count from bins; more is IMGSTAT_ERR_ARG */
    size_t n;        /* gathered so far; added to */
} KeyGather;

/* One device. Every slot is mandatory. A device is used by one thread at a time. Work is ordered:
 * each call sees the results of the calls before it. alloc ... measure may return before they are
 * done; download and everything that fills host memory waits. After a device failure
 * (IMGSTAT_ERR_DEVICE) every further call but close and release fails too.
 *
 * Images given to measure, count and the like are host images, which the device moves as it needs,
 * or images in its own memory (memory == IMGSTAT_CUDA, of this device_id), used in place. */
typedef struct DeviceOps {
    const char *name; /* what --device accepts */
    /* How many devices of this kind there are; fills `info` for the first `capacity`. Cheap where
     * possible. */
    size_t (*list)(ImgstatDeviceInfo *info, size_t capacity);
    ImgstatResult (*open)(int index, unsigned threads, Device **out, ImgstatError *err);
    void (*close)(Device *device);
    void (*describe)(const Device *device, ImgstatDeviceInfo *out);
    /* From now on work has so many threads of the processor, of those that the device was opened
     * with, and what others hold between calls goes back to the system. 0: what all of them hold;
     * work that comes nevertheless has one. */
    void (*use_threads)(Device *device, unsigned threads);
    /* What each of them holds of the processor's memory while images of that kind are measured, at
     * most. */
    uint64_t (*thread_bytes)(ImgstatSample sample, uint16_t channels);

    ImgstatResult (*alloc)(Device *device, size_t bytes, DevMem *out,
                           ImgstatError *err);    /* zeroed */
    void (*release)(Device *device, DevMem *mem); /* accepts empty */
    /* Host memory that transfers fastest to this device. */
    ImgstatResult (*host_alloc)(Device *device, size_t bytes, void **out, ImgstatError *err);
    void (*host_release)(Device *device, void *memory);
    ImgstatResult (*upload)(Device *device, DevMem to, size_t offset, const void *from,
                            size_t bytes, ImgstatError *err);
    ImgstatResult (*download)(Device *device, void *to, DevMem from, size_t offset, size_t bytes,
                              ImgstatError *err);

    /* Adds what each image holds to its record (zero bytes: the empty record). n images, of any
     * sizes, in one call: small images need batching. Two images of a call may be bands of one page
     * and share a record. */
    ImgstatResult (*measure)(Device *device, const ImagePro *images, const DeviceRecord *records,
                             size_t n, ImgstatError *err);
    /* Further reads of one image or band at a time, added to host counters: all that a pass asks
     * for, and its parts. */
    ImgstatResult (*read)(Device *device, const ImagePro *image, const struct ReadRequest *pass,
                          ImgstatError *err);
    ImgstatResult (*count_digits)(Device *device, const ImagePro *image, DigitCount *counts,
                                  size_t n, ImgstatError *err);
    ImgstatResult (*count_range)(Device *device, const ImagePro *image, RangeCount *counts,
                                 size_t n, ImgstatError *err);
    ImgstatResult (*gather)(Device *device, const ImagePro *image, KeyGather *gathers, size_t n,
                            ImgstatError *err);
    /* Order statistics of a wide type by a device that sorts in its own memory: sort_begin, then
     * sort_add for each image or band, which takes the valid keys of that channel, then sort_end,
     * which fills in how many it took, and, if they are n, the runs of equal keys that the ranks
     * (n - 1) j / RANK_STEPS are in, j from 0 to RANK_STEPS; and gives the memory back. *sorts:
     * false where the device does not, or lacks the memory, or there are too few of them to gain
     * from it: then nothing has begun. Other calls may come between. After a failure, or with NULL
     * for runs, sort_end only gives back. */
    ImgstatResult (*sort_begin)(Device *device, ImgstatSample sample, uint64_t n, bool *sorts,
                                ImgstatError *err);
    ImgstatResult (*sort_add)(Device *device, const ImagePro *image, uint16_t channel,
                              ImgstatError *err);
    ImgstatResult (*sort_end)(Device *device, uint64_t *taken, struct RankKnot *runs,
                              ImgstatError *err);
    /* center, out: one a channel. */
    ImgstatResult (*central)(Device *device, const ImagePro *image, const double *center,
                             Central *out, ImgstatError *err);
    /* Prefix sums of n 64-bit counts, from and to in device memory, may be the same. */
    ImgstatResult (*scan)(Device *device, DevMem from, DevMem to, size_t n, bool inclusive,
                          ImgstatError *err);
    ImgstatResult (*wait)(Device *device, ImgstatError *err);

    /* Measuring in the order of a stream of the caller (a cudaStream_t; a CPU does it at once):
     * nothing waits or allocates, and a CUDA graph can record it. The record is emptied first; its
     * parts are 0. The image is in the device's own memory, its samples on their boundaries.
     * scratch: async_bytes of memory of its own, zero before the first use and between uses. */
    size_t (*async_bytes)(ImgstatSample sample, uint16_t channels);
    ImgstatResult (*measure_async)(Device *device, void *stream, const ImagePro *image,
                                   const DeviceRecord *record, DevMem scratch, ImgstatError *err);
    ImgstatResult (*wait_stream)(Device *device, void *stream, ImgstatError *err);

    /* transfer_apply (cpu/map_rows.h) by this device: each of the two images is in host memory or
     * in the device's own; they overlap only where `to` is `from`. Waits if one is in host memory.
     */
    ImgstatResult (*apply)(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                           int16_t alpha, ImagePro *to, ImgstatError *err);

    /* Adds the luma (luma.h) of an image of at least three channels to a record of one channel;
     * pixels without one are masked. */
    ImgstatResult (*measure_luma)(Device *device, const ImagePro *image, const DeviceRecord *record,
                                  ImgstatError *err);

    /* Adaptive equalization (transfer/clahe.h). read: counts a band, or, once finished,
     * observes it. apply: as above. */
    ImgstatResult (*clahe_read)(Device *device, ClahePage *page, const ImagePro *band,
                                ImgstatError *err);
    ImgstatResult (*clahe_finish)(Device *device, ClahePage *page, ImgstatError *err);
    ImgstatResult (*clahe_apply)(Device *device, const ClahePage *page, const ImagePro *from,
                                 ImagePro *to, ImgstatError *err);

    /* Measuring, making a transfer and applying it in the order of a stream, as measure_async: for
     * what transfer_check_async allows. pixels: of the largest image. Creating waits. Both images
     * are in the device's memory, their samples on their boundaries; `to` may be `from` where the
     * sample type stays. One stream at a time. The bytes are those of transfer_create and apply. */
    ImgstatResult (*transform_create)(Device *device, const ImgstatMethod *method,
                                      const struct TransferShape *shape, uint64_t pixels,
                                      DeviceTransform **out, ImgstatError *err);
    void (*transform_destroy)(DeviceTransform *transform); /* accepts NULL */
    ImgstatResult (*transform_async)(DeviceTransform *transform, void *stream, const ImagePro *from,
                                     ImagePro *to, ImgstatError *err);
} DeviceOps;

/* The pixels of host images that have no memory: the CPU's measure and read ask for those
 * that they need, so that the thread that reads them finds them in its cache. */
typedef struct RowSource {
    /* Rows [row, row + rows) on a 64-byte boundary, without gaps, valid until the next call with
     * the same `thread`; NULL: they cannot be read, and nothing of them is measured. */
    const void *(*rows)(void *context, unsigned thread, uint32_t row, uint32_t rows);
    /* With a chunk_width, in place of rows, for measure of narrow samples only: the chunk_width by
     * chunk_height pixels, fewer at the image's ends, from column x of row y on; *pitch: bytes
     * between the starts of their rows. */
    const void *(*chunk)(void *context, unsigned thread, uint32_t x, uint32_t y, size_t *pitch);
    uint32_t chunk_width, chunk_height;
    void *context;
} RowSource;

struct ImgstatDevice {
    const DeviceOps *ops; /* first member of each implementation's own struct */
    unsigned threads;     /* of the processor, that whoever opened it grants, decoding included */
    const RowSource *source; /* while a call has such images; else NULL */
    BufferCache
        *scratch; /* of the files that are read and written beside it, too; NULL: none is kept */
    size_t counter_bytes; /* of all threads, for further reads: else they share; 0: 64 MiB each */
};

extern const DeviceOps cpu_device_ops;

#endif

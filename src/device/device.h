/* SPDX-License-Identifier: MIT */
/* device.h: the seam between the library and its devices: one complete table of operations each. */
#ifndef IMGSTAT_DEVICE_DEVICE_H
#define IMGSTAT_DEVICE_DEVICE_H

#include "base/buffer_cache.h"
#include "base/cancel.h"
#include "device/read_request.h"
#include "record/record.h"

typedef struct ClahePage ClahePage; /* transfer/clahe.h */
struct TransferShape;               /* transfer/transfer.h */
struct RankKnot;                    /* record/quantile_table.h */
struct DecodeWork;                  /* codec/decode_work.h */
struct DeviceEncode;                /* codec/device_pieces.h */

/* A method for images of one kind, with all memory that a device needs for it. */
typedef struct DeviceTransform DeviceTransform;

/* Images like one that is given, evenly spaced in memory. */
typedef struct DeviceSeries {
    size_t n;
    int64_t step;    /* bytes from one to the next */
    int64_t to_step; /* the same of what is made of them */
} DeviceSeries;

/* Returns image i of a series. */
static inline ImagePro image_of_series(const ImagePro *first, size_t i, int64_t step)
{
    ImagePro image = *first;
    if (image.memory == IMGSTAT_CUDA)
        image.device.address += (uint64_t)((int64_t)i * step);
    else
        image.host = (unsigned char *)image.host + (int64_t)i * step;
    return image;
}

/* Rows that are copied to host memory, where they follow each other without gaps. */
typedef struct DeviceCopy {
    uint64_t from; /* address in the device's memory */
    size_t pitch, row_bytes, rows;
    void *to; /* in host_alloc's memory */
} DeviceCopy;

/* The copies of one call. */
typedef struct DeviceCopies {
    const DeviceCopy *list; /* in host_alloc's memory, which stays until the stream is done */
    size_t n;
    DevMem there; /* memory of the device for as many */
} DeviceCopies;

/* One kind of device. No operation is NULL.
 *
 * Threads: one thread at a time uses a device, but wait may run beside the calls of another.
 * Devices are independent of each other.
 *
 * Order: each call sees what the calls before it did. alloc, release, host_release, measure,
 * apply, clahe_read and clahe_apply may return before their work is done. The caller may then reuse
 * the host memory of pixels that they read; images that they write are complete only after wait.
 * upload, download, read, sort_end and clahe_finish wait: what they leave is there for every
 * stream.
 *
 * Failure: after IMGSTAT_ERR_DEVICE every further call fails likewise, except release, host_release
 * and close. */
typedef struct DeviceOps {
    const char *name; /* what --device accepts */
    bool fetches;     /* the processors of this machine compute: a PixelSource may fetch rows or
                       * tiles, and the device cannot be lost */

    /* ---- The device ---- */

    /* Returns how many devices of this kind there are; fills `info` for the first `capacity`. */
    size_t (*list)(ImgstatDeviceInfo *info, size_t capacity);

    /* Opens device number `index` of this kind. threads: of the processor, that it may use. */
    ImgstatResult (*open)(int index, unsigned threads, Device **out, ImgstatError *err);

    void (*close)(Device *device); /* accepts NULL */

    /* Uses this many of the processor's threads from now on, and releases the memory of the others.
     * 0: releases the memory of all; later work uses one thread. */
    void (*use_threads)(Device *device, unsigned threads);

    /* ---- Memory ---- */

    /* Allocates zeroed memory. */
    ImgstatResult (*alloc)(Device *device, size_t bytes, DevMem *out, ImgstatError *err);

    /* Accepts empty memory. */
    void (*release)(Device *device, DevMem *mem);

    /* Allocates the host memory that transfers fastest to this device. */
    ImgstatResult (*host_alloc)(Device *device, size_t bytes, void **out, ImgstatError *err);
    void (*host_release)(Device *device, void *memory);
    ImgstatResult (*upload)(Device *device, DevMem to, size_t offset, const void *from,
                            size_t bytes, ImgstatError *err);
    ImgstatResult (*download)(Device *device, void *to, DevMem from, size_t offset, size_t bytes,
                              ImgstatError *err);

    /* Waits until a stream is done. The device's own: so are all calls that name no stream. NULL:
     * CUDA's default stream. */
    ImgstatResult (*wait)(Device *device, void *stream, ImgstatError *err);

    /* ---- Measuring ---- */

    /* Adds each image of the source to the record with its number; zero bytes are the empty record.
     * Images may have any sizes, and bands of one page may share a record. view: VIEW_EACH, or
     * VIEW_LUMA, whose records have one channel. */
    ImgstatResult (*measure)(Device *device, const PixelSource *source, PixelView view,
                             const DeviceRecord *records, ImgstatError *err);

    /* Reads the images again and fulfils a request. */
    ImgstatResult (*read)(Device *device, const PixelSource *source, PixelView view,
                          const ReadRequest *request, ImgstatError *err);

    /* Begins a sort of n keys in the device's memory. Reads with ReadRequest.sort add the keys.
     * *sorts becomes false where the device does not sort, lacks the memory, or would gain nothing:
     * then no sort begins. Other calls are allowed before sort_end. */
    ImgstatResult (*sort_begin)(Device *device, ImgstatSample sample, uint64_t n, bool *sorts,
                                ImgstatError *err);

    /* Ends a sort and releases its memory. *taken becomes the number of keys that were added. If
     * that is n, runs[j] becomes the run of equal keys that holds rank (n - 1) j / RANK_STEPS, for
     * j from 0 to RANK_STEPS. runs: NULL only to release the memory. */
    ImgstatResult (*sort_end)(Device *device, uint64_t *taken, struct RankKnot *runs,
                              ImgstatError *err);

    /* ---- Mapping ---- */

    /* Maps an image. Each of the two images is in host memory or in the device's own; they overlap
     * only where `to` is `from`. Waits if one is in host memory. */
    ImgstatResult (*apply)(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                           int16_t alpha, ImagePro *to, ImgstatError *err);

    /* Counts a band for adaptive equalization or, after clahe_finish, observes it. */
    ImgstatResult (*clahe_read)(Device *device, ClahePage *page, const ImagePro *band,
                                ImgstatError *err);

    /* Ends the counting of a page. */
    ImgstatResult (*clahe_finish)(Device *device, ClahePage *page, ImgstatError *err);

    /* Maps a band by adaptive equalization. Images are as in apply. */
    ImgstatResult (*clahe_apply)(Device *device, const ClahePage *page, const ImagePro *from,
                                 ImagePro *to, ImgstatError *err);

    /* ---- On the caller's stream (a cudaStream_t; a CPU is done on return) ----
     * Only transform_create, transform_destroy and decode_async with uploads wait or allocate: a
     * CUDA graph can record the others. Images are in the device's own memory; samples
     * are aligned to their size. One object serves one stream at a time. */

    /* Returns the bytes of scratch memory that measure_async needs for n images at a time. */
    size_t (*async_bytes)(ImgstatSample sample, uint16_t channels, size_t n);

    /* Empties the records of a series, which follow each other and have no optional parts, and adds
     * an image to each. record: the first one's. scratch: async_bytes bytes, zeroed before the
     * first use; the caller does not write them. */
    ImgstatResult (*measure_async)(Device *device, void *stream, const ImagePro *first,
                                   const DeviceSeries *series, const DeviceRecord *record,
                                   DevMem scratch, ImgstatError *err);

    /* Allocates all that images of at most `pixels` pixels need. The method is one that
     * transfer_check_async allows. */
    ImgstatResult (*transform_create)(Device *device, const ImgstatMethod *method,
                                      const struct TransferShape *shape, uint64_t pixels,
                                      DeviceTransform **out, ImgstatError *err);
    void (*transform_destroy)(DeviceTransform *transform); /* accepts NULL */

    /* Measures each image of a series, creates its transfer and applies it. The output is that of
     * transfer_create and apply. `to` may be `from` if the sample type stays. */
    ImgstatResult (*transform_async)(DeviceTransform *transform, void *stream, const ImagePro *from,
                                     ImagePro *to, const DeviceSeries *series, ImgstatError *err);

    /* Decodes images. work: its lists are in host_alloc's memory, which stays until the stream is
     * done, and so do the bytes that it uploads; it waits for copies of those that are many and in
     * other memory. there: memory of this device for the lists. checks: of this device, a
     * DeflatedCheck for each image: a doubt if the processor must decode the image, whose pixels
     * are then anything. No images make ready: no later call waits. */
    ImgstatResult (*decode_async)(Device *device, void *stream, const struct DecodeWork *work,
                                  DevMem there, DevMem checks, ImgstatError *err);

    /* Filters or predicts images and compresses their pieces; then copies rows. Either may be NULL.
     * Results, which are zeros before, remain so for pieces that are left to the processor. What
     * the call names stays until the stream is done. Both NULL: makes ready, as above. */
    ImgstatResult (*encode_async)(Device *device, void *stream, const struct DeviceEncode *call,
                                  const DeviceCopies *copies, ImgstatError *err);
} DeviceOps;

struct ImgstatDevice {
    const DeviceOps *ops;   /* first member of each implementation's own struct */
    void *stream;           /* the device's own: in its order calls work that name none */
    ImgstatDeviceInfo info; /* what `open` found */
    int index;              /* among devices of its kind, as ImagePro.device_id */
    unsigned threads;       /* of the processor, for the device and for decoding */
    BufferCache *cache;     /* also for the files that are read and written; NULL: none */
    Cancel cancel;          /* whose call ends the device's work, and that on files for it */
};

/* Waits until a device has done all work of calls that name no stream. */
static inline ImgstatResult device_wait(Device *device, ImgstatError *err)
{
    return device->ops->wait(device, device->stream, err);
}

extern const DeviceOps cpu_device_ops;

enum { DEVICES_MOST = 64, DEVICE_NAME_BYTES = sizeof(((ImgstatDeviceInfo *)0)->name) };

/* Names of single devices. */
typedef struct DeviceNames {
    char name[DEVICES_MOST][DEVICE_NAME_BYTES];
    size_t n; /* > 0 */
} DeviceNames;

/* Reads "cpu", "cuda", "cuda:N", a list such as "cuda:0,1" or "cuda:all". Fails with
 * IMGSTAT_ERR_ARG if it is none of them, and with IMGSTAT_ERR_DEVICE if a device of a list is not
 * here; a single device may still be absent. */
ImgstatResult device_names_read(const char *text, DeviceNames *out, ImgstatError *err);

#endif

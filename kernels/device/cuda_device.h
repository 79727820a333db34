/* SPDX-License-Identifier: MIT */
/* device/cuda_device.h: inside the CUDA device: its memory, streams and scratch; checked calls. */
#ifndef IMGSTAT_KERNELS_DEVICE_CUDA_DEVICE_H
#define IMGSTAT_KERNELS_DEVICE_CUDA_DEVICE_H

#include "common/tuning.cuh"

#include <assert.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "base/thread_pool.h"
#include "device/device.h"
}

extern "C" const DeviceOps cuda_device_ops;

/* Memory that grows and is kept: on the device, or pinned on the host. */
typedef struct CudaBuffer {
    void *memory;
    size_t bytes;
} CudaBuffer;

/* A staging buffer: filled by the host, copied on one stream, read by kernels on the other. */
typedef struct StageSlot {
    CudaBuffer pinned, pixels; /* on the host and on the device */
    cudaEvent_t filled, used;  /* copied to the device; read by the kernels */
    bool busy;                 /* used has been recorded */
} StageSlot;

/* A pinned buffer for bands that host_alloc has handed out and gets back. */
typedef struct LentBuffer {
    CudaBuffer pinned;
    bool lent;
} LentBuffer;

/* Descriptions of images that a launch needs, in pinned memory until they are copied. */
typedef struct DescSlot {
    CudaBuffer pinned, device;
    cudaEvent_t copied, used; /* to the device; read by the kernels */
    bool busy;                /* used has been recorded */
} DescSlot;

/* What calls need of the driver's own interface, which is not linked: there may be no driver. */
typedef struct CudaDriver {
    decltype(&cuCtxGetId) id;
    decltype(&cuCtxGetCurrent) current;
    decltype(&cuCtxPushCurrent) push;
    decltype(&cuCtxPopCurrent) pop;
} CudaDriver;

/* What a launch needs to know of its kernel. */
typedef struct CudaKernel {
    const void *kernel;
    int static_shared;
    bool early; /* built for devices that launch early: it waits for the launch before */
    bool large; /* may have more than SHARED_SMALL bytes of shared memory */
} CudaKernel;
/* SHARED_RESERVED: the driver's own of each block. */
enum { KNOWN_KERNELS = 256, SHARED_SMALL = 48 << 10, SHARED_RESERVED = 1 << 10 };

/* Whether a launch that only measures may begin while the launch before it on the device's stream
 * ends: it may if that one only measured as well, since then nothing changes the pixels that it
 * reads. All zero at first: it may not. */
struct PixelOrder {
    /* Something that may write pixels has been put on the stream. */
    void pixels_may_change()
    {
        only_measured = false;
    }
    /* A launch that only measures has been; on_stream: on the device's own stream. */
    void measured(bool on_stream)
    {
        only_measured = on_stream;
    }
    bool may_overlap() const
    {
#ifdef IMGSTAT_SYNC_LAUNCHES
        return false;
#else
        return only_measured;
#endif
    }

  private:
    bool only_measured;
};

typedef struct CudaDevice {
    Device base;
    int index;
    CudaDriver driver;
    CUcontext context; /* the runtime's own; kept, as by the runtime, until the process ends */
    unsigned long long context_id; /* another one: the program has destroyed the context */
    bool gone;                     /* the context has been destroyed, with all that was in it */
    cudaDeviceProp properties;
    int max_shared;       /* bytes a block can have after opting in */
    const Tuning *tuning; /* of its family */
    cudaStream_t stream;  /* kernels; what the calls are ordered by */
    cudaStream_t copies;  /* host to device, overlapped with kernels */
    cudaEvent_t uploaded; /* on `stream`: what streams of callers wait for */
    PixelOrder order;     /* of what comes next on `stream` */
    int broken;           /* after a failure: the ImgstatResult of every further call; atomic */
    StageSlot stage[STAGE_SLOTS];
    unsigned stage_next;
    DescSlot desc[DESC_SLOTS];
    unsigned desc_next;
    CudaBuffer state;   /* per image and channel; all zero between launches */
    CudaBuffer scratch; /* tables, counters and keys of count_*, gather and central */
    CudaBuffer sort;    /* keys of sort_begin to sort_end */
    void *sorting;      /* what ranks/sort.cu keeps between them, or NULL */
    CudaBuffer host;    /* pinned: results on their way to the caller */
    LentBuffer lent[LENT_SLOTS];
    CudaKernel kernels[KNOWN_KERNELS]; /* those that have been launched */
    unsigned n_kernels;
    bool knows_large_clusters, has_large_clusters; /* of 16 blocks (equalize/words_many.cu) */

    void *queue;        /* QueueMemory of common/work_queue.cuh, zero between launches */
    CudaBuffer list;    /* plain memory: the images of a launch while it is put together */
    CudaBuffer aligned; /* device memory: an image whose samples are not on their boundaries */
    ThreadPool *pool;   /* fills staging buffers */
    CudaBuffer luma;    /* device memory: the luma of a band, and whether each pixel has one */
    void *apply;        /* what maps/apply.cu keeps; NULL until it is used */
} CudaDevice;

/* IMGSTAT_ERR_DEVICE, or IMGSTAT_ERR_MEMORY if that is the cause, in one sentence that names
 * the call; the device refuses further work unless memory was all that it lacked. */
ImgstatResult cuda_failed(CudaDevice *device, cudaError_t status, const char *call,
                          ImgstatError *err);

/* Returns from the calling function if a CUDA call fails. */
#define CUDA_TRY(device, err, call)                          \
    do {                                                     \
        const cudaError_t status_ = (call);                  \
        if (status_ != cudaSuccess)                          \
            return cuda_failed(device, status_, #call, err); \
    } while (0)

/* Directly after a launch: refused launches are found here, failed kernels where the host waits,
 * or here in builds with IMGSTAT_SYNC_LAUNCHES. */
static inline ImgstatResult cuda_launched(CudaDevice *device, cudaStream_t stream,
                                          const char *kernel, ImgstatError *err)
{
    device->order.pixels_may_change();
    cudaError_t status = cudaGetLastError();
#ifdef IMGSTAT_SYNC_LAUNCHES
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (status == cudaSuccess)
        status = cudaStreamIsCapturing(stream, &capture);
    if (status == cudaSuccess && capture == cudaStreamCaptureStatusNone)
        status = cudaStreamSynchronize(stream);
#else
    (void)stream;
#endif
    return status == cudaSuccess ? IMGSTAT_OK : cuda_failed(device, status, kernel, err);
}

/* Checks the status of a call that releases a resource. A failed device frees nothing, and there is
 * no one to report it to; to release what is not held is a bug. */
static inline void cuda_released(cudaError_t status)
{
    assert(status != cudaErrorInvalidValue && status != cudaErrorInvalidResourceHandle);
    if (status != cudaSuccess)
        (void)cudaGetLastError();
}

/* Makes a buffer hold at least `bytes`; what it held is lost if it grows. zero: new memory is
 * zeroed, in the order of the stream. */
ImgstatResult cuda_reserve(CudaDevice *device, CudaBuffer *buffer, size_t bytes, bool zero,
                           ImgstatError *err);
ImgstatResult cuda_reserve_host(CudaDevice *device, CudaBuffer *buffer, size_t bytes,
                                ImgstatError *err);

/* Free what a buffer holds, an event or a stream, unless they have gone with the device's context.
 * The buffer is empty afterwards; events and streams may be NULL. */
void cuda_free(const CudaDevice *device, CudaBuffer *buffer, bool pinned);
void cuda_free_event(const CudaDevice *device, cudaEvent_t event);
void cuda_free_stream(const CudaDevice *device, cudaStream_t stream);

/* The calling thread's current context is the device's while this lives, and then what it was: a
 * thread may be a new one, or its program work with another GPU. */
struct CudaStay {
    const CudaDevice *const device;
    CUresult result;
    bool pushed;
    explicit CudaStay(const CudaDevice *on);
    ~CudaStay();
    CudaStay(const CudaStay &) = delete;
    CudaStay &operator=(const CudaStay &) = delete;
};

/* Looks up the driver's functions, and the context that the runtime uses as well. */
ImgstatResult cuda_find_context(CudaDevice *device, ImgstatError *err);

/* Fails if the device has failed before. */
ImgstatResult cuda_enter(CudaDevice *device, const CudaStay &stay, ImgstatError *err);

/* First in a call that changes no pixels but where it says so itself; returns from the calling
 * function if cuda_enter fails. */
#define CUDA_ENTER_MEASURING(device, err) \
    const CudaStay stay_(device);         \
    IMGSTAT_TRY(cuda_enter(device, stay_, err))

/* First in every other call. */
#define CUDA_ENTER(device, err)        \
    CUDA_ENTER_MEASURING(device, err); \
    (device)->order.pixels_may_change()

/* Calls `read` with images in device memory that together are `images`: device images as they
 * are, host images band by band. record[i] belongs to image i of a call of read. */
typedef ImgstatResult (*CudaRead)(void *context, CudaDevice *device, const ImagePro *images,
                                  const uint32_t *origin, size_t n, ImgstatError *err);
ImgstatResult cuda_stage(CudaDevice *device, const ImagePro *images, size_t n, CudaRead read,
                         void *context, ImgstatError *err);

/* Copies bytes of the host in the order of the device's stream. It waits for the bytes themselves
 * only if they are many that the host has not pinned: these go by way of the staging buffers. */
ImgstatResult cuda_upload(CudaDevice *device, void *to, const void *from, size_t bytes,
                          ImgstatError *err);
ImgstatResult cuda_upload_staged(CudaDevice *device, void *to, const void *from, size_t bytes,
                                 ImgstatError *err);

/* A CudaRead whose context is a function object: calls it with each image. */
template <typename Read>
static ImgstatResult cuda_each(void *context, CudaDevice *, const ImagePro *images,
                               const uint32_t *, size_t n, ImgstatError *)
{
    for (size_t i = 0; i < n; i++)
        IMGSTAT_TRY((*(const Read *)context)(images[i]));
    return IMGSTAT_OK;
}

/* cuda_stage of one image: calls `read` with each band of it in device memory. */
template <typename Read>
static ImgstatResult cuda_stage_bands(CudaDevice *device, const ImagePro *image, const Read &read,
                                      ImgstatError *err)
{
    return cuda_stage(device, image, 1, cuda_each<Read>, (void *)(uintptr_t)&read, err);
}

/* Fails where the device cannot reach the pixels of an image, or there are none. */
ImgstatResult cuda_check_image(const CudaDevice *device, const ImagePro *image, ImgstatError *err);

/* What lies in one allocation is padded to this. */
static inline size_t cuda_padded(size_t bytes)
{
    return (bytes + 255) & ~(size_t)255;
}

static inline cudaError_t cuda_copy_rows(void *to, size_t to_pitch, const void *from,
                                         size_t from_pitch, size_t row, size_t rows,
                                         cudaMemcpyKind kind, cudaStream_t stream)
{
    if (rows == 1 || (to_pitch == row && from_pitch == row))
        return cudaMemcpyAsync(to, from, row * rows, kind, stream);
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row, rows, kind, stream);
}

/* As many blocks as have work, but at most `each` a multiprocessor. */
static inline unsigned cuda_blocks(const CudaDevice *device, uint64_t wanted, unsigned each)
{
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * each;
    return (unsigned)(wanted < most ? wanted : most);
}

/* Before a launch with so many bytes of dynamic shared memory: allows the kernel to have them, and
 * describes it. Asks the driver once. */
ImgstatResult cuda_prepare(CudaDevice *device, const void *kernel, size_t shared_bytes,
                           CudaKernel *out, ImgstatError *err);

/* Launches a kernel. early: it may begin while the launch before ends, where the device can do that
 * and the kernel has been built for it (common/sm90.cuh). */
template <typename Kernel, typename... Arguments>
static ImgstatResult cuda_launch_as(CudaDevice *device, cudaStream_t stream, const char *name,
                                    bool early, Kernel kernel, dim3 blocks, unsigned threads,
                                    size_t shared_bytes, ImgstatError *err,
                                    const Arguments &...arguments)
{
    CudaKernel known;
    cudaLaunchAttribute attribute = {};
    IMGSTAT_TRY(cuda_prepare(device, (const void *)kernel, shared_bytes, &known, err));
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early && known.early;
    CUDA_TRY(device, err, cudaLaunchKernelEx(&config, kernel, arguments...));
    return cuda_launched(device, stream, name, err);
}

template <typename Kernel, typename... Arguments>
static ImgstatResult cuda_launch(CudaDevice *device, cudaStream_t stream, const char *name,
                                 Kernel kernel, dim3 blocks, unsigned threads, size_t shared_bytes,
                                 ImgstatError *err, const Arguments &...arguments)
{
    return cuda_launch_as(device, stream, name, false, kernel, blocks, threads, shared_bytes, err,
                          arguments...);
}

template <typename Kernel, typename... Arguments>
static ImgstatResult cuda_launch_early(CudaDevice *device, cudaStream_t stream, const char *name,
                                       Kernel kernel, dim3 blocks, unsigned threads,
                                       size_t shared_bytes, ImgstatError *err,
                                       const Arguments &...arguments)
{
    return cuda_launch_as(device, stream, name, true, kernel, blocks, threads, shared_bytes, err,
                          arguments...);
}

/* The slots that are not in device/cuda_device.cu. */
ImgstatResult cuda_measure(Device *device, const PixelSource *source, PixelView view,
                           const DeviceRecord *records, ImgstatError *err);
ImgstatResult cuda_read(Device *device, const PixelSource *source, PixelView view,
                        const ReadRequest *request, ImgstatError *err);
ImgstatResult cuda_sort_begin(Device *device, ImgstatSample sample, uint64_t n, bool *sorts,
                              ImgstatError *err);
ImgstatResult cuda_sort_end(Device *device, uint64_t *taken, struct RankKnot *runs,
                            ImgstatError *err);
size_t cuda_async_bytes(ImgstatSample sample, uint16_t channels, size_t n);
ImgstatResult cuda_measure_async(Device *device, void *stream, const ImagePro *first,
                                 const DeviceSeries *series, const DeviceRecord *record,
                                 DevMem scratch, ImgstatError *err);
/* cuda_measure_async of an image but that it adds to the record; within a call that has entered. */
ImgstatResult cuda_measure_more(CudaDevice *device, cudaStream_t stream, const ImagePro *image,
                                const DeviceRecord *record, DevMem scratch, ImgstatError *err);
ImgstatResult cuda_wait(Device *device, void *stream, ImgstatError *err);
ImgstatResult cuda_apply(Device *device, const ImgstatTransfer *transfer, const ImagePro *from,
                         int16_t alpha, ImagePro *to, ImgstatError *err);
ImgstatResult cuda_clahe_read(Device *device, ClahePage *page, const ImagePro *band,
                              ImgstatError *err);
ImgstatResult cuda_clahe_finish(Device *device, ClahePage *page, ImgstatError *err);
ImgstatResult cuda_clahe_apply(Device *device, const ClahePage *page, const ImagePro *from,
                               ImagePro *to, ImgstatError *err);
ImgstatResult cuda_decode_async(Device *device, void *stream, const struct DecodeWork *work,
                                DevMem there, DevMem checks, ImgstatError *err);
ImgstatResult cuda_encode_async(Device *device, void *stream, const struct DeviceEncode *call,
                                const DeviceCopies *copies, ImgstatError *err);
void cuda_apply_close(CudaDevice *device);

/* Adds every channel of n images to a record each. */
ImgstatResult cuda_measure_images(CudaDevice *device, const ImagePro *images,
                                  const DeviceRecord *records, size_t n, ImgstatError *err);

/* luma/general.cu: calls `read` with the luma of an image as images of one channel in device
 * memory; cuda_read_luma calls a function object. */
ImgstatResult cuda_luma_bands(CudaDevice *device, const ImagePro *image, CudaRead read,
                              void *context, ImgstatError *err);
template <typename Read>
static ImgstatResult cuda_read_luma(CudaDevice *device, const ImagePro *image, const Read &read,
                                    ImgstatError *err)
{
    return cuda_luma_bands(device, image, cuda_each<Read>, (void *)(uintptr_t)&read, err);
}

/* Parts of a read of one image, within a call that has entered; channels are the image's. */
ImgstatResult cuda_count_digits(CudaDevice *device, const ImagePro *image, DigitCount *counts,
                                size_t n, ImgstatError *err);
ImgstatResult cuda_count_range(CudaDevice *device, const ImagePro *image, RangeCount *count,
                               ImgstatError *err);
ImgstatResult cuda_gather(CudaDevice *device, const ImagePro *image, KeyGather *gathers, size_t n,
                          ImgstatError *err);
ImgstatResult cuda_sort_add(CudaDevice *device, const ImagePro *image, uint16_t channel,
                            ImgstatError *err);
ImgstatResult cuda_central(CudaDevice *device, const ImagePro *image, const double *center,
                           Central *out, ImgstatError *err);

#endif

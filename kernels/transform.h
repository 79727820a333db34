/* SPDX-License-Identifier: MIT */
/* transform.h: measuring, making a transfer and applying it without leaving the device. */
#ifndef IMGSTAT_TRANSFORM_H
#define IMGSTAT_TRANSFORM_H

#include "device.h"
#include "transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A method for images of one kind, with all the device memory that it takes. */
typedef struct CudaTransform CudaTransform;

/* Narrow types; stretch, percentile and equalize by imgstat's own formulas: the rest is
 * IMGSTAT_ERR_UNSUPPORTED, and made with transfer_create. pixels: of the largest image. Waits. */
ImgstatResult cuda_transform_create(Device *device, const ImgstatMethod *method,
                                    const TransferShape *shape, uint64_t pixels,
                                    CudaTransform **out, ImgstatError *err);
void cuda_transform_destroy(CudaTransform *transform); /* accepts NULL */
/* The sample type that it makes. */
ImgstatSample cuda_transform_output(const CudaTransform *transform);

/* Enqueues all of it on a cudaStream_t: nothing waits and nothing is allocated, and a CUDA graph
 * can record it once it has run before. Both images are in this device's memory, their samples on
 * their boundaries; `to` may be `from` where the sample type stays. One stream at a time. The bytes
 * are those of transfer_create and transfer_apply. */
ImgstatResult cuda_transform_async(CudaTransform *transform, void *stream, const ImagePro *from,
                                   ImagePro *to, ImgstatError *err);

#ifdef __cplusplus
}
#endif

#endif

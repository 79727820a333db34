/* SPDX-License-Identifier: MIT */
/* equalize/transform.h: measuring, making a transfer and applying it without leaving the device:
 * the transform slots of the CUDA device. */
#ifndef IMGSTAT_KERNELS_EQUALIZE_TRANSFORM_H
#define IMGSTAT_KERNELS_EQUALIZE_TRANSFORM_H

#ifdef __cplusplus
extern "C" {
#endif

#include "device/device.h"
#include "transfer/transfer.h"

ImgstatResult cuda_transform_create(Device *device, const ImgstatMethod *method,
                                    const TransferShape *shape, uint64_t pixels,
                                    DeviceTransform **out, ImgstatError *err);
void cuda_transform_destroy(DeviceTransform *transform); /* accepts NULL */
ImgstatResult cuda_transform_async(DeviceTransform *transform, void *stream, const ImagePro *from,
                                   ImagePro *to, const DeviceSeries *series, ImgstatError *err);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* helper_plain_device.h: a device that encodes as a GPU does: into its own memory, which is the
 * processor's. */
#ifndef HELPER_PLAIN_DEVICE_H
#define HELPER_PLAIN_DEVICE_H

#include "codec/device_pieces.h"
#include "device/device.h"

/* DeviceOps.encode_async, by the processor. */
ImgstatResult plain_encode(Device *device, void *stream, const DeviceEncode *call,
                           const DeviceCopies *copies, ImgstatError *err);

/* The CPU device's operations, but for that. Its images are in device memory. */
DeviceOps plain_device_ops(void);

#endif

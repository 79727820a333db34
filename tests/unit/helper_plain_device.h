/* SPDX-License-Identifier: MIT */
/* helper_plain_device.h: a device that encodes as a GPU does: into its own memory, which is the
 * processor's. */
#ifndef HELPER_PLAIN_DEVICE_H
#define HELPER_PLAIN_DEVICE_H

#include "device/device.h"

/* The CPU device's operations, but for that. Its images are in device memory. */
DeviceOps plain_device_ops(void);

#endif

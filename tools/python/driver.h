/* SPDX-License-Identifier: MIT */
/* driver.h: what arrays in GPU memory need of the CUDA driver, which is loaded at the first use. */
#ifndef IMGSTAT_PYTHON_DRIVER_H
#define IMGSTAT_PYTHON_DRIVER_H

#include "module.h"

/* Streams are as in imgstat_async.h. The interpreter's lock is not needed. */

/* Allocates memory in the order of a stream. */
ImgstatResult driver_allocate(int32_t device_id, size_t bytes, void *stream, uintptr_t *out,
                              ImgstatError *err);

/* Frees it in the order of a stream. */
void driver_free(int32_t device_id, uintptr_t address, void *stream);

/* Lets what follows on a stream wait for what is on an earlier one. */
ImgstatResult driver_order(int32_t device_id, void *earlier, void *later, ImgstatError *err);

/* Waits until a stream is done. */
ImgstatResult driver_wait(int32_t device_id, void *stream, ImgstatError *err);

#endif

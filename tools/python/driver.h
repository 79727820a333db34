/* SPDX-License-Identifier: MIT */
/* driver.h: what arrays in GPU memory need of the CUDA driver, which is loaded at the first use. */
#ifndef IMGSTAT_PYTHON_DRIVER_H
#define IMGSTAT_PYTHON_DRIVER_H

#include "module.h"

/* Streams are as in imgstat_async.h. The interpreter's lock is not needed. */

/* Returns the device that an address is on; 0 where the driver does not know it. */
int32_t driver_device_of(uintptr_t address);

/* Allocates memory in the order of a stream. */
ImgstatResult driver_allocate(int32_t device_id, size_t bytes, void *stream, uintptr_t *out,
                              ImgstatError *err);

/* Frees it in the order of that stream; with `waits` once all streams are done. */
void driver_free(int32_t device_id, uintptr_t address, void *stream, bool waits);

/* Lets what follows on a stream wait for what is on an earlier one. */
ImgstatResult driver_order(int32_t device_id, void *earlier, void *later, ImgstatError *err);

/* Marks what a stream has to do so far by an event, which is created at the first use; and lets
 * what follows on a stream wait for that. */
ImgstatResult driver_mark(int32_t device_id, void *stream, void **event, ImgstatError *err);
ImgstatResult driver_follow(int32_t device_id, void *event, void *stream, ImgstatError *err);
void driver_forget(int32_t device_id, void *event); /* accepts NULL */

/* Whether a graph records the stream's work. */
bool driver_records(int32_t device_id, void *stream);

/* Waits until a stream is done. */
ImgstatResult driver_wait(int32_t device_id, void *stream, ImgstatError *err);

#endif

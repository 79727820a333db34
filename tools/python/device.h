/* SPDX-License-Identifier: MIT */
/* device.h: open devices, which calls take and give back. */
#ifndef IMGSTAT_PYTHON_DEVICE_H
#define IMGSTAT_PYTHON_DEVICE_H

#include "array_view.h"

/* Takes a device that no other call uses: one that lies idle, or a new one. name: NULL for "cpu".
 * threads: 0 for as many as the process may run on. NULL: an exception. */
ImgstatDevice *device_take(State *state, const char *name, unsigned threads);

/* Refuses a name, which may be NULL, for an array that is on another GPU. 0, or -1 with an
 * exception. */
int device_check(const ArrayView *view, const char *name);

/* Takes the device for an array: of memory on a GPU that GPU, else the one named. threads: as
 * above.
 */
ImgstatDevice *device_take_for(State *state, const ArrayView *view, const char *name,
                               unsigned threads);

/* Gives a device back, which stays open for the next call. Accepts NULL. The interpreter's lock is
 * not needed. */
void device_give(State *state, ImgstatDevice *device);

/* Closes the devices of a module. */
void devices_free(State *state);

#endif

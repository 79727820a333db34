/* SPDX-License-Identifier: MIT */
/* transfer.h: the class Transfer, what turns old samples into new ones. */
#ifndef IMGSTAT_PYTHON_TRANSFER_H
#define IMGSTAT_PYTHON_TRANSFER_H

#include "module.h"

/* Makes a Transfer, which takes over the transfer of the library, also on failure: NULL, with an
 * exception. */
PyObject *transfer_new(State *state, ImgstatTransfer *transfer);

/* Returns the transfer of a Transfer, which never changes and lives as long as that; NULL with a
 * TypeError. */
const ImgstatTransfer *transfer_get(State *state, PyObject *object);

#endif

/* SPDX-License-Identifier: MIT */
/* sidecars.h: files beside an image that belong to it. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_SIDECARS_H
#define IMGSTAT_TOOLS_TRANSFORM_SIDECARS_H

#include "imgstat.h"

/* Returns a warning about sidecar files of an input that was written to another file, or over
 * itself. It begins with the name of the output; the caller frees it. NULL: no warning. */
char *sidecars_warning(const ImgstatJob *job);

#endif

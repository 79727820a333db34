/* SPDX-License-Identifier: MIT */
/* sidecars.h: files beside an image that belong to it. */
#ifndef IMGSTAT_TOOLS_SIDECARS_H
#define IMGSTAT_TOOLS_SIDECARS_H

#include "imgstat.h"

/* A warning about sidecar files of an input that was written to another file, or over itself.
 * Begins with the name of the output; freed by the caller. NULL: there is nothing to say. */
char *sidecars_warning(const ImgstatJob *job);

#endif

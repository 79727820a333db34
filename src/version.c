/* SPDX-License-Identifier: MIT */
/* version.c: what this library is made of. */
#include "imgstat.h"

#include <json-c/json_c_version.h>
#include <png.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>
#include <zlib.h>

#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif
#ifdef IMGSTAT_WITH_ISAL
#include <isa-l.h>
#endif

const char *imgstat_version(void)
{
    return IMGSTAT_VERSION;
}

/* Written once, before anyone sees it. */
static char libraries[240];
static pthread_once_t libraries_once = PTHREAD_ONCE_INIT;

static void describe_libraries(void)
{
    /* "LIBTIFF, Version 4.5.0", then a copyright. */
    const char *tiff = TIFFGetVersion();
    tiff += strcspn(tiff, "0123456789\n");
    size_t n = (size_t)snprintf(
        libraries, sizeof libraries, "libpng %s, libtiff %.*s, zlib %s, json-c %s",
        png_get_libpng_ver(NULL), (int)strcspn(tiff, "\n"), tiff, zlibVersion(), json_c_version());
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (n < sizeof libraries)
        n += (size_t)snprintf(libraries + n, sizeof libraries - n, ", libdeflate %s",
                              LIBDEFLATE_VERSION_STRING);
#endif
#ifdef IMGSTAT_WITH_ISAL
    if (n < sizeof libraries)
        n += (size_t)snprintf(libraries + n, sizeof libraries - n, ", ISA-L %d.%d.%d",
                              ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
#endif
    (void)n;
}

const char *imgstat_libraries(void)
{
    (void)pthread_once(&libraries_once, describe_libraries);
    return libraries;
}

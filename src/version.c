/* SPDX-License-Identifier: MIT */
/* version.c: what this library is made of. */
#include "imgstat.h"

#include <png.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>
#include <zlib.h>

const char *imgstat_version(void)
{
    return IMGSTAT_VERSION;
}

/* Written once, before anyone sees it. */
static char libraries[160];
static pthread_once_t libraries_once = PTHREAD_ONCE_INIT;

static void describe_libraries(void)
{
    /* "LIBTIFF, Version 4.5.0", then a copyright. */
    const char *tiff = TIFFGetVersion();
    tiff += strcspn(tiff, "0123456789\n");
    snprintf(libraries, sizeof libraries, "libpng %s, libtiff %.*s, zlib %s",
             png_get_libpng_ver(NULL), (int)strcspn(tiff, "\n"), tiff, zlibVersion());
}

const char *imgstat_libraries(void)
{
    (void)pthread_once(&libraries_once, describe_libraries);
    return libraries;
}

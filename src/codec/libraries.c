/* SPDX-License-Identifier: MIT */
/* libraries.c: versions of this library and of the libraries that it uses. */
#include "codec/codec.h"

#include <expat.h>
#include <json-c/json_c_version.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
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

/* Written once, under libraries_once. */
static char libraries[600];
static pthread_once_t libraries_once = PTHREAD_ONCE_INIT;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    const size_t used = strlen(libraries);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(libraries + used, sizeof libraries - used, format, list);
    va_end(list);
}

static void describe_libraries(void)
{
    for (size_t i = 0; codec_at(i); i++) {
        const size_t used = strlen(libraries);
        codec_at(i)->libraries(libraries + used, sizeof libraries - used);
        add(", ");
    }
    add("zlib %s, json-c %s, expat %s", zlibVersion(), json_c_version(),
        XML_ExpatVersion() + strlen("expat_"));
#ifdef IMGSTAT_WITH_LIBDEFLATE
    add(", libdeflate %s", LIBDEFLATE_VERSION_STRING);
#endif
#ifdef IMGSTAT_WITH_ISAL
    add(", ISA-L %d.%d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
#endif
}

const char *imgstat_libraries(void)
{
    (void)pthread_once(&libraries_once, describe_libraries);
    return libraries;
}

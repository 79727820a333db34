/* SPDX-License-Identifier: MIT */
/* codec_list.h: lists of the codecs that may be used: ImgstatOpen.codecs. */
#ifndef IMGSTAT_CODEC_CODEC_LIST_H
#define IMGSTAT_CODEC_CODEC_LIST_H

#include "base/error.h"

/* Checks that all words of a list are known. NULL: there is no list. */
ImgstatResult codec_list_check(const char *list, const char *whose, ImgstatError *err);

/* Returns whether a list, the environment and the build allow a compression of a format.
 * compression: NULL if the format has one only. */
bool codec_list_allows(const char *list, const char *format, const char *compression);

#endif

/* SPDX-License-Identifier: MIT */
/* raw_profile.h: the text "Raw profile type iptc", in which PNG files have IPTC data. */
#ifndef IMGSTAT_PNG_RAW_PROFILE_H
#define IMGSTAT_PNG_RAW_PROFILE_H

#include "codec/metadata.h"
#include "png/chunks.h"

#define RAW_PROFILE_IPTC "Raw profile type iptc"

/* Adds the IPTC data of such a text, unless it is damaged. */
ImgstatResult raw_profile_read(Metadata *out, const char *text, size_t bytes, ImgstatError *err);

/* Writes IPTC data as such a text. */
ImgstatResult raw_profile_write(PngSink *sink, const MetadataItem *item, ImgstatError *err);

#endif

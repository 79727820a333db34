/* SPDX-License-Identifier: MIT */
/* limits.c: default limits, and the check of a page against limits. */
#include "codec/limits.h"

ImgstatLimits limits_default(ImgstatLimits limits)
{
    if (!limits.max_width)
        limits.max_width = 1000000;
    if (!limits.max_height)
        limits.max_height = 1000000;
    if (!limits.max_pixels)
        limits.max_pixels = (uint64_t)1 << 36;
    if (!limits.max_bytes)
        limits.max_bytes = (uint64_t)1 << 40;
    if (!limits.max_pages)
        limits.max_pages = 65535;
    if (!limits.max_tile_bytes)
        limits.max_tile_bytes = (uint64_t)1 << 31;
    return limits;
}

ImgstatResult limits_check(const ImgstatLimits *limits, const char *name, uint64_t width,
                           uint64_t height, uint64_t channels, uint64_t sample_bytes,
                           ImgstatError *err)
{
    if (width == 0 || height == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, name,
                          "an image of %llu x %llu pixels holds nothing", (unsigned long long)width,
                          (unsigned long long)height);
    if (width > limits->max_width || height > limits->max_height)
        return error_file(err, IMGSTAT_ERR_LIMIT, name,
                          "%llu x %llu pixels are more than the limit of %u x %u",
                          (unsigned long long)width, (unsigned long long)height, limits->max_width,
                          limits->max_height);
    const uint64_t pixels = width * height; /* limits are 32 bits wide: no overflow */
    if (pixels > limits->max_pixels)
        return error_file(err, IMGSTAT_ERR_LIMIT, name,
                          "%llu x %llu pixels are more than the limit of %llu in all",
                          (unsigned long long)width, (unsigned long long)height,
                          (unsigned long long)limits->max_pixels);
    uint64_t bytes = 0;
    const bool beyond = __builtin_mul_overflow(pixels, channels, &bytes) ||
                        __builtin_mul_overflow(bytes, sample_bytes, &bytes);
    if (beyond)
        bytes = UINT64_MAX;
    if (beyond || bytes > limits->max_bytes)
        return error_file(
            err, IMGSTAT_ERR_LIMIT, name,
            "%llu x %llu pixels take at least %llu bytes, more than the limit of %llu",
            (unsigned long long)width, (unsigned long long)height, (unsigned long long)bytes,
            (unsigned long long)limits->max_bytes);
    return IMGSTAT_OK;
}

void limits_lower_tile(ImgstatLimits *limits, uint64_t bytes)
{
    if (limits->max_tile_bytes == 0 || limits->max_tile_bytes > bytes)
        limits->max_tile_bytes = bytes;
}

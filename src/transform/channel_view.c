/* SPDX-License-Identifier: MIT */
/* transfer_input_view.c: what a device sees of a band where all its colours are counted as one
 * channel. */
#include "transform/transfer_source.h"

#include "base/pixel.h"

static void view_release(void *context)
{
    buffer_cache_release(context);
}

/* All samples but alpha as pixels of one channel, with a mask if the image has one. */
static ImgstatResult flat_copy(BufferCache *scratch, const ImagePro *from, int16_t alpha,
                               ImagePro *out, ImgstatError *err)
{
    const size_t bytes = imgstat_sample_bytes(from->sample);
    const uint32_t colours = from->channels - (uint32_t)(alpha >= 0);
    const size_t width = (size_t)from->width * colours; /* below 2^32: checked by flat_view */
    size_t total;
    if (!size_product(width * (bytes + 1), from->height, &total))
        return error_set(err, IMGSTAT_ERR_LIMIT, "the band is too large");
    unsigned char *const memory = buffer_cache_acquire(scratch, total);
    if (!memory)
        return error_memory(err, total, "a band");
    unsigned char *to = memory, *valid = memory + width * bytes * from->height;
    const ImgstatResult res =
        imgstat_image_wrap(IMGSTAT_HOST, 0, memory, width * bytes, (uint32_t)width, from->height, 1,
                           from->sample, from->bits, view_release, memory, out, err);
    if (res != IMGSTAT_OK) {
        buffer_cache_release(memory);
        return res;
    }
    if (from->mask) {
        out->mask = valid;
        out->mask_pitch = width;
    }
    for (size_t y = 0; y < from->height; y++) {
        const unsigned char *at = image_row(from, y);
        const uint8_t *const mask = mask_row(from, y);
        for (size_t x = 0; x < from->width; x++)
            for (int c = 0; c < from->channels; c++, at += bytes) {
                if (c == alpha)
                    continue;
                memcpy(to, at, bytes);
                to += bytes;
                *valid++ = !mask || mask[x];
            }
    }
    return IMGSTAT_OK;
}

/* One channel of all samples but alpha, sharing memory where that is possible. */
ImgstatResult transfer_input_flat_view(BufferCache *scratch, const ImagePro *from, int16_t alpha,
                                       ImagePro *out, ImgstatError *err)
{
    *out = *from;
    out->release = NULL;
    if (from->channels == 1)
        return IMGSTAT_OK;
    if (from->width > UINT32_MAX / from->channels)
        return error_set(err, IMGSTAT_ERR_LIMIT, "rows of %u pixels of %u channels are too long",
                         from->width, from->channels);
    if (alpha < 0 && !from->mask) {
        out->width = from->width * from->channels;
        out->channels = 1;
        return IMGSTAT_OK;
    }
    IMGSTAT_TRY(flat_copy(scratch, from, alpha, out, err));
    out->first_row = from->first_row;
    out->has_nodata = from->has_nodata;
    out->nodata_key = from->nodata_key;
    return IMGSTAT_OK;
}

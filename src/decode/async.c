/* SPDX-License-Identifier: MIT */
/* async.c: files in host memory to pixels in device memory, on the caller's stream. */
#include "decode/decode.h"

#include <stdlib.h>
#include <string.h>

void imgstat_decode_destroy(ImgstatDecode *decode)
{
    if (!decode)
        return;
    const DeviceOps *const ops = decode->device->ops;
    for (size_t i = 0; decode->file && i < decode->n; i++) {
        free(decode->file[i].colors);
        free(decode->file[i].tiles);
    }
    ops->release(decode->device, &decode->memory);
    if (decode->list)
        ops->host_release(decode->device, decode->list);
    free(decode->uploads);
    free(decode->staged);
    free(decode->file);
    free(decode);
}

ImgstatResult imgstat_decode_create(ImgstatDevice *device, const ImgstatEncoded *files, size_t n,
                                    const ImgstatOpen *how, ImgstatDecode **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && (files || n == 0) && out, __func__, err));
    ImgstatDecode *const decode = calloc(1, sizeof *decode);
    if (!decode)
        return error_memory(err, sizeof *decode, "a decoding");
    decode->device = device;
    if (how)
        decode->how = *how;
    decode->how.salvage = false;
    const ImgstatResult res = decode_prepare(decode, files, n, err);
    if (res != IMGSTAT_OK) {
        imgstat_decode_destroy(decode);
        return res;
    }
    *out = decode;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_decode_page(const ImgstatDecode *decode, size_t i, ImgstatPage *out,
                                  ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(decode && out, __func__, err));
    if (i >= decode->n)
        return error_set(err, IMGSTAT_ERR_ARG, "file %zu of %zu", i, decode->n);
    const DecodeFile *const f = &decode->file[i];
    if (f->error.code != IMGSTAT_OK) {
        if (err)
            *err = f->error;
        return f->error.code;
    }
    *out = f->page;
    return IMGSTAT_OK;
}

bool imgstat_decode_on_device(const ImgstatDecode *decode, size_t i)
{
    return decode && i < decode->n && decode->file[i].on_device;
}

/* ---- Pixels ---- */

static bool has_shape(const ImagePro *image, const ImgstatPage *page)
{
    return image->width == page->width && image->height == page->height &&
           image->channels == page->channels && image->sample == page->sample;
}

/* Reads the page into a host image. */
static ImgstatResult read_page(const ImgstatDecode *decode, DecodeFile *f, ImagePro *image,
                               ImgstatError *err)
{
    ImgstatFile *file = NULL;
    ImgstatPage page;
    IMGSTAT_TRY(decode_open_page(f, &decode->how, &file, &page, err));
    const ImgstatResult res = page_has_shape(&page, &f->page) ? imgstat_file_read(file, image, err)
                                                              : decoder_changed(file->decoder, err);
    imgstat_file_close(file);
    return res;
}

/* Decodes a file on the processor, to where its pixels belong. */
static ImgstatResult decode_file(const ImgstatDecode *decode, DecodeFile *f, ImgstatError *err)
{
    const DeviceOps *const ops = decode->device->ops;
    ImagePro *const to = &f->image, host;
    if (to->host)
        return read_page(decode, f, to, err);
    IMGSTAT_TRY(image_create_unset(to->width, to->height, to->channels, to->sample, 0, &host, err));
    ImgstatResult res = read_page(decode, f, &host, err);
    const size_t row = image_samples_per_row(to) * imgstat_sample_bytes(to->sample);
    const DevMem there = {to->device.address, to->height * to->pitch};
    for (uint32_t y = 0; y < to->height && res == IMGSTAT_OK; y++)
        if (to->pitch == row && host.pitch == row) {
            res = ops->upload(decode->device, there, 0, host.host, row * to->height, err);
            break;
        } else {
            res = ops->upload(decode->device, there, y * to->pitch, image_row(&host, y), row, err);
        }
    imgstat_image_release(&host);
    return res;
}

ImgstatResult imgstat_decode_async(ImgstatDecode *decode, const ImagePro *images, void *stream,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(decode && (images || decode->n == 0), __func__, err));
    const DeviceOps *const ops = decode->device->ops;
    if (decode->enqueued)
        return error_set(err, IMGSTAT_ERR_ARG, "these files have been enqueued before");
    size_t rows = 0, pages = 0;
    for (size_t i = 0; i < decode->n; i++) {
        DecodeFile *const f = &decode->file[i];
        if (f->error.code != IMGSTAT_OK)
            continue;
        if (!has_shape(&images[i], &f->page) ||
            !(ops->fetches ? images[i].host != NULL : images[i].device.address != 0))
            return error_file(err, IMGSTAT_ERR_ARG, f->from.name,
                              "its image is of another shape, or in memory of another device");
        f->image = images[i];
        if (f->on_device && f->tiles) {
            decode->work.pages[pages].pixels = images[i].device.address;
            decode->work.pages[pages++].pitch = images[i].pitch;
        } else if (f->on_device) {
            decode->work.rows[rows].pixels = images[i].device.address;
            decode->work.rows[rows++].pitch = images[i].pitch;
        }
    }
    if (rows + pages > 0)
        IMGSTAT_TRY(ops->decode_async(decode->device, stream, &decode->work, decode->list_there,
                                      decode->checks, err));
    decode->enqueued = true;
    return IMGSTAT_OK;
}

/* Clears on_device of files whose pixels the device doubts. */
static ImgstatResult read_checks(ImgstatDecode *decode, void *stream, ImgstatError *err)
{
    const size_t n = decode_images(decode);
    const DeviceOps *const ops = decode->device->ops;
    if (n == 0)
        return ops->wait(decode->device, stream, err);
    DeflatedCheck *const checks = calloc(n, sizeof *checks);
    if (!checks)
        return error_memory(err, n * sizeof *checks, "the state of images");
    ImgstatResult res = ops->wait(decode->device, stream, err);
    if (res == IMGSTAT_OK)
        res = ops->download(decode->device, checks, decode->checks, 0, n * sizeof *checks, err);
    size_t rows = 0, pages = decode->work.n_rows;
    for (size_t i = 0; i < decode->n && res == IMGSTAT_OK; i++) {
        DecodeFile *const f = &decode->file[i];
        if (f->on_device)
            f->on_device = checks[f->tiles ? pages++ : rows++].doubt == 0;
    }
    free(checks);
    return res;
}

ImgstatResult imgstat_decode_finish(ImgstatDecode *decode, void *stream, ImgstatError *results,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(decode && (results || decode->n == 0), __func__, err));
    if (!decode->enqueued || decode->finished)
        return error_set(err, IMGSTAT_ERR_ARG,
                         decode->finished ? "these files have been finished before"
                                          : "nothing has been enqueued");
    IMGSTAT_TRY(read_checks(decode, stream, err));
    decode->finished = true;
    for (size_t i = 0; i < decode->n; i++) {
        DecodeFile *const f = &decode->file[i];
        results[i] = f->error;
        if (f->on_device || f->error.code != IMGSTAT_OK)
            continue;
        if (decode_file(decode, f, &results[i]) == IMGSTAT_ERR_DEVICE) {
            if (err)
                *err = results[i];
            return IMGSTAT_ERR_DEVICE;
        }
    }
    return IMGSTAT_OK;
}

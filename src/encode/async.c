/* SPDX-License-Identifier: MIT */
/* async.c: images in device memory to PNG files in host memory, on the caller's stream. */
#include "imgstat_async.h"

#include "encode/rows.h"

#include <stdlib.h>
#include <string.h>

struct ImgstatEncode {
    Device *device;
    ThreadPool *pool;
    RowEncoder *rows;
    RowImage *images;
    const char *const *names;
    size_t most, n, file_bytes;
    bool fast, enqueued;
};

static const char *name_of(const ImgstatEncode *encode, size_t i)
{
    return encode->names ? encode->names[i] : "image";
}

/* Describes an image, or says why PNG cannot hold it. */
static ImgstatResult describe(const ImgstatEncode *encode, size_t i, const ImagePro *image,
                              RowImage *out, ImgstatError *err)
{
    const char *const name = name_of(encode, i);
    const EncodeOptions how = {.level = -1, .fast = encode->fast};
    const bool alpha = image->channels == 2 || image->channels == 4;
    const EncodePage page = encode_page_of(image, (int16_t)(alpha ? image->channels - 1 : -1));
    PngForm form;
    *out = (RowImage){.image = *image, .ends = true};
    out->result = encode_page_check(name, &page, err);
    if (out->result == IMGSTAT_OK)
        out->result = png_form_choose(name, &page, NULL, &how, &form, &out->rows, err);
    if (out->result == IMGSTAT_OK)
        out->head_bytes = png_head_make(&form, image->width, image->height, out->head);
    return out->result;
}

void imgstat_encode_destroy(ImgstatEncode *encode)
{
    if (!encode)
        return;
    row_encoder_destroy(encode->rows);
    thread_pool_destroy(encode->pool);
    free(encode->images);
    free(encode);
}

static ImgstatResult allocate(ImgstatEncode *encode, const ImagePro *like, size_t n,
                              ImgstatError *err)
{
    const unsigned threads = encode->device->threads;
    encode->images = calloc(n ? n : 1, sizeof *encode->images);
    if (!encode->images)
        return error_memory(err, n * sizeof *encode->images, "a list of images");
    for (size_t i = 0; i < n; i++)
        (void)describe(encode, i, &like[i], &encode->images[i], NULL);
    if (encode->file_bytes == 0)
        encode->file_bytes = row_encoder_bound(encode->images, n);
    IMGSTAT_TRY(thread_pool_create(threads, &encode->pool, err));
    IMGSTAT_TRY(row_encoder_create(encode->device, encode->fast, thread_pool_threads(encode->pool),
                                   &encode->rows, err));
    return row_encoder_reserve(encode->rows, encode->images, n, encode->file_bytes, err);
}

ImgstatResult imgstat_encode_create(ImgstatDevice *device, const ImagePro *like, size_t n,
                                    bool fast, size_t file_bytes, ImgstatEncode **out,
                                    ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && (like || n == 0) && out, __func__, err));
    ImgstatEncode *const encode = calloc(1, sizeof *encode);
    if (!encode)
        return error_memory(err, sizeof *encode, "an encoding");
    *encode = (ImgstatEncode){.device = device, .most = n, .file_bytes = file_bytes, .fast = fast};
    const ImgstatResult res = allocate(encode, like, n, err);
    if (res != IMGSTAT_OK) {
        imgstat_encode_destroy(encode);
        return res;
    }
    *out = encode;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_encode_async(ImgstatEncode *encode, const char *const *names,
                                   const ImagePro *images, size_t n, void *stream,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(encode && (images || n == 0), __func__, err));
    if (encode->enqueued)
        return error_set(err, IMGSTAT_ERR_ARG, "the images before have not been finished");
    if (n > encode->most)
        return error_set(err, IMGSTAT_ERR_ARG, "%zu images for an encoder of %zu", n, encode->most);
    encode->names = names;
    encode->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (describe(encode, i, &images[i], &encode->images[i], NULL) == IMGSTAT_OK &&
            !(encode->device->ops->fetches ? images[i].host != NULL
                                           : images[i].device.address != 0))
            return error_file(err, IMGSTAT_ERR_ARG, name_of(encode, i),
                              "its pixels are in memory of another device");
    }
    if (!row_encoder_fits(encode->rows, encode->images, n))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "these images take more memory than those that the encoder was made for");
    IMGSTAT_TRY(row_encoder_async(encode->rows, encode->images, n, stream, err));
    encode->n = n;
    encode->enqueued = true;
    return IMGSTAT_OK;
}

bool imgstat_encode_on_device(const ImgstatEncode *encode, size_t i)
{
    return encode && i < encode->n && encode->images[i].on_device;
}

/* Says why an image has no file. */
static void report(const ImgstatEncode *encode, size_t i, ImgstatError *result)
{
    const RowImage *const image = &encode->images[i];
    const char *const name = name_of(encode, i);
    RowImage again;
    if (image->result == IMGSTAT_ERR_MEMORY)
        (void)error_file(result, IMGSTAT_ERR_MEMORY, name, "out of memory for compressing");
    else if (describe(encode, i, &image->image, &again, result) == IMGSTAT_OK)
        (void)error_file(result, image->result, name,
                         "the file does not fit into what is left of %zu bytes",
                         encode->file_bytes);
}

ImgstatResult imgstat_encode_finish(ImgstatEncode *encode, void *stream, ImgstatEncoded *files,
                                    ImgstatError *results, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(encode && ((files && results) || encode->n == 0), __func__, err));
    if (!encode->enqueued)
        return error_set(err, IMGSTAT_ERR_ARG, "nothing has been enqueued");
    encode->enqueued = false;
    IMGSTAT_TRY(row_encoder_finish(encode->rows, encode->pool, stream, err));
    for (size_t i = 0; i < encode->n; i++) {
        const RowImage *const image = &encode->images[i];
        files[i] = (ImgstatEncoded){name_of(encode, i), image->at, image->bytes};
        results[i] = (ImgstatError){.code = IMGSTAT_OK};
        if (image->result != IMGSTAT_OK) {
            files[i] = (ImgstatEncoded){.name = name_of(encode, i)};
            report(encode, i, &results[i]);
        }
    }
    return IMGSTAT_OK;
}

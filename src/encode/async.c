/* SPDX-License-Identifier: MIT */
/* async.c: images in device memory to PNG or TIFF files in host memory, on the caller's stream. */
#include "imgstat_async.h"

#include "encode/rows.h"
#include "encode/tiff_file.h"

#include <stdlib.h>
#include <string.h>

struct ImgstatEncode {
    Device *device;
    ThreadPool *pool;
    RowEncoder *rows;
    RowImage *images;
    uint64_t *strips; /* bytes and places of the strips of all images */
    const char *const *names;
    size_t most, n, file_bytes;
    const EncodeFormat *format;
    EncodeOptions how;
    bool enqueued;
};

static const char *name_of(const ImgstatEncode *encode, size_t i)
{
    return encode->names ? encode->names[i] : "image";
}

static EncodePage page_of(const ImagePro *image)
{
    const bool alpha = image->channels == 2 || image->channels == 4;
    return encode_page_of(image, (int16_t)(alpha ? image->channels - 1 : -1));
}

static ImgstatResult describe_png(const char *name, const EncodePage *page,
                                  const EncodeOptions *how, RowImage *out, ImgstatError *err)
{
    PngForm form;
    IMGSTAT_TRY(png_form_choose(name, page, NULL, how, &form, &out->rows, err));
    out->head_bytes = png_head_make(&form, page->width, page->height, out->head);
    out->tail_bytes = PNG_CHUNK_FRAME;
    return IMGSTAT_OK;
}

/* Describes an image, or says why the format cannot hold it. */
static ImgstatResult describe(const ImgstatEncode *encode, size_t i, const ImagePro *image,
                              RowImage *out, ImgstatError *err)
{
    const char *const name = name_of(encode, i);
    const EncodePage page = page_of(image);
    *out = (RowImage){.image = *image};
    out->result = encode_page_check(name, &page, err);
    if (out->result == IMGSTAT_OK)
        out->result = encode->format == &png_format
                          ? describe_png(name, &page, &encode->how, out, err)
                          : tiff_file_describe(name, &page, &encode->how, out, err);
    return out->result;
}

/* Gives images that fit their shares of the lists of strips. */
static void share_strips(ImgstatEncode *encode, size_t n)
{
    uint64_t *next = encode->strips;
    for (RowImage *image = encode->images; image < encode->images + n; image++) {
        const size_t strips = image->result == IMGSTAT_OK ? image->tiles.page.n_tiles : 0;
        image->tile_bytes = next;
        image->tile_at = next + strips;
        next += 2 * strips;
    }
}

void imgstat_encode_destroy(ImgstatEncode *encode)
{
    if (!encode)
        return;
    row_encoder_destroy(encode->rows);
    thread_pool_destroy(encode->pool);
    free(encode->images);
    free(encode->strips);
    free(encode);
}

static ImgstatResult allocate(ImgstatEncode *encode, const ImagePro *like, size_t n,
                              ImgstatError *err)
{
    const unsigned threads = encode->device->threads;
    size_t strips = 0;
    encode->images = calloc(n ? n : 1, sizeof *encode->images);
    if (!encode->images)
        return error_memory(err, n * sizeof *encode->images, "a list of images");
    for (size_t i = 0; i < n; i++)
        if (describe(encode, i, &like[i], &encode->images[i], NULL) == IMGSTAT_OK)
            strips += encode->images[i].tiles.page.n_tiles;
    encode->strips = calloc(strips ? 2 * strips : 1, sizeof *encode->strips);
    if (!encode->strips)
        return error_memory(err, 2 * strips * sizeof *encode->strips, "places of strips");
    if (encode->file_bytes == 0)
        encode->file_bytes = row_encoder_bound(encode->images, n);
    IMGSTAT_TRY(thread_pool_create(threads, &encode->pool, err));
    IMGSTAT_TRY(row_encoder_create(encode->device, encode->how.fast,
                                   thread_pool_threads(encode->pool), &encode->rows, err));
    return row_encoder_reserve(encode->rows, encode->images, n, encode->file_bytes, err);
}

/* What is asked for, of what there is. */
static ImgstatResult choose(const ImgstatWrite *how, const EncodeFormat **format, bool *fast,
                            ImgstatError *err)
{
    static const ImgstatWrite usual = {.format = NULL};
    how = how ? how : &usual;
    *fast = how->fast;
    *format = how->format ? encode_format_named(how->format) : &png_format;
    if (!*format)
        return error_set(err, IMGSTAT_ERR_ARG, "the format is \"%s\", not png or tiff",
                         how->format);
    if ((how->has_level && how->level != -1) ||
        (how->compression && strcmp(how->compression, "deflate") != 0))
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "images in device memory are compressed with deflate, without a level");
    return IMGSTAT_OK;
}

ImgstatResult imgstat_encode_create(ImgstatDevice *device, const ImagePro *like, size_t n,
                                    const ImgstatWrite *how, size_t file_bytes, ImgstatEncode **out,
                                    ImgstatError *err)
{
    const EncodeFormat *format;
    bool fast;
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && (like || n == 0) && out, __func__, err));
    IMGSTAT_TRY(choose(how, &format, &fast, err));
    ImgstatEncode *const encode = calloc(1, sizeof *encode);
    if (!encode)
        return error_memory(err, sizeof *encode, "an encoding");
    *encode = (ImgstatEncode){.device = device,
                              .most = n,
                              .file_bytes = file_bytes,
                              .format = format,
                              .how = {.level = -1, .fast = fast}};
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
    share_strips(encode, n);
    IMGSTAT_TRY(row_encoder_async(encode->rows, encode->images, n, stream, err));
    encode->n = n;
    encode->enqueued = true;
    return IMGSTAT_OK;
}

bool imgstat_encode_on_device(const ImgstatEncode *encode, size_t i)
{
    return encode && i < encode->n && encode->images[i].on_device;
}

/* Completes the file of an image, whose strips have been made. */
static void complete_tiff(void *context, size_t i, unsigned thread)
{
    const ImgstatEncode *const encode = context;
    RowImage *const image = &encode->images[i];
    const EncodePage page = page_of(&image->image);
    (void)thread;
    if (image->result == IMGSTAT_OK)
        image->result = tiff_file_complete(name_of(encode, i), &page, &encode->how, image);
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
    if (encode->format == &tiff_format)
        thread_pool_run(encode->pool, encode->n, complete_tiff, encode);
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

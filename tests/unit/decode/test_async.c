/* SPDX-License-Identifier: MIT */
/* test_async: files in memory decoded in one call, on the device without a GPU: what the decoder
 * gives, and its sentences. */
#include "imgstat_async.h"

#include "png_files.h"

#include <criterion/criterion.h>

enum { FILES = 40 };

typedef struct Batch {
    ImgstatDevice *device;
    ImgstatDecode *decode;
    ImgstatEncoded file[FILES];
    uint8_t *bytes[FILES];
    ImagePro image[FILES]; /* of the device */
    void *pixels[FILES];   /* theirs; a stand-in for a GPU has them in memory of the host, too */
    ImgstatError result[FILES];
    ImgstatError err;
} Batch;

static ImgstatResult read_memory(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *err)
{
    const ImgstatEncoded *const from = context;
    (void)err;
    const size_t left = offset < from->n_bytes ? from->n_bytes - (size_t)offset : 0;
    *got = bytes < left ? bytes : left;
    if (*got > 0)
        memcpy(to, (const uint8_t *)from->bytes + offset, *got);
    return IMGSTAT_OK;
}

/* Reads a file by itself into an image like another. */
static ImgstatResult read_alone(ImgstatEncoded *from, const ImagePro *like, ImagePro *image,
                                ImgstatError *err)
{
    const ImgstatInput input = {.bytes = from->n_bytes, .read_at = read_memory, .context = from};
    ImgstatFile *file = NULL;
    ImgstatPage page;
    memset(image, 0, sizeof *image);
    ImgstatResult res = imgstat_file_open_input(from->name, &input, NULL, &file, err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(file, 0, &page, err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_create(like->width, like->height, like->channels, like->sample, 0,
                                   image, err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_read(file, image, err);
    imgstat_file_close(file);
    return res;
}

static void make_files(Batch *b, const char *device, uint64_t state)
{
    for (size_t i = 0; i < FILES; i++) {
        const PngSpec spec = png_spec(&state);
        size_t bytes = png_file(&spec, &state, &b->bytes[i]);
        if (i % 4 == 3)
            bytes = stream_damage(b->bytes[i], bytes, &state);
        b->file[i] = (ImgstatEncoded){"some.png", b->bytes[i], bytes};
    }
    cr_assert_eq(imgstat_device_open(device, 0, &b->device, &b->err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_create(b->device, b->file, FILES, NULL, &b->decode, &b->err),
                 IMGSTAT_OK);
    for (size_t i = 0; i < FILES; i++) {
        ImgstatPage page;
        if (imgstat_decode_page(b->decode, i, &page, &b->err) != IMGSTAT_OK)
            continue;
        ImagePro *const image = &b->image[i];
        cr_assert_eq(imgstat_image_create(page.width, page.height, page.channels, page.sample, 0,
                                          image, &b->err),
                     IMGSTAT_OK);
        b->pixels[i] = image->host;
        if (strcmp(device, "cpu") != 0) {
            image->memory = IMGSTAT_CUDA;
            image->device.address = (uint64_t)(uintptr_t)image->host;
            image->host = NULL;
        }
    }
}

static void release(Batch *b)
{
    for (size_t i = 0; i < FILES; i++) {
        b->image[i].memory = IMGSTAT_HOST;
        imgstat_image_release(&b->image[i]);
        free(b->bytes[i]);
    }
    imgstat_decode_destroy(b->decode);
    imgstat_device_close(b->device);
}

/* What has been decoded is what the decoder gives for each file, and its sentences. */
static void check(Batch *b, size_t on_device)
{
    size_t right = 0, wrong = 0, on = 0;
    for (size_t i = 0; i < FILES; i++) {
        ImagePro alone;
        ImgstatError err = {0};
        const ImgstatResult res = read_alone(&b->file[i], &b->image[i], &alone, &err);
        cr_assert_eq(res, b->result[i].code);
        if (res == IMGSTAT_OK)
            cr_assert(memcmp(alone.host, b->pixels[i], alone.pitch * alone.height) == 0);
        else
            cr_assert_str_eq(err.message, b->result[i].message);
        right += res == IMGSTAT_OK;
        wrong += res != IMGSTAT_OK;
        on += imgstat_decode_on_device(b->decode, i);
        imgstat_image_release(&alone);
    }
    cr_assert(right >= FILES / 2 && wrong > 0);
    cr_assert(on_device == 0 ? on == 0 : on >= on_device);
}

Test(decode_async, the_decoders_pixels_and_sentences)
{
    static Batch b;
    make_files(&b, "cpu", 5);
    cr_assert_eq(imgstat_decode_async(b.decode, b.image, NULL, &b.err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_finish(b.decode, NULL, b.result, &b.err), IMGSTAT_OK);
    check(&b, 0);
    release(&b);
}

/* A GPU without memory for a moment: these files counted as decoded, though their pixels were those
 * of before. */
Test(decode_async, again_after_a_failure)
{
    static Batch b;
    const char *const module = getenv("IMGSTAT_STAND_IN");
    if (!module)
        cr_skip_test("IMGSTAT_STAND_IN names no module");
    setenv("IMGSTAT_CUDA_MODULE", module, 1);
    make_files(&b, "cuda:0", 5);
    setenv("IMGSTAT_STAND_IN_STEP", "memory 1+", 1);
    cr_assert_eq(imgstat_decode_async(b.decode, b.image, NULL, &b.err), IMGSTAT_ERR_MEMORY);
    unsetenv("IMGSTAT_STAND_IN_STEP");
    cr_assert_eq(imgstat_decode_finish(b.decode, NULL, b.result, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_decode_async(b.decode, b.image, NULL, &b.err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_finish(b.decode, NULL, b.result, &b.err), IMGSTAT_OK);
    check(&b, 1);
    release(&b);
}

Test(decode_async, wrong_calls)
{
    static Batch b;
    ImgstatPage page;
    make_files(&b, "cpu", 6);
    cr_assert_eq(imgstat_decode_page(b.decode, FILES, &page, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_decode_finish(b.decode, NULL, b.result, &b.err), IMGSTAT_ERR_ARG);
    b.image[0].width++;
    cr_assert_eq(imgstat_decode_async(b.decode, b.image, NULL, &b.err), IMGSTAT_ERR_ARG);
    b.image[0].width--;
    cr_assert_eq(imgstat_decode_async(b.decode, b.image, NULL, &b.err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_async(b.decode, b.image, NULL, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_decode_finish(b.decode, NULL, b.result, &b.err), IMGSTAT_OK);
    /* it wrote the images once more, which their owner may have released */
    cr_assert_eq(imgstat_decode_finish(b.decode, NULL, b.result, &b.err), IMGSTAT_ERR_ARG);
    imgstat_decode_destroy(NULL);
    release(&b);
}

Test(decode_async, no_files)
{
    ImgstatDevice *device = NULL;
    ImgstatDecode *decode = NULL;
    ImgstatError err;
    cr_assert_eq(imgstat_device_open("cpu", 0, &device, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_create(device, NULL, 0, NULL, &decode, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_async(decode, NULL, NULL, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_finish(decode, NULL, NULL, &err), IMGSTAT_OK);
    imgstat_decode_destroy(decode);
    imgstat_device_close(device);
}

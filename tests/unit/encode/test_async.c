/* SPDX-License-Identifier: MIT */
/* test_async.c: images encoded in one call against the encoders of files: the same bytes, which
 * libpng decodes to the pixels of a PNG; on the processor, and on a device that is a plain version
 * of a GPU, whose work is collected, copied and completed as a GPU's is. */
#include "imgstat_async.h"

#include "helper_encode.h"
#include "helper_plain_device.h"
#include "support.h"

#include <criterion/criterion.h>
#include <png.h>

TestSuite(encode_async, .init = encode_begin, .fini = encode_end);

enum { IMAGES_MOST = 64 };

typedef struct Memory {
    uint8_t *bytes;
    size_t n;
} Memory;

static void release_memory(Memory *memory)
{
    free(memory->bytes);
    *memory = (Memory){NULL, 0};
}

typedef enum Content { SMOOTH, NOISE, FLAT, DRAWING, CONTENTS } Content;

typedef struct Batch {
    ImgstatDevice *device;
    ImgstatEncode *encode;
    ImgstatWrite how;
    DeviceOps ops; /* of the plain device */
    bool plain;
    size_t n;
    ImagePro image[IMAGES_MOST];  /* as the device takes them */
    uint8_t *memory[IMAGES_MOST]; /* their pixels */
    const char *name[IMAGES_MOST];
    Memory expected[IMAGES_MOST]; /* once it was asked for */
    ImgstatEncoded file[IMAGES_MOST];
    ImgstatError result[IMAGES_MOST];
    ImgstatError err;
} Batch;

/* ---- Devices ---- */

static void open_device(Batch *b, bool plain)
{
    *b = (Batch){.plain = plain};
    cr_assert_eq(imgstat_device_open("cpu", 2, &b->device, &b->err), IMGSTAT_OK);
    if (!plain)
        return;
    b->ops = plain_device_ops();
    b->device->ops = &b->ops;
}

static void release(Batch *b)
{
    imgstat_encode_destroy(b->encode);
    if (b->plain)
        b->device->ops = &cpu_device_ops;
    imgstat_device_close(b->device);
    for (size_t i = 0; i < b->n; i++) {
        free(b->memory[i]);
        release_memory(&b->expected[i]);
    }
}

/* ---- Images ---- */

static unsigned content_of(Content content, size_t x, size_t y, size_t c, uint64_t *state)
{
    const unsigned noise = (unsigned)(splitmix64(state) >> 40);
    switch (content) {
    case SMOOTH:
        return (unsigned)(x * 37 + y * 19 + c * 999) + noise % 7;
    case NOISE:
        return noise;
    case FLAT:
        return 77;
    default: /* the same tile again and again */
        return (unsigned)(mix64(x % 24 + 31 * (y % 3) + 1000 * c) >> 20);
    }
}

/* Adds an image with gaps of `gap` samples between its rows. bits: 0 for all. */
static void add(Batch *b, uint32_t width, uint32_t height, uint16_t channels, ImgstatSample sample,
                uint8_t bits, size_t gap, Content content)
{
    static char names[IMAGES_MOST][24];
    const size_t bytes = imgstat_sample_bytes(sample), i = b->n++;
    const size_t samples = (size_t)width * channels, pitch = (samples + gap) * bytes;
    const unsigned full = bytes > 2 ? 0xFFFF : (1u << (bits ? bits : 8 * bytes)) - 1;
    uint64_t state = i;
    uint8_t *const memory = b->memory[i] = malloc(pitch * height + 1);
    for (size_t y = 0; y < height; y++) {
        for (size_t s = 0; s < samples; s++) {
            const unsigned v = content_of(content, s / channels, y, s % channels, &state) & full;
            const uint64_t word = bytes > 2 ? (uint64_t)v * 0x1000100010001 : v;
            memcpy(memory + y * pitch + s * bytes, &word, bytes);
        }
    }
    cr_assert_eq(imgstat_image_wrap(b->plain ? IMGSTAT_CUDA : IMGSTAT_HOST, 0, memory, pitch, width,
                                    height, channels, sample, bits, NULL, NULL, &b->image[i],
                                    &b->err),
                 IMGSTAT_OK);
    snprintf(names[i], sizeof names[i], "%zu.png", i);
    b->name[i] = names[i];
}

/* Images of every form; several have many pieces. */
static void add_all(Batch *b)
{
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
    } types[] = {{IMGSTAT_U8, 0}, {IMGSTAT_U16, 0}, {IMGSTAT_U16, 12}, {IMGSTAT_U8, 5}};
    for (uint16_t channels = 1; channels <= 4; channels++)
        for (unsigned t = 0; t < 4; t++)
            add(b, 1u + 13u * channels + 7 * t, 20u + channels, channels, types[t].sample,
                types[t].bits, t * 3, (Content)((channels + t) % CONTENTS));
    for (uint8_t bits = 1; bits <= 4; bits *= 2)
        add(b, 101, 17, 1, IMGSTAT_U8, bits, bits, DRAWING);
    for (Content content = SMOOTH; content < CONTENTS; content++)
        add(b, 700, 1100, 3, IMGSTAT_U8, 0, content * 5, content);
    add(b, 300, 2000, 2, IMGSTAT_U16, 12, 1, SMOOTH);
    add(b, 300, 2000, 2, IMGSTAT_U16, 0, 0, DRAWING);
    add(b, 1, 1, 1, IMGSTAT_U8, 0, 0, NOISE);
    add(b, 1, 3000, 4, IMGSTAT_U8, 0, 3, NOISE);
    add(b, 200000, 3, 3, IMGSTAT_U8, 0, 0, SMOOTH);
}

/* Images that only TIFF holds: all types, odd numbers of channels, planes of one strip and of many.
 */
static void add_tiffs(Batch *b)
{
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
        add(b, 300u + sample, 211, (uint16_t)(1 + sample % 3), sample, 0, sample % 2, SMOOTH);
        add(b, 1 + sample, 9, (uint16_t)(5 + sample), sample, 0, 0, (Content)(sample % CONTENTS));
    }
    add(b, 30, 8000, 38, IMGSTAT_F64, 0, 0, FLAT); /* more than one part of 64 MiB */
}

/* ---- What is expected ---- */

static ImgstatResult take(void *context, const void *bytes, size_t n, ImgstatError *err)
{
    Memory *const to = context;
    (void)err;
    to->bytes = realloc(to->bytes, to->n + n);
    memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
    return IMGSTAT_OK;
}

static ImgstatResult save(const Batch *b, size_t i, Memory *to, ImgstatError *err)
{
    const ImgstatOutput output = {.write = take, .context = to};
    ImgstatWrite how = b->how;
    how.format = how.format ? how.format : "png";
    ImagePro host = b->image[i];
    host.memory = IMGSTAT_HOST;
    host.host = b->memory[i];
    host.device.address = 0;
    const bool alpha = host.channels == 2 || host.channels == 4;
    return imgstat_image_save_to(&host, (int16_t)(alpha ? host.channels - 1 : -1), b->name[i],
                                 &output, NULL, &how, err);
}

static void compare(Batch *b, size_t i)
{
    Memory *const expected = &b->expected[i];
    ImgstatError err = {.message = ""};
    const ImgstatResult res = expected->bytes ? IMGSTAT_OK : save(b, i, expected, &err);
    cr_assert_eq(b->result[i].code, res, "%s: %s", b->name[i], b->result[i].message);
    cr_assert_str_eq(b->file[i].name, b->name[i]);
    if (res != IMGSTAT_OK)
        cr_assert_str_eq(b->result[i].message, err.message);
    cr_assert_eq(b->file[i].n_bytes, res == IMGSTAT_OK ? expected->n : 0, "%s: %zu bytes, not %zu",
                 b->name[i], b->file[i].n_bytes, expected->n);
    if (res == IMGSTAT_OK)
        cr_assert(memcmp(b->file[i].bytes, expected->bytes, expected->n) == 0, "%s", b->name[i]);
    else
        release_memory(expected);
}

/* libpng's pixels of an image without packing. */
static void check_pixels(const Batch *b, size_t i)
{
    const ImagePro *const image = &b->image[i];
    png_image png = {.version = PNG_IMAGE_VERSION};
    const size_t row = (size_t)image->width * image->channels;
    uint8_t *const pixels = malloc(row * image->height);
    cr_assert(png_image_begin_read_from_memory(&png, b->file[i].bytes, b->file[i].n_bytes));
    cr_assert(png.width == image->width && png.height == image->height);
    cr_assert_eq(PNG_IMAGE_SAMPLE_CHANNELS(png.format), image->channels);
    cr_assert(png_image_finish_read(&png, NULL, pixels, (png_int_32)row, NULL), "%s", png.message);
    for (size_t y = 0; y < image->height; y++)
        cr_assert(memcmp(pixels + y * row, b->memory[i] + y * image->pitch, row) == 0);
    free(pixels);
}

static void encode(Batch *b)
{
    cr_assert_eq(imgstat_encode_async(b->encode, b->name, b->image, b->n, NULL, &b->err),
                 IMGSTAT_OK, "%s", b->err.message);
    cr_assert_eq(imgstat_encode_finish(b->encode, NULL, b->file, b->result, &b->err), IMGSTAT_OK,
                 "%s", b->err.message);
}

/* ---- Tests ---- */

static void create(Batch *b, size_t file_bytes)
{
    cr_assert_eq(
        imgstat_encode_create(b->device, b->image, b->n, &b->how, file_bytes, &b->encode, &b->err),
        IMGSTAT_OK, "%s", b->err.message);
}

static void check_pngs(bool plain)
{
    static Batch b;
    size_t n_device = 0, pixels = 0;
    for (int fast = 0; fast < 2; fast++) {
        open_device(&b, plain);
        b.how.fast = fast;
        add_all(&b);
        create(&b, 0);
        for (int again = 0; again < 2; again++) {
            encode(&b);
            for (size_t i = 0; i < b.n; i++) {
                const ImagePro *const image = &b.image[i];
                const bool whole = image->bits == 8 * imgstat_sample_bytes(image->sample);
                compare(&b, i);
                cr_assert_eq(imgstat_encode_on_device(b.encode, i), plain && whole);
                n_device += imgstat_encode_on_device(b.encode, i);
                if (image->sample == IMGSTAT_U8 && whole && again == 0) {
                    check_pixels(&b, i);
                    pixels++;
                }
            }
        }
        release(&b);
    }
    cr_assert(pixels > 0 && (n_device > 0) == plain);
}

static void check_tiffs(bool plain)
{
    static Batch b;
    for (int fast = 0; fast < 2; fast++) {
        open_device(&b, plain);
        b.how = (ImgstatWrite){.format = "tiff", .compression = "deflate", .fast = fast};
        add_all(&b);
        add_tiffs(&b);
        create(&b, 0);
        for (int again = 0; again < 2; again++) {
            encode(&b);
            for (size_t i = 0; i < b.n; i++) {
                const bool packed = b.image[i].bits <= 4;
                if (packed)
                    cr_assert_eq(b.result[i].code, IMGSTAT_ERR_UNSUPPORTED);
                else
                    compare(&b, i);
                cr_assert_eq(imgstat_encode_on_device(b.encode, i), plain && !packed);
            }
        }
        release(&b);
    }
}

Test(encode_async, files_of_the_processor)
{
    check_pngs(false);
    check_tiffs(false);
}

Test(encode_async, files_of_a_device)
{
    check_pngs(true);
    check_tiffs(true);
}

static void check_refused(bool plain, const char *format)
{
    static Batch b;
    const bool png = !format;
    open_device(&b, plain);
    b.how.format = format;
    add(&b, 20, 20, 3, IMGSTAT_U8, 0, 0, SMOOTH);
    add(&b, 20, 20, 1, IMGSTAT_I16, 0, 0, SMOOTH);
    add(&b, 20, 20, 5, IMGSTAT_U8, 0, 0, SMOOTH);
    add(&b, 0, 20, 1, IMGSTAT_U8, 0, 0, SMOOTH);
    add(&b, 30, 20, 3, IMGSTAT_U8, 0, 0, SMOOTH);
    create(&b, 0);
    encode(&b);
    for (size_t i = 0; i < b.n; i++) {
        compare(&b, i);
        cr_assert_eq(b.result[i].code == IMGSTAT_OK, i == 0 || i == 4 || (!png && i < 3));
    }
    release(&b);
}

Test(encode_async, what_formats_cannot_hold)
{
    check_refused(false, NULL);
    check_refused(true, NULL);
    check_refused(false, "tiff");
    check_refused(true, "tiff");
}

/* An image that does not fit leaves its place to the next. */
static void check_capacity(bool plain, const char *format)
{
    static Batch b;
    open_device(&b, plain);
    b.how.format = format;
    add(&b, 100, 100, 1, IMGSTAT_U8, 0, 0, NOISE);
    add(&b, 700, 1100, 3, IMGSTAT_U8, 0, 0, NOISE);
    add(&b, 100, 100, 1, IMGSTAT_U8, 0, 0, NOISE);
    create(&b, 1 << 20);
    encode(&b);
    compare(&b, 0);
    compare(&b, 2);
    cr_assert_eq(b.result[1].code, IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(b.result[1].message,
                     "1.png: the file does not fit into what is left of 1048576 bytes");
    cr_assert(b.file[1].bytes == NULL && b.file[1].n_bytes == 0);
    release(&b);
}

Test(encode_async, files_that_do_not_fit)
{
    check_capacity(false, NULL);
    check_capacity(true, NULL);
    check_capacity(false, "tiff");
    check_capacity(true, "tiff");
}

static void check_others(const char *format)
{
    static Batch b;
    open_device(&b, true);
    b.how.format = format;
    add(&b, 700, 1100, 3, IMGSTAT_U8, 0, 0, SMOOTH);
    add(&b, 300, 300, 1, IMGSTAT_U8, 0, 0, SMOOTH);
    create(&b, 0);
    encode(&b);
    free(b.memory[0]);
    free(b.memory[1]);
    b.n = 0;
    add(&b, 100, 50, 4, IMGSTAT_U16, 0, 9, DRAWING);
    encode(&b);
    compare(&b, 0);
    add(&b, 2000, 2000, 3, IMGSTAT_U8, 0, 0, SMOOTH);
    cr_assert_eq(imgstat_encode_async(b.encode, b.name, b.image, 2, NULL, &b.err), IMGSTAT_ERR_ARG);
    release(&b);
}

Test(encode_async, other_images_than_the_first)
{
    check_others(NULL);
    check_others("tiff");
}

Test(encode_async, wrong_calls)
{
    static Batch b;
    open_device(&b, false);
    add(&b, 20, 20, 3, IMGSTAT_U8, 0, 0, SMOOTH);
    add(&b, 20, 20, 3, IMGSTAT_U8, 0, 0, SMOOTH);
    b.how.format = "jpeg";
    cr_assert_eq(imgstat_encode_create(b.device, b.image, 1, &b.how, 0, &b.encode, &b.err),
                 IMGSTAT_ERR_ARG);
    b.how = (ImgstatWrite){.compression = "none"};
    cr_assert_eq(imgstat_encode_create(b.device, b.image, 1, &b.how, 0, &b.encode, &b.err),
                 IMGSTAT_ERR_UNSUPPORTED);
    cr_assert_null(b.encode);
    b.how = (ImgstatWrite){.has_level = true, .level = -1}; /* as if it were not given */
    cr_assert_eq(imgstat_encode_create(b.device, b.image, 1, &b.how, 0, &b.encode, &b.err),
                 IMGSTAT_OK);
    imgstat_encode_destroy(b.encode);
    cr_assert_eq(imgstat_encode_create(b.device, b.image, 1, NULL, 0, &b.encode, &b.err),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_encode_finish(b.encode, NULL, b.file, b.result, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_encode_async(b.encode, NULL, b.image, 2, NULL, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_encode_async(b.encode, NULL, b.image, 1, NULL, &b.err), IMGSTAT_OK);
    cr_assert_eq(imgstat_encode_async(b.encode, NULL, b.image, 1, NULL, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_encode_finish(b.encode, NULL, b.file, b.result, &b.err), IMGSTAT_OK);
    cr_assert_str_eq(b.file[0].name, "image");
    b.image[0].host = NULL;
    cr_assert_eq(imgstat_encode_async(b.encode, NULL, b.image, 1, NULL, &b.err), IMGSTAT_ERR_ARG);
    cr_assert_eq(imgstat_encode_async(b.encode, NULL, NULL, 0, NULL, &b.err), IMGSTAT_OK);
    cr_assert_eq(imgstat_encode_finish(b.encode, NULL, NULL, NULL, &b.err), IMGSTAT_OK);
    imgstat_encode_destroy(NULL);
    release(&b);
}

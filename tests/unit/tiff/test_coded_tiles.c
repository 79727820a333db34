/* SPDX-License-Identifier: MIT */
/* test_coded_tiles: TIFF files decoded by a device that runs the arithmetic of the kernels,
 * compiled as C, against the decoders, libtiff alone and what is faster: the same pixels, the same
 * sentences, and nothing outside a tile's input and output. */
#include "decode/decode.h"

#include "tiff_files.h"
#include "tiles_in_c.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>

enum { BATCH = 40 };

static size_t n_taken, n_right, n_failed;

/* ---- The device ---- */

static ImgstatResult decode_async(Device *device, void *stream, const struct DecodeWork *work,
                                  DevMem there, DevMem checks, ImgstatError *err)
{
    DeflatedCheck *const check = (DeflatedCheck *)checks.address;
    (void)device, (void)stream, (void)there, (void)err;
    cr_assert_eq(work->n_rows, 0);
    for (size_t i = 0; i < work->n_pages; i++)
        check[i].doubt = 0;
    n_taken += work->n_pages;
    tiles_upload(work);
    for (size_t t = 0; t < work->n_tiles; t++)
        if (!tile_decode(&work->pages[work->tiles[t].page], &work->tiles[t]))
            check[work->tiles[t].page].doubt = DOUBT_STREAM;
    return IMGSTAT_OK;
}

/* ---- Files ---- */

typedef struct Named {
    TiffBytes bytes;
    char name[256];
    const char *mode; /* of IMGSTAT_DECODE, for what is expected */
    bool sound;
    ImagePro host, image, expected; /* image: the pixels of host, as if on a device */
} Named;

static ImgstatResult read_memory(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *err)
{
    const TiffBytes *const from = context;
    (void)err;
    const size_t left = offset < from->n ? from->n - (size_t)offset : 0;
    *got = bytes < left ? bytes : left;
    if (*got > 0)
        memcpy(to, from->at + offset, *got);
    return IMGSTAT_OK;
}

static void make_image(const ImgstatPage *page, ImagePro *image)
{
    ImgstatError err;
    cr_assert_eq(imgstat_image_create(page->width, page->height, page->channels, page->sample, 0,
                                      image, &err),
                 IMGSTAT_OK);
    memset(image->host, 0xEE, image->pitch * image->height);
}

/* Reads a file by its decoder. */
static ImgstatResult read_alone(Named *f, ImgstatError *err)
{
    const ImgstatInput input = {.bytes = f->bytes.n, .read_at = read_memory, .context = &f->bytes};
    ImgstatFile *file = NULL;
    ImgstatPage page;
    (void)setenv("IMGSTAT_DECODE", f->mode, 1);
    ImgstatResult res = imgstat_file_open_input(f->name, &input, NULL, &file, err);
    (void)unsetenv("IMGSTAT_DECODE");
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(file, 0, &page, err);
    if (res == IMGSTAT_OK) {
        make_image(&page, &f->expected);
        res = imgstat_file_read(file, &f->expected, err);
    }
    imgstat_file_close(file);
    return res;
}

static void compare(Named *f, const ImgstatError *result, bool on_device)
{
    ImgstatError err = {0};
    const ImgstatResult res = read_alone(f, &err);
    cr_assert_eq(res, result->code, "%s: %s%s", f->name, err.message, result->message);
    cr_assert(res == IMGSTAT_OK || !f->sound, "%s", err.message);
    if (res == IMGSTAT_OK)
        cr_assert(memcmp(f->host.host, f->expected.host, f->host.pitch * f->host.height) == 0,
                  "%s: other pixels", f->name);
    else if (strcmp(f->mode, "auto") == 0)
        cr_assert_str_eq(err.message, result->message);
    n_right += on_device;
    n_failed += res != IMGSTAT_OK;
}

/* Decodes files in one call, and releases them. */
static void check(Named *file, size_t n)
{
    ImgstatDevice *device = NULL;
    ImgstatDecode *decode = NULL;
    ImgstatEncoded encoded[BATCH];
    ImagePro images[BATCH] = {0};
    ImgstatError results[BATCH], err;
    cr_assert_eq(imgstat_device_open("cpu", 0, &device, &err), IMGSTAT_OK);
    DeviceOps ops = *device->ops;
    ops.fetches = false;
    ops.decode_async = decode_async;
    device->ops = &ops;
    for (size_t i = 0; i < n; i++)
        encoded[i] = (ImgstatEncoded){file[i].name, file[i].bytes.at, file[i].bytes.n};
    cr_assert_eq(imgstat_decode_create(device, encoded, n, NULL, &decode, &err), IMGSTAT_OK);
    for (size_t i = 0; i < n; i++) {
        ImgstatPage page;
        if (imgstat_decode_page(decode, i, &page, &err) != IMGSTAT_OK)
            continue;
        make_image(&page, &file[i].host);
        const ImagePro *const host = &file[i].host;
        cr_assert_eq(imgstat_image_wrap(IMGSTAT_CUDA, 0, host->host, host->pitch, page.width,
                                        page.height, page.channels, page.sample, 0, NULL, NULL,
                                        &images[i], &err),
                     IMGSTAT_OK);
    }
    cr_assert_eq(imgstat_decode_async(decode, images, NULL, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_decode_finish(decode, NULL, results, &err), IMGSTAT_OK);
    for (size_t i = 0; i < n; i++) {
        compare(&file[i], &results[i], imgstat_decode_on_device(decode, i));
        imgstat_image_release(&file[i].host);
        imgstat_image_release(&file[i].expected);
        free(file[i].bytes.at);
    }
    imgstat_decode_destroy(decode);
    imgstat_device_close(device);
}

static void make_file(Named *f, const TiffSpec *spec, uint64_t *state)
{
    memset(f, 0, sizeof *f);
    tiff_file(spec, state, &f->bytes);
    tiff_name(spec, f->name, sizeof f->name);
    f->mode = splitmix64(state) % 2 ? "plain" : "auto";
    f->sound = true;
}

Test(coded_tiles, files_of_all_kinds)
{
    static Named file[BATCH];
    uint64_t state = 1;
    const size_t n = all_run() ? 150 : 15;
    n_taken = n_right = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < BATCH; k++) {
            const TiffSpec spec = tiff_spec(&state);
            make_file(&file[k], &spec, &state);
        }
        check(file, BATCH);
    }
    cr_assert_eq(n_right, n_taken);
    cr_assert(n_taken > n * BATCH * 3 / 4);
}

Test(coded_tiles, damaged_files)
{
    static Named file[BATCH];
    uint64_t state = 2;
    const size_t n = all_run() ? 150 : 15;
    n_right = n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < BATCH; k++) {
            const TiffSpec spec = tiff_spec(&state);
            TiffBytes *const bytes = &file[k].bytes;
            make_file(&file[k], &spec, &state);
            if (k % 4 == 0)
                bytes->n = stream_damage(bytes->at, bytes->n, &state);
            else
                (void)stream_damage(bytes->at + bytes->data, bytes->data_end - bytes->data, &state);
            file[k].sound = false;
        }
        check(file, BATCH);
    }
    cr_assert(n_right > n * BATCH / 20 && n_failed > n * BATCH / 20);
}

/* Files that are uploaded from where they are, between others. */
Test(coded_tiles, large_files)
{
    static Named file[BATCH];
    uint64_t state = 3;
    n_taken = n_right = 0;
    for (size_t k = 0; k < 12; k++) {
        TiffSpec spec = tiff_spec(&state);
        spec = (TiffSpec){.width = k % 2 ? 900 : 30,
                          .height = 500 + (uint32_t)k,
                          .tile_width = k % 4 < 2 ? 0 : 128,
                          .tile_height = 64,
                          .samples = 3,
                          .bits = 8,
                          .format = TIFF_UNSIGNED,
                          .compression = spec.compression,
                          .predictor = 1,
                          .clear = LZW_CODES_MOST - 1};
        make_file(&file[k], &spec, &state);
    }
    check(file, 12);
    cr_assert(n_right == n_taken && n_taken == 12);
}

/* An uncompressed tile that reaches beyond the image, and beyond the end of the file: it was
 * decoded on a device where only what lies below the image is missing. */
Test(coded_tiles, cut_tiles)
{
    enum { TILE = 16, HEIGHT = 3, N = TILE * TILE };
    static const uint16_t tags[][2] = {{256, 5}, {257, HEIGHT}, {258, 8},    {259, 1}, {262, 1},
                                       {277, 1}, {322, TILE},   {323, TILE}, {324, 0}, {325, N}};
    enum { TAGS = sizeof tags / sizeof *tags, HEAD = 8 + 2 + 12 * TAGS + 4 };
    uint8_t made[HEAD + N] = {'I', 'I', 42, 0, 8, 0, 0, 0, TAGS, 0};
    static Named file[BATCH];
    for (size_t i = 0; i < TAGS; i++) {
        const uint16_t value = tags[i][0] == 324 ? HEAD : tags[i][1];
        const uint8_t entry[] = {(uint8_t)tags[i][0], (uint8_t)(tags[i][0] >> 8), 3, 0, 1, 0, 0, 0,
                                 (uint8_t)value,      (uint8_t)(value >> 8)};
        memcpy(made + 10 + 12 * i, entry, sizeof entry);
    }
    for (size_t i = 0; i < N; i++)
        made[HEAD + i] = (uint8_t)(i * 7 + 1);
    n_right = n_failed = 0;
    for (size_t missing = 0; missing < N; missing += BATCH) {
        for (size_t k = 0; k < BATCH; k++) {
            const size_t n = missing + k < N ? sizeof made - missing - k : HEAD;
            file[k] = (Named){.mode = "auto", .bytes = {.at = malloc(n), .n = n}};
            cr_assert_not_null(file[k].bytes.at);
            memcpy(file[k].bytes.at, made, n);
            snprintf(file[k].name, sizeof file[k].name, "%zu bytes are missing", missing + k);
        }
        check(file, BATCH);
    }
    cr_assert(n_right == 1 && n_failed >= N - 1);
}

/* Compares the files of a folder, or of those in it that a pattern names. */
static void check_folder(const char *folder, const char *below)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s%s/*.tif", folder, below);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        Named file = {.mode = "auto"};
        FILE *const from = fopen(found.gl_pathv[i], "rb");
        cr_assert(from && fseek(from, 0, SEEK_END) == 0);
        file.bytes.n = (size_t)ftell(from);
        rewind(from);
        file.bytes.at = malloc(file.bytes.n + 1);
        cr_assert(file.bytes.at && fread(file.bytes.at, 1, file.bytes.n, from) == file.bytes.n);
        (void)fclose(from);
        snprintf(file.name, sizeof file.name, "%s", found.gl_pathv[i]);
        check(&file, 1);
    }
    globfree(&found);
}

Test(coded_tiles, files_of_testdata)
{
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    n_right = 0;
    check_folder(folder ? folder : "../testdata", "");
    check_folder("fuzz/seeds", ""); /* findings of fuzz targets */
    cr_assert(n_right >= 20);
}

Test(coded_tiles, files_of_the_corpus)
{
    static const char *const below[] = {"", "/*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*"};
    const char *const folder = getenv("IMGSTAT_CORPUS");
    for (size_t i = 0; folder && i < sizeof below / sizeof *below; i++)
        check_folder(folder, below[i]);
}

/* SPDX-License-Identifier: MIT */
/* test_compat.c: what other programs made of the same images, recorded by
 * tests/record_expected.py. */
#include "helper_transform.h"

#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_object *recorded(void)
{
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/expected-transforms.json", folder ? folder : "../testdata");
    json_object *const all = json_object_from_file(path);
    cr_assert_not_null(all, "%s cannot be read", path);
    return all;
}

static const char *text(json_object *entry, const char *key)
{
    json_object *value = NULL;
    return json_object_object_get_ex(entry, key, &value) ? json_object_get_string(value) : "";
}

static double number(json_object *entry, const char *key, size_t i)
{
    json_object *value = NULL;
    cr_assert(json_object_object_get_ex(entry, key, &value), "%s is missing", key);
    if (json_object_is_type(value, json_type_array))
        value = json_object_array_get_idx(value, i);
    return json_object_get_double(value);
}

static ImgstatLike like_of(const char *name)
{
    static const struct {
        const char *name;
        ImgstatLike like;
    } names[] = {{"opencv", IMGSTAT_LIKE_OPENCV},
                 {"skimage", IMGSTAT_LIKE_SKIMAGE},
                 {"imagemagick", IMGSTAT_LIKE_IMAGEMAGICK},
                 {"pillow", IMGSTAT_LIKE_PILLOW},
                 {"vips", IMGSTAT_LIKE_VIPS}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].like;
    cr_assert_fail("unknown program %s", name);
    return IMGSTAT_LIKE_IMGSTAT;
}

/* Runs every recorded entry of one operation; returns how many. */
static size_t run(const char *op)
{
    json_object *const all = recorded();
    json_object *list = NULL;
    cr_assert(json_object_object_get_ex(all, "patterns", &list));
    size_t compared = 0;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *const entry = json_object_array_get_idx(list, i);
        if (strcmp(text(entry, "op"), op) != 0)
            continue;
        const ImgstatSample sample =
            strcmp(text(entry, "sample"), "u8") == 0 ? IMGSTAT_U8 : IMGSTAT_U16;
        ImagePro image = pattern_image(text(entry, "pattern"), (uint32_t)number(entry, "width", 0),
                                       (uint32_t)number(entry, "height", 0), sample);
        ImgstatMethod method = {.like = like_of(text(entry, "like"))};
        ImagePro out;
        if (strcmp(op, "clahe") == 0) {
            method.transform = IMGSTAT_CLAHE;
            method.tiles_x = (uint32_t)number(entry, "tiles", 0);
            method.tiles_y = (uint32_t)number(entry, "tiles", 1);
            method.clip_limit = number(entry, "clip", 0);
            out = adapted(&method, &image, 17);
        } else {
            method.transform = strcmp(op, "equalize") == 0 ? IMGSTAT_EQUALIZE : IMGSTAT_PERCENTILE;
            if (method.transform == IMGSTAT_PERCENTILE) {
                method.has_clip = true;
                method.clip_lo = number(entry, "clip", 0);
                method.clip_hi = number(entry, "clip", 1);
            }
            out = transformed(&method, &image, -1, false);
        }
        char hash[17];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)image_fnv(&out));
        cr_expect_str_eq(hash, text(entry, "fnv"), "differs: %s",
                         json_object_to_json_string(entry));
        compared++;
        imgstat_image_release(&image);
        imgstat_image_release(&out);
    }
    json_object_put(all);
    return compared;
}

Test(transfer_like, equalize)
{
    const size_t compared = run("equalize");
    cr_assert_geq(compared, 30, "only %zu entries", compared);
}

Test(transfer_like, percentile)
{
    const size_t compared = run("percentile");
    cr_assert_geq(compared, 60, "only %zu entries", compared);
}

Test(transfer_like, clahe)
{
    const size_t compared = run("clahe");
    cr_assert_geq(compared, 80, "only %zu entries", compared);
}

/* SPEC: the tables of seven programs over the 37 levels of the 8x8 example. */
static void expect_levels(ImgstatLike like, const uint8_t levels[37])
{
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .like = like};
    ImagePro out = transformed(&method, &image, -1, false);
    bool present[256] = {false};
    for (size_t i = 0; i < 64; i++)
        present[example_in[i]] = true;
    size_t compared = 0;
    for (int v = 0, level = 0; v < 256; v++) {
        if (!present[v])
            continue;
        for (size_t i = 0; i < 64; i++)
            if (example_in[i] == v) {
                const uint8_t got = image_row(&out, i / 8)[i % 8];
                cr_expect_eq(got, levels[level], "%d becomes %d, not %d", v, got, levels[level]);
                compared++;
            }
        level++;
    }
    cr_assert_eq(compared, 64);
    imgstat_image_release(&image);
    imgstat_image_release(&out);
}

Test(transfer_like, example_vips_and_magick)
{
    static const uint8_t levels[37] = {3,   15,  23,  35,  39,  55,  59,  67,  75,  87,
                                       95,  99,  119, 131, 147, 155, 159, 167, 171, 175,
                                       179, 183, 191, 195, 203, 207, 211, 215, 219, 227,
                                       231, 235, 239, 243, 247, 251, 255};
    expect_levels(IMGSTAT_LIKE_VIPS, levels);
    expect_levels(IMGSTAT_LIKE_IMAGEMAGICK, levels);
}

Test(transfer_like, example_skimage)
{
    static const uint8_t levels[37] = {4,   16,  24,  36,  40,  56,  60,  68,  76,  88,
                                       96,  100, 120, 131, 147, 155, 159, 167, 171, 175,
                                       179, 183, 191, 195, 203, 207, 211, 215, 219, 227,
                                       231, 235, 239, 243, 247, 251, 255};
    expect_levels(IMGSTAT_LIKE_SKIMAGE, levels);
}

Test(transfer_like, example_imagej)
{
    static const uint8_t levels[37] = {3,   10,  19,  27,  35,  43,  51,  58,  65,  74,
                                       82,  89,  98,  109, 119, 128, 135, 141, 148, 153,
                                       159, 164, 171, 177, 184, 190, 196, 201, 207, 213,
                                       220, 225, 231, 236, 241, 247, 252};
    expect_levels(IMGSTAT_LIKE_IMAGEJ, levels);
}

Test(transfer_like, example_imagej_classic)
{
    static const uint8_t levels[37] = {2,   10,  20,  30,  38,  48,  58,  64,  72,  82,
                                       92,  98,  110, 126, 139, 151, 157, 163, 169, 173,
                                       177, 181, 187, 193, 199, 205, 209, 213, 217, 223,
                                       229, 233, 237, 241, 245, 249, 253};
    expect_levels(IMGSTAT_LIKE_IMAGEJ_CLASSIC, levels);
}

Test(transfer_like, example_opencv_and_pillow)
{
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    ImagePro equalized = image_of(example_out, 8, 8, 1, IMGSTAT_U8, 8);
    ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .like = IMGSTAT_LIKE_OPENCV};
    ImagePro out = transformed(&method, &image, -1, false);
    cr_assert(image_equal(&out, &equalized));
    imgstat_image_release(&out);
    method.like = IMGSTAT_LIKE_PILLOW; /* step 0: unchanged */
    out = transformed(&method, &image, -1, false);
    cr_assert(image_equal(&out, &image));
    imgstat_image_release(&out);
    imgstat_image_release(&image);
    imgstat_image_release(&equalized);
}

/* Equalization, exact and like OpenCV, of every 8-bit gray file of the corpus. */
Test(transfer_like, equalize_hist_of_the_corpus, .timeout = 3000)
{
    const char *const root = getenv("IMGSTAT_CORPUS");
    if (!root || access(root, R_OK) != 0)
        cr_skip_test("IMGSTAT_CORPUS names no folder");
    json_object *const all = recorded();
    json_object *list = NULL;
    cr_assert(json_object_object_get_ex(all, "equalize_opencv_corpus", &list));
    size_t compared = 0;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *const entry = json_object_array_get_idx(list, i);
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", root, text(entry, "path"));
        ImgstatFile *file = NULL;
        ImgstatPage page;
        ImgstatError err = {0};
        const ImgstatOpen how = {.indices = true};
        ImgstatResult result = imgstat_file_open(path, &how, &file, &err);
        if (result == IMGSTAT_OK)
            result = imgstat_file_page(file, 0, &page, &err);
        ImagePro image = {0};
        if (result == IMGSTAT_OK) {
            image = image_of(NULL, page.width, page.height, page.channels, page.sample, page.bits);
            result = imgstat_file_read(file, &image, &err);
        }
        cr_expect_eq(result, IMGSTAT_OK, "%s: %s", path, err.message);
        for (int like = 0; result == IMGSTAT_OK && like < 2; like++) {
            const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE,
                                          .like =
                                              like ? IMGSTAT_LIKE_OPENCV : IMGSTAT_LIKE_IMGSTAT};
            ImagePro out = transformed(&method, &image, -1, false);
            char hash[17];
            snprintf(hash, sizeof hash, "%016llx", (unsigned long long)image_fnv(&out));
            cr_expect_str_eq(hash, text(entry, "fnv"), "%s, like %d", path, like);
            imgstat_image_release(&out);
            compared++;
        }
        imgstat_image_release(&image);
        imgstat_file_close(file);
    }
    cr_assert_geq(compared, 400, "only %zu images", compared);
    json_object_put(all);
}

/* A stretch is a percentile that cuts nothing, in the other programs' rounding too, which was
 * imgstat's own once. */
Test(transfer_like, stretch_is_a_percentile_of_nothing)
{
    static const ImgstatLike likes[] = {IMGSTAT_LIKE_SKIMAGE, IMGSTAT_LIKE_IMAGEMAGICK,
                                        IMGSTAT_LIKE_IMAGEJ, IMGSTAT_LIKE_PILLOW};
    ImagePro image = image_of(example_in, 8, 8, 1, IMGSTAT_U8, 8);
    ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    ImagePro own = transformed(&method, &image, -1, false);
    for (size_t i = 0; i < sizeof likes / sizeof *likes; i++) {
        method =
            (ImgstatMethod){.transform = IMGSTAT_PERCENTILE, .like = likes[i], .has_clip = true};
        ImagePro nothing = transformed(&method, &image, -1, false);
        method.transform = IMGSTAT_STRETCH;
        ImagePro out = transformed(&method, &image, -1, false);
        cr_expect(image_equal(&out, &nothing), "like %d", (int)likes[i]);
        cr_expect(!image_equal(&out, &own), "like %d: imgstat's rounding", (int)likes[i]);
        imgstat_image_release(&nothing);
        imgstat_image_release(&out);
    }
    imgstat_image_release(&own);
    imgstat_image_release(&image);
}

/* An image whose samples have fewer bits becomes what the program makes of one in the full scale of
 * the type: `bits` of the pattern are kept, and one image has them scaled. */
static void expect_full_scale(const ImgstatMethod *method, const char *kind, unsigned bits)
{
    const ImgstatSample sample = bits > 8 ? IMGSTAT_U16 : IMGSTAT_U8;
    const unsigned width = bits > 8 ? 16 : 8, size = width / 8;
    const uint32_t top = (1u << bits) - 1, full = (1u << width) - 1;
    ImagePro few = pattern_image(kind, 61, 47, sample);
    ImagePro scaled = pattern_image(kind, 61, 47, sample);
    for (uint32_t y = 0; y < few.height; y++)
        for (uint32_t x = 0; x < few.width; x++) {
            uint32_t v = 0;
            unsigned char *const at = (unsigned char *)few.host + y * few.pitch + x * size;
            memcpy(&v, at, size);
            v >>= width - bits;
            memcpy(at, &v, size);
            v = (2 * v * full + top) / (2 * top); /* top is odd: no ties */
            memcpy((unsigned char *)scaled.host + y * scaled.pitch + x * size, &v, size);
        }
    few.bits = (uint8_t)bits;
    const bool clahe = method->transform == IMGSTAT_CLAHE;
    ImagePro of_few = clahe ? adapted(method, &few, 17) : transformed(method, &few, -1, false);
    ImagePro of_full =
        clahe ? adapted(method, &scaled, 17) : transformed(method, &scaled, -1, false);
    cr_expect(image_equal(&of_few, &of_full), "%s, %u bits, method %d like %d", kind, bits,
              (int)method->transform, (int)method->like);
    imgstat_image_release(&few);
    imgstat_image_release(&scaled);
    imgstat_image_release(&of_few);
    imgstat_image_release(&of_full);
}

Test(transfer_like, fewer_bits_are_brought_to_full_scale)
{
    static const char *const kinds[] = {"noise", "slope", "dark", "black", "flat", "white"};
    static const uint8_t depths[] = {1, 2, 4, 7, 10, 12, 15};
    static const ImgstatTransform transforms[] = {IMGSTAT_EQUALIZE, IMGSTAT_STRETCH,
                                                  IMGSTAT_PERCENTILE, IMGSTAT_CLAHE};
    size_t compared = 0;
    for (size_t t = 0; t < sizeof transforms / sizeof *transforms; t++)
        for (int like = IMGSTAT_LIKE_OPENCV; like <= IMGSTAT_LIKE_VIPS; like++)
            for (size_t d = 0; d < sizeof depths; d++) {
                const ImgstatMethod method = {.transform = transforms[t],
                                              .like = (ImgstatLike)like};
                const TransferShape shape = {.sample = depths[d] > 8 ? IMGSTAT_U16 : IMGSTAT_U8,
                                             .bits = depths[d],
                                             .channels = 1,
                                             .alpha = -1};
                ImgstatError err;
                if (transfer_check(&method, &shape, &err) != IMGSTAT_OK)
                    continue; /* it has no such formula, or not for 16 bits */
                for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
                    expect_full_scale(&method, kinds[k], depths[d]);
                compared++;
            }
    cr_assert_eq(compared, (5 * 7 + 2 * 4) + 2 * (4 * 7 + 4) + 2 * 7, "%zu", compared);
}

Test(transfer_like, what_a_program_does_not_do_is_refused)
{
    ImgstatError err;
    TransferShape shape = {.sample = IMGSTAT_U16, .channels = 1, .alpha = -1};
    ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .like = IMGSTAT_LIKE_OPENCV};
    cr_expect_eq(transfer_check(&method, &shape, &err), IMGSTAT_ERR_UNSUPPORTED);
    shape.sample = IMGSTAT_F32;
    method.like = IMGSTAT_LIKE_VIPS;
    cr_expect_eq(transfer_check(&method, &shape, &err), IMGSTAT_ERR_UNSUPPORTED);
    shape.sample = IMGSTAT_U8;
    method.transform = IMGSTAT_PERCENTILE;
    cr_expect_eq(transfer_check(&method, &shape, &err), IMGSTAT_ERR_ARG);
    cr_expect(strstr(err.message, "vips") != NULL);
    method.transform = IMGSTAT_EQUALIZE;
    method.depth = IMGSTAT_DEPTH_16;
    cr_expect_eq(transfer_check(&method, &shape, &err), IMGSTAT_ERR_ARG);
}

/* The program knew the formulas as well, to refuse methods before it reads images. */
Test(transfer_like, what_a_program_does_not_do_is_refused_without_an_image)
{
    /* rows: stretch, percentile, mean, gamma, equalize, match, CLAHE, as documented */
    static const struct {
        ImgstatLike like;
        const char *has;
    } rows[] = {{IMGSTAT_LIKE_IMGSTAT, "1111111"}, {IMGSTAT_LIKE_OPENCV, "0000101"},
                {IMGSTAT_LIKE_SKIMAGE, "1100101"}, {IMGSTAT_LIKE_IMAGEMAGICK, "1100100"},
                {IMGSTAT_LIKE_IMAGEJ, "1100100"},  {IMGSTAT_LIKE_IMAGEJ_CLASSIC, "1100100"},
                {IMGSTAT_LIKE_PILLOW, "1100100"},  {IMGSTAT_LIKE_VIPS, "0000100"}};
    ImgstatError err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int transform = 0; transform <= IMGSTAT_CLAHE; transform++) {
            ImgstatMethod method = {.transform = (ImgstatTransform)transform,
                                    .like = rows[i].like,
                                    .gamma = 2,
                                    .depth = IMGSTAT_DEPTH_16};
            const bool has = rows[i].has[transform] == '1';
            cr_expect_eq(imgstat_method_check(&method, &err), has ? IMGSTAT_OK : IMGSTAT_ERR_ARG,
                         "%zu %d", i, transform);
            method.has_range = true;
            method.hi = 9;
            cr_expect_eq(imgstat_method_check(&method, &err),
                         has && i == 0 ? IMGSTAT_OK : IMGSTAT_ERR_ARG, "%zu %d", i, transform);
        }
    const ImgstatMethod method = {.like = IMGSTAT_LIKE_OPENCV};
    cr_expect_eq(imgstat_method_check(&method, &err), IMGSTAT_ERR_ARG);
    cr_expect_str_eq(err.message, "opencv has no formula of its own for stretch; it has those for "
                                  "equalize, clahe");
}

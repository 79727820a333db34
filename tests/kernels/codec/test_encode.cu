/* SPDX-License-Identifier: MIT */
/* test_encode.cu: images in device memory encoded as PNG and TIFF against the encoders of files:
 * the same bytes, of images of every form with gaps between rows, in batches of many sizes, in both
 * settings; and what libpng reads of PNGs. */
#include "imgstat_async.h"
#include "support.h"

#include <cuda_runtime.h>
#include <png.h>
#include <stdio.h>
#include <string>
#include <time.h>
#include <vector>

enum { SKIPPED = 77, CONTENTS = 6 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t files, on_device, pixels, bytes, failures;
    uint64_t state;
    ImgstatDevice *device;
    ImgstatWrite how;
    cudaStream_t stream;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_encode: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static void must(ImgstatResult res, const ImgstatError &err, const char *what)
{
    if (res == IMGSTAT_OK)
        return;
    fprintf(stderr, "test_encode: %s: %s\n", what, err.message);
    exit(1);
}

/* An image, here and in device memory, where it may begin at any sample. */
struct Case {
    std::string name;
    ImagePro here, there;
    Bytes pixels;
    uint8_t *memory;
};

/* Sample c of pixel x, y. */
static unsigned content(unsigned kind, size_t x, size_t y, size_t c)
{
    const unsigned noise = (unsigned)(splitmix64(&test.state) >> 40);
    switch (kind) {
    case 0: /* smooth */
        return (unsigned)(x * 5 + y * 3 + c * 99) + noise % 6;
    case 1:
        return noise;
    case 2:
        return 77;
    case 3: /* a tile again and again: matches pay */
        return (unsigned)(mix64(x % 24 + 31 * (y % 3) + 1000 * c) >> 20);
    case 4: /* runs of all lengths */
        return (unsigned)(y * y + x / (1 + y % 400));
    default: /* now and then a tile */
        return y / 64 % 3 ? (unsigned)(x + y) + noise % 9
                          : (unsigned)(mix64(x % 17 + c) >> 30) + noise % 2;
    }
}

static Case make_case(uint32_t width, uint32_t height, uint16_t channels, ImgstatSample sample,
                      uint8_t bits, unsigned kind)
{
    const size_t bytes = imgstat_sample_bytes(sample), row = (size_t)width * channels * bytes;
    const uint64_t r = splitmix64(&test.state);
    const size_t pitch = row + (r % 3 == 0 ? 0 : r / 4 % 20 * bytes);
    const size_t first = r % 2 ? r / 1024 % 16 * bytes : 0;
    const unsigned full = bytes > 2 ? ~0u : (1u << (bits ? bits : 8 * bytes)) - 1;
    ImgstatError err = {};
    Case c = {};
    c.name = std::to_string(width) + "x" + std::to_string(height) + "x" + std::to_string(channels) +
             " " + imgstat_sample_name(sample) + " " + std::to_string(bits) + " content " +
             std::to_string(kind);
    c.pixels.resize(pitch * height + first);
    for (size_t y = 0; y < height; y++)
        for (size_t i = 0; i < (size_t)width * channels; i++) {
            const uint64_t v = content(kind, i / channels, y, i % channels) & full;
            memcpy(&c.pixels[first + y * pitch + i * bytes], &v, bytes);
        }
    fatal(cudaMalloc((void **)&c.memory, c.pixels.size() + 1), "cudaMalloc");
    fatal(cudaMemcpy(c.memory, c.pixels.data(), c.pixels.size(), cudaMemcpyHostToDevice), "upload");
    must(imgstat_image_wrap(IMGSTAT_HOST, 0, c.pixels.data() + first, pitch, width, height,
                            channels, sample, bits, NULL, NULL, &c.here, &err),
         err, "imgstat_image_wrap");
    must(imgstat_image_wrap(IMGSTAT_CUDA, 0, c.memory + first, pitch, width, height, channels,
                            sample, bits, NULL, NULL, &c.there, &err),
         err, "imgstat_image_wrap");
    return c;
}

/* ---- What is expected ---- */

static ImgstatResult take(void *context, const void *bytes, size_t n, ImgstatError *)
{
    Bytes *const to = (Bytes *)context;
    to->insert(to->end(), (const uint8_t *)bytes, (const uint8_t *)bytes + n);
    return IMGSTAT_OK;
}

static ImgstatResult encode_here(const Case &c, Bytes *to, ImgstatError *err)
{
    ImgstatOutput output = {};
    output.write = take;
    output.context = to;
    const bool alpha = c.here.channels == 2 || c.here.channels == 4;
    return imgstat_image_save_to(&c.here, (int16_t)(alpha ? c.here.channels - 1 : -1),
                                 c.name.c_str(), &output, NULL, &test.how, err);
}

static void fail(const Case &c, const char *what, const char *more)
{
    if (test.failures++ < 20)
        printf("%s, %s, fast %d: %s %s\n", c.name.c_str(), test.how.format, test.how.fast, what,
               more);
}

/* Compares the pixels of 8 bits that libpng reads. */
static void check_pixels(const Case &c, const ImgstatEncoded &file)
{
    png_image png = {};
    const size_t row = (size_t)c.here.width * c.here.channels;
    Bytes got(row * c.here.height);
    png.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&png, file.bytes, file.n_bytes) ||
        PNG_IMAGE_SAMPLE_CHANNELS(png.format) != c.here.channels ||
        !png_image_finish_read(&png, NULL, got.data(), (png_int_32)row, NULL)) {
        fail(c, "libpng:", png.message);
        return;
    }
    for (size_t y = 0; y < c.here.height; y++)
        if (memcmp(&got[y * row], (uint8_t *)c.here.host + y * c.here.pitch, row) != 0) {
            fail(c, "other pixels", "");
            return;
        }
    test.pixels++;
}

static void compare(const Case &c, const ImgstatEncoded &file, const ImgstatError &result)
{
    Bytes expected;
    ImgstatError err = {};
    const ImgstatResult res = encode_here(c, &expected, &err);
    test.files++;
    if (res != result.code || (res != IMGSTAT_OK && strcmp(err.message, result.message) != 0)) {
        fail(c, res == IMGSTAT_OK ? "fails:" : "should fail:",
             res == IMGSTAT_OK ? result.message : err.message);
        return;
    }
    if (res != IMGSTAT_OK)
        return;
    const uint8_t *const got = (const uint8_t *)file.bytes;
    size_t i = 0;
    while (i < expected.size() && i < file.n_bytes && got[i] == expected[i])
        i++;
    if (i < expected.size() || file.n_bytes != expected.size()) {
        const std::string where = std::to_string(i) + " of " + std::to_string(expected.size()) +
                                  ", " + std::to_string(file.n_bytes);
        fail(c, "bytes differ from", where.c_str());
        return;
    }
    test.bytes += i;
    if (c.here.sample == IMGSTAT_U8 && c.here.bits == 8 && strcmp(test.how.format, "png") == 0)
        check_pixels(c, file);
}

/* ---- Batches ---- */

/* Encodes images `most` at a time with one object, which is made for the largest ones. */
static void check(const std::vector<Case> &cases, size_t most)
{
    ImgstatError err = {};
    for (size_t at = 0; at < cases.size(); at += most) {
        const size_t n = cases.size() - at < most ? cases.size() - at : most;
        std::vector<ImagePro> images(n);
        std::vector<const char *> names(n);
        std::vector<ImgstatEncoded> files(n);
        std::vector<ImgstatError> results(n);
        ImgstatEncode *encode = NULL;
        for (size_t i = 0; i < n; i++) {
            images[i] = cases[at + i].there;
            names[i] = cases[at + i].name.c_str();
        }
        must(imgstat_encode_create(test.device, images.data(), n, &test.how, 0, &encode, &err), err,
             "imgstat_encode_create");
        for (int again = 0; again < (at == 0 ? 2 : 1); again++) {
            must(imgstat_encode_async(encode, names.data(), images.data(), n, test.stream, &err),
                 err, "imgstat_encode_async");
            must(imgstat_encode_finish(encode, test.stream, files.data(), results.data(), &err),
                 err, "imgstat_encode_finish");
        }
        for (size_t i = 0; i < n; i++) {
            compare(cases[at + i], files[i], results[i]);
            test.on_device += imgstat_encode_on_device(encode, i);
        }
        imgstat_encode_destroy(encode);
    }
}

static void release(const std::vector<Case> &cases)
{
    for (const Case &c : cases)
        fatal(cudaFree(c.memory), "cudaFree");
}

/* In both settings. */
static void check_batches(const char *format, const std::vector<Case> &cases)
{
    test.how.format = format;
    for (int fast = 0; fast < 2; fast++) {
        test.how.fast = fast != 0;
        check(cases, 1000);
        check(cases, 37);
        check(std::vector<Case>(cases.begin(), cases.begin() + 20), 1);
    }
    release(cases);
}

static std::vector<Case> every_png(void)
{
    static const uint32_t sizes[][2] = {{1, 1},    {2, 3},    {5, 40},    {33, 17},   {300, 9},
                                        {257, 64}, {1, 5000}, {640, 480}, {1500, 700}};
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
    } types[] = {{IMGSTAT_U8, 0}, {IMGSTAT_U16, 0}, {IMGSTAT_U16, 12}, {IMGSTAT_U8, 5}};
    std::vector<Case> cases;
    size_t number = 0;
    for (const uint32_t(&size)[2] : sizes)
        for (uint16_t channels = 1; channels <= 5; channels++)
            for (const auto &type : types)
                for (unsigned kind = 0; kind < CONTENTS; kind++)
                    if (is_run(number++, 23) && (type.bits == 0 || kind == number % CONTENTS))
                        cases.push_back(
                            make_case(size[0], size[1], channels, type.sample, type.bits, kind));
    for (uint8_t bits = 1; bits <= 4; bits *= 2)
        cases.push_back(make_case(301, 50, 1, IMGSTAT_U8, bits, 0));
    cases.push_back(make_case(64, 64, 1, IMGSTAT_F32, 0, 2));
    return cases;
}

/* Strips of one row and of many, one strip and many; every predictor follows from the type. */
static std::vector<Case> every_tiff(void)
{
    static const uint32_t sizes[][2] = {{1, 1},    {2, 3},    {5, 40},   {33, 17},
                                        {257, 64}, {1, 5000}, {400, 300}};
    std::vector<Case> cases;
    unsigned number = 0;
    for (const uint32_t(&size)[2] : sizes)
        for (uint16_t channels = 1; channels <= 7; channels++)
            for (int sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++)
                if (is_run(number++, 23))
                    cases.push_back(make_case(size[0], size[1], channels, (ImgstatSample)sample, 0,
                                              number % CONTENTS));
    cases.push_back(make_case(300, 200, 3, IMGSTAT_U16, 12, 0));
    return cases;
}

/* The largest have many pieces. */
static void check_large(void)
{
    std::vector<Case> large; /* moved, not copied: an image points to its pixels */
    large.push_back(make_case(6000, 4000, 3, IMGSTAT_U8, 0, 0));
    large.push_back(make_case(4000, 3000, 4, IMGSTAT_U16, 0, 5));
    large.push_back(make_case(200001, 10, 3, IMGSTAT_U8, 0, 0));
    for (const char *format : {"png", "tiff"})
        for (int fast = 0; fast < 2; fast++) {
            test.how.format = format;
            test.how.fast = fast != 0;
            check(large, 3);
        }
    release(large);
}

int main(int argc, char **argv)
{
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    ImgstatError err = {};
    if (imgstat_device_open("cuda:0", 0, &test.device, &err) != IMGSTAT_OK) {
        printf("%s\n", err.message);
        return required && *required == '1' ? 1 : SKIPPED;
    }
    fatal(cudaStreamCreateWithFlags(&test.stream, cudaStreamNonBlocking), "a stream");
    test.state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("test_encode: seed %llu\n", (unsigned long long)test.state);
    check_batches("png", every_png());
    check_batches("tiff", every_tiff());
    if (is_run(1, 2))
        check_large();
    printf("%zu files, %zu by the device, %zu bytes, pixels of %zu: %zu failures\n", test.files,
           test.on_device, test.bytes, test.pixels, test.failures);
    fatal(cudaStreamDestroy(test.stream), "cudaStreamDestroy");
    imgstat_device_close(test.device);
    return test.failures > 0 || test.on_device < test.files / 2 || test.pixels == 0;
}

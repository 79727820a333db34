/* SPDX-License-Identifier: MIT */
/* test_decode.cu: PNG and TIFF files decoded to device memory against the decoders of the
 * processor: the same pixels, the same errors: generated files of every kind, damaged ones, and
 * those of the corpus. */
#include "imgstat_async.h"
#include "png_files.h"
#include "tiff_files.h"

#include <cuda_runtime.h>
#include <ftw.h>
#include <stdio.h>
#include <string>
#include <vector>

enum { GUARD = 64, SKIPPED = 77 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t files, on_device, failed, failures;
    uint64_t bytes, state;
    ImgstatDevice *device;
    cudaStream_t stream;
    std::vector<std::string> found;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_decode: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static void must(ImgstatResult res, const ImgstatError &err, const char *what)
{
    if (res == IMGSTAT_OK)
        return;
    fprintf(stderr, "test_decode: %s: %s\n", what, err.message);
    exit(1);
}

struct Named {
    std::string name;
    Bytes bytes;
};

static ImgstatResult read_memory(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *)
{
    const Bytes &from = *(const Bytes *)context;
    const size_t left = offset < from.size() ? from.size() - (size_t)offset : 0;
    *got = bytes < left ? bytes : left;
    if (*got > 0)
        memcpy(to, from.data() + offset, *got);
    return IMGSTAT_OK;
}

/* What the processor makes of a file. */
static ImgstatResult decode_here(const Named &file, Bytes *pixels, ImgstatError *err)
{
    ImgstatInput input = {};
    input.bytes = file.bytes.size();
    input.read_at = read_memory;
    input.context = (void *)&file.bytes;
    ImgstatFile *open = NULL;
    ImgstatPage page;
    ImagePro image = {};
    ImgstatResult res = imgstat_file_open_input(file.name.c_str(), &input, NULL, &open, err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(open, 0, &page, err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_create(page.width, page.height, page.channels, page.sample, 0, &image,
                                   err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_read(open, &image, err);
    const size_t row = (size_t)image.width * image.channels * imgstat_sample_bytes(image.sample);
    for (uint32_t y = 0; res == IMGSTAT_OK && y < image.height; y++)
        pixels->insert(pixels->end(), (uint8_t *)image.host + y * image.pitch,
                       (uint8_t *)image.host + y * image.pitch + row);
    imgstat_image_release(&image);
    imgstat_file_close(open);
    return res;
}

static void fail(const Named &file, const char *what, const char *more)
{
    if (test.failures++ < 20)
        printf("%s: %s %s\n", file.name.c_str(), what, more);
}

/* An image in device memory between guards, whose rows may have gaps. */
struct There {
    uint8_t *memory;
    size_t bytes, row;
    ImagePro image;
};

static There make_there(const ImgstatPage &page)
{
    There there = {};
    ImgstatError err;
    const uint64_t r = splitmix64(&test.state);
    const size_t sample = imgstat_sample_bytes(page.sample);
    there.row = (size_t)page.width * page.channels * sample;
    const size_t unit = r >> 40 & 1 ? 1 : sample;
    const size_t pitch = there.row + (r % 3 == 0 ? 0 : r / 4 % 20 * unit);
    const size_t first = GUARD + (r % 3 == 2 ? r / 1024 % 8 * unit : 0);
    there.bytes = first + pitch * page.height + GUARD;
    fatal(cudaMalloc(&there.memory, there.bytes), "cudaMalloc");
    fatal(cudaMemset(there.memory, POISON, there.bytes), "cudaMemset");
    must(imgstat_image_wrap(IMGSTAT_CUDA, 0, there.memory + first, pitch, page.width, page.height,
                            page.channels, page.sample, 0, NULL, NULL, &there.image, &err),
         err, "imgstat_image_wrap");
    return there;
}

static void compare(const Named &file, const There &there, const ImgstatError &result)
{
    Bytes pixels, got(there.bytes);
    ImgstatError err = {};
    const ImgstatResult res = decode_here(file, &pixels, &err);
    if (res != result.code || (res != IMGSTAT_OK && strcmp(err.message, result.message) != 0)) {
        fail(file, res == IMGSTAT_OK ? "fails:" : "should fail:",
             res == IMGSTAT_OK ? result.message : err.message);
        return;
    }
    test.failed += res != IMGSTAT_OK;
    if (!there.memory)
        return;
    fatal(cudaMemcpy(got.data(), there.memory, there.bytes, cudaMemcpyDeviceToHost), "download");
    size_t at = 0, row = 0;
    const size_t first = (size_t)(there.image.device.address - (uintptr_t)there.memory);
    for (uint32_t y = 0; y <= there.image.height; y++) { /* between rows there are guards */
        const size_t begin = y < there.image.height ? first + y * there.image.pitch : there.bytes;
        if (!guard_holds(&got[at], begin - at))
            fail(file, "written beside its rows", "");
        at = begin + there.row;
        if (y == there.image.height)
            break;
        if (res == IMGSTAT_OK && memcmp(&got[begin], &pixels[row], there.row) != 0) {
            fail(file, "other pixels", ("in row " + std::to_string(y)).c_str());
            return;
        }
        row += there.row;
    }
    test.bytes += pixels.size();
}

/* Decodes files in one call; every second large one lies in page-locked memory. */
static void check(const std::vector<Named> &files)
{
    enum { LARGE = 1 << 20 };
    const size_t n = files.size();
    std::vector<ImgstatEncoded> encoded(n);
    std::vector<ImagePro> images(n);
    std::vector<There> there(n);
    std::vector<ImgstatError> results(n);
    ImgstatError err = {};
    ImgstatDecode *decode = NULL;
    for (size_t i = 0; i < n; i++) {
        encoded[i] = {files[i].name.c_str(), files[i].bytes.data(), files[i].bytes.size()};
        if (i % 2 && encoded[i].n_bytes >= LARGE)
            fatal(cudaHostRegister((void *)encoded[i].bytes, encoded[i].n_bytes, 0),
                  "cudaHostRegister");
    }
    must(imgstat_decode_create(test.device, encoded.data(), n, NULL, &decode, &err), err,
         "imgstat_decode_create");
    for (size_t i = 0; i < n; i++) {
        ImgstatPage page;
        if (imgstat_decode_page(decode, i, &page, &err) != IMGSTAT_OK)
            continue;
        there[i] = make_there(page);
        images[i] = there[i].image;
    }
    must(imgstat_decode_async(decode, images.data(), test.stream, &err), err,
         "imgstat_decode_async");
    must(imgstat_decode_finish(decode, test.stream, results.data(), &err), err,
         "imgstat_decode_finish");
    for (size_t i = 0; i < n; i++) {
        compare(files[i], there[i], results[i]);
        test.on_device += imgstat_decode_on_device(decode, i);
        if (there[i].memory)
            fatal(cudaFree(there[i].memory), "cudaFree");
    }
    imgstat_decode_destroy(decode);
    for (size_t i = 0; i < n; i++)
        if (i % 2 && encoded[i].n_bytes >= LARGE)
            fatal(cudaHostUnregister((void *)encoded[i].bytes), "cudaHostUnregister");
    test.files += n;
}

static Named named(uint8_t *file, size_t bytes, const PngSpec &spec, const char *kind)
{
    char name[128];
    snprintf(name, sizeof name, "%s %ux%u color %u depth %u filter %u%s%s", kind, spec.width,
             spec.height, spec.color, spec.depth, spec.filter, spec.interlaced ? " passes" : "",
             spec.key ? " key" : "");
    return {name, Bytes(file, file + bytes)};
}

static void check_generated(size_t n)
{
    enum { BATCH = 500 };
    std::vector<Named> files;
    for (size_t i = 0; i < n; i++) {
        uint8_t *file;
        const PngSpec spec = png_spec(&test.state);
        const size_t bytes = png_file(&spec, &test.state, &file);
        files.push_back(named(file, bytes, spec, "generated"));
        if (i % 5 == 0) { /* the checksums of chunks are wrong then, mostly */
            const size_t left = stream_damage(file, bytes, &test.state);
            files.push_back(named(file, left, spec, "damaged"));
        }
        free(file);
        if (files.size() >= BATCH || i + 1 == n) {
            check(files);
            files.clear();
        }
    }
}

/* Small ones, and ones whose passes have many bands. */
static void check_interlaced(size_t every)
{
    enum { LARGE = 15 };
    std::vector<Named> files;
    for (size_t i = 0; i < PNG_SMALL; i += i < LARGE ? 1 : every) {
        uint8_t *file;
        PngSpec spec = png_small(i, &test.state);
        if (i < LARGE) {
            spec.width = 411;
            spec.height = 333;
        }
        const size_t bytes = png_file(&spec, &test.state, &file);
        files.push_back(named(file, bytes, spec, "interlaced"));
        free(file);
    }
    check(files);
}

/* Streams that are damaged in chunks that are not. */
static void check_damaged_streams(size_t n)
{
    std::vector<Named> files;
    for (size_t i = 0; i < n; i++) {
        uint8_t *file;
        PngSpec spec = png_spec(&test.state);
        spec.chunk = 1 << 20;
        const size_t bytes = png_file(&spec, &test.state, &file);
        for (size_t at = 8; at + 12 <= bytes;) {
            const uint32_t length = (uint32_t)file[at] << 24 | (uint32_t)file[at + 1] << 16 |
                                    (uint32_t)file[at + 2] << 8 | file[at + 3];
            if (memcmp(file + at + 4, "IDAT", 4) == 0) {
                (void)stream_damage(file + at + 8, length, &test.state);
                png_put(file + at + 8 + length,
                        (uint32_t)crc32(0, file + at + 4, (uInt)length + 4));
            }
            at += 12 + length;
        }
        files.push_back(named(file, bytes, spec, "damaged stream"));
        free(file);
    }
    check(files);
}

static Named tiff_named(TiffBytes *file, const char *kind)
{
    char name[256];
    tiff_name(file->spec, name, sizeof name);
    const Named named = {std::string(kind) + " " + name, Bytes(file->at, file->at + file->n)};
    free(file->at);
    return named;
}

static void check_tiff(size_t n)
{
    enum { BATCH = 500 };
    std::vector<Named> files;
    for (size_t i = 0; i < n; i++) {
        const TiffSpec spec = tiff_spec(&test.state);
        TiffBytes file;
        tiff_file(&spec, &test.state, &file);
        if (i % 5 == 4)
            (void)stream_damage(file.at + file.data, file.data_end - file.data, &test.state);
        if (i % 40 == 39)
            file.n = stream_damage(file.at, file.n, &test.state);
        files.push_back(tiff_named(&file, i % 5 == 4 ? "damaged" : "generated"));
        if (files.size() >= BATCH || i + 1 == n) {
            check(files);
            files.clear();
        }
    }
}

/* Files that are uploaded as they are decoded, between small ones: some while those before are
 * decoded, or all before if there is deflate. */
static void check_large_tiff(size_t n, bool deflate)
{
    const uint16_t kinds[] = {TIFF_NONE, TIFF_LZW, TIFF_NONE, TIFF_PACKBITS,
                              (uint16_t)(deflate ? TIFF_DEFLATE : TIFF_LZW)};
    std::vector<Named> files;
    for (size_t i = 0; i < n; i++) {
        TiffSpec spec = {};
        spec.width = i % 7 == 3 || i == 0 || i + 1 == n ? 40 : 2300;
        spec.height = 900 + (uint32_t)i;
        spec.tile_width = 256;
        spec.tile_height = 128;
        spec.samples = 3;
        spec.bits = 8;
        spec.format = TIFF_UNSIGNED;
        spec.compression = kinds[i % 5];
        spec.predictor = spec.compression == TIFF_PACKBITS ? 1 : 1 + i % 2;
        spec.clear = LZW_CODES_MOST - 1;
        TiffBytes file;
        tiff_file(&spec, &test.state, &file);
        files.push_back(tiff_named(&file, "large"));
    }
    check(files);
}

/* A graph cannot record copies of files; the device works on. */
static void check_graph(void)
{
    TiffSpec spec = {};
    spec.width = spec.height = 800;
    spec.tile_width = spec.tile_height = 256;
    spec.samples = 3;
    spec.bits = 8;
    spec.format = TIFF_UNSIGNED;
    spec.compression = TIFF_NONE;
    spec.predictor = 1;
    TiffBytes bytes;
    tiff_file(&spec, &test.state, &bytes);
    const std::vector<Named> files(1, tiff_named(&bytes, "recorded"));
    const ImgstatEncoded encoded = {files[0].name.c_str(), files[0].bytes.data(),
                                    files[0].bytes.size()};
    ImgstatError err = {};
    ImgstatDecode *decode = NULL;
    ImgstatPage page;
    cudaGraph_t graph = NULL;
    must(imgstat_decode_create(test.device, &encoded, 1, NULL, &decode, &err), err, "create");
    must(imgstat_decode_page(decode, 0, &page, &err), err, "page");
    const There there = make_there(page);
    fatal(cudaStreamBeginCapture(test.stream, cudaStreamCaptureModeRelaxed), "a capture");
    if (imgstat_decode_async(decode, &there.image, test.stream, &err) != IMGSTAT_ERR_ARG)
        fail(files[0], "was recorded", "");
    fatal(cudaStreamEndCapture(test.stream, &graph), "the end of a capture");
    fatal(cudaGraphDestroy(graph), "cudaGraphDestroy");
    fatal(cudaFree(there.memory), "cudaFree");
    imgstat_decode_destroy(decode);
    check(files);
}

static bool ends_with(const std::string &name, const char *end)
{
    const size_t n = strlen(end);
    return name.size() > n && name.compare(name.size() - n, n, end) == 0;
}

static int find(const char *path, const struct stat *, int kind, struct FTW *)
{
    const std::string name(path);
    if (kind == FTW_F &&
        (ends_with(name, ".png") || ends_with(name, ".tif") || ends_with(name, ".tiff")))
        test.found.push_back(name);
    return 0;
}

static void check_corpus(const char *folder)
{
    enum { BATCH = 64 };
    std::vector<Named> files;
    if (!folder || nftw(folder, find, 16, FTW_PHYS) != 0)
        printf("no corpus\n");
    for (size_t i = 0; i < test.found.size(); i++) {
        Named file = {test.found[i], Bytes()};
        FILE *const f = is_run(i, 20) ? fopen(file.name.c_str(), "rb") : NULL;
        uint8_t buffer[1 << 16];
        for (size_t got; f && (got = fread(buffer, 1, sizeof buffer, f)) > 0;)
            file.bytes.insert(file.bytes.end(), buffer, buffer + got);
        if (f) {
            fclose(f);
            files.push_back(file);
        }
        if (files.size() == BATCH || (i + 1 == test.found.size() && !files.empty())) {
            check(files);
            files.clear();
        }
    }
}

int main(void)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    ImgstatError err = {};
    if (imgstat_device_open("cuda:0", 0, &test.device, &err) != IMGSTAT_OK) {
        printf("%s\n", err.message);
        return required && *required == '1' ? 1 : SKIPPED;
    }
    fatal(cudaStreamCreateWithFlags(&test.stream, cudaStreamNonBlocking), "a stream");
    test.state = 7;
    check(std::vector<Named>());
    check_generated(is_run(1, 2) ? 20000 : 400);
    printf("generated: %zu files, %zu by the device, %zu failed as they should\n", test.files,
           test.on_device, test.failed);
    size_t before = test.files, by_device = test.on_device;
    check_interlaced(is_run(1, 2) ? 1 : 23);
    printf("interlaced: %zu files, %zu by the device\n", test.files - before,
           test.on_device - by_device);
    check_damaged_streams(is_run(1, 2) ? 3000 : 100);
    before = test.files;
    by_device = test.on_device;
    check_tiff(is_run(1, 2) ? 20000 : 400);
    printf("TIFF: %zu files, %zu by the device\n", test.files - before, test.on_device - by_device);
    check_graph();
    check_large_tiff(is_run(1, 2) ? 90 : 36, false);
    check_large_tiff(is_run(1, 2) ? 40 : 6, true);
    before = test.files;
    by_device = test.on_device;
    check_corpus(getenv("IMGSTAT_CORPUS"));
    printf("corpus: %zu files, %zu by the device\n", test.files - before,
           test.on_device - by_device);
    printf("%zu files, %zu by the device, %llu bytes: %zu failures\n", test.files, test.on_device,
           (unsigned long long)test.bytes, test.failures);
    fatal(cudaStreamDestroy(test.stream), "cudaStreamDestroy");
    imgstat_device_close(test.device);
    return test.failures > 0 || test.on_device < test.files / 2;
}

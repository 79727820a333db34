/* SPDX-License-Identifier: MIT */
/* test_filter_rows.cu: rows filtered for PNG against those of the processor: every pixel size,
 * contents that want each of the filters, many images in a launch, nothing written beside rows. */
#include "codec/filter_rows.h"

#include "support.h"

extern "C" {
#include "png/filter.h"
}

#include <stdio.h>
#include <time.h>
#include <vector>

enum { GUARD = 32, SKIPPED = 77, KINDS = 6 };

typedef std::vector<uint8_t> Bytes;

static struct {
    size_t rows, failures, used[PNG_FILTERS];
    uint64_t state;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_filter_rows: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

/* Pixels and what becomes of them: at first offsets, in one memory for all images. */
struct Case {
    FilterImage image;
    Bytes pixels;
    size_t in_at, out_at, out_bytes;
};

/* Rows of every kind, each kind good for another filter. */
static void fill(Bytes *pixels, size_t pitch, size_t step, unsigned kind)
{
    for (size_t i = 0; i < pixels->size(); i++) {
        const uint8_t noise = (uint8_t)splitmix64(&test.state), small = noise % 5;
        const uint8_t left = i % pitch >= step ? (*pixels)[i - step] : 0;
        const uint8_t up = i >= pitch ? (*pixels)[i - pitch] : 0;
        const uint8_t corner = i >= pitch + step ? (*pixels)[i - pitch - step] : 0;
        (*pixels)[i] = kind == 0   ? noise
                       : kind == 1 ? (uint8_t)(left + small)
                       : kind == 2 ? (uint8_t)(up + small)
                       : kind == 3 ? (uint8_t)((left + up) / 2 + small)
                       : kind == 4 ? (uint8_t)(left + up - corner + small)
                                   : small;
    }
}

static Case make_case(uint32_t width, uint32_t height, unsigned pixel_bytes, unsigned kind)
{
    const uint64_t r = splitmix64(&test.state);
    Case c = {};
    FilterImage *const image = &c.image;
    image->row_bytes = width * pixel_bytes;
    image->height = height;
    image->pixel_bytes = (uint8_t)pixel_bytes;
    image->pitch = image->row_bytes + r % 3 * pixel_bytes;
    image->piece_rows = 1 + (uint32_t)(r >> 8) % (height + 2);
    image->piece_pitch = (uint64_t)image->piece_rows * (1 + image->row_bytes) + (r >> 24) % 20;
    image->swap = pixel_bytes % 2 == 0 && r >> 40 & 1;
    image->choice = (uint8_t)((r >> 42) % 8 > 0 ? 1 + (r >> 45) % 2 : PNG_CHOOSE_NONE);
    c.pixels.resize(image->pitch * (height - 1) + image->row_bytes);
    c.out_bytes = (height + image->piece_rows - 1) / image->piece_rows * image->piece_pitch;
    fill(&c.pixels, image->pitch, pixel_bytes, kind);
    return c;
}

/* A row as PNG has it. */
static Bytes big_endian(const Case &c, uint32_t y)
{
    const uint8_t *const row = c.pixels.data() + y * c.image.pitch;
    Bytes out(c.image.row_bytes);
    for (size_t i = 0; i < out.size(); i++)
        out[i] = row[c.image.swap ? i ^ 1 : i];
    return out;
}

/* Compares with rows of the processor; bytes between pieces are as before. */
static void compare(const Case &c, const uint8_t *got)
{
    const FilterImage &image = c.image;
    Bytes above(image.row_bytes), filtered(1 + image.row_bytes);
    Bytes expected(c.out_bytes, POISON);
    for (uint32_t y = 0; y < image.height; y++) {
        const Bytes row = big_endian(c, y);
        uint8_t *const to = &expected[y / image.piece_rows * image.piece_pitch +
                                      y % image.piece_rows * filtered.size()];
        png_filter_row(png_filters(), row.data(), above.data(), row.size(), image.pixel_bytes,
                       (PngChoice)image.choice, filtered.data());
        memcpy(to, filtered.data(), filtered.size());
        test.used[filtered[0]]++;
        test.rows++;
        above = row;
    }
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        first = got[i] != expected[i] && wrong == 0 ? i : first;
        wrong += got[i] != expected[i];
    }
    if ((wrong || !guard_holds(got - GUARD, GUARD) || !guard_holds(got + c.out_bytes, GUARD)) &&
        test.failures++ < 20)
        printf("%u bytes a row, %u rows, %u a pixel, swap %d: %zu wrong, first %zu of %zu\n",
               image.row_bytes, image.height, image.pixel_bytes, image.swap, wrong, first,
               c.out_bytes);
}

static void check(std::vector<Case> cases)
{
    size_t n_in = 0, n_out = GUARD;
    uint32_t rows = 0;
    for (Case &c : cases) {
        c.in_at = n_in + c.image.swap; /* at odd places, too */
        n_in = c.in_at + c.pixels.size();
        c.out_at = n_out;
        n_out += c.out_bytes + GUARD;
        rows = c.image.height > rows ? c.image.height : rows;
    }
    uint8_t *in, *out;
    FilterImage *device_images;
    std::vector<FilterImage> images;
    Bytes from(n_in), to(n_out);
    fatal(cudaMalloc((void **)&in, n_in), "cudaMalloc");
    fatal(cudaMalloc((void **)&out, n_out), "cudaMalloc");
    fatal(cudaMalloc((void **)&device_images, cases.size() * sizeof *device_images), "cudaMalloc");
    for (Case &c : cases) {
        memcpy(&from[c.in_at], c.pixels.data(), c.pixels.size());
        c.image.pixels = (uintptr_t)in + c.in_at;
        c.image.to = (uintptr_t)out + c.out_at;
        images.push_back(c.image);
    }
    fatal(cudaMemcpy(in, from.data(), n_in, cudaMemcpyHostToDevice), "upload");
    fatal(cudaMemcpy(device_images, images.data(), images.size() * sizeof images[0],
                     cudaMemcpyHostToDevice),
          "upload");
    fatal(cudaMemset(out, POISON, n_out), "cudaMemset");
    fatal(cuda_filter_rows(device_images, images.size(), rows, 0), "filter");
    fatal(cudaMemcpy(to.data(), out, n_out, cudaMemcpyDeviceToHost), "download");
    for (const Case &c : cases)
        compare(c, &to[c.out_at]);
    fatal(cudaFree(in), "cudaFree");
    fatal(cudaFree(out), "cudaFree");
    fatal(cudaFree(device_images), "cudaFree");
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[][2] = {{1, 1},   {2, 3},   {3, 9},    {31, 8},  {32, 2},
                                        {33, 17}, {100, 5}, {257, 40}, {1000, 7}};
    static const unsigned pixel_bytes[] = {1, 2, 3, 4, 6, 8};
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("test_filter_rows: no CUDA device\n");
        return required && *required == '1' ? 1 : SKIPPED;
    }
    test.state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("test_filter_rows: seed %llu\n", (unsigned long long)test.state);
    std::vector<Case> cases;
    size_t number = 0;
    for (const uint32_t(&size)[2] : sizes)
        for (const unsigned bytes : pixel_bytes)
            for (unsigned kind = 0; kind < KINDS; kind++)
                if (is_run(number++, 5))
                    cases.push_back(make_case(size[0], size[1], bytes, kind));
    check(cases);
    printf("test_filter_rows: %zu rows (filters %zu %zu %zu %zu %zu), %zu failures\n", test.rows,
           test.used[0], test.used[1], test.used[2], test.used[3], test.used[4], test.failures);
    for (const size_t used : test.used)
        test.failures += used == 0;
    return test.failures > 0;
}

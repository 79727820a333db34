/* SPDX-License-Identifier: MIT */
/* bench_tiles.cu: TIFF files of tiles in memory to pixels in device memory: whole calls of the
 * library, and their copies and kernels. */
#include "bench.h"
#include "imgstat_async.h"

#include <chrono>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>
#include <vector>

enum { WIDTH = 4000, HEIGHT = 2000, CHANNELS = 3, TILE = 256, CONTENTS = 4 };

typedef std::vector<unsigned char> Bytes;

/* What is decoded: n files, which are CONTENTS files again and again. */
typedef struct TileWork {
    std::vector<Bytes> pixels, files;
    std::vector<ImgstatEncoded> encoded;
    std::vector<ImagePro> images; /* in device memory */
    double ms, device_ms;         /* of the fastest call, and of its copies and kernels */
} TileWork;

/* Samples whose differences are those of a photograph: small, larger where there is more to see. */
static Bytes photograph(uint64_t seed)
{
    enum { CALM = 170 };
    Bytes bytes((size_t)WIDTH * HEIGHT * CHANNELS);
    uint64_t z = seed * 2 + 1;
    unsigned spread = 4;
    for (size_t i = 0; i < bytes.size(); i++) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        const unsigned r = (unsigned)(z >> 33);
        if (i % (CALM * CHANNELS) == 0)
            spread = 1 + r % 12 * (r / 16 % 4);
        const int sum = (int)(r % spread + (r >> 8) % spread + (r >> 16) % spread);
        const int before = i >= CHANNELS ? bytes[i - CHANNELS] : 128;
        bytes[i] = (unsigned char)(before + sum - 3 * (int)(spread - 1) / 2);
    }
    return bytes;
}

/* Writes tiles of an image, whose bytes behind its edges are 0. */
static bool write_tiles(TIFF *tif, const Bytes &pixels)
{
    Bytes tile((size_t)TILE * TILE * CHANNELS);
    for (uint32_t y = 0; y < HEIGHT; y += TILE)
        for (uint32_t x = 0; x < WIDTH; x += TILE) {
            const uint32_t columns = WIDTH - x < TILE ? WIDTH - x : (uint32_t)TILE;
            memset(tile.data(), 0, tile.size());
            for (uint32_t row = 0; row < TILE && y + row < HEIGHT; row++)
                memcpy(&tile[(size_t)row * TILE * CHANNELS],
                       &pixels[((size_t)(y + row) * WIDTH + x) * CHANNELS],
                       (size_t)columns * CHANNELS);
            if (TIFFWriteEncodedTile(tif, TIFFComputeTile(tif, x, y, 0, 0), tile.data(),
                                     (tmsize_t)tile.size()) < 0)
                return false;
        }
    return true;
}

/* The bytes of a file; none after a failure. */
static Bytes tiff_file(const Bytes &pixels, unsigned compression, bool predicts)
{
    char path[] = "/tmp/imgstat-bench-XXXXXX";
    const int fd = mkstemp(path);
    TIFF *const tif = fd < 0 ? NULL : TIFFFdOpen(dup(fd), path, "w");
    Bytes file;
    bool good = tif && TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, (uint32_t)WIDTH) &&
                TIFFSetField(tif, TIFFTAG_IMAGELENGTH, (uint32_t)HEIGHT) &&
                TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8) &&
                TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, (int)CHANNELS) &&
                TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB) &&
                TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
                TIFFSetField(tif, TIFFTAG_TILEWIDTH, (uint32_t)TILE) &&
                TIFFSetField(tif, TIFFTAG_TILELENGTH, (uint32_t)TILE) &&
                TIFFSetField(tif, TIFFTAG_COMPRESSION, (int)compression) &&
                (!predicts || TIFFSetField(tif, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL));
    good = good && write_tiles(tif, pixels);
    if (tif)
        TIFFClose(tif);
    if (good) {
        file.resize((size_t)lseek(fd, 0, SEEK_END));
        if (pread(fd, file.data(), file.size(), 0) != (ssize_t)file.size())
            file.clear();
    }
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    return file;
}

/* Decodes all files; a call counts if it is faster than those before. */
static bool decode_files(Bench *bench, TileWork *work)
{
    const size_t n = work->encoded.size();
    std::vector<ImgstatError> results(n);
    ImgstatError err;
    ImgstatDecode *decode = NULL;
    float device_ms = 0;
    const auto begin = std::chrono::steady_clock::now();
    bool right = imgstat_decode_create((ImgstatDevice *)bench->cuda, work->encoded.data(), n, NULL,
                                       &decode, &err) == IMGSTAT_OK;
    right = right && bench_ok(bench, cudaEventRecord(bench->begin, bench->stream), "an event") &&
            imgstat_decode_async(decode, work->images.data(), bench->stream, &err) == IMGSTAT_OK &&
            bench_ok(bench, cudaEventRecord(bench->end, bench->stream), "an event") &&
            imgstat_decode_finish(decode, bench->stream, results.data(), &err) == IMGSTAT_OK;
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
    for (size_t i = 0; i < n && right; i++)
        right = imgstat_decode_on_device(decode, i) && results[i].code == IMGSTAT_OK;
    right = right &&
            bench_ok(bench, cudaEventElapsedTime(&device_ms, bench->begin, bench->end), "an event");
    imgstat_decode_destroy(decode);
    if (right && (work->ms == 0 || ms.count() < work->ms))
        work->ms = ms.count();
    if (right && (work->device_ms == 0 || device_ms < work->device_ms))
        work->device_ms = device_ms;
    return right;
}

static bool is_right(Bench *bench, const TileWork &work)
{
    bool right = true;
    Bytes got(work.pixels[0].size());
    for (size_t i = 0; i < CONTENTS && i < work.images.size() && right; i++)
        right = bench_ok(bench,
                         cudaMemcpy(got.data(), (void *)(uintptr_t)work.images[i].device.address,
                                    got.size(), cudaMemcpyDeviceToHost),
                         "download") &&
                got == work.pixels[i % CONTENTS];
    return right;
}

static void tile_rows(Bench *bench, const char *name, unsigned compression, bool predicts, size_t n)
{
    enum { RUNS = 5 };
    const size_t bytes = (size_t)WIDTH * HEIGHT * CHANNELS;
    char what[2][BENCH_NAME];
    snprintf(what[0], sizeof what[0], "TIFF %s", name);
    snprintf(what[1], sizeof what[1], "TIFF %s: copies, kernels", name);
    BenchCase c = bench_case("inflate", IMGSTAT_U8, CHANNELS, BENCH_SMOOTH, n * bytes);
    c.images = n;
    unsigned char *const out =
        bench->cuda && (bench_wanted(bench, &c, what[0]) || bench_wanted(bench, &c, what[1]))
            ? (unsigned char *)bench_out(bench, n * bytes)
            : NULL;
    if (!out)
        return;
    TileWork work = {};
    for (unsigned i = 0; i < CONTENTS; i++) {
        work.pixels.push_back(photograph(bench->options.seed + i));
        work.files.push_back(tiff_file(work.pixels[i], compression, predicts));
    }
    bool right = true;
    for (size_t i = 0; i < n; i++) {
        const Bytes &file = work.files[i % CONTENTS];
        ImagePro image;
        ImgstatError err;
        right = right && imgstat_image_wrap(IMGSTAT_CUDA, bench->options.device, out + i * bytes,
                                            (size_t)WIDTH * CHANNELS, WIDTH, HEIGHT, CHANNELS,
                                            IMGSTAT_U8, 0, NULL, NULL, &image, &err) == IMGSTAT_OK;
        work.images.push_back(image);
        work.encoded.push_back({"bench.tif", file.data(), file.size()});
    }
    for (unsigned run = 0; run < RUNS && right; run++)
        right = decode_files(bench, &work);
    right = right && is_right(bench, work);
    bench_host_row(bench, &c, what[0], work.ms, right);
    bench_host_row(bench, &c, what[1], work.device_ms, right);
}

void bench_tiles(Bench *bench)
{
    const size_t n = bench->options.quick ? 4 : 64;
    tile_rows(bench, "deflate", COMPRESSION_ADOBE_DEFLATE, true, n);
    tile_rows(bench, "LZW", COMPRESSION_LZW, true, n);
    if (bench->options.quick)
        return;
    tile_rows(bench, "LZW, no predictor", COMPRESSION_LZW, false, n);
    tile_rows(bench, "PackBits", COMPRESSION_PACKBITS, false, n);
    tile_rows(bench, "uncompressed", COMPRESSION_NONE, false, n);
    tile_rows(bench, "LZW", COMPRESSION_LZW, true, 1);
}

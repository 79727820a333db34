/* SPDX-License-Identifier: MIT */
/* bench_encode.cu: images in device memory to whole PNG and TIFF files in pinned host memory: what
 * a program waits for. */
#include "bench.h"
#include "imgstat_async.h"

#include <stdio.h>
#include <string.h>
#include <vector>

typedef struct EncodeWork {
    ImgstatEncode *encode;
    std::vector<ImagePro> images;
    std::vector<ImgstatEncoded> files;
    std::vector<ImgstatError> results;
} EncodeWork;

static bool good(Bench *bench, ImgstatResult result, const ImgstatError *err)
{
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "imgstat-bench: %s\n", err->message);
    bench->failures++;
    return false;
}

static cudaError_t call_encode(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    EncodeWork *const w = (EncodeWork *)work;
    ImgstatError err;
    (void)in;
    return good(bench,
                imgstat_encode_async(w->encode, NULL, w->images.data(), c->images, bench->stream,
                                     &err),
                &err) &&
                   good(bench,
                        imgstat_encode_finish(w->encode, bench->stream, w->files.data(),
                                              w->results.data(), &err),
                        &err)
               ? cudaSuccess
               : cudaErrorUnknown;
}

/* Whether a file holds the pixels of its image; the device decodes it. */
static bool has_pixels(Bench *bench, const BenchCase *c, const EncodeWork *w, size_t i)
{
    const size_t bytes = c->bytes / c->images;
    ImgstatError err, result;
    ImgstatDecode *decode = NULL;
    ImagePro to = w->images[i];
    std::vector<unsigned char> expected(bytes), got(bytes);
    to.device.address = (uint64_t)(uintptr_t)bench_out(bench, bytes);
    const bool done =
        to.device.address && w->results[i].code == IMGSTAT_OK &&
        good(bench,
             imgstat_decode_create((ImgstatDevice *)bench->cuda, &w->files[i], 1, NULL, &decode,
                                   &err),
             &err) &&
        good(bench, imgstat_decode_async(decode, &to, bench->stream, &err), &err) &&
        good(bench, imgstat_decode_finish(decode, bench->stream, &result, &err), &err) &&
        good(bench, result.code, &result) &&
        bench_ok(
            bench,
            cudaMemcpy(got.data(), (const void *)to.device.address, bytes, cudaMemcpyDeviceToHost),
            "download") &&
        bench_ok(bench,
                 cudaMemcpy(expected.data(), (const void *)w->images[i].device.address, bytes,
                            cudaMemcpyDeviceToHost),
                 "download");
    imgstat_decode_destroy(decode);
    return done && memcmp(got.data(), expected.data(), bytes) == 0;
}

/* n images of `bytes` bytes each. */
static void encode_row(Bench *bench, size_t n, size_t bytes, const char *what,
                       const ImgstatWrite *how)
{
    BenchCase c = bench_case("encode", IMGSTAT_U8, 3, BENCH_SMOOTH, bytes);
    EncodeWork work = {NULL, std::vector<ImagePro>(n), std::vector<ImgstatEncoded>(n),
                       std::vector<ImgstatError>(n)};
    ImgstatError err;
    const size_t image_bytes = c.bytes;
    c.images = n;
    c.bytes *= n;
    c.samples *= n;
    c.cached = true; /* one set of images */
    if (!bench->cuda || !bench_wanted(bench, &c, what) || !bench_input(bench, &c))
        return;
    const unsigned char *const pixels = (const unsigned char *)bench_slot(bench, &c, 0);
    bool right = true;
    for (size_t i = 0; i < n && right; i++)
        right = good(bench,
                     imgstat_image_wrap(IMGSTAT_CUDA, bench->options.device,
                                        pixels + i * image_bytes, 0, c.width, c.height, c.channels,
                                        c.sample, 0, NULL, NULL, &work.images[i], &err),
                     &err);
    right = right &&
            good(bench,
                 imgstat_encode_create((ImgstatDevice *)bench->cuda, work.images.data(), n, how, 0,
                                       &work.encode, &err),
                 &err) &&
            call_encode(bench, &c, &work, NULL) == cudaSuccess && has_pixels(bench, &c, &work, 0) &&
            has_pixels(bench, &c, &work, n - 1);
    bench_row(bench, &c, what, call_encode, &work, right);
    imgstat_encode_destroy(work.encode);
}

void bench_encode(Bench *bench)
{
    const size_t mega = 1000 * 1000;
    static const char *const names[] = {"imgstat_encode_async", "imgstat_encode_async, fast",
                                        "imgstat_encode_async, tiff",
                                        "imgstat_encode_async, tiff, fast"};
    for (int i = 0; i < 4; i++) {
        ImgstatWrite how = {i < 2 ? "png" : "tiff"};
        how.fast = i % 2 != 0;
        encode_row(bench, 64, 12 * mega, names[i], &how);
        encode_row(bench, 1024, 64 << 10, names[i], &how);
        if (bench->options.quick)
            continue;
        encode_row(bench, 1, 12 * mega, names[i], &how);
        encode_row(bench, 400, 12 * mega, names[i], &how);
    }
}

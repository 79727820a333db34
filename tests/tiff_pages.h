/* SPDX-License-Identifier: MIT */
/* tiff_pages.h: pages that a device predicts and compresses, in files like generated ones, against
 * the files of encoder_write_rows. */
#ifndef IMGSTAT_TESTS_TIFF_PAGES_H
#define IMGSTAT_TESTS_TIFF_PAGES_H

#include "encode/page.h"
#include "tiff_files.h"

typedef struct TiffPages {
    Device *device;
    PageRows *rows;
    EncodeOptions how;
    uint64_t state;
    size_t pages, there, bytes, failures; /* there: that the device has made, or a part of them */
} TiffPages;

typedef struct TiffOutput {
    uint8_t *at;
    size_t n;
} TiffOutput;

static inline ImgstatResult tiff_pages_take(void *context, const void *bytes, size_t n,
                                            ImgstatError *err)
{
    TiffOutput *const to = (TiffOutput *)context;
    (void)err;
    to->at = (uint8_t *)realloc(to->at, to->n + n);
    memcpy(to->at + to->n, bytes, n);
    to->n += n;
    return IMGSTAT_OK;
}

static inline ImgstatResult tiff_pages_read(void *context, uint64_t offset, void *to, size_t bytes,
                                            size_t *got, ImgstatError *err)
{
    const TiffBytes *const from = (const TiffBytes *)context;
    const size_t left = offset < from->n ? from->n - (size_t)offset : 0;
    (void)err;
    *got = bytes < left ? bytes : left;
    if (*got > 0)
        memcpy(to, from->at + offset, *got);
    return IMGSTAT_OK;
}

/* Writes rows; *there: whether the device did some of them. */
static inline ImgstatResult tiff_pages_rows(TiffPages *t, Encoder *encoder, const ImagePro *image,
                                            const uint8_t *pixels, bool *there, ImgstatError *err)
{
    const EncodePage *const page = &encoder->page;
    const size_t row = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    const uint32_t part = 1 + (uint32_t)(splitmix64(&t->state) % (4 * page->height));
    ImgstatResult res = IMGSTAT_OK;
    for (uint32_t y = 0; y < page->height && res == IMGSTAT_OK;) {
        const uint32_t left = page->height - y, n = left < part ? left : part;
        const uint32_t able = image ? encode_page_rows(encoder, n) : 0;
        const ImagePro rows = image ? image_band(image, y, able) : (ImagePro){.width = 0};
        res = able > 0 ? encode_page(t->device, &t->rows, encoder, &rows, err)
                       : encoder_write_rows(encoder, pixels + y * row, row, n, err);
        y += able > 0 ? able : n;
        *there = *there || able > 0;
    }
    return res;
}

/* Writes one page; image: in memory of the device, else `pixels` are written. */
static inline ImgstatResult tiff_pages_write(TiffPages *t, ImgstatFile *like,
                                             const EncodePage *page, const ImagePro *image,
                                             const uint8_t *pixels, bool *there, TiffOutput *to,
                                             ImgstatError *err)
{
    const ImgstatOutput sink = {.write = tiff_pages_take, .context = to};
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    ImgstatResult res = atomic_file_open_sink("page.tif", &sink, &output, err);
    if (res == IMGSTAT_OK)
        res = encoder_create(&tiff_format, output, &t->how, NULL, &encoder, err);
    if (res == IMGSTAT_OK)
        res = encoder_begin_page(encoder, like->decoder, page, err);
    if (res == IMGSTAT_OK)
        res = tiff_pages_rows(t, encoder, image, pixels, there, err);
    if (res == IMGSTAT_OK)
        res = encoder_finish(encoder, err);
    encoder_destroy(encoder);
    if (res == IMGSTAT_OK)
        return atomic_file_commit(output, err);
    atomic_file_discard(output);
    return res;
}

/* Pixels in the device's memory, rows with gaps. */
static inline ImgstatResult tiff_pages_upload(TiffPages *t, const EncodePage *page,
                                              const uint8_t *pixels, DevMem *memory, ImagePro *out,
                                              ImgstatError *err)
{
    const size_t sample = imgstat_sample_bytes(page->sample);
    const size_t row = page->width * page->channels * sample;
    const size_t pitch = row + splitmix64(&t->state) % 20 * sample;
    uint8_t *const rows = (uint8_t *)malloc(pitch * page->height);
    for (uint32_t y = 0; y < page->height; y++) {
        memcpy(rows + y * pitch, pixels + y * row, row);
        memset(rows + y * pitch + row, POISON, pitch - row);
    }
    ImgstatResult res = t->device->ops->alloc(t->device, pitch * page->height, memory, err);
    if (res == IMGSTAT_OK)
        res = t->device->ops->upload(t->device, *memory, 0, rows, pitch * page->height, err);
    free(rows);
    if (res == IMGSTAT_OK)
        res =
            imgstat_image_wrap(t->device->ops->fetches ? IMGSTAT_HOST : IMGSTAT_CUDA, 0,
                               (void *)(uintptr_t)memory->address, pitch, page->width, page->height,
                               page->channels, page->sample, page->bits, NULL, NULL, out, err);
    return res;
}

static inline void tiff_pages_compare(TiffPages *t, ImgstatFile *like, const EncodePage *page,
                                      unsigned content, const char *name, ImgstatError *err)
{
    const size_t sample = imgstat_sample_bytes(page->sample);
    const size_t n = (size_t)page->width * page->channels * sample * page->height;
    uint8_t *const pixels = (uint8_t *)malloc(n);
    TiffOutput expected = {NULL, 0}, got = {NULL, 0};
    DevMem memory = {0, 0};
    ImagePro image;
    bool there = false;
    stream_content(pixels, n, content, &t->state);
    ImgstatResult res = tiff_pages_write(t, like, page, NULL, pixels, &there, &expected, err);
    if (res == IMGSTAT_OK)
        res = tiff_pages_upload(t, page, pixels, &memory, &image, err);
    if (res == IMGSTAT_OK)
        res = tiff_pages_write(t, like, page, &image, pixels, &there, &got, err);
    t->there += there;
    t->bytes += got.n;
    if ((res != IMGSTAT_OK || got.n != expected.n || memcmp(got.at, expected.at, got.n) != 0) &&
        t->failures++ < 20)
        printf("%s, written as %s, fast %d, content %u: %s\n", name,
               imgstat_sample_name(page->sample), t->how.fast, content,
               res == IMGSTAT_OK ? "other bytes" : err->message);
    t->device->ops->release(t->device, &memory);
    free(pixels);
    free(expected.at);
    free(got.at);
}

/* Writes pages like that of a generated file: with its sample type, and with another one. */
static inline void tiff_pages_check(TiffPages *t, const TiffSpec *spec)
{
    static const ImgstatSample types[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_F32};
    TiffBytes bytes;
    char name[256];
    ImgstatError err = {.message = ""};
    ImgstatFile *like = NULL;
    ImgstatPage in;
    tiff_file(spec, &t->state, &bytes);
    tiff_name(spec, name, sizeof name);
    const ImgstatInput input = {.bytes = bytes.n, .read_at = tiff_pages_read, .context = &bytes};
    ImgstatResult res = imgstat_file_open_input("like.tif", &input, NULL, &like, &err);
    for (int other = 0; other < 2 && res == IMGSTAT_OK; other++) {
        res = imgstat_file_page(like, 0, &in, &err);
        const ImgstatSample sample = other ? types[splitmix64(&t->state) % 3] : in.sample;
        const EncodePage page = {.width = in.width,
                                 .height = in.height,
                                 .channels = in.channels,
                                 .sample = sample,
                                 .bits =
                                     other ? (uint8_t)(8 * imgstat_sample_bytes(sample)) : in.bits,
                                 .alpha = in.alpha,
                                 .mapped = true};
        if (res == IMGSTAT_OK)
            tiff_pages_compare(t, like, &page, spec->content, name, &err);
        t->pages++;
    }
    if (res != IMGSTAT_OK && t->failures++ < 20)
        printf("%s: %s\n", name, err.message);
    imgstat_file_close(like);
    free(bytes.at);
}

#endif

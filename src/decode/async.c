/* SPDX-License-Identifier: MIT */
/* async.c: files in host memory to pixels in device memory, on the caller's stream. */
#include "imgstat_async.h"

#include "base/thread_pool.h"
#include "codec/codec.h"
#include "codec/decode_work.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE_ALIGN = 256 };

/* One file. */
typedef struct DecodeFile {
    ImgstatEncoded from;
    ImgstatPage page;
    ImgstatError error; /* its code is not IMGSTAT_OK: the file cannot be read */
    bool unusual;       /* a warning was given */
    bool on_device;
    DeflatedRows rows;    /* on_device, if there are no tiles */
    uint8_t (*colors)[4]; /* with ROWS_COLORS */
    TiledPage tiled;      /* on_device, if there are */
    CodedTile *tiles;     /* malloc's */
    size_t staged_at;     /* room for the compressed pixels among those of all files */
    ImagePro image;
} DecodeFile;

struct ImgstatDecode {
    Device *device;
    ImgstatOpen how;
    size_t n;
    DecodeFile *file;
    uint8_t *staged; /* compressed pixels, until they are on the device */
    size_t staged_bytes;
    void *list;      /* host_alloc: of work */
    DecodeWork work; /* of the files that the device decodes, in order */
    DevMem memory, list_there, checks;
    bool enqueued;
};

/* ---- Files in memory ---- */

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

/* Opens a file and selects its first page. */
static ImgstatResult open_page(DecodeFile *f, const ImgstatOpen *how, ImgstatFile **file,
                               ImgstatPage *page, ImgstatError *err)
{
    const ImgstatInput input = {
        .bytes = f->from.n_bytes, .read_at = read_memory, .context = &f->from};
    IMGSTAT_TRY(file_open(f->from.name, &input, how, NULL, file, err));
    const ImgstatResult res = imgstat_file_page(*file, 0, page, err);
    if (res == IMGSTAT_OK)
        return res;
    imgstat_file_close(*file);
    *file = NULL;
    return res;
}

/* ---- Heads ---- */

static void note_unusual(void *context, const char *message)
{
    (void)message;
    ((DecodeFile *)context)->unusual = true;
}

/* Reads the head of a file, and stages its compressed pixels if the device can decode them. */
static void prepare_file(void *context, size_t task, unsigned thread)
{
    ImgstatDecode *const decode = context;
    DecodeFile *const f = &decode->file[task];
    ImgstatFile *file = NULL;
    uint8_t colors[DEFLATED_COLORS][4];
    (void)thread;
    ImgstatOpen how = decode->how;
    how.warn = note_unusual;
    how.warn_context = f;
    if (open_page(f, &how, &file, &f->page, &f->error) != IMGSTAT_OK)
        return;
    Decoder *const decoder = file->decoder;
    const Codec *const codec = decoder->codec;
    uint8_t *const to = decode->staged + f->staged_at;
    f->page.axis_name = NULL; /* the file's */
    if (decode->staged && codec->deflated)
        f->on_device = codec->deflated(decoder, to, f->from.n_bytes, &f->rows, colors);
    else if (decode->staged && codec->coded_tiles)
        f->on_device = codec->coded_tiles(decoder, to, f->from.n_bytes, &f->tiled, &f->tiles);
    f->on_device = f->on_device && !f->unusual;
    if (f->on_device && f->rows.form == ROWS_COLORS) {
        f->colors = malloc(sizeof colors);
        f->on_device = f->colors != NULL;
        if (f->colors)
            memcpy(f->colors, colors, sizeof colors);
    }
    imgstat_file_close(file);
}

static ImgstatResult prepare_files(ImgstatDecode *decode, ImgstatError *err)
{
    ThreadPool *pool = NULL;
    const unsigned threads = decode->device->threads;
    IMGSTAT_TRY(
        thread_pool_create(decode->n < threads ? (unsigned)decode->n : threads, &pool, err));
    thread_pool_run(pool, decode->n, prepare_file, decode);
    thread_pool_destroy(pool);
    return IMGSTAT_OK;
}

/* ---- Memory ---- */

static size_t padded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Returns a place for `bytes` bytes, and advances *at behind it. */
static size_t place(size_t *at, size_t bytes)
{
    const size_t here = *at;
    *at += padded(bytes, PLACE_ALIGN);
    return here;
}

static void place_rows(DecodeFile *f, size_t *at)
{
    DeflatedRows *const rows = &f->rows;
    rows->filtered = place(at, (1 + (size_t)rows->row_bytes) * rows->height + DEFLATED_BEHIND);
    rows->row_pitch = padded(rows->row_bytes, 4);
    if (rows->form != ROWS_PLAIN)
        rows->rows = place(at, rows->row_pitch * rows->height);
    if (rows->form == ROWS_COLORS)
        rows->colors = place(at, sizeof *f->colors * DEFLATED_COLORS);
}

static void place_tiles(DecodeFile *f, size_t *at)
{
    size_t bytes = 0;
    for (uint32_t t = 0; t < f->tiled.n_tiles && f->tiled.coding != TILE_PLAIN; t++) {
        f->tiles[t].out = *at + bytes;
        bytes += padded(f->tiles[t].n_out, TILE_ALIGN);
    }
    (void)place(at, bytes);
}

/* Places what the files need in one allocation behind *at, relative to its start. */
static void place_files(ImgstatDecode *decode, size_t *at)
{
    for (size_t i = 0; i < decode->n; i++) {
        DecodeFile *const f = &decode->file[i];
        if (f->on_device && f->tiles)
            place_tiles(f, at);
        else if (f->on_device)
            place_rows(f, at);
    }
}

/* Makes addresses of places, and uploads colours. staged: address of the file's. */
static ImgstatResult list_rows(ImgstatDecode *decode, const DecodeFile *f, uint64_t staged,
                               DeflatedRows *out, ImgstatError *err)
{
    const DeviceOps *const ops = decode->device->ops;
    const uint64_t base = decode->memory.address;
    if (f->colors)
        IMGSTAT_TRY(ops->upload(decode->device, decode->memory, (size_t)f->rows.colors, f->colors,
                                sizeof *f->colors * DEFLATED_COLORS, err));
    *out = f->rows;
    out->in = staged + DEFLATED_ALIGN;
    out->filtered += base;
    out->rows += base;
    out->colors += base;
    return IMGSTAT_OK;
}

static void list_tiles(const ImgstatDecode *decode, const DecodeFile *f, uint64_t staged,
                       uint32_t page, CodedTile *out)
{
    for (uint32_t t = 0; t < f->tiled.n_tiles; t++) {
        out[t] = f->tiles[t];
        out[t].page = page;
        out[t].in += staged;
        out[t].out =
            f->tiled.coding == TILE_PLAIN ? out[t].in : out[t].out + decode->memory.address;
    }
}

static ImgstatResult list_work(ImgstatDecode *decode, size_t staged_at, ImgstatError *err)
{
    DecodeWork *const work = &decode->work;
    const uint64_t staged = decode->memory.address + staged_at;
    size_t rows = 0, pages = 0, tiles = 0;
    for (size_t i = 0; i < decode->n; i++) {
        const DecodeFile *const f = &decode->file[i];
        if (f->on_device && f->tiles) {
            list_tiles(decode, f, staged + f->staged_at, (uint32_t)pages, work->tiles + tiles);
            work->pages[pages++] = f->tiled;
            tiles += f->tiled.n_tiles;
        } else if (f->on_device) {
            IMGSTAT_TRY(list_rows(decode, f, staged + f->staged_at, &work->rows[rows++], err));
        }
    }
    return IMGSTAT_OK;
}

static size_t n_images(const DecodeWork *work)
{
    return work->n_rows + work->n_pages;
}

static ImgstatResult allocate(ImgstatDecode *decode, ImgstatError *err)
{
    Device *const device = decode->device;
    const DeviceOps *const ops = device->ops;
    DecodeWork *const work = &decode->work;
    for (size_t i = 0; i < decode->n; i++) {
        const DecodeFile *const f = &decode->file[i];
        work->n_rows += f->on_device && !f->tiles;
        work->n_pages += f->on_device && f->tiles;
        work->n_tiles += f->on_device && f->tiles ? f->tiled.n_tiles : 0;
    }
    const size_t n = n_images(work);
    if (n == 0)
        return IMGSTAT_OK;
    size_t bytes = 0;
    const size_t list_bytes = decode_work_bytes(work), list_at = place(&bytes, list_bytes);
    const size_t checks_at = place(&bytes, n * sizeof(DeflatedCheck));
    const size_t staged_at = place(&bytes, decode->staged_bytes);
    place_files(decode, &bytes);
    IMGSTAT_TRY(ops->host_alloc(device, list_bytes, &decode->list, err));
    *work = decode_work_at(work, decode->list);
    IMGSTAT_TRY(ops->alloc(device, bytes, &decode->memory, err));
    decode->list_there = (DevMem){decode->memory.address + list_at, list_bytes};
    decode->checks = (DevMem){decode->memory.address + checks_at, n * sizeof(DeflatedCheck)};
    IMGSTAT_TRY(list_work(decode, staged_at, err));
    IMGSTAT_TRY(
        ops->upload(device, decode->memory, staged_at, decode->staged, decode->staged_bytes, err));
    const DecodeWork nothing = {0};
    const DevMem none = {0, 0};
    IMGSTAT_TRY(ops->decode_async(device, NULL, &nothing, none, none, err));
    return ops->wait(device, err); /* before another stream uses it */
}

void imgstat_decode_destroy(ImgstatDecode *decode)
{
    if (!decode)
        return;
    const DeviceOps *const ops = decode->device->ops;
    for (size_t i = 0; decode->file && i < decode->n; i++) {
        free(decode->file[i].colors);
        free(decode->file[i].tiles);
    }
    ops->release(decode->device, &decode->memory);
    if (decode->list)
        ops->host_release(decode->device, decode->list);
    free(decode->staged);
    free(decode->file);
    free(decode);
}

/* Sets up n files, and finds places for their compressed pixels. */
static ImgstatResult list_files(ImgstatDecode *decode, const ImgstatEncoded *files, size_t n,
                                ImgstatError *err)
{
    decode->file = calloc(n ? n : 1, sizeof *decode->file);
    if (!decode->file)
        return error_memory(err, n * sizeof *decode->file, "a list of files");
    decode->n = n;
    for (size_t i = 0; i < n; i++) {
        IMGSTAT_TRY(error_if_null(files[i].name && (files[i].bytes || files[i].n_bytes == 0),
                                  "imgstat_decode_create", err));
        decode->file[i].from = files[i];
        decode->file[i].staged_at = decode->staged_bytes;
        decode->staged_bytes += padded(files[i].n_bytes, DEFLATED_ALIGN);
    }
    if (decode->device->ops->fetches || n == 0)
        return IMGSTAT_OK;
    decode->staged = malloc(decode->staged_bytes ? decode->staged_bytes : 1);
    return decode->staged ? IMGSTAT_OK
                          : error_memory(err, decode->staged_bytes, "compressed pixels");
}

ImgstatResult imgstat_decode_create(ImgstatDevice *device, const ImgstatEncoded *files, size_t n,
                                    const ImgstatOpen *how, ImgstatDecode **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && (files || n == 0) && out, __func__, err));
    ImgstatDecode *const decode = calloc(1, sizeof *decode);
    if (!decode)
        return error_memory(err, sizeof *decode, "a decoding");
    decode->device = device;
    if (how)
        decode->how = *how;
    decode->how.salvage = false;
    ImgstatResult res = list_files(decode, files, n, err);
    if (res == IMGSTAT_OK && n > 0)
        res = prepare_files(decode, err);
    if (res == IMGSTAT_OK)
        res = allocate(decode, err);
    free(decode->staged);
    decode->staged = NULL;
    if (res != IMGSTAT_OK) {
        imgstat_decode_destroy(decode);
        return res;
    }
    *out = decode;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_decode_page(const ImgstatDecode *decode, size_t i, ImgstatPage *out,
                                  ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(decode && out, __func__, err));
    if (i >= decode->n)
        return error_set(err, IMGSTAT_ERR_ARG, "file %zu of %zu", i, decode->n);
    const DecodeFile *const f = &decode->file[i];
    if (f->error.code != IMGSTAT_OK) {
        if (err)
            *err = f->error;
        return f->error.code;
    }
    *out = f->page;
    return IMGSTAT_OK;
}

bool imgstat_decode_on_device(const ImgstatDecode *decode, size_t i)
{
    return decode && i < decode->n && decode->file[i].on_device;
}

/* ---- Pixels ---- */

static bool has_shape(const ImagePro *image, const ImgstatPage *page)
{
    return image->width == page->width && image->height == page->height &&
           image->channels == page->channels && image->sample == page->sample;
}

/* Reads the page into a host image. */
static ImgstatResult read_page(const ImgstatDecode *decode, DecodeFile *f, ImagePro *image,
                               ImgstatError *err)
{
    ImgstatFile *file = NULL;
    ImgstatPage page;
    IMGSTAT_TRY(open_page(f, &decode->how, &file, &page, err));
    const ImgstatResult res = page_has_shape(&page, &f->page) ? imgstat_file_read(file, image, err)
                                                              : decoder_changed(file->decoder, err);
    imgstat_file_close(file);
    return res;
}

/* Decodes a file on the processor, to where its pixels belong. */
static ImgstatResult decode_file(const ImgstatDecode *decode, DecodeFile *f, ImgstatError *err)
{
    const DeviceOps *const ops = decode->device->ops;
    ImagePro *const to = &f->image, host;
    if (to->host)
        return read_page(decode, f, to, err);
    IMGSTAT_TRY(image_create_unset(to->width, to->height, to->channels, to->sample, 0, &host, err));
    ImgstatResult res = read_page(decode, f, &host, err);
    const size_t row = image_samples_per_row(to) * imgstat_sample_bytes(to->sample);
    const DevMem there = {to->device.address, to->height * to->pitch};
    for (uint32_t y = 0; y < to->height && res == IMGSTAT_OK; y++)
        if (to->pitch == row && host.pitch == row) {
            res = ops->upload(decode->device, there, 0, host.host, row * to->height, err);
            break;
        } else {
            res = ops->upload(decode->device, there, y * to->pitch, image_row(&host, y), row, err);
        }
    imgstat_image_release(&host);
    return res;
}

ImgstatResult imgstat_decode_async(ImgstatDecode *decode, const ImagePro *images, void *stream,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(decode && (images || decode->n == 0), __func__, err));
    const DeviceOps *const ops = decode->device->ops;
    if (decode->enqueued)
        return error_set(err, IMGSTAT_ERR_ARG, "these files have been enqueued before");
    size_t rows = 0, pages = 0;
    for (size_t i = 0; i < decode->n; i++) {
        DecodeFile *const f = &decode->file[i];
        if (f->error.code != IMGSTAT_OK)
            continue;
        if (!has_shape(&images[i], &f->page) ||
            !(ops->fetches ? images[i].host != NULL : images[i].device.address != 0))
            return error_file(err, IMGSTAT_ERR_ARG, f->from.name,
                              "its image is of another shape, or in memory of another device");
        f->image = images[i];
        if (f->on_device && f->tiles) {
            decode->work.pages[pages].pixels = images[i].device.address;
            decode->work.pages[pages++].pitch = images[i].pitch;
        } else if (f->on_device) {
            decode->work.rows[rows].pixels = images[i].device.address;
            decode->work.rows[rows++].pitch = images[i].pitch;
        }
    }
    decode->enqueued = true;
    if (rows + pages == 0)
        return IMGSTAT_OK;
    return ops->decode_async(decode->device, stream, &decode->work, decode->list_there,
                             decode->checks, err);
}

/* Clears on_device of files whose pixels the device doubts. */
static ImgstatResult read_checks(ImgstatDecode *decode, void *stream, ImgstatError *err)
{
    const size_t n = n_images(&decode->work);
    const DeviceOps *const ops = decode->device->ops;
    if (n == 0)
        return ops->wait_async(decode->device, stream, err);
    DeflatedCheck *const checks = calloc(n, sizeof *checks);
    if (!checks)
        return error_memory(err, n * sizeof *checks, "the state of images");
    ImgstatResult res = ops->wait_async(decode->device, stream, err);
    if (res == IMGSTAT_OK)
        res = ops->download(decode->device, checks, decode->checks, 0, n * sizeof *checks, err);
    size_t rows = 0, pages = decode->work.n_rows;
    for (size_t i = 0; i < decode->n && res == IMGSTAT_OK; i++) {
        DecodeFile *const f = &decode->file[i];
        if (f->on_device)
            f->on_device = checks[f->tiles ? pages++ : rows++].doubt == 0;
    }
    free(checks);
    return res;
}

ImgstatResult imgstat_decode_finish(ImgstatDecode *decode, void *stream, ImgstatError *results,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(decode && (results || decode->n == 0), __func__, err));
    if (!decode->enqueued)
        return error_set(err, IMGSTAT_ERR_ARG, "nothing has been enqueued");
    IMGSTAT_TRY(read_checks(decode, stream, err));
    for (size_t i = 0; i < decode->n; i++) {
        DecodeFile *const f = &decode->file[i];
        results[i] = f->error;
        if (f->on_device || f->error.code != IMGSTAT_OK)
            continue;
        if (decode_file(decode, f, &results[i]) == IMGSTAT_ERR_DEVICE) {
            if (err)
                *err = results[i];
            return IMGSTAT_ERR_DEVICE;
        }
    }
    return IMGSTAT_OK;
}

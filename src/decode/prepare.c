/* SPDX-License-Identifier: MIT */
/* prepare.c: heads of files in host memory, and their compressed pixels in memory of the device. */
#include "decode/decode.h"

#include "base/thread_pool.h"
#include "decode/deflated_place.h"
#include "decode/parted.h"

#include <stdlib.h>
#include <string.h>

enum {
    DIRECT_BYTES = 1 << 18 /* tiles of files of as much are uploaded from where they are */
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

ImgstatResult decode_open_page(DecodeFile *f, const ImgstatOpen *how, ImgstatFile **file,
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

/* Finds the tiles of a page, and stages them. Returns false if the processor must decode them: also
 * if so much lies between them that others are most of the file. */
static bool prepare_tiles(const ImgstatDecode *decode, DecodeFile *f, Decoder *decoder)
{
    if (!decoder->codec->coded_tiles(decoder, &f->tiled, &f->tiles))
        return false;
    const bool usual = tiles_span(f->tiles, f->tiled.n_tiles, &f->span) &&
                       tiles_room(&f->tiled, f->tiles, f->tiled.n_tiles) <= TILES_BYTES_MOST;
    if (!f->direct)
        memcpy(decode->staged + f->staged_at, (const uint8_t *)f->from.bytes + f->span.first,
               f->span.bytes);
    return usual;
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
    if (decode_open_page(f, &how, &file, &f->page, &f->error) != IMGSTAT_OK)
        return;
    Decoder *const decoder = file->decoder;
    const Codec *const codec = decoder->codec;
    uint8_t *const to = decode->staged + f->staged_at;
    f->page.axis_name = NULL; /* the file's */
    if (decode->staged && codec->deflated)
        f->on_device = codec->deflated(decoder, to, f->from.n_bytes, &f->rows, colors);
    else if (decode->staged && codec->coded_tiles)
        f->on_device = prepare_tiles(decode, f, decoder);
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

static void place_tiles(DecodeFile *f, size_t *at)
{
    if (f->direct)
        f->staged_at = place(at, f->span.bytes);
    f->tiles_at = place(at, tiles_room(&f->tiled, f->tiles, f->tiled.n_tiles));
}

/* Places what the files need in one allocation behind *at, relative to its start. */
static void place_files(ImgstatDecode *decode, size_t *at)
{
    for (size_t i = 0; i < decode->n; i++) {
        DecodeFile *const f = &decode->file[i];
        if (f->on_device && f->tiles)
            place_tiles(f, at);
        else if (f->on_device)
            deflated_place(&f->rows, at);
    }
    decode_plan_parts(decode, at);
}

/* Makes addresses of places, and uploads colours. staged: address of the file's. */
static ImgstatResult list_rows(ImgstatDecode *decode, const DecodeFile *f, uint64_t staged,
                               DeflatedRows *out, ImgstatError *err)
{
    const DeviceOps *const ops = decode->device->ops;
    const uint64_t base = decode->memory.address;
    if (f->colors)
        IMGSTAT_TRY(ops->upload(decode->device, decode->memory, (size_t)f->rows.colors, f->colors,
                                DEFLATED_COLOR_BYTES, err));
    *out = f->rows;
    out->in = staged + DEFLATED_ALIGN;
    deflated_move(out, base);
    return IMGSTAT_OK;
}

/* Makes addresses of places behind the first `done` tiles, and lists an upload of those that are
 * not staged. */
static void list_tiles(ImgstatDecode *decode, const DecodeFile *f, uint64_t staged, uint32_t page,
                       size_t done)
{
    const uint64_t base = decode->memory.address, in = f->direct ? base + f->staged_at : staged;
    CodedTile *const out = decode->work.tiles + done;
    const size_t n = f->tiled.n_tiles;
    memcpy(out, f->tiles, n * sizeof *out);
    tiles_move(&f->tiled, out, n, &f->span, in, base + f->tiles_at, page);
    if (f->direct)
        decode->uploads[decode->work.n_uploads++] =
            (DecodeUpload){.to = in,
                           .from = (const uint8_t *)f->from.bytes + f->span.first,
                           .bytes = f->span.bytes,
                           .tiles = done + n};
}

static ImgstatResult list_work(ImgstatDecode *decode, size_t staged_at, ImgstatError *err)
{
    DecodeWork *const work = &decode->work;
    const uint64_t staged = decode->memory.address + staged_at;
    size_t rows = 0, pages = 0, tiles = 0;
    for (size_t i = 0; i < decode->n; i++) {
        const DecodeFile *const f = &decode->file[i];
        if (f->on_device && f->tiles) {
            list_tiles(decode, f, staged + f->staged_at, (uint32_t)pages, tiles);
            work->pages[pages++] = f->tiled;
            tiles += f->tiled.n_tiles;
        } else if (f->on_device) {
            IMGSTAT_TRY(list_rows(decode, f, staged + f->staged_at, &work->rows[rows++], err));
        }
    }
    parted_list(work, work->n_parted, decode->memory.address + decode->parted_at,
                decode->parted_bytes);
    return IMGSTAT_OK;
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
    const size_t n = decode_images(decode);
    if (n == 0)
        return IMGSTAT_OK;
    size_t bytes = 0;
    const size_t checks_at = place(&bytes, n * sizeof(DeflatedCheck));
    const size_t staged_at = place(&bytes, decode->staged_bytes);
    place_files(decode, &bytes);
    const size_t list_bytes = decode_work_bytes(work), list_at = place(&bytes, list_bytes);
    work->uploads = decode->uploads = calloc(n, sizeof *decode->uploads);
    if (!decode->uploads)
        return error_memory(err, n * sizeof *decode->uploads, "a list of files");
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
    return device_wait(device, err); /* before another stream uses it */
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
        const Codec *codec = NULL;
        const size_t n_bytes = files[i].n_bytes;
        (void)codec_of_bytes(files[i].bytes,
                             n_bytes < CODEC_PROBE_BYTES ? n_bytes : (size_t)CODEC_PROBE_BYTES,
                             files[i].name, &codec, NULL);
        decode->file[i].from = files[i];
        decode->file[i].direct = codec && codec->coded_tiles && n_bytes >= DIRECT_BYTES;
        decode->file[i].staged_at = decode->staged_bytes;
        decode->staged_bytes += decode->file[i].direct ? 0 : padded(n_bytes, DEFLATED_ALIGN);
    }
    if (decode->device->ops->fetches || n == 0)
        return IMGSTAT_OK;
    decode->staged = malloc(decode->staged_bytes ? decode->staged_bytes : 1);
    return decode->staged ? IMGSTAT_OK
                          : error_memory(err, decode->staged_bytes, "compressed pixels");
}

ImgstatResult decode_prepare(ImgstatDecode *decode, const ImgstatEncoded *files, size_t n,
                             ImgstatError *err)
{
    ImgstatResult res = list_files(decode, files, n, err);
    if (res == IMGSTAT_OK && n > 0)
        res = prepare_files(decode, err);
    if (res == IMGSTAT_OK)
        res = allocate(decode, err);
    free(decode->staged);
    decode->staged = NULL;
    return res;
}

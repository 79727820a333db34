/* SPDX-License-Identifier: MIT */
/* encoder.c: the TIFF encoder: rows to strips or tiles, a row of them at a time. */
#include "tiff/encoder.h"

#include "base/byteswap.h"
#include "base/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 20, /* uncompressed strips are written in blocks of about this size */
    SHARED_BYTES = TIFF_SHARED_BYTES,
    MAX_BAND = 256 << 20 /* but not beyond this */
};

typedef struct EncodedTile {
    TiffTileBytes made;
    bool ok;
    char text[256];
} EncodedTile;

typedef struct TiffEncoder {
    Encoder base;
    TiffFile file;
    TiffShape shape;
    TiffTags *tags;      /* of the page begun; those of file.pages are complete */
    bool even_strips;    /* uncompressed strips, one behind the other: their places are known */
    uint64_t start;      /* of these */
    uint32_t block_rows; /* rows of a task: tile_height, but for even_strips */
    uint64_t *offsets, *sizes; /* of tiles */
    TiffPacker **packers;      /* one for each thread */
    unsigned n_threads;
    EncodedTile *encoded;
    size_t n_encoded;
    bool stacked;      /* planes lie one behind the other in one directory, which is written */
    AtomicFile *spool; /* of a cloud optimized file: takes everything before it is put in order */
    CogPage *cog;      /* its pages; NULL: none */
    size_t n_cog;
} TiffEncoder;

/* ---- Tiles ---- */

typedef struct Work {
    TiffEncoder *te;
    const uint8_t *rows;
    size_t pitch;
    uint32_t first, n; /* rows of the image */
} Work;

/* Task t of a band makes tile t: blocks from top to bottom, in each the planes, in each from left
 * to right. */
static void encode_task(void *context, size_t task, unsigned thread)
{
    const Work *const work = context;
    TiffEncoder *const te = work->te;
    const TiffShape *const shape = &te->shape;
    const uint32_t across = (uint32_t)(task % shape->across);
    const uint16_t plane = (uint16_t)(task / shape->across % shape->planes);
    const uint32_t block = (uint32_t)(task / shape->across / shape->planes);
    const uint32_t y = block * te->block_rows;
    const uint32_t rows = work->n - y < te->block_rows ? work->n - y : te->block_rows;
    EncodedTile *const tile = &te->encoded[task];
    tile->ok = tiff_tile_encode(te->packers[thread], shape, &te->base.page,
                                work->rows + y * work->pitch, work->pitch, rows,
                                across * shape->tile_width, plane, &tile->made, tile->text);
}

/* Where tile `task` of rows from `first` on goes, and which tile it belongs to. */
static uint64_t place_tile(TiffEncoder *te, const EncodedTile *tile, size_t task, uint32_t first)
{
    const TiffShape *const shape = &te->shape;
    const size_t across = task % shape->across, plane = task / shape->across % shape->planes;
    const uint32_t y = first + (uint32_t)(task / shape->across / shape->planes) * te->block_rows;
    const size_t index = (plane * shape->down + y / shape->tile_height) * shape->across + across;
    if (te->even_strips)
        return te->start + (plane * te->base.page.height + y) * shape->row_bytes;
    te->offsets[index] = te->file.at;
    te->sizes[index] = tile->made.n;
    te->file.at += tile->made.n;
    return te->offsets[index];
}

static ImgstatResult write_band(TiffEncoder *te, const uint8_t *rows, size_t pitch, uint32_t first,
                                uint32_t n, ImgstatError *err)
{
    const uint32_t blocks = n / te->block_rows + (n % te->block_rows > 0);
    const size_t tasks = (size_t)blocks * te->shape.planes * te->shape.across;
    Work work = {.te = te, .rows = rows, .pitch = pitch, .first = first, .n = n};
    ImgstatResult res = IMGSTAT_OK;
    if (te->base.how.pool)
        thread_pool_run_few(te->base.how.pool, te->n_threads, tasks, encode_task, &work);
    for (size_t i = 0; i < tasks; i++) {
        EncodedTile *const tile = &te->encoded[i];
        if (!te->base.how.pool && res == IMGSTAT_OK)
            encode_task(&work, i, 0);
        if (res == IMGSTAT_OK && !tile->ok)
            res = error_file(err, IMGSTAT_ERR_MEMORY, te->base.output->name,
                             "cannot be compressed: %s", tile->text);
        if (res == IMGSTAT_OK)
            res = atomic_file_write(te->file.output, place_tile(te, tile, i, first),
                                    tile->made.bytes, tile->made.n, err);
    }
    return res;
}

/* ---- Pages ---- */

static void release_page(TiffEncoder *te)
{
    for (size_t i = 0; te->encoded && i < te->n_encoded; i++)
        buffer_cache_release(te->encoded[i].made.bytes);
    free(te->offsets);
    free(te->sizes);
    free(te->encoded);
    te->offsets = te->sizes = NULL;
    te->encoded = NULL;
}

/* Places or sizes of all tiles, in numbers as wide as they need. */
static ImgstatResult set_list(TiffEncoder *te, uint16_t tag, const uint64_t *values,
                              ImgstatError *err)
{
    const size_t n = (size_t)te->shape.across * te->shape.down * te->shape.planes;
    bool wide = false;
    for (size_t i = 0; i < n; i++)
        wide = wide || values[i] > UINT32_MAX;
    if (wide) {
        te->file.big = true;
        return tiff_tags_set(&te->file, te->tags, tag, TIFF_LONG8, n, values, err);
    }
    uint32_t *const narrow = malloc(n * sizeof *narrow);
    if (!narrow)
        return error_memory(err, n * sizeof *narrow, "places of strips or tiles");
    for (size_t i = 0; i < n; i++)
        narrow[i] = (uint32_t)values[i];
    const ImgstatResult res = tiff_tags_set(&te->file, te->tags, tag, TIFF_LONG, n, narrow, err);
    free(narrow);
    return res;
}

/* Places and sizes of even strips. */
static void place_strips(TiffEncoder *te)
{
    const TiffShape *const shape = &te->shape;
    const uint32_t height = te->base.page.height;
    for (size_t plane = 0; plane < shape->planes; plane++) {
        for (size_t i = 0; i < shape->down; i++) {
            const size_t tile = plane * shape->down + i, y = i * shape->tile_height;
            const size_t rows = height - y < shape->tile_height ? height - y : shape->tile_height;
            te->offsets[tile] = te->start + (plane * height + y) * shape->row_bytes;
            te->sizes[tile] = rows * shape->row_bytes;
        }
    }
}

static ImgstatResult set_places(TiffEncoder *te, ImgstatError *err)
{
    const bool tiled = te->shape.tiled;
    IMGSTAT_TRY(set_list(te, tiled ? TIFFTAG_TILEOFFSETS : TIFFTAG_STRIPOFFSETS, te->offsets, err));
    return set_list(te, tiled ? TIFFTAG_TILEBYTECOUNTS : TIFFTAG_STRIPBYTECOUNTS, te->sizes, err);
}

/* Keeps the places of a page's tiles in the spool. */
static ImgstatResult add_cog_page(TiffEncoder *te, ImgstatError *err)
{
    const EncodePage *const page = &te->base.page;
    const size_t n = (size_t)te->shape.across * te->shape.down * te->shape.planes;
    CogPage *const pages = realloc(te->cog, (te->n_cog + 1) * sizeof *pages);
    te->cog = pages ? pages : te->cog;
    uint64_t *const offsets = malloc(n * sizeof *offsets);
    if (!pages || !offsets) {
        free(offsets);
        return error_memory(err, n * sizeof *offsets, "places of tiles");
    }
    te->cog[te->n_cog++] = (CogPage){.tags = te->tags,
                                     .width = page->width,
                                     .height = page->height,
                                     .is_mask = page->role == IMGSTAT_ROLE_MASK,
                                     .is_tiled = te->shape.tiled,
                                     .n = n,
                                     .spooled = te->offsets,
                                     .sizes = te->sizes,
                                     .offsets = offsets};
    te->offsets = te->sizes = NULL;
    return IMGSTAT_OK;
}

static ImgstatResult end_page(TiffEncoder *te, ImgstatError *err)
{
    if (te->even_strips && !te->stacked)
        place_strips(te);
    if (!te->stacked)
        IMGSTAT_TRY(set_places(te, err));
    if (te->spool)
        IMGSTAT_TRY(add_cog_page(te, err));
    te->tags = NULL; /* complete */
    release_page(te);
    return IMGSTAT_OK;
}

static ImgstatResult write_rows(Encoder *base, const void *rows, size_t pitch, uint32_t n,
                                ImgstatError *err)
{
    TiffEncoder *const te = (TiffEncoder *)base;
    IMGSTAT_TRY(write_band(te, rows, pitch, base->next_row, n, err));
    return base->next_row + n == base->page.height ? end_page(te, err) : IMGSTAT_OK;
}

/* The file's byte order and kind are those of the first page's input. */
static ImgstatResult begin_file(TiffEncoder *te, const Decoder *like, const Metadata *metadata,
                                ImgstatError *err)
{
    const bool from_tiff = like && like->codec == &tiff_codec;
    TiffTagSource from = {.kind.big = false};
    const bool known = from_tiff && tiff_tag_source(like->source, &from);
    te->file.big = te->file.big || from.kind.big;
    if (te->base.pages > 0)
        return IMGSTAT_OK;
    te->file.big_endian = known ? from.kind.big_endian : tiff_metadata_big_endian(metadata);
    te->file.at = TIFF_HEADER_BYTES;
    if (known && tiff_is_cog(like->source)) {
        IMGSTAT_TRY(atomic_file_spool(te->base.output, &te->spool, err));
        te->file.output = te->spool;
    }
    return IMGSTAT_OK;
}

static ImgstatResult add_page(TiffFile *file, TiffTags *tags, ImgstatError *err)
{
    if (file->n_pages == file->room) {
        const size_t room = file->room ? 2 * file->room : 4;
        TiffTags **const larger = realloc(file->pages, room * sizeof *larger);
        if (!larger)
            return error_memory(err, room * sizeof *larger, "pages");
        file->pages = larger;
        file->room = room;
    }
    file->pages[file->n_pages++] = tags;
    return IMGSTAT_OK;
}

/* How many rows are worked on at once. */
static void plan_bands(TiffEncoder *te)
{
    const TiffShape *const shape = &te->shape;
    const EncodePage *const page = &te->base.page;
    te->even_strips = !shape->tiled && shape->compression == COMPRESSION_NONE;
    te->block_rows = shape->tile_height;
    if (te->even_strips) { /* rows lie one behind the other, whatever strips they are in */
        const size_t rows = BLOCK_BYTES / shape->row_bytes;
        te->block_rows = rows > 0 ? (uint32_t)rows : 1;
    }
    const uint64_t row_bytes =
        (uint64_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    const uint64_t block_bytes = te->block_rows * row_bytes;
    const unsigned n = encode_threads(&te->base.how);
    uint64_t wanted = n > 1 || te->even_strips ? (uint64_t)n * SHARED_BYTES : 0;
    wanted = wanted < MAX_BAND ? wanted : MAX_BAND;
    uint64_t blocks = wanted / block_bytes;
    blocks = blocks > 0 ? blocks : 1;
    const uint64_t rows = blocks * te->block_rows;
    const uint64_t all = (uint64_t)(page->height + (uint64_t)te->block_rows - 1) / te->block_rows;
    te->base.band_rows = (uint32_t)(rows < all * te->block_rows ? rows : all * te->block_rows);
    te->n_encoded = (size_t)((te->base.band_rows + te->block_rows - 1) / te->block_rows) *
                    shape->across * shape->planes;
}

static ImgstatResult make_room(TiffEncoder *te, ImgstatError *err)
{
    const size_t n = (size_t)te->shape.across * te->shape.down * te->shape.planes;
    te->offsets = calloc(n, sizeof *te->offsets);
    te->sizes = calloc(n, sizeof *te->sizes);
    te->encoded = calloc(te->n_encoded, sizeof *te->encoded);
    if (!te->offsets || !te->sizes || !te->encoded)
        return error_memory(err, 2 * n * sizeof *te->offsets, "places of strips or tiles");
    if (te->packers)
        return IMGSTAT_OK;
    te->n_threads = encode_threads(&te->base.how);
    te->packers = calloc(te->n_threads, sizeof(TiffPacker *));
    bool ok = te->packers != NULL;
    for (unsigned i = 0; ok && i < te->n_threads; i++)
        ok = (te->packers[i] = tiff_packer_create(&te->base.how)) != NULL;
    return ok ? IMGSTAT_OK : error_memory(err, 0, "a TIFF encoder");
}

/* Writes the directory in front of the planes that it stands for: ImageJ finds it there in files of
 * any size. */
static ImgstatResult begin_stack(TiffEncoder *te, uint32_t planes, ImgstatError *err)
{
    const uint64_t bytes = (uint64_t)te->shape.row_bytes * te->base.page.height * te->shape.planes;
    const uint64_t lists = 2 * (8 * (uint64_t)te->shape.down * te->shape.planes + 20 + 2);
    te->start = tiff_file_end(&te->file) + lists;
    te->start += te->start & 1;
    place_strips(te);
    IMGSTAT_TRY(set_places(te, err));
    IMGSTAT_TRY(tiff_tags_finish(&te->file, err));
    te->stacked = true;
    te->file.at = te->start + planes * bytes;
    return IMGSTAT_OK;
}

static ImgstatResult add_directory(TiffEncoder *te, ImgstatError *err)
{
    const EncodePage *const page = &te->base.page;
    TiffTags *const tags = tiff_tags_create();
    if (!tags)
        return error_memory(err, sizeof *tags, "TIFF fields");
    const ImgstatResult res = add_page(&te->file, tags, err);
    if (res != IMGSTAT_OK) {
        tiff_tags_destroy(tags);
        return res;
    }
    if (page->has_parent) {
        tags->parent = te->file.pages[page->parent];
        tags->parent->n_below++;
    }
    te->tags = tags;
    return IMGSTAT_OK;
}

/* Returns whether the output has a description that counts planes. */
static bool counts_planes(const TiffEncoder *te, const Decoder *like)
{
    return tiff_tags_have(te->tags, TIFFTAG_IMAGEDESCRIPTION) && like &&
           like->codec == &tiff_codec &&
           tiff_text_is_for_programs(((const TiffDecoder *)like)->handle.tif);
}

static ImgstatResult begin_directory(TiffEncoder *te, Decoder *like, const Metadata *metadata,
                                     ImgstatError *err)
{
    Encoder *const base = &te->base;
    const EncodePage *const page = &base->page;
    IMGSTAT_TRY(begin_file(te, like, metadata, err));
    IMGSTAT_TRY(tiff_shape_choose(base->output->name, page, like, &base->how, te->file.big_endian,
                                  base->warnings, &te->shape, err));
    IMGSTAT_TRY(add_directory(te, err));
    IMGSTAT_TRY(tiff_shape_tags(&te->file, &te->shape, like, page, te->tags, err));
    IMGSTAT_TRY(tiff_fields_copy(&te->file, &te->shape, like, metadata, base, te->tags, err));
    plan_bands(te);
    IMGSTAT_TRY(make_room(te, err));
    if (te->even_strips && page->planes > 1 && base->pages == 0 && counts_planes(te, like))
        return begin_stack(te, page->planes, err);
    te->file.at += te->file.at & 1;
    te->start = te->file.at;
    if (te->even_strips)
        te->file.at += (uint64_t)te->shape.row_bytes * page->height * te->shape.planes;
    return IMGSTAT_OK;
}

static ImgstatResult begin_page(Encoder *base, Decoder *like, ImgstatError *err)
{
    TiffEncoder *const te = (TiffEncoder *)base;
    Metadata metadata = {.n = 0};
    if (te->stacked && base->page.plane > 0) { /* it lies behind the last one */
        te->start += (uint64_t)te->shape.row_bytes * base->page.height * te->shape.planes;
        return make_room(te, err);
    }
    ImgstatResult res = IMGSTAT_OK;
    if (like && like->codec != &tiff_codec)
        res = decoder_metadata(like, &metadata, base->warnings, err);
    if (res == IMGSTAT_OK)
        res = begin_directory(te, like, &metadata, err);
    metadata_release(&metadata);
    return res;
}

/* ---- Tiles that somebody else compresses ---- */

/* Returns how many of the next `rows` rows: all that are left, or whole rows of tiles. Tiles of one
 * plane lie in the file between those of others, so that pages of planes are written at once. */
static uint32_t rows_at_once(const TiffEncoder *te, uint32_t rows)
{
    enum { BYTES = 64 << 20 }; /* or one row of tiles */
    const TiffShape *const shape = &te->shape;
    const uint32_t left = te->base.page.height - te->base.next_row;
    if (te->base.held > 0 || te->base.next_row % shape->tile_height > 0 || rows > left)
        return 0;
    if (shape->planes > 1)
        return rows == te->base.page.height ? rows : 0;
    const uint64_t fit = BYTES / ((uint64_t)shape->tile_height * shape->row_bytes * shape->across);
    const uint64_t most = (fit > 0 ? fit : 1) * shape->tile_height;
    return rows > most ? (uint32_t)most : rows == left ? rows : rows - rows % shape->tile_height;
}

bool tiff_encoder_tiles(Encoder *encoder, uint32_t rows, TiledImage *out, uint64_t **bytes,
                        uint64_t **at)
{
    const TiffEncoder *const te = (const TiffEncoder *)encoder;
    const bool searches = encoder->how.level >= 0 && !encoder->how.fast;
    if (encoder->format != &tiff_format || encoder->pages == 0 || searches)
        return false;
    EncodePage part = encoder->page;
    part.height = rows_at_once(te, rows);
    if (part.height == 0 || !tiff_shape_tiles(&te->shape, &part, out))
        return false;
    const size_t first = (size_t)encoder->next_row / te->shape.tile_height * te->shape.across;
    *bytes = te->sizes + first;
    *at = te->offsets + first;
    return true;
}

ImgstatResult tiff_encoder_write(Encoder *encoder, const TiledImage *image, uint64_t *at,
                                 const uint8_t *tiles, size_t bytes, ImgstatError *err)
{
    TiffEncoder *const te = (TiffEncoder *)encoder;
    IMGSTAT_TRY(atomic_file_write(te->file.output, te->file.at, tiles, bytes, err));
    for (size_t i = 0; i < image->page.n_tiles; i++)
        at[i] += te->file.at;
    te->file.at += bytes;
    encoder->next_row += image->page.height;
    return encoder->next_row == encoder->page.height ? end_page(te, err) : IMGSTAT_OK;
}

/* ---- The format ---- */

static void init(Encoder *base)
{
    ((TiffEncoder *)base)->file.output = base->output;
}

static ImgstatResult finish(Encoder *base, ImgstatError *err)
{
    TiffEncoder *const te = (TiffEncoder *)base;
    bool tiles = true;
    if (te->stacked)
        return IMGSTAT_OK;
    if (!te->spool)
        return tiff_tags_finish(&te->file, err);
    for (size_t i = 0; i < te->n_cog; i++)
        tiles = tiles && te->cog[i].is_tiled && !te->cog[i].tags->parent;
    if (tiles)
        return tiff_cog_write(&te->file, te->cog, te->n_cog, base->output, err);
    warnings_report(base->warnings, "the order of a cloud optimized GeoTIFF is lost: not all of "
                                    "its pages are tiles in the chain of directories");
    IMGSTAT_TRY(tiff_tags_finish(&te->file, err));
    return tiff_spool_copy(&te->file, base->output, err);
}

static void release(Encoder *base)
{
    TiffEncoder *const te = (TiffEncoder *)base;
    release_page(te);
    for (size_t i = 0; i < te->n_cog; i++) {
        free(te->cog[i].spooled);
        free(te->cog[i].sizes);
        free(te->cog[i].offsets);
    }
    free(te->cog);
    atomic_file_discard(te->spool);
    tiff_file_release(&te->file);
    for (unsigned i = 0; te->packers && i < te->n_threads; i++)
        tiff_packer_destroy(te->packers[i]);
    free(te->packers);
}

static const char *const compressions[] = {"none", "deflate", "lzw",       "packbits",
                                           "zstd", "lzma",    "ccittfax4", NULL};

const EncodeFormat tiff_format = {
    .name = "tiff",
    .title = "TIFF",
    .has_nodata = true,
    .compressions = compressions,
    .encoder_bytes = sizeof(TiffEncoder),
    .init = init,
    .begin_page = begin_page,
    .write_rows = write_rows,
    .finish = finish,
    .release = release,
};

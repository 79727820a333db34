/* SPDX-License-Identifier: MIT */
/* test_tiles: the arithmetic of the kernels that decode strips and tiles of TIFF, compiled as C,
 * against the decoders, libtiff alone and what is faster: the same pixels of all files that a
 * device takes, and a doubt where these fail. */
#include "codec/codec.h"
#include "codec/decode_work.h"
#include "codec/inflate_lanes.h"
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"
#include "codec/tile_lanes.h"

#include "tiff_files.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>

static size_t n_taken, n_right, n_failed;

static ImgstatResult read_memory(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *err)
{
    const TiffBytes *const from = context;
    (void)err;
    const size_t left = offset < from->n ? from->n - (size_t)offset : 0;
    *got = bytes < left ? bytes : left;
    if (*got > 0)
        memcpy(to, from->at + offset, *got);
    return IMGSTAT_OK;
}

/* What kernels make of a tile. Returns false for a doubt. */
static bool decode_tile(const TiledPage *page, const CodedTile *tile, const uint8_t *staged,
                        uint8_t *pixels)
{
    static InflateLanes inflate;
    static LzwLanes lzw;
    TileLanes lanes;
    const size_t n = (size_t)(tile->n_out + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN;
    uint8_t *const out = page->coding == TILE_PLAIN ? NULL : malloc(n);
    const uint8_t *from = out ? out : staged + tile->in;
    bool right = true;
    if (page->coding == TILE_DEFLATED) {
        const uint32_t before = (uint32_t)(tile->in % 4);
        const InflateCall call = {staged + tile->in - before,
                                  tile->n_in + before,
                                  before,
                                  out,
                                  tile->n_out,
                                  tile->window};
        right = inflate_by_lanes(&inflate, &call) == INFLATE_RIGHT &&
                adler32(adler32(0, NULL, 0), out, tile->n_out) == tile->adler;
    }
    if (page->coding == TILE_LZW) {
        const LzwCall call = {staged + tile->in, tile->n_in, out, tile->n_out};
        right = lzw_by_lanes(&lzw, &call) == LZW_RIGHT;
    }
    if (page->coding == TILE_PACKBITS)
        right = packbits_by_lanes(staged + tile->in, tile->n_in, out, tile->n_out, page->row_bytes);
    const TilePlace place = tile_place(page, tile->number);
    for (uint32_t y = 0; y < place.rows && right; y++) {
        if (out)
            tile_unpredict_row(&lanes, page, out + (size_t)y * page->row_bytes);
        tile_store_row(page, &place, y, from + (size_t)y * page->row_bytes, pixels);
    }
    free(out);
    return right;
}

/* Returns whether a device would take the file and have no doubt. */
static bool decode_by_lanes(ImgstatFile *file, size_t bytes, ImagePro *image)
{
    Decoder *const decoder = file->decoder;
    uint8_t *const staged = aligned_alloc(16, (bytes + 15) / 16 * 16);
    TiledPage page;
    CodedTile *tiles;
    cr_assert(staged && decoder->codec->coded_tiles);
    bool right = decoder->codec->coded_tiles(decoder, staged, bytes, &page, &tiles);
    n_taken += right;
    page.pitch = image->pitch;
    for (uint32_t i = 0; right && i < page.n_tiles; i++)
        right = decode_tile(&page, &tiles[i], staged, image->host);
    free(tiles);
    free(staged);
    return right;
}

/* mode: of IMGSTAT_DECODE, for what is expected. */
static void check(const TiffBytes *bytes, const char *name, bool must_be_taken, const char *mode)
{
    const ImgstatInput input = {
        .bytes = bytes->n, .read_at = read_memory, .context = (void *)(uintptr_t)bytes};
    ImgstatFile *file = NULL, *alone = NULL;
    ImgstatPage page;
    ImagePro image = {0}, expected = {0};
    ImgstatError err = {0};
    ImgstatResult res = imgstat_file_open_input("some.tif", &input, NULL, &file, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(file, 0, &page, &err);
    cr_assert(res == IMGSTAT_OK || !must_be_taken, "%s", err.message);
    if (res == IMGSTAT_OK) {
        const uint32_t w = page.width, h = page.height;
        cr_assert_eq(imgstat_image_create(w, h, page.channels, page.sample, 0, &image, &err), 0);
        cr_assert_eq(imgstat_image_create(w, h, page.channels, page.sample, 0, &expected, &err), 0);
        memset(image.host, 0xEE, image.pitch * h);
        memset(expected.host, 0xEE, image.pitch * h);
        const bool right = decode_by_lanes(file, bytes->n, &image);
        (void)setenv("IMGSTAT_DECODE", mode, 1);
        res = imgstat_file_open_input("some.tif", &input, NULL, &alone, &err);
        (void)unsetenv("IMGSTAT_DECODE");
        if (res == IMGSTAT_OK)
            res = imgstat_file_page(alone, 0, &page, &err);
        if (res == IMGSTAT_OK)
            res = imgstat_file_read(alone, &expected, &err);
        cr_assert(res == IMGSTAT_OK || !must_be_taken, "%s", err.message);
        cr_assert(res == IMGSTAT_OK || !right, "%s", err.message);
        if (right)
            cr_assert(memcmp(image.host, expected.host, image.pitch * h) == 0, "%s: other pixels",
                      name);
        n_right += right;
    }
    n_failed += res != IMGSTAT_OK;
    imgstat_image_release(&image);
    imgstat_image_release(&expected);
    imgstat_file_close(file);
    imgstat_file_close(alone);
}

Test(tiles, files_of_all_kinds)
{
    uint64_t state = 1;
    const size_t n = is_run(1, 2) ? 6000 : 600;
    char name[256];
    n_taken = n_right = 0;
    for (size_t i = 0; i < n; i++) {
        TiffBytes file;
        const TiffSpec spec = tiff_spec(&state);
        tiff_file(&spec, &state, &file);
        tiff_name(&spec, name, sizeof name);
        check(&file, name, true, i % 2 ? "plain" : "auto");
        free(file.at);
    }
    cr_assert_eq(n_right, n_taken);
    cr_assert(n_taken > n / 2);
}

Test(tiles, damaged_files)
{
    uint64_t state = 2;
    const size_t n = is_run(1, 2) ? 6000 : 600;
    n_right = n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        TiffBytes file;
        const TiffSpec spec = tiff_spec(&state);
        tiff_file(&spec, &state, &file);
        if (i % 4 == 0)
            file.n = stream_damage(file.at, file.n, &state);
        else
            (void)stream_damage(file.at + file.data, file.data_end - file.data, &state);
        check(&file, "damaged", false, i % 2 ? "plain" : "auto");
        free(file.at);
    }
    cr_assert(n_right > n / 20 && n_failed > n / 20);
}

/* Compares the files of a folder. */
static void check_folder(const char *folder)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.tif", folder);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        TiffBytes file = {0};
        FILE *const from = fopen(found.gl_pathv[i], "rb");
        cr_assert(from && fseek(from, 0, SEEK_END) == 0);
        file.n = (size_t)ftell(from);
        rewind(from);
        file.at = malloc(file.n + 1);
        cr_assert(file.at && fread(file.at, 1, file.n, from) == file.n);
        (void)fclose(from);
        check(&file, found.gl_pathv[i], false, "auto");
        free(file.at);
    }
    globfree(&found);
}

Test(tiles, files_of_testdata)
{
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    n_right = 0;
    check_folder(folder ? folder : "../testdata");
    check_folder("fuzz/seeds"); /* findings of fuzz targets */
    cr_assert(n_right >= 20);
}

/* SPDX-License-Identifier: MIT */
/* test_cog.c: cloud optimized files, byte by byte: the text, directories in front, tiles of the
 * smallest level first, each between its size and its last bytes. */
#include "base/byteswap.h"
#include "helper_encode.h"
#include "tiff/encoder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(cog, .init = encode_begin, .fini = encode_end);

/* ---- Recognising ----------------------------------------------------------------------------- */

static bool is_cog(const char *head, size_t head_bytes, const char *text)
{
    Source source = {.name = encode_path};
    FILE *const file = fopen(encode_path, "wb");
    cr_assert_eq(fwrite(head, 1, head_bytes, file), head_bytes);
    cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    source.fd = open(encode_path, O_RDONLY);
    source.bytes = head_bytes + strlen(text);
    const bool is = tiff_is_cog(&source);
    close(source.fd);
    return is;
}

Test(cog, what_a_file_says)
{
    static const char classic[] = "II*\0\0\0\0\0", big[] = "MM\0+\0\10\0\0\0\0\0\0\0\0\0";
    static const char text[] =
        "GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nLAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=";
    cr_assert(is_cog(classic, 8, text));
    cr_assert(is_cog(big, 16, text));
    cr_assert_not(is_cog(classic, 8, text + 1));
    cr_assert_not(is_cog(big, 8, text));
    cr_assert_not(is_cog(classic, 8, ""));
    cr_assert_not(is_cog(classic, 4, ""));
    cr_assert_not(is_cog(classic, 8, "GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nBLOCK_ORDER="));
    cr_assert_not(is_cog(classic, 8,
                         "GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nX=1\n"
                         " LAYOUT=IFDS_BEFORE_DATA"));
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum { MOST_TILES = 6 };

typedef struct Page {
    uint32_t width, height;
    bool is_mask;
    size_t n;
} Page;

/* Byte k of tile i of a page. Tiles have 3 + 5 i bytes: shorter than a trailer as well. */
static uint8_t byte_of(size_t page, size_t tile, size_t k)
{
    return (uint8_t)(1 + page * 61 + tile * 17 + k * 3);
}

static size_t size_of(size_t tile)
{
    return 3 + 5 * tile;
}

/* What tiff_cog_write gets. */
typedef struct Input {
    TiffFile file;
    CogPage pages[6];
    size_t n;
} Input;

static uint64_t spool(Input *in, const void *bytes, size_t n)
{
    const uint64_t at = in->file.at;
    cr_assert_eq(atomic_file_write(in->file.output, at, bytes, n, NULL), IMGSTAT_OK);
    in->file.at += n;
    return at;
}

static void begin(Input *in, const Page *pages, size_t n, bool big_endian, bool big)
{
    static const uint32_t numbers[3] = {7, 8, 9};
    AtomicFile *output = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s.spool", encode_path);
    *in = (Input){.n = n};
    cr_assert_eq(atomic_file_open(path, true, 0666, &output, NULL), IMGSTAT_OK);
    in->file = (TiffFile){.output = output, .big_endian = big_endian, .big = big, .at = 16};
    for (size_t p = 0; p < n; p++) {
        CogPage *const page = &in->pages[p];
        *page = (CogPage){.tags = tiff_tags_create(),
                          .width = pages[p].width,
                          .height = pages[p].height,
                          .is_mask = pages[p].is_mask,
                          .is_tiled = true,
                          .n = pages[p].n,
                          .spooled = calloc(MOST_TILES, sizeof(uint64_t)),
                          .sizes = calloc(MOST_TILES, sizeof(uint64_t)),
                          .offsets = calloc(MOST_TILES, sizeof(uint64_t))};
        for (size_t i = 0; i < page->n; i++) {
            uint8_t tile[64];
            for (size_t k = 0; k < size_of(i); k++)
                tile[k] = byte_of(p, i, k);
            page->sizes[i] = size_of(i);
            page->spooled[i] = spool(in, tile, size_of(i));
        }
        TiffTags *const tags = page->tags;
        cr_assert_eq(tiff_tags_number(&in->file, tags, 256, TIFF_LONG, page->width, NULL),
                     IMGSTAT_OK);
        cr_assert_eq(tiff_tags_set(&in->file, tags, TIFFTAG_TILEOFFSETS, TIFF_LONG, page->n,
                                   page->offsets, NULL),
                     IMGSTAT_OK);
        cr_assert_eq(tiff_tags_set(&in->file, tags, 60000, TIFF_LONG, 3, numbers, NULL),
                     IMGSTAT_OK);
    }
}

static void end(Input *in)
{
    for (size_t p = 0; p < in->n; p++) {
        tiff_tags_destroy(in->pages[p].tags);
        free(in->pages[p].spooled);
        free(in->pages[p].sizes);
        free(in->pages[p].offsets);
    }
    atomic_file_discard(in->file.output);
}

/* An output in memory. */
typedef struct Written {
    uint8_t *bytes;
    size_t n;
    bool big_endian, big;
} Written;

static uint64_t number(const Written *w, uint64_t at, unsigned bytes)
{
    cr_assert_leq(at + bytes, w->n);
    return load_number(w->bytes + at, bytes, w->big_endian);
}

static void write_cog(Input *in, Written *w)
{
    AtomicFile *to = NULL;
    ImgstatError err = {.message = ""};
    struct stat st;
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &to, NULL), IMGSTAT_OK);
    cr_assert_eq(tiff_cog_write(&in->file, in->pages, in->n, to, &err), IMGSTAT_OK, "%s",
                 err.message);
    cr_assert_eq(atomic_file_commit(to, NULL), IMGSTAT_OK);
    cr_assert_eq(stat(encode_path, &st), 0);
    *w = (Written){.bytes = malloc((size_t)st.st_size),
                   .n = (size_t)st.st_size,
                   .big_endian = in->file.big_endian,
                   .big = in->file.big};
    FILE *const file = fopen(encode_path, "rb");
    cr_assert_eq(fread(w->bytes, 1, w->n, file), w->n);
    fclose(file);
}

/* The text behind the header: its first line counts the bytes of the others. Returns its end. */
static size_t check_text(const Written *w, bool with_masks)
{
    static const char first[] = "GDAL_STRUCTURAL_METADATA_SIZE=";
    const size_t head = w->big ? 16 : 8;
    char text[1024] = "";
    memcpy(text, w->bytes + head, w->n - head < 1000 ? w->n - head : 1000);
    cr_assert_eq(memcmp(text, first, sizeof first - 1), 0);
    cr_assert_eq(memcmp(text + 36, " bytes\n", 7), 0);
    const size_t size = strtoul(text + sizeof first - 1, NULL, 10);
    text[43 + size] = '\0';
    cr_assert_eq(strstr(text, "\n MASK_INTERLEAVED_WITH_IMAGERY=YES\n") != NULL, with_masks);
    cr_assert_not_null(strstr(text, "\nLAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\n"
                                    "BLOCK_LEADER=SIZE_AS_UINT4\n"
                                    "BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n"
                                    "KNOWN_INCOMPATIBLE_EDITION=NO\n "));
    cr_assert_eq(text[43 + size - 1], with_masks ? '\n' : ' ');
    return head + 43 + size;
}

/* The directories, as any reader finds them. */
static void check_directories(const Written *w, const Input *in, uint64_t text_end,
                              uint64_t first_tile)
{
    const unsigned width = w->big ? 8 : 4, count = w->big ? 8 : 2, entry = w->big ? 20 : 12;
    uint64_t link = w->big ? 8 : 4, at = text_end;
    for (size_t p = 0; p < in->n; p++) {
        const uint64_t place = number(w, link, width);
        cr_assert_geq(place, at);
        cr_assert_lt(place, first_tile);
        cr_assert_eq(place % 2, 0);
        cr_assert_eq(number(w, place, count), 3);
        uint64_t field = place + count;
        cr_assert_eq(number(w, field, 2), 256);
        cr_assert_eq(number(w, field + 4 + width, 4), in->pages[p].width);
        field += entry;
        cr_assert_eq(number(w, field, 2), 324);
        cr_assert_eq(number(w, field + 2, 2), w->big ? 16 : 4);
        cr_assert_eq(number(w, field + 4, width), in->pages[p].n);
        const uint64_t list =
            in->pages[p].n == 1 ? field + 4 + width : number(w, field + 4 + width, width);
        for (size_t i = 0; i < in->pages[p].n; i++)
            cr_assert_eq(number(w, list + i * width, width), in->pages[p].offsets[i]);
        field += entry;
        cr_assert_eq(number(w, field, 2), 60000);
        const uint64_t values = number(w, field + 4 + width, width);
        cr_assert_leq(values + 12, first_tile);
        for (unsigned k = 0; k < 3; k++)
            cr_assert_eq(number(w, values + 4 * k, 4), 7 + k);
        link = field + entry;
        at = link + width;
    }
    cr_assert_eq(number(w, link, width), 0);
}

/* Tile i of page p at `at`; returns where the next one begins. */
static uint64_t check_tile(const Written *w, const Input *in, size_t p, size_t i, uint64_t at)
{
    const size_t size = size_of(i);
    cr_assert_eq(load_number(w->bytes + at, 4, false), size, "page %zu tile %zu", p, i);
    cr_assert_eq(in->pages[p].offsets[i], at + 4);
    for (size_t k = 0; k < size; k++)
        cr_assert_eq(w->bytes[at + 4 + k], byte_of(p, i, k));
    for (size_t k = 0; k < 4; k++)
        cr_assert_eq(w->bytes[at + 4 + size + k], size >= 4 ? byte_of(p, i, size - 4 + k) : 0);
    return at + 8 + size;
}

/* order: tiles as "PT", page and tile, in the order in which they must lie. */
static void check(const Page *pages, size_t n, bool with_masks, const char *order)
{
    for (int kind = 0; kind < 4; kind++) {
        Input in;
        Written w;
        begin(&in, pages, n, kind & 1, kind & 2);
        write_cog(&in, &w);
        cr_assert_eq(w.bytes[0], kind & 1 ? 'M' : 'I');
        cr_assert_eq(number(&w, 2, 2), kind & 2 ? 43 : 42);
        const size_t text_end = check_text(&w, with_masks);
        const uint64_t first = in.pages[order[0] - '0'].offsets[order[1] - '0'] - 4;
        check_directories(&w, &in, text_end, first);
        uint64_t at = first;
        for (const char *tile = order; *tile; tile += 2)
            at = check_tile(&w, &in, (size_t)(tile[0] - '0'), (size_t)(tile[1] - '0'), at);
        cr_assert_eq(at, w.n);
        free(w.bytes);
        end(&in);
    }
}

Test(cog, smallest_level_first)
{
    static const Page alone[] = {{10, 10, false, 1}};
    static const Page levels[] = {
        {64, 64, false, 4}, {32, 32, false, 2}, {16, 16, false, 1}, {16, 16, false, 1}};
    check(alone, 1, false, "00");
    check(levels, 4, false,
          "2030"
          "1011"
          "00010203");
}

Test(cog, masks_between_tiles)
{
    static const Page pages[] = {
        {64, 64, false, 4}, {64, 64, true, 4}, {32, 32, false, 1}, {32, 32, true, 1}};
    check(pages, 4, true,
          "2030"
          "0010"
          "0111"
          "0212"
          "0313");
}

/* Unless every page has a mask with the same tiles, and no other page has these, masks are pages
 * like others. */
Test(cog, masks_that_are_pages)
{
    static const Page one[] = {{64, 64, false, 2}, {64, 64, true, 2}, {32, 32, false, 1}};
    static const Page tiles[] = {{64, 64, false, 2}, {64, 64, true, 1}};
    check(one, 3, false,
          "20"
          "0001"
          "1011");
    static const Page alike[] = {
        {32, 32, false, 1}, {32, 32, true, 1}, {32, 32, false, 1}, {32, 32, true, 1}};
    check(tiles, 2, false,
          "0001"
          "10");
    check(alike, 4, false, "00102030");
}

/* A tile that is larger than what is gathered goes by itself. */
Test(cog, large_tile)
{
    enum { BYTES = (4 << 20) + 5 };
    static const Page pages[] = {{64, 64, false, 3}};
    Input in;
    Written w;
    begin(&in, pages, 1, false, false);
    uint8_t *const tile = malloc(BYTES);
    for (size_t k = 0; k < BYTES; k++)
        tile[k] = (uint8_t)(k * 7 >> 3);
    in.pages[0].sizes[1] = BYTES;
    in.pages[0].spooled[1] = spool(&in, tile, BYTES);
    write_cog(&in, &w);
    cr_assert_eq(in.pages[0].offsets[1], in.pages[0].offsets[0] + size_of(0) + 8);
    cr_assert_eq(in.pages[0].offsets[2], in.pages[0].offsets[1] + BYTES + 8);
    cr_assert_eq(load_number(w.bytes + in.pages[0].offsets[1] - 4, 4, false), BYTES);
    cr_assert_arr_eq(w.bytes + in.pages[0].offsets[1], tile, BYTES);
    cr_assert_arr_eq(w.bytes + in.pages[0].offsets[2] - 8, tile + BYTES - 4, 4);
    (void)check_tile(&w, &in, 0, 0, in.pages[0].offsets[0] - 4);
    (void)check_tile(&w, &in, 0, 2, in.pages[0].offsets[2] - 4);
    free(tile);
    free(w.bytes);
    end(&in);
}

/* Offsets beyond 32 bits make a BigTIFF of it; nothing so large is written here, as reading the
 * spool back fails first. */
Test(cog, spool_that_ends_early)
{
    static const Page pages[] = {{64, 64, false, 2}};
    Input in;
    AtomicFile *to = NULL;
    ImgstatError err = {.message = ""};
    begin(&in, pages, 1, false, false);
    in.pages[0].spooled[1] = 1 << 30;
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &to, NULL), IMGSTAT_OK);
    cr_assert_eq(tiff_cog_write(&in.file, in.pages, 1, to, &err), IMGSTAT_ERR_IO);
    cr_assert_eq(strncmp(err.message, encode_path, strlen(encode_path)), 0, "%s", err.message);
    atomic_file_discard(to);
    end(&in);
    cr_assert_eq(encode_entries(), 0);
}

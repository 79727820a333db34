/* SPDX-License-Identifier: MIT */
/* tile_writer.c: from image rows to the bytes of one strip or tile: packed by us; deflated by
 * us, compressed otherwise by libtiff, which writes a file of one strip into memory. */
#include "base/byteswap.h"
#include "base/compiler.h"
#include "base/pixel.h"
#include "base/sample.h"
#include "codec/deflate.h"
#include "tiff/encoder.h"
#include "tiff/predictor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 8 /* of a classic TIFF; the strip comes right behind it */ };

/* libtiff's file in memory. */
typedef struct Memory {
    uint8_t *data;
    size_t n, room, at;
} Memory;

struct TiffPacker {
    Memory memory;
    TIFF *tif; /* open for strips of `rows` rows of `shape`; or NULL */
    TiffShape shape;
    uint32_t rows;
    uint8_t *packed; /* the tile before compression */
    size_t packed_room;
    uint8_t *samples; /* one row of one tile, whole samples */
    size_t samples_room;
    BufferCache *cache;
    Deflaters *deflaters;
    Deflater *deflater; /* for `level` and `fast` */
    int level;
    bool fast;
    char text[256]; /* libtiff's last complaint */
};

/* ---- libtiff's file ---- */

static tmsize_t on_read(thandle_t client, void *to, tmsize_t bytes)
{
    Memory *const m = client;
    const size_t left = m->at < m->n ? m->n - m->at : 0;
    const size_t n = (size_t)bytes < left ? (size_t)bytes : left;
    memcpy(to, m->data + m->at, n);
    m->at += n;
    return (tmsize_t)n;
}

static tmsize_t on_write(thandle_t client, void *from, tmsize_t bytes)
{
    Memory *const m = client;
    const size_t end = m->at + (size_t)bytes;
    if (bytes <= 0)
        return 0;
    if (end > m->room) {
        const size_t room = end + end / 2 + 4096;
        uint8_t *const larger = realloc(m->data, room);
        if (!larger)
            return 0;
        m->data = larger;
        m->room = room;
    }
    if (m->at > m->n)
        memset(m->data + m->n, 0, m->at - m->n);
    memcpy(m->data + m->at, from, (size_t)bytes);
    m->at = end;
    m->n = end > m->n ? end : m->n;
    return bytes;
}

static toff_t on_seek(thandle_t client, toff_t offset, int whence)
{
    Memory *const m = client;
    m->at = (size_t)offset + (whence == SEEK_CUR ? m->at : whence == SEEK_END ? m->n : 0);
    return m->at;
}

static int on_close(thandle_t client)
{
    (void)client;
    return 0;
}

static toff_t on_size(thandle_t client)
{
    return ((const Memory *)client)->n;
}

#if TIFFLIB_VERSION >= 20221213
static int on_error(TIFF *tif, void *context, const char *module, const char *format, va_list args)
{
    TiffPacker *const packer = context;
    (void)tif;
    (void)module;
    vsnprintf(packer->text, sizeof packer->text, format, args);
    return 1;
}

static int on_warning(TIFF *tif, void *context, const char *module, const char *format,
                      va_list args)
{
    (void)tif;
    (void)context;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}
#endif

static TIFF *open_memory(TiffPacker *packer, const char *mode)
{
#if TIFFLIB_VERSION >= 20221213
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, packer);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, packer);
    TIFF *const tif = TIFFClientOpenExt("memory", mode, &packer->memory, on_read, on_write, on_seek,
                                        on_close, on_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tif;
#else
    return TIFFClientOpen("memory", mode, &packer->memory, on_read, on_write, on_seek, on_close,
                          on_size, NULL, NULL);
#endif
}

/* What libtiff would still write is of no use, and where memory ran out it reads what it lacks. */
static void close_memory(TIFF *tif)
{
    TIFFSetMode(tif, O_RDONLY);
    TIFFClose(tif);
}

static void set_level(TIFF *tif, const TiffShape *shape)
{
    const int level = shape->level;
    switch (shape->compression) {
    case COMPRESSION_ZSTD:
        if (level >= 0)
            TIFFSetField(tif, TIFFTAG_ZSTD_LEVEL, level < 1 ? 1 : level);
        break;
    case COMPRESSION_LZMA:
        if (level >= 0)
            TIFFSetField(tif, TIFFTAG_LZMAPRESET, level > 9 ? 9 : level);
        break;
    default:
        break;
    }
}

/* Gets libtiff ready for strips of `rows` rows. */
static bool open_strip(TiffPacker *packer, const TiffShape *shape, uint32_t rows)
{
    if (packer->tif && packer->rows == rows && memcmp(&packer->shape, shape, sizeof *shape) == 0)
        return true;
    if (packer->tif)
        close_memory(packer->tif);
    packer->memory.n = packer->memory.at = 0;
    packer->rows = 0; /* it is of no use if one of these fails */
    /* Differences of samples are taken before their bytes are put into the file's order. */
    const bool big_endian =
        host_big_endian != (shape->swap && shape->predictor == PREDICTOR_HORIZONTAL);
    TIFF *const tif = packer->tif = open_memory(packer, big_endian ? "wb" : "wl");
    if (!tif)
        return false;
    if (!TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, shape->tile_width) ||
        !TIFFSetField(tif, TIFFTAG_IMAGELENGTH, rows) ||
        !TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, rows) ||
        !TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, shape->bits) ||
        !TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, shape->format) ||
        !TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, shape->per_tile) ||
        !TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) ||
        !TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) ||
        !TIFFSetField(tif, TIFFTAG_COMPRESSION, shape->compression) ||
        (shape->predictor != PREDICTOR_NONE &&
         !TIFFSetField(tif, TIFFTAG_PREDICTOR, shape->predictor)) ||
        (shape->compression == COMPRESSION_CCITTFAX3 &&
         !TIFFSetField(tif, TIFFTAG_GROUP3OPTIONS, shape->fax_options)))
        return false;
    set_level(tif, shape);
    packer->shape = *shape;
    packer->rows = rows;
    return true;
}

/* ---- Packing ---- */

/* The integer of `bits` < 64 bits that is nearest to one of `bytes` bytes. */
static uint64_t limited(uint64_t v, size_t bytes, bool is_signed, unsigned bits)
{
    const unsigned above = 64 - 8 * (unsigned)bytes;
    const int64_t with_sign = (int64_t)(v << above) >> above, half = INT64_C(1) << (bits - 1);
    const uint64_t full = (UINT64_C(1) << bits) - 1;
    if (is_signed)
        return (uint64_t)(with_sign < -half ? -half : with_sign < half ? with_sign : half - 1);
    return v < full ? v : full;
}

/* A stream of bits that is written, first bit highest. */
typedef struct BitWriter {
    uint8_t *to;
    uint64_t held; /* its lowest bits are not yet written: fewer than a word of them */
    unsigned n_held;
} BitWriter;

enum { WRITER_WORD = 32 };

/* Writes the lowest n <= WRITER_WORD bits. */
FORCE_INLINE void put_bits(BitWriter *writer, uint64_t bits, unsigned n)
{
    writer->held = writer->held << n | (bits & ((UINT64_C(1) << n) - 1));
    writer->n_held += n;
    if (writer->n_held < WRITER_WORD)
        return;
    writer->n_held -= WRITER_WORD;
    store_number(writer->to, writer->held >> writer->n_held, WRITER_WORD / 8, true);
    writer->to += WRITER_WORD / 8;
}

/* n samples of `bytes` bytes, limited to `bits` bits, as a stream. The first two are constants
 * where this is inlined. */
FORCE_INLINE void pack_from(size_t bytes, bool is_signed, const uint8_t *from, unsigned bits,
                            size_t n, uint8_t *to)
{
    BitWriter writer = {.to = to};
    for (size_t i = 0; i < n; i++) {
        const uint64_t v = limited(load_raw(from + i * bytes, bytes), bytes, is_signed, bits);
        const bool wide = bytes * 8 > WRITER_WORD && bits > WRITER_WORD;
        if (wide)
            put_bits(&writer, v >> WRITER_WORD, bits - WRITER_WORD);
        put_bits(&writer, v, wide ? WRITER_WORD : bits);
    }
    for (; writer.n_held >= 8; writer.n_held -= 8)
        *writer.to++ = (uint8_t)(writer.held >> (writer.n_held - 8));
    if (writer.n_held > 0)
        *writer.to = (uint8_t)(writer.held << (8 - writer.n_held));
}

static void pack_bits(const uint8_t *from, ImgstatSample sample, unsigned bits, size_t n,
                      uint8_t *to)
{
    const bool is_signed = sample_is_signed(sample);
    const size_t bytes = imgstat_sample_bytes(sample);
    if (bytes == 1 && !is_signed)
        pack_from(1, false, from, bits, n, to);
    else if (bytes == 2 && !is_signed)
        pack_from(2, false, from, bits, n, to);
    else
        pack_from(bytes, is_signed, from, bits, n, to);
}

static void swap_samples(uint8_t *bytes, size_t n, unsigned bits)
{
    if (bits == 16 || bits == 32 || bits == 64)
        swap_words(bytes, bytes, n, bits / 8);
}

static bool grow(const TiffPacker *packer, uint8_t **buffer, size_t *room, size_t bytes)
{
    if (bytes <= *room)
        return true;
    buffer_cache_release(*buffer);
    *buffer = buffer_cache_acquire(packer->cache, bytes);
    *room = *buffer ? bytes : 0;
    return *buffer != NULL;
}

static bool compress_by_libtiff(TiffPacker *packer, const TiffShape *shape, uint32_t rows, size_t n,
                                TiffTileBytes *out)
{
    packer->text[0] = '\0';
    if (!open_strip(packer, shape, rows))
        return false;
    /* The strip before makes room. */
    packer->memory.n = packer->memory.at = HEADER_BYTES;
    if (TIFFWriteEncodedStrip(packer->tif, 0, packer->packed, (tmsize_t)n) != (tmsize_t)n)
        return false;
    const uint64_t at = TIFFGetStrileOffset(packer->tif, 0);
    out->n = (size_t)TIFFGetStrileByteCount(packer->tif, 0);
    if (at > packer->memory.n || out->n > packer->memory.n - at || out->n == 0 ||
        !grow(packer, &out->bytes, &out->room, out->n))
        return false;
    memcpy(out->bytes, packer->memory.data + at, out->n);
    return true;
}

/* The tile's samples are in packer->packed, in host order where there is a predictor. */
static bool deflate_tile(TiffPacker *packer, const TiffShape *shape, uint32_t rows, size_t n,
                         TiffTileBytes *out)
{
    if (packer->deflater && (packer->level != shape->level || packer->fast != shape->fast)) {
        deflaters_release(packer->deflaters, packer->deflater);
        packer->deflater = NULL;
    }
    if (!packer->deflater)
        packer->deflater = deflaters_acquire(packer->deflaters, shape->level, shape->fast);
    packer->level = shape->level;
    packer->fast = shape->fast;
    if (!packer->deflater ||
        !grow(packer, &packer->samples, &packer->samples_room, shape->row_bytes) ||
        !grow(packer, &out->bytes, &out->room, deflate_zlib_bound(n)))
        return false;
    for (uint32_t y = 0; y < rows; y++)
        tiff_predictor_encode(shape, packer->packed + y * shape->row_bytes, packer->samples);
    if (shape->swap && shape->predictor == PREDICTOR_HORIZONTAL)
        swap_samples(packer->packed, n, shape->bits);
    out->n = deflate_zlib(packer->deflater, packer->packed, n, out->bytes);
    return out->n > 0;
}

static bool is_whole(unsigned bits)
{
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* One row of the tile; what lies right of the image is 0. */
static bool pack_row(TiffPacker *packer, const TiffShape *shape, const EncodePage *page,
                     const uint8_t *row, uint32_t x, uint16_t plane, uint8_t *to)
{
    const size_t bytes = imgstat_sample_bytes(page->sample);
    const uint32_t left = page->width - x;
    const size_t pixels = left < shape->tile_width ? left : shape->tile_width;
    const size_t n = pixels * shape->per_tile;
    const uint8_t *from = row + (size_t)x * page->channels * bytes + plane * bytes;
    const bool whole = is_whole(shape->bits);
    if (pixels < shape->tile_width || !whole)
        memset(to, 0, shape->row_bytes);
    if (shape->planes > 1) {
        if (!whole && !grow(packer, &packer->samples, &packer->samples_room, n * bytes))
            return false;
        copy_samples(bytes, from, page->channels, pixels, whole ? to : packer->samples, 1);
        from = packer->samples;
    } else if (whole) {
        memcpy(to, from, n * bytes);
    }
    if (!whole)
        pack_bits(from, page->sample, shape->bits, n, to);
    for (size_t i = 0; shape->scale > 1 && i < n; i++)
        to[i] = (uint8_t)(limited(to[i], 1, false, page->bits) * shape->scale);
    return true;
}

bool tiff_tile_encode(TiffPacker *packer, const TiffShape *shape, const EncodePage *page,
                      const uint8_t *from, size_t pitch, uint32_t rows, uint32_t x, uint16_t plane,
                      TiffTileBytes *out, char text[256])
{
    const uint32_t height = shape->tiled ? shape->tile_height : rows;
    const size_t n = height * shape->row_bytes;
    bool ok = grow(packer, &packer->packed, &packer->packed_room, n);
    snprintf(text, 256, "out of memory");
    for (uint32_t y = 0; ok && y < rows; y++)
        ok = pack_row(packer, shape, page, from + y * pitch, x, plane,
                      packer->packed + y * shape->row_bytes);
    if (!ok)
        return false;
    memset(packer->packed + rows * shape->row_bytes, 0, (height - rows) * shape->row_bytes);
    if (shape->swap && shape->predictor == PREDICTOR_NONE)
        swap_samples(packer->packed, n, shape->bits);
    if (shape->compression == COMPRESSION_NONE) {
        uint8_t *const bytes = packer->packed;
        const size_t room = packer->packed_room;
        packer->packed = out->bytes; /* for the next */
        packer->packed_room = out->room;
        *out = (TiffTileBytes){.bytes = bytes, .n = n, .room = room};
        return true;
    }
    if (tiff_is_deflate(shape->compression) && tiff_predictor_writable(shape) &&
        n <= TIFF_DEFLATE_BYTES)
        return deflate_tile(packer, shape, height, n, out);
    if (compress_by_libtiff(packer, shape, height, n, out))
        return true;
    if (packer->text[0])
        snprintf(text, 256, "%s", packer->text);
    return false;
}

TiffPacker *tiff_packer_create(const EncodeOptions *how)
{
    TiffPacker *const packer = calloc(1, sizeof *packer);
    if (packer) {
        packer->cache = how->scratch;
        packer->deflaters = how->deflaters;
    }
    return packer;
}

void tiff_packer_destroy(TiffPacker *packer)
{
    if (!packer)
        return;
    if (packer->tif)
        close_memory(packer->tif);
    free(packer->memory.data);
    buffer_cache_release(packer->packed);
    buffer_cache_release(packer->samples);
    deflaters_release(packer->deflaters, packer->deflater);
    free(packer);
}

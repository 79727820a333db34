/* SPDX-License-Identifier: MIT */
/* encoder.c: the PNG encoder: chooses the form of the image, and packs its rows. */
#include "png/encoder.h"
#include "base/byteswap.h"
#include "png/decoder.h"

#include <stdlib.h>
#include <string.h>

/* Most bytes of a row. A row is compressed to one chunk of at most 2^31 - 1 bytes; incompressible
 * rows grow by less than the difference. */
enum { MAX_ROW = INT32_MAX - (1 << 24) };

/* From rows of samples to rows as PNG stores them. */
typedef struct Packing {
    const EncodePage *page;
    uint8_t depth; /* of the output */
    bool invert;   /* samples are min-is-white, which PNG is not */
    bool widen;    /* samples have fewer bits than PNG can give this colour type */
} Packing;

typedef struct PngEncoder {
    Encoder base;
    PngSink sink;
    PngForm form;
    PngIdat *idat;
    uint8_t *tail; /* chunks that follow the pixels */
    size_t tail_bytes;
    Packing packing;
} PngEncoder;

/* ---- Rows as PNG stores them ---- */

/* Returns a sample of `bits` bits in `depth` bits, by repeating its bits: 0 and full scale stay. */
static unsigned widened(unsigned v, unsigned bits, unsigned depth)
{
    unsigned out = 0;
    for (int shift = (int)depth - (int)bits; shift > -(int)bits; shift -= (int)bits)
        out |= shift >= 0 ? v << shift : v >> -shift;
    return out;
}

static void pack_bytes(const Packing *how, const uint8_t *from, uint8_t *to, size_t n)
{
    const EncodePage *const page = how->page;
    const unsigned full = (1u << page->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const bool alpha = page->alpha >= 0 && i % page->channels == (size_t)page->alpha;
        unsigned v = from[i] < full ? from[i] : full;
        v = how->invert && !alpha ? full - v : v;
        to[i] = (uint8_t)(how->widen ? widened(v, page->bits, 8) : v);
    }
}

static void pack_words(const Packing *how, const uint8_t *from, uint8_t *to, size_t n)
{
    const EncodePage *const page = how->page;
    const unsigned full = (1u << page->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const bool alpha = page->alpha >= 0 && i % page->channels == (size_t)page->alpha;
        uint16_t word;
        memcpy(&word, from + 2 * i, 2);
        unsigned v = word < full ? word : full;
        v = how->invert && !alpha ? full - v : v;
        v = how->widen ? widened(v, page->bits, 16) : v;
        to[2 * i] = (uint8_t)(v >> 8);
        to[2 * i + 1] = (uint8_t)v;
    }
}

/* Packs gray or indices of 1, 2 or 4 bits. */
static void pack_bits(const Packing *how, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned bits = how->depth, per_byte = 8 / bits, full = (1u << bits) - 1;
    memset(to, 0, (n + per_byte - 1) / per_byte);
    for (size_t i = 0; i < n; i++) {
        unsigned v = from[i] < full ? from[i] : full;
        v = how->invert ? full - v : v;
        to[i / per_byte] =
            (uint8_t)(to[i / per_byte] | v << (8 - bits - bits * (unsigned)(i % per_byte)));
    }
}

/* Packs a row of samples as PNG stores it. */
static void pack_row(const void *context, const uint8_t *from, uint8_t *to)
{
    const Packing *const how = context;
    const size_t n = (size_t)how->page->width * how->page->channels;
    if (how->depth == 16 && !how->widen && !how->invert)
        swap_words(from, to, 2 * n, 2); /* from little-endian */
    else if (how->depth == 16)
        pack_words(how, from, to, n);
    else if (how->depth < 8)
        pack_bits(how, from, to, n);
    else if (how->widen || how->invert)
        pack_bytes(how, from, to, n);
    else
        memcpy(to, from, n);
}

/* ---- The form of the image ---- */

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* Returns whether the rows are indices of the palette of the page that they come from. */
static bool is_palette(const Decoder *like, const EncodePage *page)
{
    return like && like->how.indices && strcmp(like->page.photometric, "palette") == 0 &&
           page->channels == 1 && like->page.channels == 1 && page->sample == IMGSTAT_U8 &&
           page->bits == like->page.bits;
}

static ImgstatResult check_samples(const PngEncoder *pe, const Decoder *like,
                                   const EncodePage *page, ImgstatError *err)
{
    static const char *const gray[] = {"gray",    "min-is-white", "mask", "cfa",
                                       "palette", "unknown",      NULL};
    static const char *const rgb[] = {"rgb", "palette", "ycbcr", "linear-raw", NULL};
    const char *const name = pe->base.output->name;
    if (page->sample != IMGSTAT_U8 && page->sample != IMGSTAT_U16)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "PNG cannot hold %s samples; write TIFF, or convert to 8 or 16 bits",
                          imgstat_sample_name(page->sample));
    const bool alpha = page->channels == 2 || page->channels == 4;
    if (page->channels > 4 || page->alpha != (alpha ? page->channels - 1 : -1))
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "PNG holds gray or RGB and one alpha channel, not these %u channels; "
                          "write TIFF",
                          page->channels);
    if (like && !is_one_of(like->page.photometric, page->channels <= 2 ? gray : rgb))
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "PNG cannot hold %s colours; write TIFF", like->page.photometric);
    return IMGSTAT_OK;
}

static void set_colormap(PngForm *form, const uint16_t *map, size_t n)
{
    if (form->n_colors == 0 || form->n_colors > n)
        form->n_colors = (uint16_t)n;
    for (size_t i = 0; i < form->n_colors; i++)
        for (size_t c = 0; c < 3; c++)
            form->colors[i][c] = (uint8_t)((map[c * n + i] * 255u + 32767u) / 65535u);
}

static void choose_form(PngEncoder *pe, const Decoder *like, const EncodePage *page)
{
    static const uint8_t types[5] = {0, PNG_GRAY, PNG_GRAY_ALPHA, PNG_RGB, PNG_RGBA};
    PngForm *const form = &pe->form;
    const bool from_png = like && like->codec == &png_codec;
    if (from_png)
        *form = ((const PngDecoder *)like)->form;
    if (form->interlaced)
        warnings_report(pe->base.warnings, "written without interlacing");
    if (is_palette(like, page) && (from_png || page->colormap)) {
        form->color_type = PNG_PALETTE;
        form->depth = page->bits;
        if (page->colormap)
            set_colormap(form, page->colormap, (size_t)1 << page->bits);
        return;
    }
    *form = (PngForm){.color_type = types[page->channels]};
    const bool low = page->bits == 1 || page->bits == 2 || page->bits == 4;
    form->depth = low && page->channels == 1 ? page->bits : page->sample == IMGSTAT_U16 ? 16 : 8;
    pe->packing.widen = page->bits != form->depth;
    form->significant = pe->packing.widen ? page->bits : 0;
    pe->packing.invert = like && strcmp(like->page.photometric, "min-is-white") == 0;
}

static ImgstatResult write_head(PngEncoder *pe, ImgstatError *err)
{
    const PngForm *const form = &pe->form;
    uint8_t head[13] = {0};
    png_put32(head, pe->base.page.width);
    png_put32(head + 4, pe->base.page.height);
    head[8] = form->depth;
    head[9] = form->color_type;
    IMGSTAT_TRY(atomic_file_write(pe->sink.output, 0, png_signature, sizeof png_signature, err));
    pe->sink.at = sizeof png_signature;
    IMGSTAT_TRY(png_chunk_write(&pe->sink, "IHDR", head, sizeof head, err));
    if (form->significant > 0) {
        uint8_t bits[4];
        memset(bits, form->significant, sizeof bits);
        IMGSTAT_TRY(png_chunk_write(&pe->sink, "sBIT", bits, png_form_channels(form), err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult write_metadata(PngEncoder *pe, Decoder *like, ImgstatError *err)
{
    if (like && like->codec == &png_codec)
        return png_chunks_copy(&pe->sink, like, &pe->form, pe->base.page.mapped, pe->base.warnings,
                               &pe->tail, &pe->tail_bytes, err);
    Metadata metadata = {.n = 0};
    ImgstatResult res = IMGSTAT_OK;
    if (like)
        res = like->codec->metadata(like, &metadata, pe->base.warnings, err);
    if (res == IMGSTAT_OK)
        res = png_metadata_write(&pe->sink, &metadata, &pe->form, pe->base.warnings, err);
    metadata_release(&metadata);
    return res == IMGSTAT_OK ? png_palette_write(&pe->sink, &pe->form, err) : res;
}

static ImgstatResult begin_page(Encoder *base, Decoder *like, ImgstatError *err)
{
    PngEncoder *const pe = (PngEncoder *)base;
    const EncodePage *const page = &base->page;
    if (base->pages > 0)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, base->output->name,
                          "PNG holds one image; write TIFF");
    IMGSTAT_TRY(check_samples(pe, like, page, err));
    if (page->width > INT32_MAX || page->height > INT32_MAX)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, base->output->name,
                          "%u x %u pixels are more than PNG holds", page->width, page->height);
    choose_form(pe, like, page);
    if (png_form_row_bytes(&pe->form, page->width) > MAX_ROW)
        return error_file(err, IMGSTAT_ERR_LIMIT, base->output->name,
                          "a row of %zu bytes is too long for PNG",
                          png_form_row_bytes(&pe->form, page->width));
    const PngForm *const form = &pe->form;
    pe->packing.page = &base->page;
    pe->packing.depth = form->depth;
    IMGSTAT_TRY(write_head(pe, err));
    IMGSTAT_TRY(write_metadata(pe, like, err));
    /* Differences of indices, or of a few bits, mean nothing. */
    const bool choose = form->color_type != PNG_PALETTE && form->depth >= 8;
    const bool same = form->depth == 8 && !pe->packing.widen && !pe->packing.invert;
    const PngRows rows = {.n = page->height,
                          .from_bytes = (size_t)page->width * page->channels *
                                        imgstat_sample_bytes(page->sample),
                          .row_bytes = png_form_row_bytes(form, page->width),
                          .pixel_bytes = png_form_pixel_bytes(form),
                          .pack = same ? NULL : pack_row,
                          .context = &pe->packing};
    IMGSTAT_TRY(png_idat_create(&pe->sink, &base->how, choose, &rows, &pe->idat, err));
    const size_t batch = png_idat_batch(pe->idat);
    base->band_rows = batch < UINT32_MAX ? (uint32_t)batch : UINT32_MAX;
    return IMGSTAT_OK;
}

static ImgstatResult write_rows(Encoder *base, const void *rows, size_t pitch, uint32_t n,
                                ImgstatError *err)
{
    return png_idat_write(((PngEncoder *)base)->idat, rows, pitch, n, err);
}

/* ---- The format ---- */

static void init(Encoder *base)
{
    if (base->how.compression && strcmp(base->how.compression, "none") == 0)
        base->how.level = 0;
    ((PngEncoder *)base)->sink.output = base->output;
}

static ImgstatResult finish(Encoder *base, ImgstatError *err)
{
    PngEncoder *const pe = (PngEncoder *)base;
    IMGSTAT_TRY(png_idat_finish(pe->idat, err));
    if (pe->tail_bytes > 0)
        IMGSTAT_TRY(atomic_file_write(pe->sink.output, pe->sink.at, pe->tail, pe->tail_bytes, err));
    pe->sink.at += pe->tail_bytes;
    return png_chunk_write(&pe->sink, "IEND", NULL, 0, err);
}

static void release(Encoder *base)
{
    PngEncoder *const pe = (PngEncoder *)base;
    png_idat_destroy(pe->idat);
    free(pe->tail);
}

static const char *const compressions[] = {"deflate", "none", NULL};

const EncodeFormat png_format = {
    .name = "png",
    .title = "PNG",
    .compressions = compressions,
    .encoder_bytes = sizeof(PngEncoder),
    .init = init,
    .begin_page = begin_page,
    .write_rows = write_rows,
    .finish = finish,
    .release = release,
};

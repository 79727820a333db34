/* SPDX-License-Identifier: MIT */
/* encoder.c: the PNG encoder: chooses the form of the image, and writes what is around its rows. */
#include "png/encoder.h"
#include "png/decoder.h"

#include <stdlib.h>
#include <string.h>

/* Most bytes of a row. A row is compressed to one chunk of at most 2^31 - 1 bytes; incompressible
 * rows grow by less than the difference. */
enum { MAX_ROW = INT32_MAX - (1 << 24) };

typedef struct PngEncoder {
    Encoder base;
    PngSink sink;
    PngForm form;
    PngRows rows;
    PngIdat *idat;
    uint8_t *tail; /* chunks that follow the pixels */
    size_t tail_bytes;
} PngEncoder;

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

static ImgstatResult check_samples(const char *name, const Decoder *like, const EncodePage *page,
                                   ImgstatError *err)
{
    static const char *const gray[] = {"gray",    "min-is-white", "mask", "cfa",
                                       "palette", "unknown",      NULL};
    static const char *const rgb[] = {"rgb", "palette", "ycbcr", "linear-raw", NULL};
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

static void choose_form(const EncodePage *page, const Decoder *like, PngForm *form)
{
    static const uint8_t types[5] = {0, PNG_GRAY, PNG_GRAY_ALPHA, PNG_RGB, PNG_RGBA};
    const bool from_png = like && like->codec == &png_codec;
    if (is_palette(like, page) && (from_png || page->colormap)) {
        *form = from_png ? ((const PngDecoder *)like)->form : (PngForm){.n_colors = 0};
        form->color_type = PNG_PALETTE;
        form->depth = page->bits;
        if (page->colormap)
            set_colormap(form, page->colormap, (size_t)1 << page->bits);
        return;
    }
    *form = (PngForm){.color_type = types[page->channels]};
    const bool low = page->bits == 1 || page->bits == 2 || page->bits == 4;
    form->depth = low && page->channels == 1 ? page->bits : page->sample == IMGSTAT_U16 ? 16 : 8;
    form->significant = page->bits == form->depth ? 0 : page->bits;
}

/* Differences of indices, or of a few bits, mean nothing. */
static PngChoice choice_of(const PngForm *form, const EncodeOptions *how)
{
    if (form->color_type == PNG_PALETTE || form->depth < 8 || (how->level == 0 && !how->fast))
        return PNG_CHOOSE_NONE;
    return how->fast ? PNG_CHOOSE_SAMPLED : PNG_CHOOSE_LEAST;
}

static PngRows rows_of(const EncodePage *page, const Decoder *like, const EncodeOptions *how,
                       const PngForm *form)
{
    const bool palette = form->color_type == PNG_PALETTE;
    return (PngRows){
        .n = page->height,
        .from_bytes = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample),
        .row_bytes = png_form_row_bytes(form, page->width),
        .pixel_bytes = png_form_pixel_bytes(form),
        .choice = choice_of(form, how),
        .width = page->width,
        .channels = page->channels,
        .alpha = page->alpha,
        .bits = page->bits,
        .depth = form->depth,
        .invert = !palette && like && strcmp(like->page.photometric, "min-is-white") == 0,
        .widen = !palette && page->bits != form->depth};
}

ImgstatResult png_form_choose(const char *name, const EncodePage *page, const Decoder *like,
                              const EncodeOptions *how, PngForm *form, PngRows *rows,
                              ImgstatError *err)
{
    IMGSTAT_TRY(check_samples(name, like, page, err));
    if (page->width > INT32_MAX || page->height > INT32_MAX)
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, name,
                          "%u x %u pixels are more than PNG holds", page->width, page->height);
    choose_form(page, like, form);
    *rows = rows_of(page, like, how, form);
    if (rows->row_bytes > MAX_ROW)
        return error_file(err, IMGSTAT_ERR_LIMIT, name, "a row of %zu bytes is too long for PNG",
                          rows->row_bytes);
    return IMGSTAT_OK;
}

/* ---- What is around the rows ---- */

size_t png_head_make(const PngForm *form, uint32_t width, uint32_t height,
                     uint8_t to[PNG_HEAD_MOST])
{
    enum { IHDR_BYTES = 13 };
    uint8_t *const chunk = to + PNG_SIGNATURE_BYTES, *const head = chunk + PNG_CHUNK_HEAD;
    memcpy(to, png_signature, PNG_SIGNATURE_BYTES);
    memset(head, 0, IHDR_BYTES);
    png_put32(head, width);
    png_put32(head + 4, height);
    head[8] = form->depth;
    head[9] = form->color_type;
    png_chunk_frame("IHDR", chunk, IHDR_BYTES);
    const size_t bytes = PNG_SIGNATURE_BYTES + PNG_CHUNK_FRAME + IHDR_BYTES;
    if (form->significant == 0)
        return bytes;
    const unsigned channels = png_form_channels(form);
    memset(to + bytes + PNG_CHUNK_HEAD, form->significant, channels);
    png_chunk_frame("sBIT", to + bytes, channels);
    return bytes + PNG_CHUNK_FRAME + channels;
}

static ImgstatResult write_head(PngEncoder *pe, ImgstatError *err)
{
    uint8_t head[PNG_HEAD_MOST];
    pe->sink.at = png_head_make(&pe->form, pe->base.page.width, pe->base.page.height, head);
    return atomic_file_write(pe->sink.output, 0, head, pe->sink.at, err);
}

static ImgstatResult write_metadata(PngEncoder *pe, Decoder *like, ImgstatError *err)
{
    if (like && like->codec == &png_codec)
        return png_chunks_copy(&pe->sink, like, &pe->form, pe->base.page.mapped, pe->base.warnings,
                               &pe->tail, &pe->tail_bytes, err);
    Metadata metadata = {.n = 0};
    ImgstatResult res = IMGSTAT_OK;
    if (like)
        res = decoder_metadata(like, &metadata, pe->base.warnings, err);
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
        return error_file(err, IMGSTAT_ERR_UNSUPPORTED, base->output->name, "PNG holds one image%s",
                          page->role == IMGSTAT_ROLE_LEVEL
                              ? " and no levels; leave them out, or write TIFF"
                          : page->role == IMGSTAT_ROLE_MASK ? " and no mask; write TIFF"
                                                            : "; write TIFF");
    IMGSTAT_TRY(
        png_form_choose(base->output->name, page, like, &base->how, &pe->form, &pe->rows, err));
    if (like && like->codec == &png_codec && ((const PngDecoder *)like)->form.interlaced)
        warnings_report(base->warnings, "written without interlacing");
    IMGSTAT_TRY(write_head(pe, err));
    IMGSTAT_TRY(write_metadata(pe, like, err));
    IMGSTAT_TRY(png_idat_create(&pe->sink, &base->how, &pe->rows, &pe->idat, err));
    const size_t batch = png_idat_batch(pe->idat);
    base->band_rows = batch < UINT32_MAX ? (uint32_t)batch : UINT32_MAX;
    return IMGSTAT_OK;
}

static ImgstatResult write_rows(Encoder *base, const void *rows, size_t pitch, uint32_t n,
                                ImgstatError *err)
{
    return png_idat_write(((PngEncoder *)base)->idat, rows, pitch, n, err);
}

/* ---- Rows that somebody else compresses ---- */

const PngRows *png_encoder_rows(const Encoder *encoder)
{
    const bool searches = encoder->how.level >= 0 && !encoder->how.fast;
    return encoder->format == &png_format && encoder->pages > 0 && encoder->next_row == 0 &&
                   !searches
               ? &((const PngEncoder *)encoder)->rows
               : NULL;
}

ImgstatResult png_encoder_write(Encoder *encoder, const uint8_t *chunks, size_t bytes,
                                ImgstatError *err)
{
    PngSink *const sink = &((PngEncoder *)encoder)->sink;
    IMGSTAT_TRY(atomic_file_write(sink->output, sink->at, chunks, bytes, err));
    sink->at += bytes;
    encoder->next_row = encoder->page.height;
    return IMGSTAT_OK;
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

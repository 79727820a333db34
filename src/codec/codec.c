/* SPDX-License-Identifier: MIT */
/* codec.c: the table of formats, and the functions that read and write through it. They ensure the
 * order of calls that formats rely on. Reading: a page is selected, planned, and read from top to
 * bottom. Writing: a page is begun, then all of its rows are written. */
#include "codec/codec.h"

#include "base/compiler.h"
#include "base/sample.h"
#include "base/thread_pool.h"
#include "codec/encoder.h"
#include "codec/salvage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The formats ---- */

static const Codec *const codecs[] = {&png_codec, &tiff_codec, NULL};

static const struct {
    const char *word; /* a name, or the ending of a file name */
    const EncodeFormat *format;
} formats[] = {{"png", &png_format},     {"tiff", &tiff_format}, {"tif", &tiff_format},
               {".png", &png_format},    {".tif", &tiff_format}, {".tiff", &tiff_format},
               {".gtiff", &tiff_format}, {".btf", &tiff_format}, {".tf8", &tiff_format}};

const Codec *codec_at(size_t i)
{
    return codecs[i];
}

ImgstatResult codec_of_bytes(const uint8_t *bytes, size_t n, const char *name, const Codec **out,
                             ImgstatError *err)
{
    for (size_t i = 0; codecs[i]; i++) {
        if (codecs[i]->probe(bytes, n)) {
            *out = codecs[i];
            return IMGSTAT_OK;
        }
    }
    return error_file(err, IMGSTAT_ERR_FORMAT, name, "is neither PNG nor TIFF");
}

const EncodeFormat *encode_format_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (formats[i].word[0] != '.' && strcmp(formats[i].word, name) == 0)
            return formats[i].format;
    return NULL;
}

const EncodeFormat *encode_format_of_path(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const ending = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; ending && i < ARRAY_LEN(formats); i++)
        if (strcasecmp(formats[i].word, ending) == 0)
            return formats[i].format;
    return NULL;
}

const char *imgstat_format_of_name(const char *path)
{
    const EncodeFormat *const format = encode_format_of_path(path);
    return format ? format->name : NULL;
}

const char *imgstat_format_of_file(const char *path)
{
    uint8_t bytes[CODEC_PROBE_BYTES];
    struct stat st;
    const Codec *codec = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe */
    if (fd < 0)
        return NULL;
    const ssize_t n =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, bytes, sizeof bytes) : -1;
    close(fd);
    return n > 0 && codec_of_bytes(bytes, (size_t)n, path, &codec, NULL) == IMGSTAT_OK ? codec->name
                                                                                       : NULL;
}

/* ---- Reading ---- */

ImgstatResult decoder_open(const Codec *codec, const Source *source, const ImgstatOpen *how,
                           DecodeMode mode, Decoder **out, ImgstatError *err)
{
    const ImgstatResult res = source_settle(source, codec->open(source, how, out, err), err);
    if (res != IMGSTAT_OK) {
        decoder_close(*out);
        *out = NULL;
        return res;
    }
    Decoder *const decoder = *out;
    decoder->mode = mode;
    decoder->page.page = IMGSTAT_NO_PAGE;
    decoder->salvage.lost_from = UINT32_MAX;
    if (decoder->list.n == 0 && !page_list_add(&decoder->list, IMGSTAT_NO_PAGE, 0)) {
        decoder_close(decoder);
        *out = NULL;
        return error_memory(err, sizeof(PageEntry), "the list of pages");
    }
    decoder->page.pages = decoder->list.chain;
    return IMGSTAT_OK;
}

void decoder_close(Decoder *decoder)
{
    if (!decoder)
        return;
    page_list_release(&decoder->list);
    salvage_forget(&decoder->salvage);
    page_mask_destroy(decoder->mask);
    decoder->codec->close(decoder);
}

unsigned decoder_threads(const Decoder *decoder)
{
    const unsigned threads = decoder->options.threads;
    return threads > 0 ? threads : thread_pool_processors();
}

ImgstatResult decoder_changed(const Decoder *decoder, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_IO, decoder->source->name, "changed while it was read");
}

const char *decoder_page_name(const Decoder *decoder, uint32_t page, char text[PAGE_NAME_BYTES])
{
    if (page < decoder->list.n)
        (void)page_list_name(&decoder->list, page, text, PAGE_NAME_BYTES);
    else
        snprintf(text, PAGE_NAME_BYTES, "%u", page);
    return text;
}

ImgstatResult decoder_add_page(const Decoder *decoder, uint32_t page, ImgstatResult code,
                               ImgstatError *err)
{
    char text[PAGE_NAME_BYTES];
    return error_add_page(err, code, page, decoder_page_name(decoder, page, text));
}

ImgstatResult decoder_metadata(Decoder *decoder, Metadata *out, Warnings *warnings,
                               ImgstatError *err)
{
    const ImgstatResult res = decoder->codec->metadata(decoder, out, warnings, err);
    if (res == IMGSTAT_OK && out->lacks)
        warnings_report(warnings, "its metadata are more than %d MiB: some are left out",
                        METADATA_BYTES >> 20);
    return res;
}

ImgstatResult decoder_settle(const Decoder *decoder, ImgstatResult result, ImgstatError *err)
{
    return decoder->how.salvage ? result : source_settle(decoder->source, result, err);
}

/* Ends a step of the page selected. After a failure no page is selected. */
static ImgstatResult end_step(Decoder *decoder, ImgstatResult res, ImgstatError *err)
{
    res = decoder_settle(decoder, res, err);
    if (res == IMGSTAT_OK)
        return res;
    decoder->channel_names = NULL;
    return decoder->list.n > 1 ? decoder_add_page(decoder, decoder->page.page, res, err) : res;
}

/* Replaces the file's nodata value by the one of ImgstatOpen. */
static void override_nodata(Decoder *decoder)
{
    ImgstatPage *const page = &decoder->page;
    const ImgstatValue value = decoder->how.nodata;
    uint64_t key;
    if (!decoder->how.has_nodata || page->role == IMGSTAT_ROLE_MASK)
        return;
    page->has_nodata = true;
    if (sample_key_of(page->sample, value, &key)) {
        page->nodata = sample_value(page->sample, key);
        return;
    }
    page->nodata = (ImgstatValue){.sample = page->sample};
    page->has_nodata = sample_is_float(page->sample) && isnan(imgstat_value_double(value));
    if (page->has_nodata)
        page->nodata.as.f = NAN;
    else
        warnings_report(&decoder->warnings,
                        "its %s samples cannot hold the nodata value %.9g, "
                        "which marks none of them",
                        imgstat_sample_name(page->sample), imgstat_value_double(value));
}

static ImgstatResult parse_page(Decoder *decoder, uint32_t page, ImgstatError *err)
{
    decoder->channel_names = NULL;
    decoder->outlined = false;
    decoder->started = false;
    const PageEntry *const entry = &decoder->list.entry[page];
    decoder->page.page = page;
    decoder->page.role = entry->role;
    decoder->page.owner = entry->owner;
    decoder->page.mask = entry->mask;
    decoder->page.parent = entry->parent;
    decoder->page.number = entry->number;
    decoder->page.has_axes = entry->has_axes;
    decoder->page.axis_c = entry->axis_c;
    decoder->page.axis_z = entry->axis_z;
    decoder->page.axis_t = entry->axis_t;
    decoder->page.axis_name = entry->axis_name;
    decoder->page.axis_repeats = entry->axis_repeats;
    IMGSTAT_TRY(end_step(decoder, decoder->codec->select(decoder, err), err));
    override_nodata(decoder);
    return IMGSTAT_OK;
}

static ImgstatResult plan_page(Decoder *decoder, ImgstatError *err)
{
    decoder->next_row = 0;
    decoder->plane = 0;
    decoder->caps = (DecodeCaps){.band_rows = 1};
    return end_step(decoder, decoder->codec->plan(decoder, err), err);
}

ImgstatResult decoder_select(Decoder *decoder, uint32_t page, const DecodeOptions *options,
                             ImgstatError *err)
{
    if (options)
        decoder->options = *options;
    if (decoder->page.page != page)
        salvage_forget(&decoder->salvage);
    if (!decoder->channel_names || decoder->started || decoder->page.page != page)
        IMGSTAT_TRY(parse_page(decoder, page, err));
    return plan_page(decoder, err);
}

ImgstatResult decoder_reselect(Decoder *decoder, const DecodeOptions *options, ImgstatError *err)
{
    const ImgstatPage before = decoder->page;
    IMGSTAT_TRY(decoder_select(decoder, before.page, options, err));
    return page_has_shape(&decoder->page, &before) ? IMGSTAT_OK : decoder_changed(decoder, err);
}

ImgstatResult decoder_rewind(Decoder *decoder, uint16_t plane, ImgstatError *err)
{
    const bool onward = plane > decoder->plane;
    if (decoder->started && !onward) {
        const uint16_t planes = decoder->caps.planes;
        IMGSTAT_TRY(decoder_reselect(decoder, NULL, err));
        if (decoder->caps.planes != planes)
            return decoder_changed(decoder, err);
    }
    decoder->plane = plane;
    decoder->next_row = 0;
    return IMGSTAT_OK;
}

ImgstatResult decoder_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err)
{
    decoder->started = true;
    const ImgstatResult res = decoder->how.salvage
                                  ? salvage_read_rows(decoder, to, pitch, rows, err)
                                  : decoder->codec->read_rows(decoder, to, pitch, rows, err);
    if (res == IMGSTAT_OK)
        decoder->next_row += rows;
    if (decoder->how.salvage && res == IMGSTAT_OK && decoder->next_row == decoder->page.height)
        salvage_warn(decoder);
    return end_step(decoder, res, err);
}

void decoder_finish(Decoder *decoder)
{
    decoder->options.buffers = NULL;
    decoder->started = true;
    decoder->next_row = decoder->page.height;
}

/* ---- Writing ---- */

/* Returns whether a format is written with a compression of that name. */
static bool is_known(const EncodeFormat *format, const char *compression)
{
    for (const char *const *name = format->compressions; *name; name++)
        if (strcmp(*name, compression) == 0)
            return true;
    return false;
}

/* The sentence lists the compressions that are known: it is all that the user of a program sees. */
static ImgstatResult unknown_compression(const EncodeFormat *format, const char *name,
                                         const char *compression, ImgstatError *err)
{
    char known[128] = "";
    size_t used = 0;
    for (const char *const *each = format->compressions; *each; each++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", *each);
    return error_file(err, IMGSTAT_ERR_ARG, name,
                      "%s is not written with compression \"%s\", but with %s", format->name,
                      compression, known);
}

unsigned encode_threads(const EncodeOptions *how)
{
    const unsigned all = how->pool ? thread_pool_threads(how->pool) : 1;
    return how->threads && how->threads < all ? how->threads : all;
}

ImgstatResult encoder_create(const EncodeFormat *format, AtomicFile *output,
                             const EncodeOptions *how, Warnings *warnings, Encoder **out,
                             ImgstatError *err)
{
    *out = NULL;
    if (how->compression && !is_known(format, how->compression))
        return unknown_compression(format, output->name, how->compression, err);
    if (how->level < -1 || how->level > 22)
        return error_file(err, IMGSTAT_ERR_ARG, output->name,
                          "compression level %d is not in 0..22", how->level);
    Encoder *const encoder = calloc(1, format->encoder_bytes);
    if (!encoder)
        return error_memory(err, format->encoder_bytes, "an encoder");
    *encoder = (Encoder){.format = format, .output = output, .how = *how, .warnings = warnings};
    format->init(encoder);
    *out = encoder;
    return IMGSTAT_OK;
}

void encoder_destroy(Encoder *encoder)
{
    if (!encoder)
        return;
    encoder->format->release(encoder);
    buffer_cache_release(encoder->band);
    free(encoder);
}

EncodePage encode_page_of(const ImagePro *image, int16_t alpha)
{
    return (EncodePage){.width = image->width,
                        .height = image->height,
                        .channels = image->channels,
                        .sample = image->sample,
                        .bits = image->bits ? image->bits : (uint8_t)sample_bits(image->sample),
                        .alpha = alpha,
                        .mapped = true};
}

ImgstatResult encode_page_check(const char *name, const EncodePage *page, ImgstatError *err)
{
    if (page->width == 0 || page->height == 0 || page->channels == 0)
        return error_file(err, IMGSTAT_ERR_ARG, name, "an empty image cannot be written");
    if (page->bits == 0 || page->bits > 8 * imgstat_sample_bytes(page->sample) ||
        page->alpha >= (int)page->channels)
        return error_file(err, IMGSTAT_ERR_ARG, name,
                          "%u bits in %s samples, alpha channel %d of %u", page->bits,
                          imgstat_sample_name(page->sample), page->alpha, page->channels);
    const uint64_t bytes = /* of a row: 32 + 16 + 3 bits */
        (uint64_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (bytes > INT32_MAX)
        return error_file(err, IMGSTAT_ERR_LIMIT, name, "a row of %llu bytes is too long to write",
                          (unsigned long long)bytes);
    return IMGSTAT_OK;
}

ImgstatResult encoder_begin_page(Encoder *encoder, Decoder *like, const EncodePage *page,
                                 ImgstatError *err)
{
    const char *const name = encoder->output->name;
    if (encoder->pages > 0 && encoder->next_row != encoder->page.height)
        return error_file(err, IMGSTAT_ERR_ARG, name, "page %u has %u of its %u rows",
                          encoder->pages - 1, encoder->next_row + encoder->held,
                          encoder->page.height);
    IMGSTAT_TRY(encode_page_check(name, page, err));
    if (page->has_parent && page->parent >= encoder->pages)
        return error_file(err, IMGSTAT_ERR_ARG, name, "page %u cannot lie in page %u",
                          encoder->pages, page->parent);
    buffer_cache_release(encoder->band);
    encoder->band = NULL;
    encoder->page = *page;
    encoder->next_row = 0;
    IMGSTAT_TRY(encoder->format->begin_page(encoder, like, err));
    if (like) /* its metadata may have been left out */
        IMGSTAT_TRY(decoder_settle(like, IMGSTAT_OK, err));
    encoder->pages++;
    return IMGSTAT_OK;
}

static ImgstatResult write_band(Encoder *encoder, const uint8_t *rows, size_t pitch, uint32_t n,
                                ImgstatError *err)
{
    IMGSTAT_TRY(encoder->format->write_rows(encoder, rows, pitch, n, err));
    encoder->next_row += n;
    encoder->held = 0;
    return IMGSTAT_OK;
}

ImgstatResult encoder_write_rows(Encoder *encoder, const void *rows, size_t pitch, uint32_t n,
                                 ImgstatError *err)
{
    const EncodePage *const page = &encoder->page;
    const uint8_t *from = rows;
    const size_t row_bytes =
        (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    if (encoder->pages == 0 || n > page->height - encoder->next_row - encoder->held ||
        pitch < row_bytes)
        return error_file(err, IMGSTAT_ERR_ARG, encoder->output->name,
                          "%u rows of %zu bytes were given for page %u", n, pitch,
                          encoder->pages - 1);
    while (n > 0) {
        const uint32_t left = page->height - encoder->next_row;
        const uint32_t whole = encoder->band_rows < left ? encoder->band_rows : left;
        if (encoder->held == 0 && n >= whole) { /* straight from the caller's rows */
            IMGSTAT_TRY(write_band(encoder, from, pitch, whole, err));
            from += whole * pitch;
            n -= whole;
            continue;
        }
        if (!encoder->band)
            encoder->band = buffer_cache_acquire(encoder->how.scratch, whole * row_bytes);
        if (!encoder->band)
            return error_memory(err, whole * row_bytes, "rows to compress");
        memcpy(encoder->band + encoder->held * row_bytes, from, row_bytes);
        from += pitch;
        n--;
        if (++encoder->held == whole)
            IMGSTAT_TRY(write_band(encoder, encoder->band, row_bytes, whole, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult encoder_finish(Encoder *encoder, ImgstatError *err)
{
    if (encoder->pages == 0 || encoder->next_row != encoder->page.height)
        return error_file(err, IMGSTAT_ERR_ARG, encoder->output->name, "%u of %u rows were given",
                          encoder->next_row + encoder->held, encoder->page.height);
    return encoder->format->finish(encoder, err);
}

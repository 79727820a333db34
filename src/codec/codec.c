/* SPDX-License-Identifier: MIT */
/* codec.c: the table of formats, and the functions that read through it. They ensure the order of
 * calls that formats rely on: a page is selected, planned, and read from top to bottom. */
#include "codec/codec.h"

#include "base/compiler.h"
#include "base/sample.h"
#include "base/thread_pool.h"
#include "codec/encoder.h"
#include "codec/salvage.h"

#include <fcntl.h>
#include <stdio.h>
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

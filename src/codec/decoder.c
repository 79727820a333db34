/* SPDX-License-Identifier: MIT */
/* decoder.c: the order of calls that every codec relies on: a page is selected, planned for, and
 * read from top to bottom. */
#include "base/sample.h"
#include "codec/codec.h"

ImgstatResult decoder_open(const Codec *codec, const Source *source, const ImgstatOpen *how,
                           DecodeMode mode, Decoder **out, ImgstatError *err)
{
    IMGSTAT_TRY(codec->open(source, how, out, err));
    Decoder *const decoder = *out;
    decoder->mode = mode;
    decoder->page.page = IMGSTAT_NO_PAGE;
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
    page_mask_destroy(decoder->mask);
    decoder->codec->close(decoder);
}

ImgstatResult decoder_changed(const Decoder *decoder, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_IO, decoder->source->name, "changed while it was read");
}

/* Ends what was done to the page selected: after a failure none is. */
static ImgstatResult end_step(Decoder *decoder, ImgstatResult res, ImgstatError *err)
{
    if (res == IMGSTAT_OK)
        return res;
    decoder->channel_names = NULL;
    return decoder->page.pages > 1 ? error_add_page(err, res, decoder->page.page) : res;
}

/* Puts the nodata value that was asked for in place of the file's. */
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
    const ImgstatResult res = decoder->codec->read_rows(decoder, to, pitch, rows, err);
    if (res == IMGSTAT_OK)
        decoder->next_row += rows;
    return end_step(decoder, res, err);
}

void decoder_finish(Decoder *decoder)
{
    decoder->options.buffers = NULL;
    decoder->started = true;
    decoder->next_row = decoder->page.height;
}

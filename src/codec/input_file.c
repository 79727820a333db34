/* SPDX-License-Identifier: MIT */
/* input_file.c: the file of the public interface: its bytes, its decoder, the page selected
 * and how that is stored. */
#include "base/compiler.h"
#include "codec/codec.h"
#include "codec/codec_list.h"
#include "codec/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ImgstatResult find_codec(const Source *source, const Codec **out, ImgstatError *err)
{
    uint8_t bytes[CODEC_PROBE_BYTES] = {0};
    size_t n = 0;
    IMGSTAT_TRY(source_read(source, 0, bytes, sizeof bytes, &n, err));
    return codec_of_bytes(bytes, n, source->name, out, err);
}

/* Tests choose the mode: fast decoders must give the result of libpng and libtiff alone. */
static ImgstatResult wanted_mode(DecodeMode *mode, ImgstatError *err)
{
    static const char *const words[] = {
        [DECODE_AUTO] = "auto", [DECODE_PLAIN] = "plain", [DECODE_THREADS] = "threads"};
    const char *const wanted = getenv("IMGSTAT_DECODE");
    *mode = DECODE_AUTO;
    if (!wanted || !*wanted)
        return IMGSTAT_OK;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(wanted, words[i]) == 0) {
            *mode = (DecodeMode)i;
            return IMGSTAT_OK;
        }
    return error_set(err, IMGSTAT_ERR_ARG, "IMGSTAT_DECODE=%s: not one of auto, plain, threads",
                     wanted);
}

ImgstatResult file_open(const char *name, const ImgstatInput *input, const ImgstatOpen *how,
                        const Cancel *cancel, ImgstatFile **out, ImgstatError *err)
{
    *out = NULL;
    ImgstatOpen full = how ? *how : (ImgstatOpen){.indices = false};
    IMGSTAT_TRY(codec_list_check(full.codecs, "the list of codecs", err));
    IMGSTAT_TRY(codec_list_check(getenv("IMGSTAT_CODECS"), "IMGSTAT_CODECS", err));
    DecodeMode mode;
    IMGSTAT_TRY(wanted_mode(&mode, err));
    full.limits = limits_default(full.limits);

    ImgstatFile *const file = calloc(1, sizeof *file);
    if (!file)
        return error_add_file(err, error_memory(err, sizeof *file, "an open file"), name);
    const Codec *codec = NULL;
    ImgstatResult res = input ? source_open_input(name, input, &file->source, err)
                              : source_open(name, cancel, &file->source, err);
    if (res == IMGSTAT_OK)
        res = find_codec(file->source, &codec, err);
    if (res == IMGSTAT_OK && !codec->compression &&
        !codec_list_allows(full.codecs, codec->name, NULL))
        res = error_file(err, IMGSTAT_ERR_UNSUPPORTED, file->source->name,
                         "%s is not among the codecs that are allowed", codec->name);
    if (res == IMGSTAT_OK)
        res = decoder_open(codec, file->source, &full, mode, &file->decoder, err);
    if (res != IMGSTAT_OK) {
        res = error_add_file(err, res, file->source ? file->source->name : name);
        imgstat_file_close(file);
        return res;
    }
    *out = file;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_file_open(const char *path, const ImgstatOpen *how, ImgstatFile **out,
                                ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(path && out, __func__, err));
    return file_open(path, NULL, how, NULL, out, err);
}

ImgstatResult imgstat_file_open_input(const char *name, const ImgstatInput *input,
                                      const ImgstatOpen *how, ImgstatFile **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(name && input && input->read_at && out, __func__, err));
    return file_open(name, input, how, NULL, out, err);
}

void imgstat_file_close(ImgstatFile *file)
{
    if (!file)
        return;
    decoder_close(file->decoder);
    source_close(file->source);
    free(file->chosen);
    free(file);
}

uint32_t imgstat_file_pages(const ImgstatFile *file)
{
    return file->decoder->list.n;
}

size_t imgstat_file_page_name(const ImgstatFile *file, uint32_t page, char *out, size_t capacity)
{
    const PageList *const list = &file->decoder->list;
    if (capacity > 0)
        out[0] = '\0';
    return page < list->n ? page_list_name(list, page, out, capacity) : 0;
}

ImgstatResult imgstat_file_find(const ImgstatFile *file, const char *pages, uint32_t *out,
                                uint32_t capacity, uint32_t *n, ImgstatError *err)
{
    uint32_t *found = NULL;
    IMGSTAT_TRY(error_if_null(file && n && (out || capacity == 0), __func__, err));
    IMGSTAT_TRY(page_list_select(&file->decoder->list, pages, file->source->name, &found, n, err));
    for (uint32_t i = 0; i < *n && i < capacity; i++)
        out[i] = found[i];
    free(found);
    return IMGSTAT_OK;
}

ImgstatResult file_choose(ImgstatFile *file, const char *pages, unsigned with, ImgstatError *err)
{
    const PageList *const list = &file->decoder->list;
    uint32_t *named = NULL, n = 0;
    IMGSTAT_TRY(page_list_select(list, pages, file->source->name, &named, &n, err));
    free(file->chosen);
    file->chosen = NULL;
    file->n_chosen = 0;
    const ImgstatResult res = page_list_complete(list, named, n, with, pages == NULL, &file->chosen,
                                                 &file->n_chosen, err);
    free(named);
    return res;
}

ImgstatResult file_select(ImgstatFile *file, uint32_t page, const DecodeOptions *options,
                          ImgstatError *err)
{
    Decoder *const decoder = file->decoder;
    if (page >= decoder->list.n)
        return error_file(err, IMGSTAT_ERR_ARG, decoder->source->name,
                          "has no page %u; it has %u, counted from 0", page, decoder->list.chain);
    return error_add_file(err, decoder_select(decoder, page, options, err), decoder->source->name);
}

/* Selects a page whose rows are read with all channels. */
static ImgstatResult select_for_rows(ImgstatFile *file, uint32_t page, ImgstatError *err)
{
    DecodeOptions options = file->decoder->options;
    options.planes = false;
    file->measured = false;
    return file_select(file, page, &options, err);
}

ImgstatResult imgstat_file_page(ImgstatFile *file, uint32_t page, ImgstatPage *out,
                                ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(file, __func__, err));
    const ImgstatResult res = select_for_rows(file, page, err);
    if (out && (res == IMGSTAT_OK || (res == IMGSTAT_ERR_UNSUPPORTED && file->decoder->outlined)))
        *out = file->decoder->page;
    return error_add_file(err, res, file->source->name);
}

const char *imgstat_file_channel(const ImgstatFile *file, uint16_t channel)
{
    const Decoder *const decoder = file->decoder;
    return decoder->channel_names && channel < decoder->page.channels
               ? decoder->channel_names[channel]
               : "";
}

ImgstatResult imgstat_file_read(ImgstatFile *file, ImagePro *image, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(file && image, __func__, err));
    Decoder *const decoder = file->decoder;
    const ImgstatPage *const page = &decoder->page;
    const char *const name = file->source->name;
    char text[PAGE_NAME_BYTES];
    if (!decoder->channel_names)
        return error_file(err, IMGSTAT_ERR_ARG, name, "no page is selected");
    if (image->memory == IMGSTAT_CUDA)
        return error_file(err, IMGSTAT_ERR_ARG, name, "rows are read into host memory only");
    if (image->width != page->width || image->channels != page->channels ||
        image->sample != page->sample)
        return error_file(err, IMGSTAT_ERR_ARG, name,
                          "the image to read into was not made for page %s",
                          decoder_page_name(decoder, page->page, text));
    if (file->measured)
        IMGSTAT_TRY(error_add_file(err, select_for_rows(file, page->page, err), name));
    if (image->height > page->height - decoder->next_row)
        return error_file(err, IMGSTAT_ERR_ARG, name, "%u rows asked for where %u are left",
                          image->height, page->height - decoder->next_row);
    const uint32_t first = decoder->next_row;
    ImgstatResult res = work_spend(decoder, err);
    if (res == IMGSTAT_OK)
        res = decoder_read_rows(decoder, image->host, image->pitch, image->height, err);
    IMGSTAT_TRY(error_add_file(err, res, name));
    image->first_row = first;
    if (page->has_nodata)
        imgstat_image_set_nodata(image, page->nodata);
    return IMGSTAT_OK;
}

uint64_t imgstat_file_lost_rows(const ImgstatFile *file)
{
    return file->decoder->salvage.all_rows;
}

/* ---- How a page is stored ---- */

void layout_add(ImgstatLayout *layout, const char *metadata)
{
    for (uint32_t i = 0; i < layout->n_metadata; i++)
        if (strcmp(layout->metadata[i], metadata) == 0)
            return;
    if (layout->n_metadata < ARRAY_LEN(layout->metadata))
        layout->metadata[layout->n_metadata++] = metadata;
}

static void add_metadata(ImgstatLayout *layout, const Metadata *metadata)
{
    static const char *const names[] = {[METADATA_PROFILE] = "icc",
                                        [METADATA_RESOLUTION] = "resolution",
                                        [METADATA_TIME] = "time",
                                        [METADATA_EXIF] = "exif",
                                        [METADATA_XMP] = "xmp",
                                        [METADATA_IPTC] = "iptc",
                                        [METADATA_PHOTOSHOP] = "photoshop"};
    bool texts = false;
    for (size_t i = 0; i < metadata->n; i++) {
        if (metadata->item[i].kind != METADATA_TEXT)
            layout_add(layout, names[metadata->item[i].kind]);
        else if (!texts)
            layout_add(layout, "text");
        texts = texts || metadata->item[i].kind == METADATA_TEXT;
    }
}

ImgstatResult imgstat_file_layout(ImgstatFile *file, ImgstatLayout *out, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(file && out, __func__, err));
    Decoder *const decoder = file->decoder;
    if (!decoder->channel_names && !decoder->outlined)
        return error_file(err, IMGSTAT_ERR_ARG, file->source->name, "no page is selected");
    Metadata metadata = {.n = 0};
    Warnings silent = {.name = file->source->name};
    *out = (ImgstatLayout){.compression = "", .predictor = "none"};
    ImgstatResult res =
        decoder->outlined ? IMGSTAT_OK : decoder_metadata(decoder, &metadata, &silent, err);
    if (res == IMGSTAT_OK) {
        add_metadata(out, &metadata);
        decoder->codec->layout(decoder, out);
    }
    res = decoder_settle(decoder, res, err);
    metadata_release(&metadata);
    warnings_release(&silent);
    return error_add_file(err, res, file->source->name);
}

/* ---- Whether a file is whole or was cut short ---- */

static bool is_whole(const Source *source)
{
    static const uint8_t zeros[CODEC_PROBE_BYTES];
    uint8_t start[CODEC_PROBE_BYTES] = {0};
    size_t n = 0;
    if (source_read(source, 0, start, sizeof start, &n, NULL) != IMGSTAT_OK)
        return false;
    const Codec *codec;
    for (size_t i = 0; (codec = codec_at(i)) != NULL; i++)
        if (codec->probe(start, n))
            return codec->is_whole(source);
    const bool is_beginning = n < 8 && strchr("\x89IM", start[0]) != NULL;
    return !is_beginning && memcmp(start, zeros, sizeof start) != 0;
}

ImgstatResult codec_check_whole(const char *path, bool *whole, ImgstatError *err)
{
    struct stat st;
    Source *source = NULL;
    *whole = true;
    if (stat(path, &st) != 0)
        return error_file(err, IMGSTAT_ERR_IO, path, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode) || (access(path, R_OK) != 0 && errno == EACCES))
        return IMGSTAT_OK; /* not known */
    *whole = false;
    if (st.st_size == 0)
        return IMGSTAT_OK;
    IMGSTAT_TRY(error_add_file(err, source_open(path, NULL, &source, err), path));
    *whole = is_whole(source);
    const ImgstatResult res = source_settle(source, IMGSTAT_OK, err);
    source_close(source);
    return res;
}

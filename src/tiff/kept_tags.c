/* SPDX-License-Identifier: MIT */
/* kept_tags.c: which fields of an input's page its output keeps. */
#include "base/compiler.h"
#include "tiff/directories.h"
#include "tiff/encoder.h"
#include "tiff/field_rewrite.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What decides which fields are kept. */
typedef struct Keeping {
    const TiffShape *shape; /* of the output */
    bool rewrites;          /* fields that describe values or pages are not copied as they are */
    bool values;            /* samples were mapped */
    bool drops_nodata;
    bool numbers; /* pages get new numbers */
    Warnings *warnings;
} Keeping;

/* Fields that the headers of some versions of libtiff do not name. */
enum {
    TAG_METAMORPH = 33628,
    TAG_METAMORPH_LAST = 33631,
    TAG_LSM = 34412,
    TAG_LINEARIZATION = 50712, /* of DNG, like those that follow */
    TAG_WHITE_LEVEL = 50717,
    TAG_RAW_DIGEST = 50972,
    TAG_NOISE_PROFILE = 51041,
    TAG_NEW_RAW_DIGEST = 51111
};

/* What DNG says about values of samples: a table, black and white, sums, noise. Without them black
 * is 0 and white the largest value. */
static bool is_level(uint16_t tag)
{
    return (tag >= TAG_LINEARIZATION && tag <= TAG_WHITE_LEVEL) || tag == TAG_RAW_DIGEST ||
           tag == TAG_NOISE_PROFILE || tag == TAG_NEW_RAW_DIGEST;
}

/* Whether a field describes values or places of the input that are not those of the output. */
static bool is_of_input(const Keeping *keeping, uint16_t tag)
{
    const char *const why =
        tag >= TAG_METAMORPH && tag <= TAG_METAMORPH_LAST
            ? "MetaMorph's fields of its planes are left out: they point to "
              "places of the old file"
        : tag == TAG_LSM ? "Zeiss' LSM information is left out: it points to places of the "
                           "old file, and counts thumbnails"
        : keeping->values && is_level(tag)
            ? "black and white level of its raw samples, and what else DNG says "
              "of values, are left out: they are true of the old values only"
        : keeping->values && tag == TIFFTAG_STONITS
            ? "its scale to nits is left out: it is true of the old values only"
            : NULL;
    if (why)
        warnings_report(keeping->warnings, "%s", why);
    return why != NULL;
}

/* Returns whether a field of the input is copied. Left out are fields that this encoder writes
 * itself, that describe where pixels of the input lie or how they were compressed, and that
 * describe values, which change. */
static bool is_wanted(const void *context, uint16_t tag)
{
    const Keeping *const keeping = context;
    const uint16_t compression = keeping->shape->compression;
    switch (tag) {
    case TIFFTAG_IMAGEWIDTH:
    case TIFFTAG_IMAGELENGTH:
    case TIFFTAG_BITSPERSAMPLE:
    case TIFFTAG_COMPRESSION:
    case TIFFTAG_PHOTOMETRIC:
    case TIFFTAG_FILLORDER:
    case TIFFTAG_STRIPOFFSETS:
    case TIFFTAG_SAMPLESPERPIXEL:
    case TIFFTAG_ROWSPERSTRIP:
    case TIFFTAG_STRIPBYTECOUNTS:
    case TIFFTAG_MINSAMPLEVALUE:
    case TIFFTAG_MAXSAMPLEVALUE:
    case TIFFTAG_PLANARCONFIG:
    case TIFFTAG_FREEOFFSETS:
    case TIFFTAG_FREEBYTECOUNTS:
    case TIFFTAG_PREDICTOR:
    case TIFFTAG_TILEWIDTH:
    case TIFFTAG_TILELENGTH:
    case TIFFTAG_TILEOFFSETS:
    case TIFFTAG_TILEBYTECOUNTS:
    case TIFFTAG_SUBIFD:
    case TIFFTAG_SAMPLEFORMAT:
    case TIFFTAG_SMINSAMPLEVALUE:
    case TIFFTAG_SMAXSAMPLEVALUE:
    case TIFFTAG_DATATYPE: /* SampleFormat before there was one */
    case TIFFTAG_JPEGTABLES:
    case TIFFTAG_YCBCRCOEFFICIENTS:
    case TIFFTAG_YCBCRSUBSAMPLING:
    case TIFFTAG_YCBCRPOSITIONING:
    case 326: /* bad fax lines and what else is known of damaged fax data */
    case 327:
    case 328:
    case TIFFTAG_LERC_PARAMETERS:
        return false;
    case TIFFTAG_GROUP3OPTIONS:
        return compression == COMPRESSION_CCITTFAX3;
    case TIFFTAG_GROUP4OPTIONS:
        return compression == COMPRESSION_CCITTFAX4;
    case TIFFTAG_COLORMAP:
    case TIFFTAG_INDEXED:
        return keeping->shape->photometric == PHOTOMETRIC_PALETTE;
    case TIFFTAG_REFERENCEBLACKWHITE:
        return false;
    case TIFFTAG_IMAGEDESCRIPTION:
    case TAG_PHOTOSHOP:
    case TAG_PHOTOSHOP_LAYERS:
    case TAG_GDAL_METADATA:
    case TAG_IMAGEJ_COUNTS:
    case TAG_IMAGEJ_METADATA:
        return !keeping->rewrites;
    case TIFFTAG_SUBFILETYPE:
    case TIFFTAG_OSUBFILETYPE:
        return keeping->shape->keeps_type;
    case TIFFTAG_GDAL_NODATA:
        return !keeping->drops_nodata;
    case TIFFTAG_PAGENUMBER:
        return !keeping->numbers;
    default:
        return (tag < TIFFTAG_JPEGPROC || tag > TIFFTAG_JPEGACTABLES) && !is_of_input(keeping, tag);
    }
}

/* Fields that hold one number for each value that a sample can have, or name some. */
static bool is_of_depth(uint16_t tag)
{
    return tag == TIFFTAG_GRAYRESPONSECURVE || tag == TIFFTAG_TRANSFERFUNCTION ||
           tag == TIFFTAG_DOTRANGE || tag == TIFFTAG_HALFTONEHINTS;
}

/* The depth changes, and the channels. */
static bool is_wanted_still(const void *context, uint16_t tag)
{
    const Keeping *const keeping = context;
    if (is_of_depth(tag))
        warnings_report(keeping->warnings,
                        "its field %u is left out: it is about values of the old depth", tag);
    if (is_of_depth(tag) || tag == TIFFTAG_EXTRASAMPLES || tag == TIFFTAG_INKSET ||
        tag == TIFFTAG_INKNAMES || tag == TIFFTAG_NUMBEROFINKS || tag == TIFFTAG_MATTEING ||
        tag == TIFFTAG_GRAYRESPONSEUNIT)
        return false;
    return is_wanted(context, tag);
}

/* The channels stay, their depth changes. */
static bool is_wanted_of_channels(const void *context, uint16_t tag)
{
    return tag == TIFFTAG_EXTRASAMPLES || tag == TIFFTAG_INKSET || tag == TIFFTAG_INKNAMES ||
           tag == TIFFTAG_NUMBEROFINKS || tag == TIFFTAG_MATTEING || is_wanted_still(context, tag);
}

/* ---- Fields that are rewritten ---- */

/* Where such fields go, and from where. */
typedef struct Rewriting {
    TiffFile *file;
    TiffTags *tags;
    const TiffTagSource *from;
    uint64_t at; /* of the input's directory */
    const FieldChange *change;
    Warnings *warnings;
} Rewriting;

static ImgstatResult add_result(const Rewriting *r, uint16_t tag, const TiffLoaded *field,
                                const FieldResult *result, ImgstatError *err)
{
    const bool text = field->type == TIFF_ASCII;
    if (result->fate == FIELD_GOES)
        return IMGSTAT_OK;
    if (result->fate == FIELD_STAYS)
        return tiff_tags_set(r->file, r->tags, tag, field->type, field->count, field->data, err);
    return tiff_tags_set(r->file, r->tags, tag, field->type, result->text.n + text,
                         result->text.data, err);
}

static ImgstatResult rewrite_field(const Rewriting *r, uint16_t tag, ImgstatError *err)
{
    TiffLoaded field;
    FieldResult result = {.fate = FIELD_STAYS};
    if (tiff_tags_have(r->tags, tag))
        return IMGSTAT_OK;
    IMGSTAT_TRY(tiff_tag_load(r->from, r->at, tag, &field, err));
    if (!field.data)
        return IMGSTAT_OK;
    const char *const text = (const char *)field.data;
    ImgstatResult res = IMGSTAT_OK;
    if (tag == TAG_PHOTOSHOP_LAYERS && r->change->values) {
        result.fate = FIELD_GOES;
        warnings_report(r->warnings,
                        "its Photoshop layers are left out: they show the old contrast");
    } else if (tag == TAG_PHOTOSHOP && field.bytes == field.count) {
        res = photoshop_rewrite(field.data, field.bytes, r->change, r->warnings, &result, err);
    } else if (tag == TIFFTAG_IMAGEDESCRIPTION && field.type == TIFF_ASCII) {
        res = description_rewrite(text, r->change, r->warnings, &result, err);
    } else if (tag == TAG_GDAL_METADATA && field.type == TIFF_ASCII) {
        res = gdal_metadata_rewrite(text, r->change, r->warnings, &result, err);
    }
    if (res == IMGSTAT_OK)
        res = add_result(r, tag, &field, &result, err);
    field_result_release(&result);
    free(field.data);
    return res;
}

static ImgstatResult rewrite_imagej(const Rewriting *r, ImgstatError *err)
{
    ImagejMetadata metadata;
    FieldResult result = {.fate = FIELD_STAYS};
    if (tiff_tags_have(r->tags, TAG_IMAGEJ_METADATA))
        return IMGSTAT_OK;
    IMGSTAT_TRY(tiff_imagej_load(r->from, r->at, &metadata, err));
    if (!metadata.data)
        return IMGSTAT_OK;
    ImgstatResult res = imagej_metadata_rewrite(&metadata, r->change, r->warnings, &result, err);
    const bool changes = result.fate == FIELD_CHANGES;
    if (res == IMGSTAT_OK && result.fate != FIELD_GOES)
        res = tiff_tags_set(r->file, r->tags, TAG_IMAGEJ_COUNTS, TIFF_LONG,
                            changes ? result.n_counts : metadata.n_counts,
                            changes ? result.counts : metadata.counts, err);
    if (res == IMGSTAT_OK && result.fate != FIELD_GOES)
        res = tiff_tags_set(r->file, r->tags, TAG_IMAGEJ_METADATA, TIFF_BYTE,
                            changes ? result.text.n : metadata.bytes,
                            changes ? (const void *)result.text.data : metadata.data, err);
    field_result_release(&result);
    free((void *)(uintptr_t)metadata.data);
    free((void *)(uintptr_t)metadata.counts);
    return res;
}

/* Fields of one directory of the input. */
static ImgstatResult rewrite_fields(Rewriting *r, uint64_t at, ImgstatError *err)
{
    static const uint16_t tags[] = {TIFFTAG_IMAGEDESCRIPTION, TAG_PHOTOSHOP, TAG_PHOTOSHOP_LAYERS,
                                    TAG_GDAL_METADATA};
    r->at = at;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        IMGSTAT_TRY(rewrite_field(r, tags[i], err));
    return rewrite_imagej(r, err);
}

/* The texts of a stack are those of its first page: another page that becomes the first of the
 * output takes them over. */
static ImgstatResult rewrite_stack(Rewriting *r, const TiffDecoder *td, ImgstatError *err)
{
    r->at = td->base.list.entry[0].at;
    IMGSTAT_TRY(rewrite_field(r, TIFFTAG_IMAGEDESCRIPTION, err));
    return rewrite_imagej(r, err);
}

/* What the directory of a preview says about the image that lies in it, as raw files of cameras
 * have it, and not about the preview. */
static bool is_wanted_of_thumbnail(const void *context, uint16_t tag)
{
    enum { PREVIEW_FIRST = 50966, PREVIEW_LAST = 50971 }; /* its application, colours, time */
    return tag != TIFFTAG_SUBFILETYPE && tag != TIFFTAG_OSUBFILETYPE && tag != TIFFTAG_COLORMAP &&
           tag != TIFFTAG_ICCPROFILE && (tag < PREVIEW_FIRST || tag > PREVIEW_LAST) &&
           is_wanted_still(context, tag);
}

/* A nodata value that marks no sample of the input, as its type cannot hold it or it is an index of
 * a palette, could mark some where the output has other samples. */
static ImgstatResult drop_nodata(const Rewriting *r, const TiffDecoder *td, const EncodePage *page,
                                 Keeping *keeping, ImgstatError *err)
{
    TiffLoaded field;
    const bool palette = td->map8 || td->map16;
    if (td->base.page.has_nodata || tiff_tags_have(r->tags, TIFFTAG_GDAL_NODATA) ||
        (!palette && tiff_keeps_samples(&td->base, page)))
        return IMGSTAT_OK;
    IMGSTAT_TRY(tiff_tag_load(r->from, tiff_page_at(td), TIFFTAG_GDAL_NODATA, &field, err));
    keeping->drops_nodata = field.data != NULL;
    if (field.data)
        warnings_report(r->warnings, "the nodata value of its input, which marks no sample there, "
                                     "is left out: it could mark some here");
    free(field.data);
    return IMGSTAT_OK;
}

/* The page comes from another format. */
static ImgstatResult convert_fields(TiffFile *file, const Decoder *like, const Metadata *metadata,
                                    const EncodePage *page, Warnings *warnings, TiffTags *tags,
                                    ImgstatError *err)
{
    if (tiff_keeps_palette(like, page) && !page->colormap)
        IMGSTAT_TRY(tiff_palette_write(file, like, page, tags, err));
    return tiff_metadata_write(file, metadata, warnings, tags, err);
}

/* Returns whether the output has a range to show: floats of meanstd may have any value. */
static bool has_range(const EncodePage *page)
{
    const double most = page->sample == IMGSTAT_F16   ? 65504
                        : page->sample == IMGSTAT_F32 ? (double)FLT_MAX
                                                      : DBL_MAX;
    return isfinite(page->low) && isfinite(page->high) && (page->low > -most || page->high < most);
}

/* Returns whether the page is the first one of a stack that is left, but not of the whole one. */
static bool takes_over(const TiffDecoder *td, const Encoder *encoder)
{
    const uint32_t page = td->base.page.page;
    return page > 0 && encoder->n_chain > 0 && encoder->chain && encoder->chain[0] == page &&
           page < td->axes.n && td->axes.plane && td->axes.plane[page].known;
}

/* Numbers a page that has a number among those that were chosen. */
static ImgstatResult number_page(TiffFile *file, TIFF *tif, uint32_t page, const Encoder *encoder,
                                 TiffTags *tags, ImgstatError *err)
{
    uint16_t old, total;
    if (!encoder->chain || !TIFFGetField(tif, TIFFTAG_PAGENUMBER, &old, &total))
        return IMGSTAT_OK;
    for (uint32_t k = 0; k < encoder->n_chain && k <= UINT16_MAX; k++) {
        const uint16_t n = encoder->n_chain <= UINT16_MAX ? (uint16_t)encoder->n_chain : 0;
        const uint16_t number[2] = {(uint16_t)k, n}; /* 0: more than the field can say */
        if (encoder->chain[k] == page)
            return tiff_tags_set(file, tags, TIFFTAG_PAGENUMBER, TIFF_SHORT, 2, number, err);
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_fields_copy(TiffFile *file, const TiffShape *shape, Decoder *like,
                               const Metadata *metadata, const Encoder *encoder, TiffTags *tags,
                               ImgstatError *err)
{
    const EncodePage *const page = &encoder->page;
    Warnings *const warnings = encoder->warnings;
    if (!like)
        return IMGSTAT_OK;
    if (like->codec != &tiff_codec)
        return convert_fields(file, like, metadata, page, warnings, tags, err);
    const TiffDecoder *const td = (const TiffDecoder *)like;
    TiffTagSource from;
    if (!tiff_tag_source(like->source, &from))
        return decoder_changed(like, err);
    const PageList *const list = &like->list;
    const uint32_t parent = list->entry[like->page.page].parent;
    const bool of_preview =
        parent != IMGSTAT_NO_PAGE && list->entry[parent].role == IMGSTAT_ROLE_THUMBNAIL;
    const bool is_known = has_range(page);
    Keeping keeping = {.shape = shape,
                       .rewrites = page->mapped || encoder->chain,
                       .values = page->mapped,
                       .numbers = encoder->chain != NULL,
                       .warnings = warnings};
    const FieldChange change = {.values = page->mapped,
                                .converts = page->converts,
                                .from_sample = like->page.sample,
                                .sample = page->sample,
                                .from_bits = like->page.bits,
                                .bits = page->bits,
                                .from_samples = td->layout.samples,
                                .samples = page->channels,
                                .low = is_known ? page->low : 0,
                                .high = is_known ? page->high : 0,
                                .axes = td->axes.plane ? &td->axes : NULL,
                                .from_pages = like->list.chain,
                                .pages = encoder->chain,
                                .n_pages = encoder->n_chain,
                                .contiguous = page->planes > 1 && !shape->tiled &&
                                              shape->compression == COMPRESSION_NONE};
    Rewriting rewriting = {
        .file = file, .tags = tags, .from = &from, .change = &change, .warnings = warnings};
    if (keeping.rewrites && takes_over(td, encoder))
        IMGSTAT_TRY(rewrite_stack(&rewriting, td, err));
    if (keeping.rewrites && !(list->entry[like->page.page].plane > 0 && encoder->pages > 0))
        IMGSTAT_TRY(rewrite_fields(&rewriting, tiff_page_at(td), err));
    if (keeping.rewrites && of_preview)
        IMGSTAT_TRY(rewrite_fields(&rewriting, list->entry[parent].at, err));
    IMGSTAT_TRY(drop_nodata(&rewriting, td, page, &keeping, err));
    IMGSTAT_TRY(number_page(file, td->handle.tif, like->page.page, encoder, tags, err));
    IMGSTAT_TRY(tiff_tags_copy(file, &from, tiff_page_at(td),
                               tiff_keeps_samples(like, page)          ? is_wanted
                               : page->channels == like->page.channels ? is_wanted_of_channels
                                                                       : is_wanted_still,
                               &keeping, warnings, tags, err));
    if (!of_preview)
        return IMGSTAT_OK;
    return tiff_tags_copy(file, &from, list->entry[parent].at, is_wanted_of_thumbnail, &keeping,
                          warnings, tags, err);
}

/* SPDX-License-Identifier: MIT */
/* kept_tags.c: which fields of an input's page its output keeps. */
#include "tiff/encoder.h"

/* Fields that this encoder writes, that tell where pixels of the input lie or how they were
 * compressed, or that tell of values, which change. */
static bool is_wanted(const void *context, uint16_t tag)
{
    const TiffShape *const shape = context; /* of the output */
    const uint16_t compression = shape->compression;
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
        return shape->photometric == PHOTOMETRIC_PALETTE;
    case TIFFTAG_REFERENCEBLACKWHITE:
        return false;
    case TIFFTAG_SUBFILETYPE:
    case TIFFTAG_OSUBFILETYPE:
        return shape->keeps_type;
    default:
        return tag < TIFFTAG_JPEGPROC || tag > TIFFTAG_JPEGACTABLES;
    }
}

/* Fields that hold one number for each value that a sample can have, or describe the channels. */
static bool is_wanted_still(const void *context, uint16_t tag)
{
    if (tag == TIFFTAG_EXTRASAMPLES || tag == TIFFTAG_INKSET || tag == TIFFTAG_INKNAMES ||
        tag == TIFFTAG_NUMBEROFINKS || tag == TIFFTAG_GRAYRESPONSECURVE ||
        tag == TIFFTAG_GRAYRESPONSEUNIT || tag == TIFFTAG_TRANSFERFUNCTION ||
        tag == TIFFTAG_DOTRANGE)
        return false;
    return is_wanted(context, tag);
}

/* The channels stay, their depth changes. */
static bool is_wanted_of_channels(const void *context, uint16_t tag)
{
    return tag == TIFFTAG_EXTRASAMPLES || tag == TIFFTAG_INKSET || tag == TIFFTAG_INKNAMES ||
           tag == TIFFTAG_NUMBEROFINKS || is_wanted_still(context, tag);
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

/* The page comes from another format. */
static ImgstatResult convert_fields(TiffFile *file, Decoder *like, const EncodePage *page,
                                    Warnings *warnings, TiffTags *tags, ImgstatError *err)
{
    Metadata metadata = {.n = 0};
    if (tiff_keeps_palette(like, page) && !page->colormap)
        IMGSTAT_TRY(tiff_palette_write(file, like, page, tags, err));
    ImgstatResult res = like->codec->metadata(like, &metadata, warnings, err);
    if (res == IMGSTAT_OK)
        res = tiff_metadata_write(file, &metadata, warnings, tags, err);
    metadata_release(&metadata);
    return res;
}

ImgstatResult tiff_fields_copy(TiffFile *file, const TiffShape *shape, Decoder *like,
                               const EncodePage *page, Warnings *warnings, TiffTags *tags,
                               ImgstatError *err)
{
    if (!like)
        return IMGSTAT_OK;
    if (like->codec != &tiff_codec)
        return convert_fields(file, like, page, warnings, tags, err);
    const TiffDecoder *const td = (const TiffDecoder *)like;
    TiffTagSource from;
    if (!tiff_tag_source(like->source, &from))
        return decoder_changed(like, err);
    IMGSTAT_TRY(tiff_tags_copy(file, &from, tiff_page_at(td),
                               tiff_keeps_samples(like, page)          ? is_wanted
                               : page->channels == like->page.channels ? is_wanted_of_channels
                                                                       : is_wanted_still,
                               shape, warnings, tags, err));
    const PageList *const list = &like->list;
    const uint32_t parent = list->entry[like->page.page].parent;
    if (parent == IMGSTAT_NO_PAGE || list->entry[parent].role != IMGSTAT_ROLE_THUMBNAIL)
        return IMGSTAT_OK;
    return tiff_tags_copy(file, &from, list->entry[parent].at, is_wanted_of_thumbnail, shape,
                          warnings, tags, err);
}

/* SPDX-License-Identifier: MIT */
/* field_rewrite.h: fields whose contents describe values or pages, rewritten so that they are true
 * of an output. */
#ifndef IMGSTAT_TIFF_FIELD_REWRITE_H
#define IMGSTAT_TIFF_FIELD_REWRITE_H

#include "base/text_buffer.h"
#include "tiff/stack_axes.h"

enum {
    TAG_PHOTOSHOP = 34377,
    TAG_PHOTOSHOP_LAYERS = 37724,
    TAG_GDAL_METADATA = 42112,
    TAG_IMAGEJ_COUNTS = 50838,
    TAG_IMAGEJ_METADATA = 50839
};

/* What an output differs in from the page that has the field. */
typedef struct FieldChange {
    bool values;                       /* samples were mapped */
    bool converts;                     /* pages of every sample type become of this one */
    ImgstatSample from_sample, sample; /* of the input, of the output */
    uint8_t from_bits, bits;
    uint16_t from_samples, samples; /* of a pixel */
    double low, high;      /* values that a viewer shows as black and white; equal: not known */
    const StackAxes *axes; /* of the input; NULL: it declares none */
    uint32_t from_pages;   /* of the input\'s chain */
    const uint32_t *pages; /* that the output has, ascending; NULL: all of the input */
    uint32_t n_pages;
    bool contiguous; /* one directory of the output stands for all planes */
} FieldChange;

typedef enum FieldFate { FIELD_STAYS, FIELD_CHANGES, FIELD_GOES } FieldFate;

/* What becomes of a field. */
typedef struct FieldResult {
    FieldFate fate;
    TextBuffer text;  /* FIELD_CHANGES: the new contents, without the NUL of a text */
    uint32_t *counts; /* of imagej_metadata_rewrite: the new field 50838 */
    uint32_t n_counts;
} FieldResult;

void field_result_release(FieldResult *result);

/* ImageDescription: OME-XML, ImageJ's description, tifffile's JSON; every other text stays. */
ImgstatResult description_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                                  FieldResult *out, ImgstatError *err);

ImgstatResult imagej_metadata_rewrite(const ImagejMetadata *metadata, const FieldChange *change,
                                      Warnings *warnings, FieldResult *out, ImgstatError *err);

/* GDAL_METADATA: statistics, scale and offset go where values changed. */
ImgstatResult gdal_metadata_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                                    FieldResult *out, ImgstatError *err);

/* Photoshop's image resources: thumbnails go where values changed. */
ImgstatResult photoshop_rewrite(const uint8_t *data, size_t bytes, const FieldChange *change,
                                Warnings *warnings, FieldResult *out, ImgstatError *err);

/* Reads the band names of GDAL_METADATA: names[i] is "" for none. Damaged metadata have none. */
ImgstatResult gdal_band_names(const char *text, uint16_t n, char (*names)[STACK_NAME_BYTES],
                              ImgstatError *err);

/* ---- One kind of description each ---- */

/* out->fate is FIELD_GOES where the text cannot be made true; a warning is reported. */
ImgstatResult ome_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                          FieldResult *out, ImgstatError *err);
ImgstatResult imagej_description_rewrite(const char *text, const FieldChange *change,
                                         Warnings *warnings, FieldResult *out, ImgstatError *err);
ImgstatResult shaped_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                             FieldResult *out, ImgstatError *err);

#endif

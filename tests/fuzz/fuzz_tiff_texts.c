/* SPDX-License-Identifier: MIT */
/* fuzz_tiff_texts: any bytes as the texts of a TIFF file. The first byte is how many pages it has,
 * the second which of them an output keeps. What is written of a text must describe that output. */
#include "tiff/field_rewrite.h"
#include "tiff/imagej_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_PAGES = 256, COUNTS = 8 };

static void warn(void *context, const char *sentence)
{
    ++*(unsigned *)context;
    if (strncmp(sentence, "fuzz: ", 6) != 0)
        abort();
}

static const char *only_text(void *context, uint32_t page)
{
    return page == 0 ? context : NULL;
}

static unsigned read_axes(const char *text, const ImagejMetadata *imagej, uint32_t n,
                          StackAxes *axes)
{
    unsigned n_warned = 0;
    Warnings warnings = {.warn = warn, .context = &n_warned, .name = "fuzz"};
    const StackPages pages = {.n = n, .samples = 1};
    const StackTexts texts = {
        .description = only_text, .context = (void *)(uintptr_t)text, .imagej = *imagej};
    if (stack_axes_read(&texts, &pages, &warnings, axes, NULL) != IMGSTAT_OK)
        abort();
    warnings_release(&warnings);
    for (uint32_t i = 0; axes->plane && i < n; i++)
        for (unsigned axis = 0; axis < STACK_AXES; axis++)
            if (!axes->plane[i].known || axes->plane[i].at[axis] >= axes->size[axis])
                abort();
    return n_warned;
}

static void rewrite_all(const char *text, const ImagejMetadata *imagej, const FieldChange *change)
{
    FieldResult result;
    const ImagejMetadata none = {.data = NULL};
    if (description_rewrite(text, change, NULL, &result, NULL) != IMGSTAT_OK)
        abort();
    if (result.fate == FIELD_CHANGES && change->axes && change->pages && result.text.data) {
        StackAxes again;
        if (read_axes(result.text.data, &none, change->n_pages, &again) > 0) {
            fprintf(stderr, "%s\nbecomes\n%s\n", text, result.text.data);
            abort();
        }
        stack_axes_release(&again);
    }
    field_result_release(&result);
    if (imagej_metadata_rewrite(imagej, change, NULL, &result, NULL) != IMGSTAT_OK)
        abort();
    if (result.fate == FIELD_CHANGES) {
        ImagejPart parts[IMAGEJ_MOST_PARTS];
        bool big_endian;
        const ImagejMetadata again = {.data = (const uint8_t *)result.text.data,
                                      .bytes = result.text.n,
                                      .counts = result.counts,
                                      .n_counts = result.n_counts};
        if (imagej_parts(&again, parts, &big_endian) == 0)
            abort();
    }
    field_result_release(&result);
    if (gdal_metadata_rewrite(text, change, NULL, &result, NULL) != IMGSTAT_OK)
        abort();
    field_result_release(&result);
    if (photoshop_rewrite((const uint8_t *)text, strlen(text), change, NULL, &result, NULL) !=
        IMGSTAT_OK)
        abort();
    field_result_release(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 + COUNTS)
        return 0;
    uint32_t counts[COUNTS], pages[MOST_PAGES], n_pages = 0;
    for (size_t i = 0; i < COUNTS; i++)
        counts[i] = data[2 + i];
    const size_t n = size - 2 - COUNTS;
    char *const text = malloc(n + 1);
    if (!text)
        return 0;
    memcpy(text, data + 2 + COUNTS, n);
    text[n] = '\0';
    const uint32_t n_all = data[0] + 1u;
    const ImagejMetadata imagej = {
        .data = (const uint8_t *)text, .bytes = n, .counts = counts, .n_counts = COUNTS};
    StackAxes axes;
    (void)read_axes(text, &imagej, n_all, &axes);
    for (uint32_t i = 0; i < n_all; i++)
        if (data[1] >> i % 8 & 1 || (data[1] == 0 && i == 0))
            pages[n_pages++] = i;
    FieldChange change = {.values = data[1] & 1,
                          .from_sample = IMGSTAT_U16,
                          .sample = IMGSTAT_U8,
                          .from_bits = 16,
                          .bits = 8,
                          .from_samples = 1,
                          .samples = 1,
                          .high = 255,
                          .axes = axes.plane ? &axes : NULL};
    rewrite_all(text, &imagej, &change);
    change.pages = pages;
    change.n_pages = n_pages;
    rewrite_all(text, &imagej, &change);
    char names[4][STACK_NAME_BYTES];
    (void)gdal_band_names(text, 4, names, NULL);
    stack_axes_release(&axes);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* imagej_rewrite.c: ImageJ's description and IJMetadata, with the display range, channels and
 * planes of an output. */
#include "tiff/field_rewrite.h"
#include "tiff/imagej_text.h"

#include "base/byteswap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The description ---- */

/* As Java prints a double that is a whole number. */
static void print_number(TextBuffer *out, const char *key, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        text_print(out, "%s=%.1f\n", key, value);
    else
        text_print(out, "%s=%.9g\n", key, value);
}

static void print_size(TextBuffer *out, const char *key, uint32_t n)
{
    if (n > 1)
        text_print(out, "%s=%u\n", key, n);
}

/* Sizes of what is left: planes that are no grid any more become slices. */
static ImgstatResult new_sizes(const FieldChange *change, uint32_t size[STACK_AXES],
                               ImgstatError *err)
{
    StackSelection kept;
    size[AXIS_C] = size[AXIS_T] = 1;
    size[AXIS_Z] = change->n_pages;
    if (!change->axes || change->axes->n_images != 1)
        return IMGSTAT_OK;
    IMGSTAT_TRY(stack_axes_select(change->axes, 0, change->pages, change->n_pages, &kept, err));
    if (kept.is_grid)
        memcpy(size, kept.size, sizeof kept.size);
    stack_selection_release(&kept);
    return IMGSTAT_OK;
}

/* c0, c1 ... and cf: the function that makes physical values; vunit: their unit. */
static bool is_calibration(const char *line, size_t n)
{
    const char *const equals = memchr(line, '=', n);
    const size_t key = equals ? (size_t)(equals - line) : 0;
    return (key == 2 && line[0] == 'c' && (line[1] == 'f' || (line[1] >= '0' && line[1] <= '9'))) ||
           (key == 5 && memcmp(line, "vunit", 5) == 0);
}

static bool has_key(const char *line, const char *key)
{
    const size_t n = strlen(key);
    return strncmp(line, key, n) == 0 && line[n] == '=';
}

/* Returns whether the line goes, or was replaced. */
static bool replace_line(const char *line, size_t n, const FieldChange *change,
                         const uint32_t size[STACK_AXES], bool *calibrated, TextBuffer *out)
{
    const int dimensions = (size[0] > 1) + (size[1] > 1) + (size[2] > 1);
    if (change->values && (has_key(line, "min") || has_key(line, "max"))) {
        if (change->low < change->high)
            print_number(out, line[1] == 'i' ? "min" : "max",
                         line[1] == 'i' ? change->low : change->high);
        return true;
    }
    if (change->values && is_calibration(line, n)) {
        *calibrated = true;
        return true;
    }
    if (!change->pages)
        return false;
    if (has_key(line, "images")) {
        print_size(out, "images", change->n_pages);
        print_size(out, "channels", size[AXIS_C]);
        print_size(out, "slices", size[AXIS_Z]);
        print_size(out, "frames", size[AXIS_T]);
        return true;
    }
    return has_key(line, "channels") || has_key(line, "slices") || has_key(line, "frames") ||
           (has_key(line, "hyperstack") && dimensions < 2) ||
           (has_key(line, "mode") && size[AXIS_C] < 2);
}

ImgstatResult imagej_description_rewrite(const char *text, const FieldChange *change,
                                         Warnings *warnings, FieldResult *out, ImgstatError *err)
{
    uint32_t size[STACK_AXES] = {1, 1, 1};
    bool calibrated = false;
    if (change->pages)
        IMGSTAT_TRY(new_sizes(change, size, err));
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        if (replace_line(line, n, change, size, &calibrated, &out->text))
            out->fate = FIELD_CHANGES;
        else
            text_add(&out->text, line, n);
        line += n;
    }
    if (out->text.failed)
        return error_memory(err, strlen(text), "a description");
    if (calibrated)
        warnings_report(warnings, "ImageJ's calibration of values is left out: it is true of the "
                                  "old values only");
    return IMGSTAT_OK;
}

/* ---- IJMetadata ---- */

static void put_double(uint8_t *at, double value, bool big_endian)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    store_number(at, bits, sizeof bits, big_endian);
}

typedef struct ImagejRewrite {
    const ImagejMetadata *from;
    const FieldChange *change;
    bool big_endian;
    uint32_t channels, planes;  /* of the input; channels 0: not known */
    const uint32_t *channel_to; /* new number of each channel; NULL: all stay */
    TextBuffer *data;
    uint32_t *counts, n_pieces;
} ImagejRewrite;

static bool is_left(const ImagejRewrite *rewrite, const ImagejPart *part, uint32_t piece)
{
    const FieldChange *const change = rewrite->change;
    if (!change->pages)
        return true;
    if (part->type == IMAGEJ_LUTS && part->n > 1)
        return rewrite->channel_to && part->n == rewrite->channels &&
               rewrite->channel_to[piece] != UINT32_MAX;
    if (part->type != IMAGEJ_LABELS)
        return true;
    uint32_t low = 0, high = change->n_pages; /* the first page that is not before the piece */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (change->pages[middle] < piece)
            low = middle + 1;
        else
            high = middle;
    }
    return part->n == rewrite->planes && low < change->n_pages && change->pages[low] == piece;
}

/* Ranges: two doubles for each channel. Returns how many bytes were added. */
static size_t add_ranges(ImagejRewrite *rewrite, const uint8_t *from, size_t bytes)
{
    const FieldChange *const change = rewrite->change;
    const size_t n = bytes / 16;
    size_t added = 0;
    if (bytes % 16 != 0 || (change->values && !(change->low < change->high)) ||
        (change->pages && n > 1 && (!rewrite->channel_to || n != rewrite->channels)))
        return 0;
    for (size_t c = 0; c < n; c++) {
        uint8_t range[16];
        memcpy(range, from + 16 * c, sizeof range);
        if (change->pages && n > 1 && rewrite->channel_to[c] == UINT32_MAX)
            continue;
        if (change->values) {
            put_double(range, change->low, rewrite->big_endian);
            put_double(range + 8, change->high, rewrite->big_endian);
        }
        text_add(rewrite->data, (const char *)range, sizeof range);
        added += sizeof range;
    }
    return added;
}

/* Adds the pieces of a part that are left; returns how many. */
static uint32_t add_part(ImagejRewrite *rewrite, const ImagejPart *part)
{
    uint32_t added = 0;
    size_t at = part->at;
    for (uint32_t i = 0; i < part->n; i++) {
        const uint32_t bytes = rewrite->from->counts[1 + part->first + i];
        const uint8_t *const from = rewrite->from->data + at;
        size_t n = bytes;
        at += bytes;
        if (!is_left(rewrite, part, i))
            continue;
        if (part->type == IMAGEJ_RANGES) {
            n = add_ranges(rewrite, from, bytes);
            if (n == 0)
                continue;
        } else {
            text_add(rewrite->data, (const char *)from, bytes);
        }
        rewrite->counts[1 + rewrite->n_pieces++] = (uint32_t)n;
        added++;
    }
    return added;
}

static void add_parts(ImagejRewrite *rewrite, const ImagejPart *parts, size_t n, FieldResult *out)
{
    uint8_t head[4 + 8 * IMAGEJ_MOST_PARTS];
    TextBuffer data = {.data = NULL};
    size_t head_bytes = 4;
    rewrite->data = &data;
    memcpy(head, rewrite->from->data, 4);
    for (size_t i = 0; i < n; i++) {
        const uint32_t added = add_part(rewrite, &parts[i]);
        if (added == 0)
            continue;
        store_number(head + head_bytes, parts[i].type, 4, rewrite->big_endian);
        store_number(head + head_bytes + 4, added, 4, rewrite->big_endian);
        head_bytes += 8;
    }
    text_add(&out->text, (const char *)head, head_bytes);
    text_add(&out->text, data.data, data.n);
    out->text.failed = out->text.failed || data.failed;
    text_release(&data);
    rewrite->counts[0] = (uint32_t)head_bytes;
    out->fate = head_bytes > 4 ? FIELD_CHANGES : FIELD_GOES;
    out->n_counts = 1 + rewrite->n_pieces;
}

ImgstatResult imagej_metadata_rewrite(const ImagejMetadata *metadata, const FieldChange *change,
                                      Warnings *warnings, FieldResult *out, ImgstatError *err)
{
    ImagejPart parts[IMAGEJ_MOST_PARTS];
    ImagejRewrite rewrite = {.from = metadata, .change = change};
    StackSelection kept = {.n = 0};
    *out = (FieldResult){.fate = FIELD_STAYS};
    if (!change->values && !change->pages)
        return IMGSTAT_OK;
    const size_t n = imagej_parts(metadata, parts, &rewrite.big_endian);
    if (n == 0) {
        out->fate = FIELD_GOES;
        warnings_report(warnings, "its IJMetadata are damaged and left out");
        return IMGSTAT_OK;
    }
    if (change->axes && change->axes->n_images == 1) {
        rewrite.channels = change->axes->image[0].size[AXIS_C];
        rewrite.planes = change->axes->n;
        if (change->pages)
            IMGSTAT_TRY(
                stack_axes_select(change->axes, 0, change->pages, change->n_pages, &kept, err));
        rewrite.channel_to = kept.is_grid ? kept.kept[AXIS_C] : NULL;
    }
    out->counts = rewrite.counts = malloc(metadata->n_counts * sizeof *out->counts);
    if (out->counts)
        add_parts(&rewrite, parts, n, out);
    stack_selection_release(&kept);
    if (!out->counts || out->text.failed)
        return error_memory(err, metadata->bytes, "IJMetadata");
    return IMGSTAT_OK;
}

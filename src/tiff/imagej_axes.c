/* SPDX-License-Identifier: MIT */
/* imagej_axes.c: the axes that ImageJ's description declares, and the channel names of its labels.
 */
#include "tiff/imagej_text.h"

#include "base/byteswap.h"

#include <string.h>

size_t imagej_value(const char *text, const char *key, const char **value)
{
    const size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == '=') {
            *value = line + n + 1;
            return strcspn(*value, "\r\n");
        }
    }
    return 0;
}

bool imagej_number(const char *text, const char *key, uint32_t *out)
{
    const char *digits = NULL;
    const size_t n = imagej_value(text, key, &digits);
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 10 || digits[i] < '0' || digits[i] > '9')
            return false;
        value = 10 * value + (uint64_t)(digits[i] - '0');
    }
    if (n > 0)
        *out = (uint32_t)value;
    return value <= INT32_MAX;
}

uint64_t imagej_planes_contiguous(const char *text)
{
    uint32_t images = 1;
    return imagej_number(text, "images", &images) && images > 0 ? images : 1;
}

size_t imagej_parts(const ImagejMetadata *metadata, ImagejPart parts[IMAGEJ_MOST_PARTS],
                    bool *big_endian)
{
    const uint8_t *const data = metadata->data;
    const size_t head = metadata->n_counts > 0 ? metadata->counts[0] : 0;
    const size_t n = head >= 12 ? (head - 4) / 8 : 0;
    if (!data || head % 8 != 4 || head > metadata->bytes || n > IMAGEJ_MOST_PARTS ||
        (memcmp(data, "IJIJ", 4) != 0 && memcmp(data, "JIJI", 4) != 0))
        return 0;
    *big_endian = data[0] == 'I';
    size_t at = head, piece = 0;
    for (size_t i = 0; i < n; i++) {
        ImagejPart *const part = &parts[i];
        part->type = (uint32_t)load_number(data + 4 + 8 * i, 4, *big_endian);
        part->n = (uint32_t)load_number(data + 8 + 8 * i, 4, *big_endian);
        part->first = (uint32_t)piece;
        part->at = at;
        if (part->n > metadata->n_counts - 1 - piece)
            return 0;
        for (uint32_t k = 0; k < part->n; k++, piece++) {
            const uint32_t bytes = metadata->counts[1 + piece];
            if (bytes > metadata->bytes - at)
                return 0;
            at += bytes;
        }
    }
    return n;
}

/* UTF-16 to UTF-8; characters beyond 16 bits become '?'. Returns false if it does not fit. */
static bool read_label(const uint8_t *from, size_t bytes, bool big_endian,
                       char to[STACK_NAME_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i + 2 <= bytes; i += 2) {
        unsigned c = from[i + big_endian] | (unsigned)from[i + !big_endian] << 8;
        if (n + 4 > STACK_NAME_BYTES)
            return false;
        if (c < 0x20 || (c >= 0xD800 && c < 0xE000))
            c = '?';
        if (c >= 0x800)
            to[n++] = (char)(0xE0 | c >> 12);
        if (c >= 0x80)
            to[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3F) : 0xC0 | c >> 6);
        to[n++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
    }
    to[n] = '\0';
    return true;
}

/* Names a channel by its label if all of its planes have the same one. */
static bool read_names(const ImagejMetadata *metadata, uint32_t channels, uint32_t planes,
                       StackAxes *axes)
{
    ImagejPart parts[IMAGEJ_MOST_PARTS];
    bool big_endian = false;
    const size_t n = imagej_parts(metadata, parts, &big_endian);
    for (uint32_t c = 0; c < channels; c++)
        if (!stack_name_add(axes, ""))
            return false;
    for (size_t i = 0; i < n; i++) {
        size_t at = parts[i].at;
        if (parts[i].type != IMAGEJ_LABELS || parts[i].n != planes)
            continue;
        for (uint32_t k = 0; k < planes; k++) {
            const uint32_t bytes = metadata->counts[1 + parts[i].first + k], c = k % channels;
            char label[STACK_NAME_BYTES];
            if (!read_label(metadata->data + at, bytes, big_endian, label) ||
                (k >= channels && strcmp(axes->name[c], label) != 0))
                label[0] = '\0';
            memcpy(axes->name[c], label, strlen(label) + 1);
            at += bytes;
        }
        break;
    }
    return true;
}

bool imagej_axes_read(const char *text, const ImagejMetadata *metadata, const StackPages *pages,
                      StackAxes *axes)
{
    uint32_t images = 1;
    StackImage image = {.samples = 1, .order = {AXIS_C, AXIS_Z, AXIS_T}};
    uint32_t *const size = image.size;
    if (!imagej_number(text, "images", &images) ||
        !imagej_number(text, "channels", &size[AXIS_C]) ||
        !imagej_number(text, "slices", &size[AXIS_Z]) ||
        !imagej_number(text, "frames", &size[AXIS_T]))
        return false;
    const bool named = size[AXIS_C] > 0 || size[AXIS_Z] > 0 || size[AXIS_T] > 0;
    if (images <= 1 && !named)
        return true; /* no stack */
    if (!named)
        size[AXIS_Z] = images;
    for (unsigned axis = 0; axis < STACK_AXES; axis++)
        size[axis] = size[axis] > 0 ? size[axis] : 1;
    return stack_image_add(axes, &image) && read_names(metadata, size[AXIS_C], images, axes) &&
           stack_place_images(axes, pages, 0, 0, images) > 0;
}

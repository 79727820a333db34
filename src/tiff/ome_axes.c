/* SPDX-License-Identifier: MIT */
/* ome_axes.c: the axes that OME-XML declares. Images, Pixels, Channel, TiffData and UUID are read;
 * https://docs.openmicroscopy.org/ome-model describes them. */
#include "tiff/stack_axes.h"
#include "tiff/xml_tags.h"

#include <string.h>

enum { UUID_BYTES = 64 };

typedef struct OmeReader {
    const StackPages *pages;
    StackAxes *axes;
    bool contradicts;
    unsigned depth;   /* of the element being read */
    uint32_t n_begun; /* Image elements */
    bool in_pixels, in_uuid;
    StackImage image;    /* of the Pixels being read */
    uint32_t size_c;     /* as declared: counts samples */
    uint32_t n_channels; /* Channel elements so far */
    bool added;          /* the image is among those of axes */
    bool has_tiff_data;  /* of this image */
    uint32_t next;       /* page behind the last one placed */
    uint32_t ifd, count, at[STACK_AXES];
    bool has_count, has_ifd; /* of the TiffData being read */
    char own[UUID_BYTES];    /* of the file, "" for none */
    char uuid[UUID_BYTES];   /* of the TiffData being read */
    size_t uuid_bytes;
} OmeReader;

static bool fail(OmeReader *reader)
{
    reader->contradicts = true;
    return false;
}

/* XYCZT and the like. */
static bool read_order(const XmlTag *tag, uint8_t order[STACK_AXES])
{
    char text[8] = "XYCZT";
    unsigned seen = 0;
    if (xml_has(tag, "DimensionOrder") && !xml_value(tag, "DimensionOrder", text, sizeof text))
        return false;
    if (strlen(text) != 5 || text[0] != 'X' || text[1] != 'Y')
        return false;
    for (unsigned i = 0; i < STACK_AXES; i++) {
        order[i] = text[2 + i] == 'C' ? AXIS_C : text[2 + i] == 'Z' ? AXIS_Z : AXIS_T;
        if (text[2 + i] == "CZT"[order[i]])
            seen |= 1u << order[i];
    }
    return seen == 7;
}

static bool begin_pixels(OmeReader *reader, const XmlTag *tag)
{
    uint32_t *const size = reader->image.size;
    reader->in_pixels = true;
    reader->added = reader->has_tiff_data = false;
    reader->n_channels = 0;
    reader->image = (StackImage){.size = {1, 1, 1}, .samples = 1};
    return (read_order(tag, reader->image.order) && xml_number(tag, "SizeC", &size[AXIS_C]) &&
            xml_number(tag, "SizeZ", &size[AXIS_Z]) && xml_number(tag, "SizeT", &size[AXIS_T])) ||
           fail(reader);
}

static bool begin_channel(OmeReader *reader, const XmlTag *tag)
{
    char name[STACK_NAME_BYTES] = "";
    (void)xml_value(tag, "Name", name, sizeof name);
    if (reader->n_channels++ == 0 && !xml_number(tag, "SamplesPerPixel", &reader->image.samples))
        return fail(reader);
    return stack_name_add(reader->axes, name) || fail(reader);
}

/* Adds the image, whose channels are known once its first TiffData begins, or it ends. */
static bool add_image(OmeReader *reader)
{
    StackImage *const image = &reader->image;
    uint32_t *const c = &image->size[AXIS_C];
    if (reader->added)
        return true;
    if (image->samples == 0 || *c % image->samples != 0)
        return fail(reader);
    if (image->samples == 1 && reader->n_channels < *c && reader->pages->samples > 1 &&
        *c % reader->pages->samples == 0)
        image->samples = reader->pages->samples; /* left out, as older writers do */
    *c /= image->samples;
    if (reader->n_channels > *c || !stack_image_add(reader->axes, image))
        return fail(reader);
    while (reader->n_channels < *c) {
        if (!stack_name_add(reader->axes, ""))
            return fail(reader);
        reader->n_channels++;
    }
    reader->added = true;
    return true;
}

static bool begin_tiff_data(OmeReader *reader, const XmlTag *tag)
{
    static const char *const first[STACK_AXES] = {"FirstC", "FirstZ", "FirstT"};
    if (!add_image(reader))
        return false;
    reader->has_tiff_data = true;
    reader->uuid_bytes = 0;
    reader->uuid[0] = '\0';
    reader->ifd = reader->next;
    reader->count = 1;
    reader->has_ifd = xml_has(tag, "IFD");
    reader->has_count = xml_has(tag, "PlaneCount") || xml_has(tag, "NumPlanes");
    bool ok = xml_number(tag, "IFD", &reader->ifd) &&
              xml_number(tag, "NumPlanes", &reader->count) &&
              xml_number(tag, "PlaneCount", &reader->count);
    for (unsigned i = 0; i < STACK_AXES; i++) {
        reader->at[i] = 0;
        ok = ok && xml_number(tag, first[i], &reader->at[i]);
    }
    if (reader->at[AXIS_C] >= reader->image.size[AXIS_C]) /* some writers count samples */
        reader->at[AXIS_C] /= reader->image.samples;
    return ok || fail(reader);
}

static bool end_tiff_data(OmeReader *reader)
{
    const uint32_t image = reader->axes->n_images - 1;
    uint64_t count = reader->count;
    if (*reader->own && *reader->uuid && strcmp(reader->own, reader->uuid) != 0)
        return true;                              /* planes of another file */
    if (!reader->has_count && !reader->has_ifd) { /* all planes */
        count = stack_image_planes(&reader->image);
        if (count > reader->pages->n)
            return fail(reader);
    }
    if (!stack_place(reader->axes, image, reader->ifd, count, reader->at))
        return fail(reader);
    reader->next = reader->ifd + (uint32_t)count;
    return true;
}

static bool end_pixels(OmeReader *reader)
{
    reader->in_pixels = false;
    if (!add_image(reader))
        return false;
    if (reader->has_tiff_data)
        return true;
    if (stack_image_planes(&reader->image) > reader->pages->n)
        return fail(reader);
    reader->next = stack_place_images(reader->axes, reader->pages, reader->axes->n_images - 1,
                                      reader->next, stack_image_planes(&reader->image));
    return reader->next > 0 || fail(reader);
}

/* Elements count in their places only: OME, Image, Pixels, TiffData, UUID. */
static bool on_start(void *context, const XmlTag *tag)
{
    OmeReader *const reader = context;
    const char *const name = tag->name;
    reader->depth = tag->depth;
    reader->in_uuid = false;
    if (tag->depth == 0) {
        (void)xml_value(tag, "UUID", reader->own, sizeof reader->own);
        return strcmp(name, "OME") == 0 || fail(reader);
    }
    if (tag->depth == 1 && strcmp(name, "Image") == 0) /* the one before had its Pixels */
        return reader->n_begun++ == reader->axes->n_images || fail(reader);
    if (tag->depth == 2 && strcmp(name, "Pixels") == 0)
        return reader->n_begun == reader->axes->n_images + 1 ? begin_pixels(reader, tag)
                                                             : fail(reader);
    if (!reader->in_pixels)
        return true;
    if (tag->depth == 3 && strcmp(name, "Channel") == 0)
        return begin_channel(reader, tag);
    if (tag->depth == 3 && strcmp(name, "TiffData") == 0)
        return begin_tiff_data(reader, tag);
    reader->in_uuid = tag->depth == 4 && strcmp(name, "UUID") == 0;
    return true;
}

static bool on_end(void *context, const char *name, size_t at)
{
    OmeReader *const reader = context;
    const unsigned depth = reader->depth--;
    (void)at;
    reader->in_uuid = false;
    if (!reader->in_pixels)
        return true;
    if (depth == 3 && strcmp(name, "TiffData") == 0)
        return end_tiff_data(reader);
    return depth != 2 || end_pixels(reader);
}

static void on_text(void *context, const char *text, size_t n)
{
    OmeReader *const reader = context;
    for (size_t i = 0; i < n && reader->in_uuid && reader->uuid_bytes < UUID_BYTES - 1; i++)
        if (text[i] > ' ')
            reader->uuid[reader->uuid_bytes++] = text[i];
    reader->uuid[reader->uuid_bytes] = '\0';
}

bool ome_axes_read(const char *text, const StackPages *pages, StackAxes *axes, bool *damaged)
{
    static const XmlHandler handler = {.start = on_start, .end = on_end, .text = on_text};
    OmeReader reader = {.pages = pages, .axes = axes};
    const ImgstatResult res = xml_parse(text, strlen(text), &handler, &reader, NULL);
    axes->no_memory = axes->no_memory || res == IMGSTAT_ERR_MEMORY;
    *damaged = res != IMGSTAT_OK && !reader.contradicts;
    return res == IMGSTAT_OK && reader.n_begun == axes->n_images;
}

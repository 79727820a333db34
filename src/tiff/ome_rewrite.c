/* SPDX-License-Identifier: MIT */
/* ome_rewrite.c: OME-XML with the sample type, sizes, channels and planes of an output. All that
 * need not change is copied byte for byte. */
#include "base/sample.h"
#include "tiff/field_rewrite.h"
#include "tiff/xml_tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of images that go, which other elements refer to. */
typedef struct OmeGone {
    const FieldChange *change;
    bool *kept;        /* [axes->n_images] */
    uint32_t n_images; /* so many began */
    char **id;         /* n of them; sorted once all are read */
    size_t n, room;
    bool no_memory;
} OmeGone;

static bool add_gone(void *context, const XmlTag *tag)
{
    OmeGone *const gone = context;
    char id[256];
    if (tag->depth != 1 || strcmp(tag->name, "Image") != 0)
        return true;
    const uint32_t image = gone->n_images++;
    if ((image < gone->change->axes->n_images && gone->kept[image]) ||
        !xml_value(tag, "ID", id, sizeof id))
        return true;
    if (gone->n == gone->room) {
        const size_t room = gone->room ? 2 * gone->room : 16;
        char **const larger = realloc(gone->id, room * sizeof *larger);
        gone->no_memory = !larger;
        if (!larger)
            return false;
        gone->id = larger;
        gone->room = room;
    }
    gone->id[gone->n] = strdup(id);
    gone->no_memory = !gone->id[gone->n];
    gone->n += !gone->no_memory;
    return !gone->no_memory;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_gone(const OmeGone *gone, const char *id)
{
    return gone->n > 0 && bsearch(&id, gone->id, gone->n, sizeof *gone->id, compare_ids);
}

/* Data sets and plates, which name images, stand in front of them. */
static ImgstatResult find_gone(const char *text, const FieldChange *change, OmeGone *out,
                               ImgstatError *err)
{
    static const XmlHandler handler = {.start = add_gone};
    const StackAxes *const axes = change->axes;
    *out = (OmeGone){.change = change};
    if (!change->pages)
        return IMGSTAT_OK;
    out->kept = calloc(axes->n_images + (size_t)1, sizeof *out->kept);
    if (!out->kept)
        return error_memory(err, axes->n_images, "OME-XML");
    for (uint32_t i = 0; i < change->n_pages; i++)
        if (change->pages[i] < axes->n && axes->plane[change->pages[i]].known)
            out->kept[axes->plane[change->pages[i]].image] = true;
    /* Damage shows when it is rewritten. */
    if (xml_parse(text, strlen(text), &handler, out, err) == IMGSTAT_ERR_MEMORY)
        return IMGSTAT_ERR_MEMORY;
    if (out->no_memory)
        return error_memory(err, out->n * sizeof *out->id, "OME-XML");
    if (out->n > 0)
        qsort(out->id, out->n, sizeof *out->id, compare_ids);
    return IMGSTAT_OK;
}

static void gone_release(OmeGone *gone)
{
    for (size_t i = 0; i < gone->n; i++)
        free(gone->id[i]);
    free(gone->id);
    free(gone->kept);
}

typedef struct OmeRewrite {
    const FieldChange *change;
    const OmeGone *gone; /* images that go */
    const char *text;
    TextBuffer *out;
    size_t copied;       /* so many bytes of the text are done */
    unsigned depth;      /* of the element being read; 0: of the root */
    unsigned gone_depth; /* of an element that goes; 0: none does */
    bool edits_uuid;     /* the names that files of a set have for each other go */
    bool in_pixels, wrote_places;
    size_t pixels_at;         /* the name of that element */
    uint32_t image, n_images; /* the one being read; so many began */
    uint32_t channel;         /* of that image, so many began */
    const StackImage *from;   /* that image */
    StackSelection kept;      /* its pages; n = 0 where all of them stay */
    ImgstatResult result;
    ImgstatError *err;
} OmeRewrite;

/* Returns the name that the OME model has for a sample type, NULL for none. */
static const char *type_name(ImgstatSample sample, unsigned bits)
{
    switch (sample) {
    case IMGSTAT_U8:
        return bits == 1 ? "bit" : "uint8";
    case IMGSTAT_U16:
        return "uint16";
    case IMGSTAT_U32:
        return "uint32";
    case IMGSTAT_I8:
        return "int8";
    case IMGSTAT_I16:
        return "int16";
    case IMGSTAT_I32:
        return "int32";
    case IMGSTAT_F32:
        return "float";
    case IMGSTAT_F64:
        return "double";
    default:
        return NULL;
    }
}

static bool changes_type(const FieldChange *change)
{
    return change->sample != change->from_sample || change->bits != change->from_bits;
}

static void copy_until(OmeRewrite *rewrite, size_t at)
{
    text_add(rewrite->out, rewrite->text + rewrite->copied, at - rewrite->copied);
    rewrite->copied = at;
}

static void edit(OmeRewrite *rewrite, const XmlTag *tag, const XmlEdit *edits, size_t n)
{
    copy_until(rewrite, tag->from);
    xml_edit(tag, edits, n, rewrite->out);
    rewrite->copied = tag->to;
}

/* Leaves the element out, with the blanks in front of it. */
static bool leave_out(OmeRewrite *rewrite, const XmlTag *tag)
{
    size_t from = tag->from;
    while (from > rewrite->copied && strchr(" \t\r\n", rewrite->text[from - 1]))
        from--;
    copy_until(rewrite, from);
    rewrite->gone_depth = tag->depth;
    return true;
}

static bool begin_image(OmeRewrite *rewrite, const XmlTag *tag)
{
    const FieldChange *const change = rewrite->change;
    rewrite->image = rewrite->n_images++;
    stack_selection_release(&rewrite->kept);
    if (!change->pages)
        return true;
    if (rewrite->image >= change->axes->n_images)
        return leave_out(rewrite, tag);
    rewrite->from = &change->axes->image[rewrite->image];
    rewrite->result = stack_axes_select(change->axes, rewrite->image, change->pages,
                                        change->n_pages, &rewrite->kept, rewrite->err);
    if (rewrite->result != IMGSTAT_OK)
        return false;
    return rewrite->kept.n > 0 || leave_out(rewrite, tag);
}

/* The sample type of an image. Pages of a file with several may have other types than the page that
 * has the text. Returns the number of edits. bits: their text. */
static size_t edit_type(const FieldChange *change, const XmlTag *tag, char *bits, size_t room,
                        XmlEdit edits[2])
{
    const char *const of_page = type_name(change->from_sample, change->from_bits);
    const char *const new_type = type_name(change->sample, change->bits);
    char type[16];
    if (!change->values || !new_type)
        return 0;
    const bool is_other = change->axes && change->axes->n_images > 1 && of_page &&
                          xml_value(tag, "Type", type, sizeof type) && strcmp(type, of_page) != 0;
    const bool stays_double =
        is_other && strcmp(type, "double") == 0 && sample_is_float(change->sample);
    snprintf(bits, room, "%u", (unsigned)change->bits);
    edits[0] =
        (XmlEdit){"SignificantBits", is_other || sample_is_float(change->sample) ? NULL : bits};
    if (stays_double || (is_other && !change->converts))
        return 1;
    edits[1] = (XmlEdit){"Type", is_other && change->sample == IMGSTAT_F64 ? "float" : new_type};
    return 2;
}

static bool begin_pixels(OmeRewrite *rewrite, const XmlTag *tag)
{
    const FieldChange *const change = rewrite->change;
    XmlEdit edits[5];
    char bits[12], size[STACK_AXES][12];
    static const char *const names[STACK_AXES] = {"SizeC", "SizeZ", "SizeT"};
    rewrite->in_pixels = true;
    rewrite->pixels_at = tag->from + 1;
    rewrite->wrote_places = false;
    rewrite->channel = 0;
    size_t n = edit_type(change, tag, bits, sizeof bits, edits);
    for (unsigned axis = 0; axis < STACK_AXES && rewrite->kept.n > 0; axis++) {
        const uint32_t samples = axis == AXIS_C ? rewrite->from->samples : 1;
        snprintf(size[axis], sizeof size[axis], "%u", rewrite->kept.size[axis] * samples);
        edits[n++] = (XmlEdit){names[axis], size[axis]};
    }
    if (n > 0)
        edit(rewrite, tag, edits, n);
    return true;
}

/* Adds "<" or "</" and the name of Pixels, or of its child TiffData with the same prefix. */
static void add_name(OmeRewrite *rewrite, const char *begin, const char *child)
{
    const char *const pixels = rewrite->text + rewrite->pixels_at;
    const size_t name = strcspn(pixels, " \t\r\n/>"), prefix = strcspn(pixels, ":");
    text_add(rewrite->out, begin, strlen(begin));
    if (!child)
        text_add(rewrite->out, pixels, name);
    else if (prefix < name)
        text_add(rewrite->out, pixels, prefix + 1);
    if (child)
        text_add(rewrite->out, child, strlen(child));
}

/* Which page of the output holds which plane. at: where the list belongs. */
static void write_places(OmeRewrite *rewrite, size_t at)
{
    const StackSelection *const kept = &rewrite->kept;
    if (kept->n == 0 || rewrite->wrote_places)
        return;
    rewrite->wrote_places = true;
    copy_until(rewrite, at);
    if (kept->is_grid && kept->page[kept->n - 1] - kept->page[0] == kept->n - 1) {
        add_name(rewrite, "<", "TiffData");
        text_print(rewrite->out, " IFD=\"%u\" PlaneCount=\"%u\"/>", kept->page[0], kept->n);
        return;
    }
    for (uint32_t i = 0; i < kept->n; i++) {
        const uint32_t *const to = kept->plane[i].at;
        add_name(rewrite, "<", "TiffData");
        text_print(rewrite->out,
                   " FirstC=\"%u\" FirstZ=\"%u\" FirstT=\"%u\" IFD=\"%u\" PlaneCount=\"1\"/>",
                   to[AXIS_C], to[AXIS_Z], to[AXIS_T], kept->page[i]);
    }
}

/* An element that is about one plane, such as Plane itself and shapes of a ROI: TheC, TheZ, TheT.
 */
static bool begin_of_plane(OmeRewrite *rewrite, const XmlTag *tag)
{
    static const char *const names[STACK_AXES] = {"TheC", "TheZ", "TheT"};
    char text[STACK_AXES][12];
    XmlEdit edits[STACK_AXES];
    size_t n = 0;
    for (unsigned axis = 0; axis < STACK_AXES; axis++) {
        uint32_t at = UINT32_MAX;
        if (!xml_number(tag, names[axis], &at) || at == UINT32_MAX)
            continue;
        if (axis == AXIS_C && at >= rewrite->from->size[AXIS_C])
            at /= rewrite->from->samples;
        const uint32_t to =
            at < rewrite->from->size[axis] ? rewrite->kept.kept[axis][at] : UINT32_MAX;
        if (to == UINT32_MAX)
            return leave_out(rewrite, tag);
        snprintf(text[axis], sizeof text[axis], "%u", to);
        edits[n++] = (XmlEdit){names[axis], text[axis]};
    }
    if (n > 0)
        edit(rewrite, tag, edits, n);
    return true;
}

static bool begin_in_pixels(OmeRewrite *rewrite, const XmlTag *tag)
{
    if (tag->depth == 4 && strcmp(tag->name, "UUID") == 0)
        return !rewrite->edits_uuid || leave_out(rewrite, tag);
    if (rewrite->kept.n == 0)
        return true;
    if (tag->depth == 3 && strcmp(tag->name, "Channel") == 0) {
        const uint32_t c = rewrite->channel++;
        return c >= rewrite->from->size[AXIS_C] || rewrite->kept.kept[AXIS_C][c] != UINT32_MAX ||
               leave_out(rewrite, tag);
    }
    if (tag->depth == 3 && strcmp(tag->name, "TiffData") == 0) {
        write_places(rewrite, tag->from);
        return leave_out(rewrite, tag);
    }
    if (tag->depth == 3 && strcmp(tag->name, "Plane") == 0)
        write_places(rewrite, tag->from);
    return begin_of_plane(rewrite, tag);
}

static bool on_start(void *context, const XmlTag *tag)
{
    OmeRewrite *const rewrite = context;
    rewrite->depth = tag->depth;
    if (rewrite->gone_depth > 0)
        return true;
    if (tag->depth == 0) {
        if (rewrite->edits_uuid && xml_has(tag, "UUID"))
            edit(rewrite, tag, &(XmlEdit){"UUID", NULL}, 1);
        return true;
    }
    char id[256];
    if (strcmp(tag->name, "ImageRef") == 0 && xml_value(tag, "ID", id, sizeof id) &&
        is_gone(rewrite->gone, id))
        return leave_out(rewrite, tag);
    if (tag->depth == 1 && strcmp(tag->name, "Image") == 0)
        return begin_image(rewrite, tag);
    if (tag->depth == 2 && rewrite->n_images > 0 && strcmp(tag->name, "Pixels") == 0)
        return begin_pixels(rewrite, tag);
    if (rewrite->in_pixels)
        return begin_in_pixels(rewrite, tag);
    if (rewrite->n_images == 1 && rewrite->kept.n > 0 && rewrite->change->axes->n_images == 1)
        return begin_of_plane(rewrite, tag);
    return true;
}

static bool on_end(void *context, const char *name, size_t at)
{
    (void)name;
    OmeRewrite *const rewrite = context;
    const unsigned depth = rewrite->depth--;
    if (rewrite->gone_depth > 0) {
        if (depth == rewrite->gone_depth) {
            rewrite->gone_depth = 0;
            rewrite->copied = at;
        }
        return true;
    }
    if (depth == 2 && rewrite->in_pixels) {
        rewrite->in_pixels = false;
        size_t end = at; /* where "</Pixels>" begins */
        while (end > rewrite->copied && rewrite->text[end - 1] != '<')
            end--;
        if (end > rewrite->copied) {
            write_places(rewrite, end - 1);
        } else if (rewrite->kept.n > 0) { /* <Pixels/> */
            text_add(rewrite->out, ">", 1);
            rewrite->copied = at;
            write_places(rewrite, at);
            add_name(rewrite, "</", NULL);
            text_add(rewrite->out, ">", 1);
        }
    }
    return true;
}

/* <BinaryOnly MetadataFile="..." UUID="..."/>: what describes the pages is in another file, which
 * names this one by its UUID. */
static bool find_binary_only(void *context, const XmlTag *tag)
{
    bool *const found = context;
    *found = tag->depth == 1 && strcmp(tag->name, "BinaryOnly") == 0;
    return tag->depth == 0; /* it is the only child of the root */
}

static ImgstatResult is_elsewhere(const char *text, bool *out, ImgstatError *err)
{
    static const XmlHandler handler = {.start = find_binary_only};
    *out = false;
    const ImgstatResult res = xml_parse(text, strlen(text), &handler, out, err);
    return res == IMGSTAT_ERR_MEMORY ? res : IMGSTAT_OK; /* damage shows when it is rewritten */
}

/* Bounds the time that selections take: each goes through all pages and positions. */
static bool is_too_large(const FieldChange *change)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; change->pages && i < change->axes->n_images; i++)
        for (unsigned axis = 0; axis < STACK_AXES; axis++)
            steps += (uint64_t)change->n_pages + change->axes->image[i].size[axis];
    return steps > (uint64_t)1 << 28;
}

static ImgstatResult drop(const char *why, Warnings *warnings, FieldResult *out)
{
    text_release(&out->text);
    out->fate = FIELD_GOES;
    warnings_report(warnings, "its OME-XML is left out: %s", why);
    return IMGSTAT_OK;
}

ImgstatResult ome_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                          FieldResult *out, ImgstatError *err)
{
    static const XmlHandler handler = {.start = on_start, .end = on_end};
    const size_t bytes = strlen(text);
    OmeRewrite rewrite = {.change = change, .text = text, .out = &out->text, .err = err};
    if (change->samples != change->from_samples)
        return drop("pixels have another number of samples", warnings, out);
    if (changes_type(change) && !type_name(change->sample, change->bits))
        return drop("it has no name for the new sample type", warnings, out);
    if (change->pages && !change->axes)
        return drop("it does not describe the pages of the input", warnings, out);
    bool elsewhere;
    IMGSTAT_TRY(is_elsewhere(text, &elsewhere, err));
    if (elsewhere)
        return changes_type(change)
                   ? drop("it is in another file, which has the old sample type", warnings, out)
                   : IMGSTAT_OK;
    if (is_too_large(change))
        return drop("it describes too many images", warnings, out);
    rewrite.edits_uuid = change->pages || !change->axes || !change->axes->other_files;
    OmeGone gone;
    ImgstatResult parsed = IMGSTAT_OK;
    rewrite.gone = &gone;
    rewrite.result = find_gone(text, change, &gone, err);
    if (rewrite.result == IMGSTAT_OK)
        parsed = xml_parse(text, bytes, &handler, &rewrite, err);
    gone_release(&gone);
    stack_selection_release(&rewrite.kept);
    IMGSTAT_TRY(rewrite.result);
    if (parsed == IMGSTAT_ERR_MEMORY)
        return parsed;
    if (parsed != IMGSTAT_OK)
        return drop("it is damaged or too large", warnings, out);
    if (rewrite.copied == 0) { /* nothing changed */
        text_release(&out->text);
        return IMGSTAT_OK;
    }
    copy_until(&rewrite, bytes);
    if (out->text.failed)
        return error_memory(err, bytes, "OME-XML");
    out->fate = FIELD_CHANGES;
    return IMGSTAT_OK;
}

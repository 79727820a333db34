/* SPDX-License-Identifier: MIT */
/* xml_tags.c: expat's parser with bounds on time and memory, and the places of its tags. */
#include "tiff/xml_tags.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

/* expat 2.9 has wider types for places; its long is as wide on all systems that we support. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum {
    MOST_NAMES = 4096, /* different ones; expat keeps each, and the OME model has some hundred */
    NAME_BITS = 1 << 16
};

typedef struct Parsing {
    const XmlHandler *handler;
    void *context;
    XML_Parser parser;
    const char *text;
    size_t bytes;
    unsigned depth, n_names;
    bool stopped;
    uint8_t seen[NAME_BITS / 8]; /* a bit for the hash of each name */
} Parsing;

static void stop(Parsing *parsing)
{
    parsing->stopped = true;
    (void)XML_StopParser(parsing->parser, XML_FALSE);
}

static void see_name(Parsing *parsing, const char *name)
{
    uint32_t hash = 0x811C9DC5u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x01000193u;
    uint8_t *const byte = &parsing->seen[(hash % NAME_BITS) / 8];
    const uint8_t bit = (uint8_t)(1u << (hash >> 16 & 7));
    parsing->n_names += !(*byte & bit);
    *byte |= bit;
}

static const char *without_prefix(const char *name)
{
    const char *const colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

static void on_start(void *context, const char *name, const char **attributes)
{
    Parsing *const parsing = context;
    if (parsing->stopped)
        return;
    const size_t from = (size_t)XML_GetCurrentByteIndex(parsing->parser);
    const size_t bytes = (size_t)XML_GetCurrentByteCount(parsing->parser);
    see_name(parsing, name);
    for (size_t i = 0; attributes[i]; i += 2)
        see_name(parsing, attributes[i]);
    parsing->depth++;
    if (parsing->depth > XML_MOST_DEPTH || parsing->n_names > MOST_NAMES || bytes < 3 ||
        bytes > parsing->bytes || from > parsing->bytes - bytes) {
        stop(parsing);
        return;
    }
    const bool empty = parsing->text[from + bytes - 2] == '/';
    const XmlTag tag = {.name = without_prefix(name),
                        .text = parsing->text,
                        .from = from,
                        .to = from + bytes - (empty ? 2 : 1),
                        .depth = parsing->depth - 1,
                        .attributes = attributes};
    if (parsing->handler->start && !parsing->handler->start(parsing->context, &tag))
        stop(parsing);
}

static void on_end(void *context, const char *name)
{
    Parsing *const parsing = context;
    parsing->depth--;
    const size_t at = (size_t)XML_GetCurrentByteIndex(parsing->parser) +
                      (size_t)XML_GetCurrentByteCount(parsing->parser);
    if (!parsing->stopped && parsing->handler->end &&
        !parsing->handler->end(parsing->context, without_prefix(name), at))
        stop(parsing);
}

static void on_text(void *context, const char *text, int n)
{
    const Parsing *const parsing = context;
    if (!parsing->stopped && parsing->handler->text)
        parsing->handler->text(parsing->context, text, (size_t)n);
}

/* Only a document type can define entities. */
static void on_document_type(void *context, const char *name, const char *system,
                             const char *public_id, int has_internal)
{
    (void)name, (void)system, (void)public_id, (void)has_internal;
    stop(context);
}

/* Bounds what expat does not: a tag has many attributes only if it is long. */
static bool is_bounded(const char *text, size_t bytes)
{
    size_t tag_bytes = 0;
    bool in_tag = false;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '<') {
            in_tag = i + 1 < bytes && text[i + 1] != '!' && text[i + 1] != '?';
            tag_bytes = 0;
        } else if (text[i] == '>') {
            in_tag = false;
        }
        if (in_tag && ++tag_bytes > XML_MOST_TAG_BYTES)
            return false;
    }
    return true;
}

ImgstatResult xml_parse(const char *text, size_t bytes, const XmlHandler *handler, void *context,
                        ImgstatError *err)
{
    if (bytes > XML_MOST_BYTES || !is_bounded(text, bytes))
        return IMGSTAT_ERR_FORMAT;
    Parsing parsing = {.handler = handler,
                       .context = context,
                       .parser = XML_ParserCreate("UTF-8"),
                       .text = text,
                       .bytes = bytes};
    if (!parsing.parser)
        return error_memory(err, bytes, "XML");
    XML_SetUserData(parsing.parser, &parsing);
    XML_SetElementHandler(parsing.parser, on_start, on_end);
    XML_SetCharacterDataHandler(parsing.parser, on_text);
    XML_SetStartDoctypeDeclHandler(parsing.parser, on_document_type);
    const bool ok = XML_Parse(parsing.parser, text, (int)bytes, XML_TRUE) == XML_STATUS_OK;
    const bool no_memory = XML_GetErrorCode(parsing.parser) == XML_ERROR_NO_MEMORY;
    XML_ParserFree(parsing.parser);
    if (no_memory)
        return error_memory(err, bytes, "XML");
    return ok && !parsing.stopped ? IMGSTAT_OK : IMGSTAT_ERR_FORMAT;
}

/* ---- Attributes ---- */

static const char *value_of(const XmlTag *tag, const char *name)
{
    for (size_t i = 0; tag->attributes[i]; i += 2)
        if (strcmp(tag->attributes[i], name) == 0)
            return tag->attributes[i + 1];
    return NULL;
}

bool xml_has(const XmlTag *tag, const char *name)
{
    return value_of(tag, name) != NULL;
}

bool xml_value(const XmlTag *tag, const char *name, char *to, size_t room)
{
    const char *const value = value_of(tag, name);
    const size_t n = value ? strlen(value) : 0;
    if (!value || n >= room)
        return false;
    memcpy(to, value, n + 1);
    return true;
}

bool xml_number(const XmlTag *tag, const char *name, uint32_t *out)
{
    const char *const text = value_of(tag, name);
    uint64_t value = 0;
    if (!text)
        return true;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || c - text == 10)
            return false;
        value = 10 * value + (uint64_t)(*c - '0');
    }
    *out = (uint32_t)value;
    return *text && value <= INT32_MAX;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One attribute in the text of a tag: blanks, name, '=', value in quotes. */
typedef struct RawAttribute {
    size_t from, name, name_end, value, value_end, to;
} RawAttribute;

static bool next_attribute(const XmlTag *tag, size_t at, RawAttribute *out)
{
    const char *const text = tag->text;
    out->from = at;
    while (at < tag->to && is_space(text[at]))
        at++;
    out->name = at;
    while (at < tag->to && text[at] != '=' && !is_space(text[at]))
        at++;
    out->name_end = at;
    while (at < tag->to && text[at] != '"' && text[at] != '\'')
        at++;
    if (at >= tag->to)
        return false;
    const char quote = text[at];
    out->value = ++at;
    while (at < tag->to && text[at] != quote)
        at++;
    out->value_end = at;
    out->to = at + 1;
    return at < tag->to;
}

void xml_edit(const XmlTag *tag, const XmlEdit *edits, size_t n, TextBuffer *out)
{
    const char *const text = tag->text;
    size_t at = tag->from;
    while (at < tag->to && !is_space(text[at])) /* '<' and the name */
        at++;
    text_add(out, text + tag->from, at - tag->from);
    RawAttribute a;
    for (; next_attribute(tag, at, &a); at = a.to) {
        const XmlEdit *edit = NULL;
        for (size_t i = 0; i < n; i++)
            if (strlen(edits[i].name) == a.name_end - a.name &&
                memcmp(edits[i].name, text + a.name, a.name_end - a.name) == 0)
                edit = &edits[i];
        if (!edit) {
            text_add(out, text + a.from, a.to - a.from);
        } else if (edit->value) {
            text_add(out, text + a.from, a.value - a.from);
            text_add(out, edit->value, strlen(edit->value));
            text_add(out, text + a.value_end, a.to - a.value_end);
        }
    }
    text_add(out, text + at, tag->to - at);
}

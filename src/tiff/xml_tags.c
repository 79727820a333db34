/* SPDX-License-Identifier: MIT */
/* xml_tags.c: libxml2's parser with bounds on time and memory, and the places of its tags. */
#include "tiff/xml_tags.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

typedef struct Parsing {
    const XmlHandler *handler;
    void *context;
    xmlParserCtxtPtr parser;
    const char *text;
    size_t bytes;
    unsigned depth;
    bool stopped;
} Parsing;

static void stop(Parsing *parsing)
{
    parsing->stopped = true;
    xmlStopParser(parsing->parser);
}

/* Where the parser is: behind an end tag, or before the end of a start tag. */
static size_t place(const Parsing *parsing)
{
    const long at = xmlByteConsumed(parsing->parser);
    return at < 0 || (size_t)at > parsing->bytes ? 0 : (size_t)at;
}

/* No attribute of a well-formed tag holds a '<'. */
static bool find_tag(const Parsing *parsing, XmlTag *tag)
{
    tag->to = tag->from = place(parsing);
    while (tag->from > 0 && tag->text[tag->from] != '<')
        tag->from--;
    const char *const end = tag->text + tag->to;
    return tag->text[tag->from] == '<' && tag->to < parsing->bytes &&
           (end[0] == '>' || (end[0] == '/' && end[1] == '>'));
}

static void on_start(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int n_spaces, const xmlChar **spaces, int n, int n_default,
                     const xmlChar **attributes)
{
    (void)prefix, (void)uri, (void)n_spaces, (void)spaces, (void)n_default;
    Parsing *const parsing = context;
    XmlTag tag = {.name = (const char *)name,
                  .text = parsing->text,
                  .depth = parsing->depth++,
                  .attributes = attributes,
                  .n_attributes = n};
    if (parsing->stopped)
        return;
    if (parsing->depth > XML_MOST_DEPTH || !find_tag(parsing, &tag) ||
        (parsing->handler->start && !parsing->handler->start(parsing->context, &tag)))
        stop(parsing);
}

static void on_end(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    (void)prefix, (void)uri;
    Parsing *const parsing = context;
    parsing->depth--;
    if (parsing->stopped || !parsing->handler->end)
        return;
    const size_t at = place(parsing);
    if (at == 0 || parsing->text[at - 1] != '>' ||
        !parsing->handler->end(parsing->context, (const char *)name, at))
        stop(parsing);
}

static void on_text(void *context, const xmlChar *text, int n)
{
    const Parsing *const parsing = context;
    if (!parsing->stopped && parsing->handler->text)
        parsing->handler->text(parsing->context, (const char *)text, (size_t)n);
}

static void on_document_type(void *context, const xmlChar *name, const xmlChar *id,
                             const xmlChar *system)
{
    (void)name, (void)id, (void)system;
    stop(context);
}

#if LIBXML_VERSION >= 21200
typedef const xmlError *XmlError;
#else
typedef xmlErrorPtr XmlError;
#endif

/* libxml2 would print the error. */
static void on_error(void *context, XmlError error)
{
    (void)context, (void)error;
}

/* Bounds what libxml2 does not: long tags, and namespaces of a tag. */
static bool is_bounded(const char *text, size_t bytes)
{
    size_t since = 0, spaces = 0; /* bytes of the tag, and namespaces it declares */
    bool in_tag = false;
    for (size_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (c == '<') {
            in_tag = i + 1 < bytes && text[i + 1] != '!' && text[i + 1] != '?';
            since = spaces = 0;
        } else if (c == '>') {
            in_tag = false;
        }
        if (!in_tag)
            continue;
        if (c == 'x' && bytes - i >= 5 && memcmp(text + i, "xmlns", 5) == 0)
            spaces++;
        if (++since > XML_MOST_TAG_BYTES || spaces > XML_MOST_SPACES)
            return false;
    }
    return true;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_library(void)
{
    xmlInitParser();
}

bool xml_parse(const char *text, size_t bytes, const XmlHandler *handler, void *context)
{
    if (bytes == 0 || bytes > XML_MOST_BYTES || !is_bounded(text, bytes))
        return false;
    pthread_once(&once, init_library);
    xmlSAXHandler sax = {.initialized = XML_SAX2_MAGIC,
                         .startElementNs = on_start,
                         .endElementNs = on_end,
                         .characters = on_text,
                         .cdataBlock = on_text,
                         .ignorableWhitespace = on_text,
                         .internalSubset = on_document_type,
                         .serror = on_error};
    const xmlParserCtxtPtr parser = xmlCreateMemoryParserCtxt(text, (int)bytes);
    if (!parser)
        return false;
    Parsing parsing = {
        .handler = handler, .context = context, .parser = parser, .text = text, .bytes = bytes};
    xmlSAXHandler *const own = parser->sax;
    parser->sax = &sax;
    parser->userData = &parsing;
    xmlCtxtUseOptions(parser, XML_PARSE_NONET | XML_PARSE_IGNORE_ENC);
    xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    const bool ok = xmlParseDocument(parser) == 0 && parser->wellFormed && !parsing.stopped;
    parser->sax = own;
    xmlDocPtr const doc = parser->myDoc;
    parser->myDoc = NULL;
    xmlFreeParserCtxt(parser);
    xmlFreeDoc(doc);
    return ok;
}

/* ---- Attributes ---- */

bool xml_value(const XmlTag *tag, const char *name, char *to, size_t room)
{
    for (int i = 0; i < tag->n_attributes; i++) { /* name, prefix, namespace, value, its end */
        const unsigned char *const *const a = tag->attributes + 5 * (size_t)i;
        const size_t n = (size_t)(a[4] - a[3]);
        if (a[1] || strcmp((const char *)a[0], name) != 0 || n >= room)
            continue;
        memcpy(to, a[3], n);
        to[n] = '\0';
        for (char *amp = to; (amp = strstr(amp, "&#38;")); amp++) /* libxml2 leaves this one */
            memmove(amp + 1, amp + 5, strlen(amp + 5) + 1);
        return true;
    }
    return false;
}

static bool has(const XmlTag *tag, const char *name)
{
    for (int i = 0; i < tag->n_attributes; i++)
        if (!tag->attributes[5 * i + 1] &&
            strcmp((const char *)tag->attributes[5 * (size_t)i], name) == 0)
            return true;
    return false;
}

bool xml_number(const XmlTag *tag, const char *name, uint32_t *out)
{
    char text[16];
    uint64_t value = 0;
    if (!has(tag, name))
        return true;
    if (!xml_value(tag, name, text, sizeof text) || !*text)
        return false;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9')
            return false;
        value = 10 * value + (uint64_t)(*c - '0');
    }
    *out = (uint32_t)value;
    return value <= INT32_MAX;
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

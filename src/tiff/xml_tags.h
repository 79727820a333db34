/* SPDX-License-Identifier: MIT */
/* xml_tags.h: the tags of an XML text one after another, with their places in the text, so that a
 * text can be changed in some places and copied everywhere else. */
#ifndef IMGSTAT_TIFF_XML_TAGS_H
#define IMGSTAT_TIFF_XML_TAGS_H

#include "base/error.h"
#include "base/text_buffer.h"

#include <stdint.h>

enum {
    XML_MOST_BYTES = 64 << 20,     /* of a text: 65,535 planes take a third of it */
    XML_MOST_TAG_BYTES = 16 << 10, /* of a tag */
    XML_MOST_DEPTH = 64
};

/* A start tag. Valid during the call. */
typedef struct XmlTag {
    const char *name;        /* without a prefix */
    const char *text;        /* all of the XML */
    size_t from, to;         /* where '<' lies, and the '>' or "/>" that ends it */
    unsigned depth;          /* 0: the root */
    const char **attributes; /* name and value by turns; ends with NULL */
} XmlTag;

/* What is called for the parts of a text. Any may be NULL. */
typedef struct XmlHandler {
    /* Returns false to end the parsing. */
    bool (*start)(void *context, const XmlTag *tag);
    /* at: behind the '>' of the end tag, or of a tag that ends with "/>". */
    bool (*end)(void *context, const char *name, size_t at);
    /* Part of the text of an element; entities are replaced. */
    void (*text)(void *context, const char *text, size_t n);
} XmlHandler;

/* Parses a whole text. Returns IMGSTAT_ERR_FORMAT, with no message, if it is not well-formed UTF-8,
 * has a document type (and so may define entities), exceeds a limit above, or a handler ended it.
 */
ImgstatResult xml_parse(const char *text, size_t bytes, const XmlHandler *handler, void *context,
                        ImgstatError *err);

bool xml_has(const XmlTag *tag, const char *name);

/* Copies the value of an attribute. Returns false if there is none or it does not fit. */
bool xml_value(const XmlTag *tag, const char *name, char *to, size_t room);

/* Reads an attribute that is a whole number, at least 0. Returns false if it is there and is none,
 * or exceeds INT32_MAX. *out stays where there is no such attribute. */
bool xml_number(const XmlTag *tag, const char *name, uint32_t *out);

/* A change of one attribute. */
typedef struct XmlEdit {
    const char *name;
    const char *value; /* without characters that XML must escape; NULL: the attribute goes */
} XmlEdit;

/* Adds the tag without its '>' or "/>", its attributes changed. */
void xml_edit(const XmlTag *tag, const XmlEdit *edits, size_t n, TextBuffer *out);

#endif

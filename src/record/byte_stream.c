/* SPDX-License-Identifier: MIT */
/* byte_stream.c: numbers and texts as bytes. */
#include "record/byte_stream.h"

#include <stdlib.h>
#include <string.h>

/* ---- Writing ---- */

static bool reserve(ByteWriter *writer, size_t n)
{
    enum { LEAST = 4096 };
    if (writer->failed || writer->capacity - writer->n >= n)
        return !writer->failed;
    size_t capacity = writer->capacity ? writer->capacity : LEAST;
    while (capacity - writer->n < n && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    uint8_t *const bytes = capacity - writer->n < n ? NULL : realloc(writer->bytes, capacity);
    if (!bytes) {
        writer->failed = true;
        return false;
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

void put_bytes(ByteWriter *writer, const void *bytes, size_t n)
{
    if (n == 0 || !reserve(writer, n))
        return;
    memcpy(writer->bytes + writer->n, bytes, n);
    writer->n += n;
}

void put_number(ByteWriter *writer, uint64_t value, unsigned n)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put_bytes(writer, bytes, n);
}

void put_varint(ByteWriter *writer, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 128; value >>= 7)
        bytes[n++] = (uint8_t)(value | 128);
    bytes[n++] = (uint8_t)value;
    put_bytes(writer, bytes, n);
}

void put_text(ByteWriter *writer, const char *text)
{
    const size_t n = strlen(text);
    put_varint(writer, n);
    put_bytes(writer, text, n);
}

/* ---- Reading ---- */

const uint8_t *get_bytes(ByteReader *reader, size_t n)
{
    if (reader->failed || (size_t)(reader->end - reader->at) < n) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *const bytes = reader->at;
    reader->at += n;
    return bytes;
}

uint64_t get_number(ByteReader *reader, unsigned n)
{
    const uint8_t *const bytes = get_bytes(reader, n);
    uint64_t value = 0;
    for (unsigned i = 0; bytes && i < n; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint64_t get_varint(ByteReader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *const byte = get_bytes(reader, 1);
        if (!byte)
            return 0;
        if (shift == 63 && *byte > 1) /* beyond 64 bits */
            break;
        value |= (uint64_t)(*byte & 127) << shift;
        if (*byte & 128)
            continue;
        if (*byte == 0 && shift > 0)
            break;
        return value;
    }
    reader->failed = true;
    return 0;
}

uint64_t get_varint_up_to(ByteReader *reader, uint64_t most)
{
    const uint64_t value = get_varint(reader);
    if (value <= most)
        return value;
    reader->failed = true;
    return 0;
}

char *get_text(ByteReader *reader, bool *memory)
{
    const size_t n = get_varint_up_to(reader, TEXT_MOST);
    const uint8_t *const bytes = get_bytes(reader, n);
    if (!bytes || memchr(bytes, 0, n)) {
        reader->failed = true;
        return NULL;
    }
    char *const text = malloc(n + 1);
    if (!text) {
        *memory = true;
        return NULL;
    }
    memcpy(text, bytes, n);
    text[n] = '\0';
    return text;
}

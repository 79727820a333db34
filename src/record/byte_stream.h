/* SPDX-License-Identifier: MIT */
/* byte_stream.h: writes numbers and texts one after another, and reads them back with every bound
 * checked. Numbers have their low byte first. */
#ifndef IMGSTAT_RECORD_BYTE_STREAM_H
#define IMGSTAT_RECORD_BYTE_STREAM_H

#include "imgstat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are written. All zero is an empty writer. */
typedef struct ByteWriter {
    uint8_t *bytes; /* n of them; the owner frees it */
    size_t n, capacity;
    bool failed; /* memory ran out: what is written is lost */
} ByteWriter;

void put_bytes(ByteWriter *writer, const void *bytes, size_t n);
/* Writes the low n bytes of a number. */
void put_number(ByteWriter *writer, uint64_t value, unsigned n);
/* Writes seven bits a byte, low bits first. The high bit says that another byte follows. */
void put_varint(ByteWriter *writer, uint64_t value);
/* Writes the length of a text as a varint, then its bytes. */
void put_text(ByteWriter *writer, const char *text);

enum { TEXT_MOST = IMGSTAT_NAME_MOST };

/* Reads bytes from `at` to `end`. After a failure every read returns 0 and the reader does not
 * move. */
typedef struct ByteReader {
    const uint8_t *at, *end;
    bool failed; /* the bytes end early, or are not in the only valid form */
} ByteReader;

/* Returns where n bytes are; NULL after a failure. */
const uint8_t *get_bytes(ByteReader *reader, size_t n);
uint64_t get_number(ByteReader *reader, unsigned n);
/* Fails if the number has a shorter form. */
uint64_t get_varint(ByteReader *reader);
/* Fails if the value is above `most`. */
uint64_t get_varint_up_to(ByteReader *reader, uint64_t most);
/* Returns a copy of a text, which free() frees. Fails if it is longer than TEXT_MOST or contains a
 * NUL. NULL after a failure, and if memory runs out: *memory becomes true. */
char *get_text(ByteReader *reader, bool *memory);

#endif

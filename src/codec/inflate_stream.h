/* SPDX-License-Identifier: MIT */
/* inflate_stream.h: decompresses a zlib stream whose compressed bytes are read as they are needed,
 * by one thread or by several. */
#ifndef IMGSTAT_CODEC_INFLATE_STREAM_H
#define IMGSTAT_CODEC_INFLATE_STREAM_H

#include "codec/parallel_inflate.h"

typedef struct InflateStream InflateStream;

/* What a stream is, and where its compressed bytes come from. */
typedef struct InflateSource {
    InflateRead *read;
    void *context;
    uint64_t total;      /* decompressed bytes */
    uint64_t compressed; /* bytes, about */
    size_t read_bytes;   /* to read at a time with one thread */
    unsigned threads;
    bool always; /* several threads even where they are not worth it, in small parts: for tests */
} InflateSource;

/* Begins a stream. buffers: for its memory; NULL: memory is not kept. Returns NULL if memory runs
 * out. */
InflateStream *inflate_stream_create(const InflateSource *source, BufferCache *buffers);

/* Accepts NULL. */
void inflate_stream_destroy(InflateStream *stream);

/* Decompresses the next n bytes. Returns false if the stream is damaged or unusual. */
bool inflate_stream_read(InflateStream *stream, uint8_t *to, size_t n);

/* Returns whether the stream ends with the bytes that were read and its checksum is right.
 * *surplus: whether input follows. */
bool inflate_stream_end(InflateStream *stream, bool *surplus);

/* Returns the memory that a stream takes beyond that of one thread, about. */
uint64_t inflate_stream_bytes(uint64_t total, uint64_t compressed, unsigned threads);

#endif

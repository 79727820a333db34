/* SPDX-License-Identifier: MIT */
/* inflate.h: decompresses a zlib stream whose compressed bytes are read as they are needed, by one
 * thread or by several. */
#ifndef IMGSTAT_CODEC_INFLATE_H
#define IMGSTAT_CODEC_INFLATE_H

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

/* Bytes of a zlib stream before and behind its deflate data. */
enum { ZLIB_HEAD = 2, ZLIB_TAIL = 4, ZLIB_FRAME = ZLIB_HEAD + ZLIB_TAIL };

/* Reads what is around the deflate data of a zlib stream of `bytes` bytes: the largest distance and
 * the Adler-32. Returns false if it is no such stream, or needs a dictionary. */
bool inflate_read_frame(const uint8_t *stream, size_t bytes, uint32_t *window, uint32_t *adler);

/* Returns whether a stream of `total` bytes may begin like this: deflate, without a dictionary,
 * with a window that holds every possible distance. */
bool inflate_head_is_usual(const uint8_t head[2], uint64_t total);

/* Returns the checksum of n more bytes, as zlib's crc32. */
uint32_t inflate_crc(uint32_t crc, const uint8_t *bytes, size_t n);

#endif

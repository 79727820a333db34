/* SPDX-License-Identifier: MIT */
/* parallel_inflate.h: decompresses one zlib stream by several threads. */
#ifndef IMGSTAT_CODEC_PARALLEL_INFLATE_H
#define IMGSTAT_CODEC_PARALLEL_INFLATE_H

#include "codec/inflate_parts.h"

typedef struct ParallelInflater ParallelInflater;

/* Begins a stream. total: its decompressed bytes. threads: at least 2. part_bytes: compressed bytes
 * that a thread decompresses at a time, about. read is called by the threads that call the
 * functions below. buffers: for its memory; NULL: memory is not kept. Returns NULL if memory or
 * threads run out. */
ParallelInflater *parallel_inflater_create(uint64_t total, unsigned threads, size_t part_bytes,
                                           InflateRead *read, void *context, BufferCache *buffers);

/* Accepts NULL. */
void parallel_inflater_destroy(ParallelInflater *inflater);

/* Decompresses the next n bytes. Returns false if the stream is damaged or unusual; what was
 * returned before is right. */
bool parallel_inflater_read(ParallelInflater *inflater, uint8_t *to, size_t n);

/* Returns whether the stream ends with the bytes that were read and its checksum is right.
 * *surplus: whether input follows. */
bool parallel_inflater_end(ParallelInflater *inflater, bool *surplus);

/* Returns how many parts were decompressed ahead of their turn and were right. */
unsigned parallel_inflater_used_parts(const ParallelInflater *inflater);

/* Returns the memory of a stream for each thread, about. */
size_t parallel_inflater_bytes(size_t part_bytes);

#endif

/* SPDX-License-Identifier: MIT */
/* fuzz_png: the PNG decoder on any bytes. Every input is tried as it is and with the checksums of
 * its chunks put right, as nothing else gets past them. */
#include "decode_twice.h"
#include "png/chunks.h"
#include "png_checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Chunks lie inside the file. */
static void walk_chunks(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("fuzz", 0);
    char name[] = "fuzz";
    const Source source = {.name = name, .fd = fd, .bytes = size};
    uint64_t at = PNG_SIGNATURE_BYTES;
    PngChunk chunk;
    if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    while (png_chunk_next(&source, &at, &chunk))
        if (at > size || chunk.at + chunk.bytes + 4 > at)
            abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!png_codec.probe(data, size))
        return -1; /* nothing to learn from it */
    walk_chunks(data, size);
    decode_twice(&png_codec, data, size, false);
    uint8_t *const corrected = malloc(size);
    if (!corrected)
        return 0;
    memcpy(corrected, data, size);
    correct_checksums(corrected, size);
    decode_twice(&png_codec, corrected, size, false);
    decode_twice(&png_codec, corrected, size, true);
    free(corrected);
    return 0;
}

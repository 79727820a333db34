/* SPDX-License-Identifier: MIT */
/* any_tags: a directory of TIFF or BigTIFF anywhere in a file of up to MOST_BYTES bytes, any value of
 * any field in a file of any size, and any chunk of PNG. */
#include "any.h"

#include "png/chunks.c"
#include "tiff/directory.c"

/* CBMC: -DPROOF=directory -DMOST_BYTES=50 --unwind 21 */
/* CBMC: -DPROOF=value -DMOST_BYTES=INT64_MAX --unwind 9 */
/* CBMC: -DPROOF=chunk -DMOST_BYTES=INT64_MAX --unwind 9 */

/* Each byte is any, each time that it is read. */
ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes, size_t *got,
                          ImgstatError *err)
{
    (void)err;
    const uint64_t left = offset < source->bytes ? source->bytes - offset : 0;
    *got = left < bytes ? (size_t)left : bytes;
    if (any(2))
        return IMGSTAT_ERR_IO;
    __CPROVER_havoc_slice(to, *got);
    return IMGSTAT_OK;
}

static void directory(const Source *source)
{
    const TiffKind kind = {.big_endian = any(2), .big = any(2)};
    TiffDirectory directory;
    uint64_t at;
    __CPROVER_havoc_slice(&at, sizeof at);
    if (tiff_directory_read(source, &kind, at, &directory, NULL) == IMGSTAT_OK && directory.whole)
        demand(directory.end >= at, "an end before the start");
}

/* Any field, and any of its values. */
static void value(const Source *source)
{
    const TiffKind kind = {.big_endian = any(2), .big = any(2)};
    TiffField field;
    uint64_t k;
    __CPROVER_havoc_slice(&field, sizeof field);
    __CPROVER_havoc_slice(&k, sizeof k);
    (void)tiff_field_value(source, &kind, &field, k);
}

static void chunk(const Source *source)
{
    uint64_t at, before;
    PngChunk next;
    __CPROVER_havoc_slice(&at, sizeof at);
    before = at;
    if (png_chunk_next(source, &at, &next))
        demand(at >= before + PNG_CHUNK_FRAME && at <= source->bytes && next.at + next.bytes < at, "a chunk");
}

void prove(void)
{
    Source source;
    __CPROVER_havoc_slice(&source.bytes, sizeof source.bytes);
    __CPROVER_assume(source.bytes <= MOST_BYTES);
    PROOF(&source);
}

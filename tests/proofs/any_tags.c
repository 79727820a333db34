/* SPDX-License-Identifier: MIT */
/* any_tags: a directory of TIFF or BigTIFF anywhere in a file of up to MOST_BYTES bytes, any value of
 * any field in a file of any size, and any chunk of PNG. */
#include "any.h"

#include "png/chunks.c"
#include "tiff/directory.c"

/* CBMC: -DPROOF=directory --max-field-sensitivity-array-size 1300 -DBIG=0 -DMOST_BYTES=25 --unwind 19 --unwindset tiff_directory_read.0:3,tiff_directory_read.1:2 */
/* CBMC: -DPROOF=directory -DBIG=1 -DMOST_BYTES=47 --unwind 19 --unwindset tiff_directory_read.0:3,tiff_directory_read.1:2 */
/* CBMC, full: -DPROOF=directory -DBIG=0 -DMOST_BYTES=61 --unwind 19 --unwindset tiff_directory_read.0:6,tiff_directory_read.1:2 */
/* CBMC, full: -DPROOF=directory -DBIG=1 -DMOST_BYTES=107 --unwind 19 --unwindset tiff_directory_read.0:6,tiff_directory_read.1:2 */
/* CBMC: -DPROOF=value -DMOST_BYTES=INT64_MAX --unwind 9 */
/* CBMC: -DPROOF=chunk -DMOST_BYTES=INT64_MAX --unwind 9 */

/* Each byte is any, each time that it is read. */
ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes, size_t *got,
                          ImgstatError *err)
{
    (void)err;
    const uint64_t left = offset < source->bytes ? source->bytes - offset : 0;
    *got = left < bytes ? (size_t)left : bytes;
    demand(__CPROVER_w_ok(to, bytes), "no room");
    if (any(2))
        return IMGSTAT_ERR_IO;
    __CPROVER_havoc_object(to);
    return IMGSTAT_OK;
}

#ifdef BIG
static void directory(const Source *source)
{
    const TiffKind kind = {.big_endian = !BIG, .big = BIG};
    TiffDirectory directory;
    uint64_t at;
    __CPROVER_havoc_slice(&at, sizeof at);
    if (tiff_directory_read(source, &kind, at, &directory, NULL) == IMGSTAT_OK && directory.whole)
        demand(directory.end >= at, "an end before the start");
}
#endif

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

/* SPDX-License-Identifier: MIT */
/* any_tags: any entry of a directory of TIFF or BigTIFF, any value of any field, and any chunk of
 * PNG, in files of any size below MOST_BYTES. */
#include "any.h"

#include "png/chunks.c"
#include "tiff/directory.c"

/* CBMC: -DPROOF=field -DBIG=0 -DMOST_BYTES=INT64_MAX --unwind 22 src/tiff/tag_source.c */
/* CBMC: -DPROOF=field -DBIG=1 -DMOST_BYTES=INT64_MAX --unwind 22 src/tiff/tag_source.c */
/* CBMC: -DPROOF=value -DMOST_BYTES=INT64_MAX --unwind 9 */
/* CBMC: -DPROOF=chunk -DMOST_BYTES=INT64_MAX --unwind 9 */

/* Each byte is any, each time that it is read. */
ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes,
                          size_t *got, ImgstatError *err)
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
/* Any entry of a directory of which some is known. */
static void field(const Source *source)
{
    const TiffKind kind = {.big_endian = !BIG, .big = BIG};
    uint8_t *const entry = malloc(BIG ? 20 : 12);
    TiffDirectory *const out = malloc(sizeof *out);
    const uint64_t end = out->end;
    note_field(&kind, entry, out);
    add_bytes(source, &kind, entry, out);
    demand(out->end >= end, "a nearer end");
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
        demand(at >= before + PNG_CHUNK_FRAME && at <= source->bytes && next.at + next.bytes < at,
               "a chunk");
}

void prove(void)
{
    Source source;
    __CPROVER_havoc_slice(&source.bytes, sizeof source.bytes);
    __CPROVER_assume(source.bytes <= MOST_BYTES);
    PROOF(&source);
}

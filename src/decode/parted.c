/* SPDX-License-Identifier: MIT */
/* parted.c: which deflate streams of files a device decodes in parts, and the memory for that. */
#include "decode/decode.h"
#include "decode/deflated_place.h"

#include <assert.h>

/* Returns how many deflate streams the device decodes of a file. */
static size_t n_streams(const DecodeFile *f)
{
    if (!f->on_device || !f->tiles)
        return f->on_device;
    return f->tiled.coding == TILE_DEFLATED ? f->tiled.n_tiles : 0;
}

/* Describes stream number i of a file. Addresses are multiples of 4 where its bytes begin. */
static PartedStream describe(const DecodeFile *f, size_t i)
{
    if (!f->tiles)
        return (PartedStream){
            .n_in = f->rows.n_in, .n_out = f->rows.n_out, .window = f->rows.window};
    const CodedTile *const tile = &f->tiles[i];
    const uint32_t before = (uint32_t)((tile->in - f->span.first) % 4);
    return (PartedStream){.n_in = tile->n_in + before,
                          .before = before,
                          .n_out = tile->n_out,
                          .window = tile->window};
}

static bool is_long(const PartedStream *p)
{
    return p->n_in >= PARTED_BYTES_LEAST && p->n_out <= PARTED_OUTPUT_MOST;
}

/* Places what a stream needs behind *at, or where a new round begins. */
static void place_stream(PartedStream *p, size_t *at)
{
    const size_t end = parted_place(p, *at);
    *at = end > PARTED_ROUND_BYTES && *at > 0 ? parted_place(p, 0) : end;
}

void decode_plan_parts(ImgstatDecode *decode, size_t *at)
{
    size_t n = 0, end = 0, most = 0;
    for (size_t k = 0; k < decode->n; k++)
        for (size_t i = 0; i < n_streams(&decode->file[k]); i++) {
            PartedStream p = describe(&decode->file[k], i);
            if (!is_long(&p))
                continue;
            if (++n > PARTED_STREAMS_MOST)
                return;
            place_stream(&p, &end);
            most = end > most ? end : most;
        }
    decode->work.n_parted = n;
    decode->parted_at = place(at, most);
}

void decode_list_parts(ImgstatDecode *decode)
{
    DecodeWork *const work = &decode->work;
    const uint64_t base = decode->memory.address + decode->parted_at;
    DeflatedRows *rows = work->rows;
    TiledPage *pages = work->pages;
    CodedTile *tiles = work->tiles;
    PartedStream *to = work->parted;
    size_t end = 0;
    for (size_t k = 0; k < decode->n && work->n_parted > 0; k++) {
        const DecodeFile *const f = &decode->file[k];
        for (size_t i = 0; i < n_streams(f); i++) {
            PartedStream p = describe(f, i);
            if (!is_long(&p))
                continue;
            place_stream(&p, &end);
            parted_move(&p, base);
            if (f->tiles) {
                p.in = tiles[i].in - p.before;
                p.out = tiles[i].out;
                p.check = (uint32_t)(work->n_rows + (size_t)(pages - work->pages));
                tiles[i].parted = true;
            } else {
                p.in = rows->in;
                p.out = rows->filtered;
                p.check = (uint32_t)(rows - work->rows);
                rows->parted = true;
            }
            assert(p.in % 4 == 0 && p.out % 16 == 0);
            *to++ = p;
        }
        rows += f->on_device && !f->tiles;
        pages += f->on_device && f->tiles;
        tiles += f->on_device && f->tiles ? f->tiled.n_tiles : 0;
    }
    assert(work->n_parted == 0 || to == work->parted + work->n_parted);
}

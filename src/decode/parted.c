/* SPDX-License-Identifier: MIT */
/* parted.c: see parted.h. */
#include "decode/parted.h"

#include "decode/decode.h"
#include "decode/deflated_place.h"

#include <assert.h>

/* Lists a stream whose output, window and check are given. Returns false if it is decoded in order.
 */
static bool list_stream(DecodeWork *work, uint64_t in, uint32_t n_in, PartedStream p,
                        uint64_t there, PartedRoom *room)
{
    p.before = (uint32_t)(in % 4);
    p.in = in - p.before;
    p.n_in = n_in + p.before;
    if (!parted_pays(n_in, p.n_out) || !parted_give_place(room, &p))
        return false;
    assert(p.out % 16 == 0);
    parted_move(&p, there);
    work->parted[work->n_parted++] = p;
    return true;
}

static bool is_deflated(const DecodeWork *work, const CodedTile *tile)
{
    return work->pages[tile->page].coding == TILE_DEFLATED;
}

static size_t count_long(const DecodeWork *work)
{
    size_t n = 0;
    for (size_t i = 0; i < work->n_rows; i++)
        n += parted_pays(work->rows[i].n_in, work->rows[i].n_out);
    for (size_t i = 0; i < work->n_tiles; i++)
        n += is_deflated(work, &work->tiles[i]) &&
             parted_pays(work->tiles[i].n_in, work->tiles[i].n_out);
    return n;
}

void parted_list(DecodeWork *work, size_t most, uint64_t there, size_t bytes)
{
    PartedRoom room = {.bytes = count_long(work) <= most ? bytes : 0};
    work->n_parted = 0;
    for (size_t i = 0; i < work->n_rows; i++) {
        DeflatedRows *const rows = &work->rows[i];
        const PartedStream p = {.out = rows->filtered,
                                .n_out = rows->n_out,
                                .window = rows->window,
                                .check = (uint32_t)i};
        rows->parted = list_stream(work, rows->in, rows->n_in, p, there, &room);
    }
    for (size_t i = 0; i < work->n_tiles; i++) {
        CodedTile *const tile = &work->tiles[i];
        const PartedStream p = {.out = tile->out,
                                .n_out = tile->n_out,
                                .window = tile->window,
                                .check = (uint32_t)(work->n_rows + tile->page)};
        tile->parted =
            is_deflated(work, tile) && list_stream(work, tile->in, tile->n_in, p, there, &room);
    }
}

/* Finds a place for a stream of a file; one that needs more than all others makes the room larger.
 */
static void plan_stream(DecodeWork *work, PartedRoom *room, uint32_t n_in, uint32_t n_out)
{
    PartedStream p = {.n_in = n_in + 3, .n_out = n_out}; /* from the word on where it begins */
    if (!parted_pays(n_in, n_out))
        return;
    if (!parted_give_place(room, &p)) {
        room->bytes = parted_place(&p, 0);
        (void)parted_give_place(room, &p);
    }
    work->n_parted++;
}

void decode_plan_parts(ImgstatDecode *decode, size_t *at)
{
    DecodeWork *const work = &decode->work;
    PartedRoom room = {.bytes = PARTED_ROUND_BYTES};
    size_t most = 0;
    work->n_parted = 0;
    for (const DecodeFile *f = decode->file; f < decode->file + decode->n; f++) {
        const size_t n = !f->on_device                      ? 0
                         : !f->tiles                        ? 1
                         : f->tiled.coding == TILE_DEFLATED ? f->tiled.n_tiles
                                                            : 0;
        for (size_t i = 0; i < n; i++) {
            plan_stream(work, &room, f->tiles ? f->tiles[i].n_in : f->rows.n_in,
                        f->tiles ? f->tiles[i].n_out : f->rows.n_out);
            most = room.used > most ? room.used : most;
        }
    }
    if (work->n_parted > PARTED_STREAMS_MOST)
        work->n_parted = most = 0;
    decode->parted_bytes = most;
    decode->parted_at = place(at, most);
}

/* SPDX-License-Identifier: MIT */
/* parted.h: which deflate streams a device decodes in parts, and the memory for that. */
#ifndef IMGSTAT_DECODE_PARTED_H
#define IMGSTAT_DECODE_PARTED_H

#include "codec/decode_work.h"

/* What the places of streams take. Those that find no place any more wait for others, and begin
 * anew. */
typedef struct PartedRoom {
    size_t bytes;
    size_t used;
} PartedRoom;

/* Whether a stream of so many bytes, compressed and decompressed, is decoded in parts. */
static inline bool parted_pays(uint32_t n_in, uint32_t n_out)
{
    return n_in >= PARTED_BYTES_LEAST && n_out <= PARTED_OUTPUT_MOST;
}

/* Places what a stream needs besides its input and output, relative to the start of the room.
 * Returns false if the room is too small for it. */
static inline bool parted_give_place(PartedRoom *room, PartedStream *p)
{
    size_t end = parted_place(p, room->used);
    if (end > room->bytes && room->used > 0)
        end = parted_place(p, 0);
    if (end > room->bytes)
        return false;
    room->used = end;
    return true;
}

/* Lists the streams among complete rows and tiles of `work` that are decoded in parts, unless these
 * are more than `most`. there: so many bytes of the device's memory, for all that they need.
 * work->parted has room for `most`. Sets work->n_parted, and `parted` of rows and tiles. */
void parted_list(DecodeWork *work, size_t most, uint64_t there, size_t bytes);

#endif

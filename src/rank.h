/* SPDX-License-Identifier: MIT */
/* rank.h: order statistics of many keys, for which not all of them need be sorted. */
#ifndef IMGSTAT_RANK_H
#define IMGSTAT_RANK_H

#include "transfer.h"

/* The least rank of a step of n samples that is at least `rank`; n where there is none. */
uint64_t rank_next(uint64_t n, uint64_t rank);

/* rank_keys.c: as rank_builder_add of each of n < 2^32 keys in ascending order. They come in any,
 * but are above all those before, and at most `most`. Both arrays hold n, and nothing in the end.
 */
void rank_builder_add_keys(RankBuilder *builder, uint64_t *keys, uint64_t *spare, size_t n,
                           uint64_t most);

#endif

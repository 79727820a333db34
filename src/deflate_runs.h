/* SPDX-License-Identifier: MIT */
/* deflate_runs.h: deflate by Huffman codes and runs of one byte, without looking for other matches.
 */
#ifndef IMGSTAT_DEFLATE_RUNS_H
#define IMGSTAT_DEFLATE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room that n bytes may take. */
size_t deflate_runs_bound(size_t n);

/* Compresses n bytes to whole bytes of a deflate stream: its end where `last`, else a part that
 * another may follow. Returns their number. room: deflate_runs_bound(n). store: without
 * compression. */
size_t deflate_runs(const uint8_t *from, size_t n, bool last, bool store, uint8_t *to);

#endif

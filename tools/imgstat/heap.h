/* SPDX-License-Identifier: MIT */
/* heap.h: what malloc keeps of memory that was freed. */
#ifndef IMGSTAT_TOOLS_HEAP_H
#define IMGSTAT_TOOLS_HEAP_H

#include <stdint.h>

/* Records and tables of one image serve the next, instead of going back to the system between the
 * two; pixels, which are larger, the library keeps itself. memory: what the program may take, of
 * which little stays unused; 0: no bound. Before threads start. */
void heap_keep(uint64_t memory);

#endif

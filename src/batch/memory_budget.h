/* SPDX-License-Identifier: MIT */
/* memory_budget.h: a number of bytes that threads reserve parts of. */
#ifndef IMGSTAT_BATCH_MEMORY_BUDGET_H
#define IMGSTAT_BATCH_MEMORY_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct MemoryBudget {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t total, used;
    unsigned waiting; /* threads in memory_budget_reserve */
} MemoryBudget;

void memory_budget_init(MemoryBudget *budget, uint64_t bytes);
/* Releases the contents; nothing is reserved. */
void memory_budget_release(MemoryBudget *budget);

/* Waits until `bytes` are free and reserves them. The caller holds no reservation, and
 * bytes <= total; so every wait ends once those who hold one return it. */
void memory_budget_reserve(MemoryBudget *budget, uint64_t bytes);

/* Exchanges the caller's reservation of `has` bytes for `bytes` if that is possible at once; else
 * the caller keeps it. bytes <= total. */
bool memory_budget_exchange(MemoryBudget *budget, uint64_t has, uint64_t bytes);

/* Returns a reservation. */
void memory_budget_return(MemoryBudget *budget, uint64_t bytes);

/* Whether a thread waits in memory_budget_reserve. */
bool memory_budget_is_awaited(MemoryBudget *budget);

#endif

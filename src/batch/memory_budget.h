/* SPDX-License-Identifier: MIT */
/* memory_budget.h: lets files in while their memory fits a budget. */
#ifndef IMGSTAT_BATCH_MEMORY_BUDGET_H
#define IMGSTAT_BATCH_MEMORY_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct MemoryBudget {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t total, used;
    unsigned wanted; /* by so many threads */
} MemoryBudget;

void memory_budget_init(MemoryBudget *gate, uint64_t bytes);
void memory_budget_release(MemoryBudget *gate);
/* After memory_budget_want; waits until that much is free. Nobody enters who has entered and not
 * left, and bytes <= total, so that nobody waits for ever. */
void memory_budget_enter(MemoryBudget *gate, uint64_t bytes);
/* Those bytes in place of the `has` that the caller entered with, if that need not wait. */
bool memory_budget_try(MemoryBudget *gate, uint64_t has, uint64_t bytes);
/* Between memory_budget_want and the end of the memory_budget_enter that follows it is waited for.
 */
void memory_budget_want(MemoryBudget *gate);
bool memory_budget_waited_for(MemoryBudget *gate);
void memory_budget_leave(MemoryBudget *gate, uint64_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/* memory_budget.c: a counter of bytes that threads wait for. */
#include "batch/memory_budget.h"

void memory_budget_init(MemoryBudget *budget, uint64_t bytes)
{
    *budget = (MemoryBudget){.total = bytes};
    pthread_mutex_init(&budget->lock, NULL);
    pthread_cond_init(&budget->changed, NULL);
}

void memory_budget_release(MemoryBudget *budget)
{
    pthread_cond_destroy(&budget->changed);
    pthread_mutex_destroy(&budget->lock);
}

void memory_budget_reserve(MemoryBudget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    budget->waiting++;
    while (budget->used > budget->total - bytes)
        pthread_cond_wait(&budget->changed, &budget->lock);
    budget->waiting--;
    budget->used += bytes;
    pthread_mutex_unlock(&budget->lock);
}

bool memory_budget_exchange(MemoryBudget *budget, uint64_t has, uint64_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    const bool fits = budget->used - has <= budget->total - bytes;
    if (fits)
        budget->used += bytes - has;
    if (fits && bytes < has)
        pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->lock);
    return fits;
}

void memory_budget_return(MemoryBudget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    budget->used -= bytes;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->lock);
}

bool memory_budget_is_awaited(MemoryBudget *budget)
{
    pthread_mutex_lock(&budget->lock);
    const bool awaited = budget->waiting > 0;
    pthread_mutex_unlock(&budget->lock);
    return awaited;
}

/* SPDX-License-Identifier: MIT */
/* memory_budget.c: a counter of bytes that threads wait for. */
#include "batch/memory_budget.h"

void memory_budget_init(MemoryBudget *gate, uint64_t bytes)
{
    *gate = (MemoryBudget){.total = bytes};
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void memory_budget_release(MemoryBudget *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

bool memory_budget_try(MemoryBudget *gate, uint64_t has, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    const bool fits = gate->used - has <= gate->total - bytes;
    if (fits)
        gate->used += bytes - has;
    if (fits && bytes < has)
        pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    return fits;
}

void memory_budget_want(MemoryBudget *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->wanted++;
    pthread_mutex_unlock(&gate->lock);
}

bool memory_budget_waited_for(MemoryBudget *gate)
{
    pthread_mutex_lock(&gate->lock);
    const bool waited_for = gate->wanted > 0;
    pthread_mutex_unlock(&gate->lock);
    return waited_for;
}

void memory_budget_enter(MemoryBudget *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->used > gate->total - bytes)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->wanted--;
    gate->used += bytes;
    pthread_mutex_unlock(&gate->lock);
}

void memory_budget_leave(MemoryBudget *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    gate->used -= bytes;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

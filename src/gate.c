/* SPDX-License-Identifier: MIT */
/* gate.c: a counter of bytes that threads wait for. */
#include "gate.h"

void gate_init(Gate *gate, uint64_t bytes)
{
    *gate = (Gate){.total = bytes};
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void gate_release(Gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

bool gate_try(Gate *gate, uint64_t has, uint64_t bytes)
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

void gate_want(Gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->wanted++;
    pthread_mutex_unlock(&gate->lock);
}

bool gate_waited_for(Gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    const bool waited_for = gate->wanted > 0;
    pthread_mutex_unlock(&gate->lock);
    return waited_for;
}

void gate_enter(Gate *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->used > gate->total - bytes)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->wanted--;
    gate->used += bytes;
    pthread_mutex_unlock(&gate->lock);
}

void gate_leave(Gate *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    gate->used -= bytes;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

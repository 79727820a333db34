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

bool gate_try(Gate *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    const bool fits = gate->used <= gate->total - bytes;
    gate->used += fits ? bytes : 0;
    pthread_mutex_unlock(&gate->lock);
    return fits;
}

void gate_enter(Gate *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->used > gate->total - bytes)
        pthread_cond_wait(&gate->changed, &gate->lock);
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

/* SPDX-License-Identifier: MIT */
/* gate.h: lets files in while their memory fits a budget. */
#ifndef IMGSTAT_GATE_H
#define IMGSTAT_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t total, used;
} Gate;

void gate_init(Gate *gate, uint64_t bytes);
void gate_release(Gate *gate);
/* Waits until that much is free. Nobody enters twice before leaving, and bytes <= total, so that
 * nobody waits for ever. */
bool gate_try(Gate *gate, uint64_t bytes); /* gate_enter, if that need not wait */
void gate_enter(Gate *gate, uint64_t bytes);
void gate_leave(Gate *gate, uint64_t bytes);

#endif

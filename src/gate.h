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
    unsigned wanted; /* by so many threads */
} Gate;

void gate_init(Gate *gate, uint64_t bytes);
void gate_release(Gate *gate);
/* After gate_want; waits until that much is free. Nobody enters who has entered and not left, and
 * bytes <= total, so that nobody waits for ever. */
void gate_enter(Gate *gate, uint64_t bytes);
/* Those bytes in place of the `has` that the caller entered with, if that need not wait. */
bool gate_try(Gate *gate, uint64_t has, uint64_t bytes);
/* Between gate_want and the end of the gate_enter that follows it is waited for. */
void gate_want(Gate *gate);
bool gate_waited_for(Gate *gate);
void gate_leave(Gate *gate, uint64_t bytes);

#endif

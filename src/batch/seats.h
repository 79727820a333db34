/* SPDX-License-Identifier: MIT */
/* seats.h: how many threads may work at the same time; some go first. */
#ifndef IMGSTAT_BATCH_SEATS_H
#define IMGSTAT_BATCH_SEATS_H

#include <pthread.h>
#include <stdbool.h>

typedef struct Seats {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t first, other;
    unsigned free, waiting; /* seats; threads that go first and wait */
} Seats;

static inline void seats_init(Seats *seats, unsigned n)
{
    *seats = (Seats){.free = n};
    pthread_mutex_init(&seats->lock, NULL);
    pthread_cond_init(&seats->first, NULL);
    pthread_cond_init(&seats->other, NULL);
}

static inline void seats_release(Seats *seats)
{
    pthread_cond_destroy(&seats->other);
    pthread_cond_destroy(&seats->first);
    pthread_mutex_destroy(&seats->lock);
}

/* Wakes a thread that waits, where a seat is free. The lock is held. */
static inline void seat_offer(Seats *seats)
{
    if (seats->free > 0)
        pthread_cond_signal(seats->waiting > 0 ? &seats->first : &seats->other);
}

/* Waits for a seat. first: before all that do not go first. */
static inline void seat_acquire(Seats *seats, bool first)
{
    pthread_mutex_lock(&seats->lock);
    seats->waiting += first;
    while (seats->free == 0 || (!first && seats->waiting > 0))
        pthread_cond_wait(first ? &seats->first : &seats->other, &seats->lock);
    seats->waiting -= first;
    seats->free--;
    seat_offer(seats); /* this one may have been woken for two seats */
    pthread_mutex_unlock(&seats->lock);
}

static inline void seat_release(Seats *seats)
{
    pthread_mutex_lock(&seats->lock);
    seats->free++;
    seat_offer(seats);
    pthread_mutex_unlock(&seats->lock);
}

#endif

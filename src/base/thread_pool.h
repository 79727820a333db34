/* SPDX-License-Identifier: MIT */
/* thread_pool.h: threads, and pools of threads that run numbered tasks. */
#ifndef IMGSTAT_BASE_THREAD_POOL_H
#define IMGSTAT_BASE_THREAD_POOL_H

#include "base/error.h"

#include <pthread.h>

typedef struct ThreadPool ThreadPool;

/* Starts a thread that handles no signals: they are the program's. Returns false if the system
 * refuses. */
bool thread_start(pthread_t *id, void *(*run)(void *context), void *context);

/* Waits for a condition, but for 50 ms at most: its caller then asks whether work is cancelled. The
 * lock is held. Returns whether the condition was signalled. */
bool thread_wait_briefly(pthread_cond_t *condition, pthread_mutex_t *lock);

/* Returns how many processors the process may run on. */
unsigned thread_pool_processors(void);

/* Creates a pool. threads: with the calling thread; 0: one for each processor that the process may
 * run on. The other threads start with the first run of more than one task. */
ImgstatResult thread_pool_create(unsigned threads, ThreadPool **out, ImgstatError *err);

/* Accepts NULL. */
void thread_pool_destroy(ThreadPool *pool);

/* Returns how many threads run tasks. */
unsigned thread_pool_threads(const ThreadPool *pool);

/* Limits later runs to `threads` threads: at least one, at most as many as the pool was created
 * with. Not during a run. */
void thread_pool_use(ThreadPool *pool, unsigned threads);

/* Calls work(context, task, thread) once for every task in [0, tasks) and returns when all are
 * done. Tasks start in ascending order. thread < thread_pool_threads(pool); no two calls have the
 * same thread at the same time. work must not run tasks on the same pool. */
void thread_pool_run(ThreadPool *pool, size_t tasks,
                     void (*work)(void *context, size_t task, unsigned thread), void *context);

/* Works as thread_pool_run, on at most `threads` >= 1 threads. */
void thread_pool_run_few(ThreadPool *pool, unsigned threads, size_t tasks,
                         void (*work)(void *context, size_t task, unsigned thread), void *context);

#endif

/* SPDX-License-Identifier: MIT */
/* thread_pool.h: threads that run numbered tasks. */
#ifndef IMGSTAT_BASE_THREAD_POOL_H
#define IMGSTAT_BASE_THREAD_POOL_H

#include "base/error.h"

#include <pthread.h>

typedef struct ThreadPool ThreadPool;

/* Starts a thread that handles no signals: they are the program's. Returns false if the system
 * refuses. */
bool thread_start(pthread_t *id, void *(*run)(void *context), void *context);

/* Number of processors that the process may run on. */
unsigned thread_pool_processors(void);

/* threads: 0 for one per processor that the process may run on. The calling thread is one of them:
 * a pool of 1 starts none. The others start with the first run of more than one task. */
ImgstatResult thread_pool_create(unsigned threads, ThreadPool **out, ImgstatError *err);
void thread_pool_destroy(ThreadPool *pool); /* accepts NULL */
/* Number of threads that run tasks. */
unsigned thread_pool_threads(const ThreadPool *pool);
/* Limits later runs to `threads` threads: at least one, at most those that it was created with.
 * Not during a run. */
void thread_pool_use(ThreadPool *pool, unsigned threads);

/* Calls work(context, task, thread) once for every task in [0, tasks), dealt out in ascending
 * order, and returns when all are done. thread < thread_pool_threads(pool): no two calls at the
 * same time have the same. work must not run tasks on the same pool. */
void thread_pool_run(ThreadPool *pool, size_t tasks,
                     void (*work)(void *context, size_t task, unsigned thread), void *context);
/* thread_pool_run on at most `threads` threads. threads >= 1. */
void thread_pool_run_few(ThreadPool *pool, unsigned threads, size_t tasks,
                         void (*work)(void *context, size_t task, unsigned thread), void *context);

#endif

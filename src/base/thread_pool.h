/* SPDX-License-Identifier: MIT */
/* thread_pool.h: a few threads that share out numbered tasks. */
#ifndef IMGSTAT_BASE_THREAD_POOL_H
#define IMGSTAT_BASE_THREAD_POOL_H

#include "base/error.h"

typedef struct ThreadPool ThreadPool;

/* As many as the process may run on. */
unsigned thread_pool_processors(void);

/* threads: 0 for as many as the process may run on. With 1 nothing is started. The workers start
 * with the first thread_pool_run of more than one task. */
ImgstatResult thread_pool_create(unsigned threads, ThreadPool **out, ImgstatError *err);
void thread_pool_destroy(ThreadPool *pool); /* accepts NULL */
unsigned thread_pool_threads(const ThreadPool *pool);
/* From now on the pool has its first `threads` alone: at least one, at most what it was created
 * with. Not during a thread_pool_run. */
void thread_pool_use(ThreadPool *pool, unsigned threads);

/* Calls work(context, task, thread) for every task in [0, tasks), shared out in ascending order;
 * returns when all are done. thread < thread_pool_threads identifies the caller's scratch. work
 * must not call thread_pool_run on the same pool. */
void thread_pool_run(ThreadPool *pool, size_t tasks,
                     void (*work)(void *context, size_t task, unsigned thread), void *context);
/* The same by the first `threads` threads alone, at least one, and by no more than there are tasks.
 */
void thread_pool_run_few(ThreadPool *pool, unsigned threads, size_t tasks,
                         void (*work)(void *context, size_t task, unsigned thread), void *context);

#endif

/* SPDX-License-Identifier: MIT */
/* pool.h: a few threads that share out numbered tasks. */
#ifndef IMGSTAT_POOL_H
#define IMGSTAT_POOL_H

#include "result.h"

typedef struct Pool Pool;

/* As many as the process may run on. */
unsigned pool_processors(void);

/* threads: 0 for as many as the process may run on. With 1 nothing is started. The workers start
 * with the first pool_run of more than one task. */
ImgstatResult pool_create(unsigned threads, Pool **out, ImgstatError *err);
void pool_destroy(Pool *pool); /* accepts NULL */
unsigned pool_threads(const Pool *pool);
/* From now on the pool has its first `threads` alone: at least one, at most what it was created
 * with. Not during a pool_run. */
void pool_use(Pool *pool, unsigned threads);

/* Calls work(context, task, thread) for every task in [0, tasks), shared out in ascending order;
 * returns when all are done. thread < pool_threads identifies the caller's scratch. work must not
 * call pool_run on the same pool. */
void pool_run(Pool *pool, size_t tasks, void (*work)(void *context, size_t task, unsigned thread),
              void *context);
/* The same by the first `threads` threads alone, at least one, and by no more than there are tasks.
 */
void pool_run_few(Pool *pool, unsigned threads, size_t tasks,
                  void (*work)(void *context, size_t task, unsigned thread), void *context);

#endif

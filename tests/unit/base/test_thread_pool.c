/* SPDX-License-Identifier: MIT */
/* test_thread_pool.c: every task runs once, on a thread of the pool, before thread_pool_run
 * returns. */
#include "base/thread_pool.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Seen {
    unsigned threads;
    size_t tasks;
    unsigned char *runs;    /* of each task */
    uint64_t per_thread[8]; /* not atomic: a number belongs to one thread at a time */
    uint32_t bad;
} Seen;

static void see(void *context, size_t task, unsigned thread)
{
    Seen *seen = context;
    if (task >= seen->tasks || thread >= seen->threads) {
        __atomic_fetch_add(&seen->bad, 1, __ATOMIC_RELAXED);
        return;
    }
    seen->runs[task]++;
    seen->per_thread[thread] += task + 1;
}

/* few: 0 for all threads. */
static uint64_t check_run_few(ThreadPool *pool, unsigned few, size_t tasks)
{
    Seen seen = {.threads = few ? few : thread_pool_threads(pool),
                 .tasks = tasks,
                 .runs = calloc(tasks + 1, 1)};
    uint64_t sum = 0;
    cr_assert(seen.runs);
    if (few)
        thread_pool_run_few(pool, few, tasks, see, &seen);
    else
        thread_pool_run(pool, tasks, see, &seen);
    for (size_t i = 0; i < tasks; i++)
        cr_assert_eq(seen.runs[i], 1, "task %zu ran %u times", i, seen.runs[i]);
    for (unsigned t = 0; t < 8; t++)
        sum += seen.per_thread[t];
    cr_assert_eq(sum, (uint64_t)tasks * (tasks + 1) / 2);
    cr_assert_eq(seen.bad, 0);
    free(seen.runs);
    return tasks;
}

static uint64_t check_run(ThreadPool *pool, size_t tasks)
{
    return check_run_few(pool, 0, tasks);
}

Test(pool, few_threads)
{
    ThreadPool *pool;
    uint64_t ran = 0;
    cr_assert_eq(thread_pool_create(5, &pool, NULL), IMGSTAT_OK);
    for (int round = 0; round < 500; round++)
        for (unsigned few = 1; few <= 5; few++)
            ran += check_run_few(pool, few, 64);
    thread_pool_destroy(pool);
    cr_assert_eq(ran, 500 * 5 * 64);
}

/* Threads above the number of tasks would each keep what they made for a task of theirs. */
Test(pool, no_more_threads_than_tasks)
{
    ThreadPool *pool;
    uint64_t ran = 0;
    cr_assert_eq(thread_pool_create(5, &pool, NULL), IMGSTAT_OK);
    for (int round = 0; round < 2000; round++)
        for (size_t tasks = 1; tasks < 5; tasks++) {
            Seen seen = {.threads = (unsigned)tasks, .tasks = tasks, .runs = calloc(tasks, 1)};
            cr_assert(seen.runs);
            thread_pool_run(pool, tasks, see, &seen);
            cr_assert_eq(seen.bad, 0, "%zu tasks", tasks);
            ran += tasks;
            free(seen.runs);
        }
    thread_pool_destroy(pool);
    cr_assert_eq(ran, 2000 * 10);
}

Test(pool, uses_as_many_as_it_is_told)
{
    static const unsigned asked[][2] = {{2, 2}, {0, 1}, {1, 1}, {4, 4}, {5, 5}, {9, 5}, {3, 3}};
    ThreadPool *pool;
    uint64_t ran = 0;
    cr_assert_eq(thread_pool_create(5, &pool, NULL), IMGSTAT_OK);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        thread_pool_use(pool, asked[i][0]);
        cr_assert_eq(thread_pool_threads(pool), asked[i][1]);
        for (int round = 0; round < 100; round++)
            ran += check_run(pool, 64);
    }
    thread_pool_destroy(pool);
    cr_assert_eq(ran, 7 * 100 * 64);
}

Test(pool, every_task_once)
{
    const unsigned threads[] = {1, 2, 3, 7};
    const size_t tasks[] = {0, 1, 2, 3, 7, 64, 1000, 20011};
    uint64_t ran = 0;
    for (size_t i = 0; i < 4; i++) {
        ThreadPool *pool;
        cr_assert_eq(thread_pool_create(threads[i], &pool, NULL), IMGSTAT_OK);
        cr_assert_eq(thread_pool_threads(pool), threads[i]);
        for (int round = 0; round < 20; round++) {
            for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++)
                ran += check_run(pool, tasks[k]);
        }
        thread_pool_destroy(pool);
    }
    fprintf(stderr, "pool: %llu tasks ran\n", (unsigned long long)ran);
    cr_assert_gt(ran, 0);
}

Test(pool, short_rounds)
{
    ThreadPool *pool;
    uint64_t ran = 0;
    cr_assert_eq(thread_pool_create(3, &pool, NULL), IMGSTAT_OK);
    for (int round = 0; round < 20000; round++) /* workers that wake up late find nothing */
        ran += check_run(pool, 2);
    thread_pool_destroy(pool);
    cr_assert_eq(ran, 40000);
}

Test(pool, threads_of_the_process)
{
    ThreadPool *pool;
    cr_assert_eq(thread_pool_create(0, &pool, NULL), IMGSTAT_OK);
    cr_assert_geq(thread_pool_threads(pool), 1);
    thread_pool_destroy(pool);
    thread_pool_destroy(NULL);
}

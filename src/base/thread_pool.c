/* SPDX-License-Identifier: MIT */
/* thread_pool.c: threads take the next task from one counter until none is left. */
#define _GNU_SOURCE
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Bounds the allocation. No machine has as many processors. */
enum { POOL_MAX_THREADS = 1024 };

typedef struct Worker {
    struct ThreadPool *pool;
    unsigned thread;
    pthread_t id;
} Worker;

struct ThreadPool {
    unsigned threads; /* with the caller's */
    unsigned used;    /* of them, in later runs */
    unsigned started; /* workers running */
    bool tried;       /* to start them */
    pthread_mutex_t lock;
    pthread_cond_t work_there, work_done;
    uint64_t round; /* number of the thread_pool_run in progress */
    unsigned busy;  /* workers inside it */
    unsigned few;   /* threads that take part in it */
    bool stop;
    void (*work)(void *context, size_t task, unsigned thread);
    void *context;
    size_t tasks;
    size_t next; /* task; incremented atomically */
    Worker worker[];
};

unsigned thread_pool_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than cpu_set_t holds */
    return online > 0 ? (unsigned)online : 1;
}

static void run_tasks(ThreadPool *pool, unsigned thread)
{
    for (;;) {
        const size_t task = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
        if (task >= pool->tasks)
            return;
        pool->work(pool->context, task, thread);
    }
}

static void *worker_main(void *argument)
{
    const Worker *worker = argument;
    ThreadPool *pool = worker->pool;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->round == seen)
            pthread_cond_wait(&pool->work_there, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->round;
        /* The other threads may have finished that round before this one woke up. */
        if (!pool->work || worker->thread >= pool->few)
            continue;
        pool->busy++;
        pthread_mutex_unlock(&pool->lock);
        run_tasks(pool, worker->thread);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->work_done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

bool thread_start(pthread_t *id, void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* which the thread inherits */
    const bool started = pthread_create(id, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

bool thread_wait_briefly(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    enum { WAIT_NS = 50000000, SECOND_NS = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    return pthread_cond_timedwait(condition, lock, &until) == 0;
}

/* The others do the tasks of a worker that cannot be started. */
static void start_workers(ThreadPool *pool)
{
    pool->tried = true;
    for (unsigned i = 0; i + 1 < pool->threads; i++) {
        Worker *worker = &pool->worker[i];
        worker->pool = pool;
        worker->thread = i + 1;
        if (!thread_start(&worker->id, worker_main, worker))
            break;
        pool->started++;
    }
}

ImgstatResult thread_pool_create(unsigned threads, ThreadPool **out, ImgstatError *err)
{
    *out = NULL;
    if (threads == 0)
        threads = thread_pool_processors();
    if (threads > POOL_MAX_THREADS)
        threads = POOL_MAX_THREADS;
    const size_t bytes = sizeof(ThreadPool) + threads * sizeof(Worker);
    ThreadPool *pool = calloc(1, bytes);
    if (!pool)
        return error_memory(err, bytes, "threads");
    pool->threads = pool->used = threads;
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        free(pool);
        return error_memory(err, sizeof pool->lock, "a lock");
    }
    pthread_cond_init(&pool->work_there, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&pool->work_done, NULL);
    *out = pool;
    return IMGSTAT_OK;
}

void thread_pool_destroy(ThreadPool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work_there);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->worker[i].id, NULL);
    pthread_cond_destroy(&pool->work_done);
    pthread_cond_destroy(&pool->work_there);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

unsigned thread_pool_threads(const ThreadPool *pool)
{
    return pool->used;
}

void thread_pool_use(ThreadPool *pool, unsigned threads)
{
    pool->used = threads < pool->threads ? threads ? threads : 1 : pool->threads;
}

void thread_pool_run(ThreadPool *pool, size_t tasks,
                     void (*work)(void *context, size_t task, unsigned thread), void *context)
{
    thread_pool_run_few(pool, pool->used, tasks, work, context);
}

void thread_pool_run_few(ThreadPool *pool, unsigned threads, size_t tasks,
                         void (*work)(void *context, size_t task, unsigned thread), void *context)
{
    threads = threads < pool->used ? threads : pool->used;
    threads = threads < tasks ? threads : (unsigned)tasks;
    if (threads > 1 && !pool->tried)
        start_workers(pool);
    if (threads <= 1 || pool->started == 0) {
        for (size_t task = 0; task < tasks; task++)
            work(context, task, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->context = context;
    pool->tasks = tasks;
    pool->few = threads;
    __atomic_store_n(&pool->next, 0, __ATOMIC_RELAXED);
    pool->round++;
    pthread_cond_broadcast(&pool->work_there);
    pthread_mutex_unlock(&pool->lock);

    run_tasks(pool, 0);

    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->work_done, &pool->lock);
    pool->work = NULL; /* a worker that wakes up only now goes back to sleep */
    pthread_mutex_unlock(&pool->lock);
}

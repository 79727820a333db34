/* SPDX-License-Identifier: MIT */
/* read_files: whole files into memory, by reads that wait or by io_uring.
 *
 * usage: read_files pread|uring THREADS DEPTH FILE...
 * pread: a thread opens, sizes, reads and closes one file after the other. uring: each thread keeps
 * DEPTH files on their way by one ring, where every step is a request. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MOST = 64 };

typedef enum Step { STEP_OPEN, STEP_SIZE, STEP_READ, STEP_CLOSE } Step;

/* One file on its way. Its memory serves the next file as well. */
typedef struct Slot {
    Step step;
    int fd;
    const char *name;
    struct statx status;
    char *memory;
    size_t room, size, done;
} Slot;

static char **names;
static int n_names, depth;
static atomic_int next_name;
static atomic_ullong bytes_read;

static void fail(const char *name, int error)
{
    fprintf(stderr, "%s: %s\n", name, strerror(error));
    exit(1);
}

static void make_room(Slot *slot)
{
    if (slot->size <= slot->room)
        return;
    free(slot->memory);
    slot->room = slot->size;
    slot->memory = malloc(slot->room);
    if (!slot->memory)
        fail(slot->name, ENOMEM);
}

static void *read_waiting(void *unused)
{
    (void)unused;
    Slot slot = {0};
    for (int i; (i = atomic_fetch_add(&next_name, 1)) < n_names;) {
        struct stat status;
        slot.name = names[i];
        slot.fd = open(slot.name, O_RDONLY | O_CLOEXEC);
        if (slot.fd < 0 || fstat(slot.fd, &status) != 0)
            fail(slot.name, errno);
        slot.size = (size_t)status.st_size;
        make_room(&slot);
        for (slot.done = 0; slot.done < slot.size;) {
            const ssize_t n =
                pread(slot.fd, slot.memory + slot.done, slot.size - slot.done, (off_t)slot.done);
            if (n <= 0)
                fail(slot.name, n ? errno : EIO);
            slot.done += (size_t)n;
        }
        close(slot.fd);
        atomic_fetch_add(&bytes_read, slot.size);
    }
    free(slot.memory);
    return NULL;
}

static void ask(struct io_uring *ring, Slot *slot)
{
    struct io_uring_sqe *const request = io_uring_get_sqe(ring);
    switch (slot->step) {
    case STEP_OPEN:
        io_uring_prep_openat(request, AT_FDCWD, slot->name, O_RDONLY | O_CLOEXEC, 0);
        break;
    case STEP_SIZE:
        io_uring_prep_statx(request, slot->fd, "", AT_EMPTY_PATH, STATX_SIZE, &slot->status);
        break;
    case STEP_READ:
        io_uring_prep_read(request, slot->fd, slot->memory + slot->done,
                           (unsigned)(slot->size - slot->done), slot->done);
        break;
    case STEP_CLOSE:
        io_uring_prep_close(request, slot->fd);
    }
    io_uring_sqe_set_data(request, slot);
}

/* Asks for the next file. Returns 0 after the last one. */
static int begin(struct io_uring *ring, Slot *slot)
{
    const int i = atomic_fetch_add(&next_name, 1);
    if (i >= n_names)
        return 0;
    slot->step = STEP_OPEN;
    slot->name = names[i];
    slot->done = 0;
    ask(ring, slot);
    return 1;
}

/* Takes the result of a step and asks for the next one. Returns by how many files fewer are on
 * their way. */
static int go_on(struct io_uring *ring, Slot *slot, int result)
{
    if (result < 0)
        fail(slot->name, -result);
    switch (slot->step) {
    case STEP_OPEN:
        slot->fd = result;
        slot->step = STEP_SIZE;
        break;
    case STEP_SIZE:
        slot->size = slot->status.stx_size;
        make_room(slot);
        slot->step = slot->size ? STEP_READ : STEP_CLOSE;
        break;
    case STEP_READ:
        if (result == 0)
            fail(slot->name, EIO);
        slot->done += (size_t)result;
        if (slot->done == slot->size)
            slot->step = STEP_CLOSE;
        break;
    case STEP_CLOSE:
        atomic_fetch_add(&bytes_read, slot->size);
        return 1 - begin(ring, slot);
    }
    ask(ring, slot);
    return 0;
}

static void *read_by_ring(void *unused)
{
    (void)unused;
    struct io_uring ring;
    Slot *const slots = calloc((size_t)depth, sizeof *slots);
    const int error = slots ? io_uring_queue_init((unsigned)depth, &ring, 0) : -ENOMEM;
    if (error < 0)
        fail("io_uring", -error);
    int on_their_way = 0;
    for (int k = 0; k < depth; k++)
        on_their_way += begin(&ring, &slots[k]);
    while (on_their_way > 0) {
        struct io_uring_cqe *done;
        io_uring_submit_and_wait(&ring, 1);
        while (io_uring_peek_cqe(&ring, &done) == 0) {
            Slot *const slot = io_uring_cqe_get_data(done);
            const int result = done->res;
            io_uring_cqe_seen(&ring, done);
            on_their_way -= go_on(&ring, slot, result);
        }
    }
    for (int k = 0; k < depth; k++)
        free(slots[k].memory);
    free(slots);
    io_uring_queue_exit(&ring);
    return NULL;
}

int main(int argc, char **argv)
{
    const int threads = argc > 4 ? atoi(argv[2]) : 0;
    depth = argc > 4 ? atoi(argv[3]) : 0;
    if (threads < 1 || threads > THREADS_MOST || depth < 1) {
        fputs("usage: read_files pread|uring THREADS DEPTH FILE...\n", stderr);
        return 2;
    }
    names = argv + 4;
    n_names = argc - 4;
    const bool ring = strcmp(argv[1], "uring") == 0;
    struct timespec from, to;
    pthread_t thread[THREADS_MOST];
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, ring ? read_by_ring : read_waiting, NULL) != 0)
            fail("thread", EAGAIN);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    printf("%s, %d threads, depth %d: %d files in %.3f s, %.0f files/s, %.2f GB/s\n", argv[1],
           threads, depth, n_names, s, n_names / s, (double)bytes_read / s * 1e-9);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* device.c: keeps devices open between calls: to open one takes longer than to measure a small
 * image. A device serves one thread at a time, so that there are as many as calls at a time. */
#include "device.h"
#include "error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Idle devices of one kind beyond this are closed: each has its threads. */
enum { IDLE_MOST = 4 };

typedef struct OpenDevice {
    char name[16];
    unsigned threads;
    bool busy;
    pid_t process; /* that opened it: a child has none of its threads */
    ImgstatDevice *device;
    struct OpenDevice *next;
} OpenDevice;

/* Threads without the interpreter's lock use the list, too. A fork waits for them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forks = PTHREAD_ONCE_INIT;

static void lock_list(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_list(void)
{
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(lock_list, unlock_list, unlock_list); /* fails without memory only */
}

static bool same_kind(const OpenDevice *a, const char *name, unsigned threads)
{
    return a->threads == threads && strcmp(a->name, name) == 0 && a->process == getpid();
}

static ImgstatDevice *take_idle(State *state, const char *name, unsigned threads)
{
    ImgstatDevice *device = NULL;
    pthread_once(&forks, watch_forks);
    lock_list();
    for (OpenDevice *d = state->devices; d && !device; d = d->next)
        if (!d->busy && same_kind(d, name, threads)) {
            d->busy = true;
            device = d->device;
        }
    unlock_list();
    return device;
}

ImgstatDevice *device_take(State *state, const char *name, unsigned threads)
{
    name = name ? name : "cpu";
    ImgstatDevice *const idle = take_idle(state, name, threads);
    if (idle)
        return idle;
    OpenDevice *const opened = calloc(1, sizeof *opened);
    if (!opened || strlen(name) >= sizeof opened->name) {
        free(opened);
        return opened ? (void *)PyErr_Format(PyExc_ValueError, "%s is no device", name)
                      : (void *)PyErr_NoMemory();
    }
    strcpy(opened->name, name);
    opened->threads = threads;
    opened->busy = true;
    opened->process = getpid();
    ImgstatError err;
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = imgstat_device_open(name, threads, &opened->device, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK) {
        free(opened);
        raise_result(state, res, &err);
        return NULL;
    }
    lock_list();
    opened->next = state->devices;
    state->devices = opened;
    unlock_list();
    return opened->device;
}

/* What the library calls the GPU that has an array. */
static void name_of(const ArrayView *view, char name[16])
{
    PyOS_snprintf(name, 16, "cuda:%d", (int)view->device_id);
}

int device_check(const ArrayView *view, const char *name)
{
    char own[16];
    name_of(view, own);
    if (view->memory != IMGSTAT_CUDA || !name || strcmp(name, "cuda") == 0 ||
        strcmp(name, own) == 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "device=\"%s\", but the array is on %s: copy it there first",
                 name, own);
    return -1;
}

ImgstatDevice *device_take_for(State *state, const ArrayView *view, const char *name,
                               unsigned threads)
{
    char own[16];
    name_of(view, own);
    return device_take(state, view->memory == IMGSTAT_CUDA ? own : name, threads);
}

void device_give(State *state, ImgstatDevice *device)
{
    OpenDevice *given = NULL, **place = NULL;
    unsigned idle = 0;
    if (device)
        imgstat_device_cancel(device, NULL, NULL);
    lock_list();
    for (OpenDevice **at = &state->devices; *at; at = &(*at)->next)
        if ((*at)->device == device) {
            given = *at;
            place = at;
        }
    for (const OpenDevice *d = state->devices; given && d; d = d->next)
        idle += !d->busy && same_kind(d, given->name, given->threads);
    if (given)
        given->busy = false;
    if (given && idle >= IDLE_MOST)
        *place = given->next;
    else
        given = NULL;
    unlock_list();
    if (given)
        imgstat_device_close(given->device);
    free(given);
}

void devices_free(State *state)
{
    while (state->devices) {
        OpenDevice *const first = state->devices;
        state->devices = first->next;
        if (first->process == getpid())
            imgstat_device_close(first->device);
        free(first);
    }
}

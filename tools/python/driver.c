/* SPDX-License-Identifier: MIT */
/* driver.c: memory and order of streams by the CUDA driver, without linking it: the extension loads
 * everywhere, and finds the driver when the first array on a GPU comes. */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum {
    CU_OUT_OF_MEMORY = 2,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_POINTER_DEVICE_ORDINAL = 9,
    DEVICES = 64
};

/* Functions of the driver; all return 0 for success. */
static struct Driver {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int index);
    int (*context_retain)(void **context, int device);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
    int (*allocate)(uintptr_t *address, size_t bytes, void *stream);
    int (*free)(uintptr_t address, void *stream);
    int (*free_after_all)(uintptr_t address);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_destroy)(void *event);
    int (*stream_wait)(void *stream, void *event, unsigned flags);
    int (*stream_synchronize)(void *stream);
    int (*stream_captures)(void *stream, int *status);
    int (*pointer_attribute)(void *out, int attribute, uintptr_t address);
    int (*error_text)(int error, const char **text);
} driver;

/* Set once. */
static bool driver_there;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

/* The primary contexts, which the runtime of CUDA uses, too. They live as long as the process. */
static void *contexts[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
    static const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"cuInit", &driver.init},
        {"cuDeviceGet", &driver.device_get},
        {"cuDevicePrimaryCtxRetain", &driver.context_retain},
        {"cuCtxPushCurrent_v2", &driver.context_push},
        {"cuCtxPopCurrent_v2", &driver.context_pop},
        {"cuMemAllocAsync", &driver.allocate},
        {"cuMemFreeAsync", &driver.free},
        {"cuMemFree_v2", &driver.free_after_all},
        {"cuEventCreate", &driver.event_create},
        {"cuEventRecord", &driver.event_record},
        {"cuEventDestroy_v2", &driver.event_destroy},
        {"cuStreamWaitEvent", &driver.stream_wait},
        {"cuStreamSynchronize", &driver.stream_synchronize},
        {"cuStreamIsCapturing", &driver.stream_captures},
        {"cuPointerGetAttribute", &driver.pointer_attribute},
        {"cuGetErrorString", &driver.error_text},
    };
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;
    for (size_t i = 0; complete && i < sizeof functions / sizeof functions[0]; i++) {
        void *const function = dlsym(library, functions[i].name);
        *(void **)functions[i].place = function;
        complete = function != NULL;
    }
    driver_there = complete && driver.init(0) == 0;
}

static int context_of(int32_t device_id, void **out)
{
    int device, status = 0;
    *out = NULL;
    if (pthread_once(&loaded, load) != 0 || !driver_there || device_id < 0 || device_id >= DEVICES)
        return -1;
    pthread_mutex_lock(&lock);
    if (!contexts[device_id]) {
        status = driver.device_get(&device, device_id);
        if (status == 0)
            status = driver.context_retain(&contexts[device_id], device);
    }
    *out = contexts[device_id];
    pthread_mutex_unlock(&lock);
    return status;
}

/* Makes a device current. Ends by leave(). */
static int enter(int32_t device_id)
{
    void *context;
    const int status = context_of(device_id, &context);
    return status == 0 ? driver.context_push(context) : status;
}

static void leave(void)
{
    void *context;
    (void)driver.context_pop(&context);
}

static ImgstatResult report(int32_t device_id, const char *what, int status, ImgstatError *err)
{
    const char *text = NULL;
    if (status == 0)
        return IMGSTAT_OK;
    if (driver_there && status > 0)
        (void)driver.error_text(status, &text);
    *err = (ImgstatError){.code =
                              status == CU_OUT_OF_MEMORY ? IMGSTAT_ERR_MEMORY : IMGSTAT_ERR_DEVICE};
    snprintf(err->message, sizeof err->message, "cuda:%d: %s failed: %s", (int)device_id, what,
             text ? text : "there is no CUDA driver");
    return err->code;
}

int32_t driver_device_of(uintptr_t address)
{
    int number = 0;
    if (pthread_once(&loaded, load) != 0 || !driver_there || !address ||
        driver.pointer_attribute(&number, CU_POINTER_DEVICE_ORDINAL, address) != 0)
        return 0;
    return number;
}

ImgstatResult driver_allocate(int32_t device_id, size_t bytes, void *stream, uintptr_t *out,
                              ImgstatError *err)
{
    int status = enter(device_id);
    if (status == 0) {
        status = driver.allocate(out, bytes ? bytes : 1, stream);
        leave();
    }
    return report(device_id, "allocating the result", status, err);
}

void driver_free(int32_t device_id, uintptr_t address, void *stream, bool waits)
{
    if (enter(device_id) != 0)
        return;
    (void)(waits ? driver.free_after_all(address) : driver.free(address, stream));
    leave();
}

bool driver_records(int32_t device_id, void *stream)
{
    int status = 0; /* CU_STREAM_CAPTURE_STATUS_NONE */
    if (enter(device_id) != 0)
        return false;
    const bool known = driver.stream_captures(stream, &status) == 0;
    leave();
    return known && status != 0;
}

ImgstatResult driver_mark(int32_t device_id, void *stream, void **event, ImgstatError *err)
{
    int status = enter(device_id);
    if (status != 0)
        return report(device_id, "ordering two streams", status, err);
    if (!*event)
        status = driver.event_create(event, CU_EVENT_DISABLE_TIMING);
    if (status == 0)
        status = driver.event_record(*event, stream);
    leave();
    return report(device_id, "ordering two streams", status, err);
}

ImgstatResult driver_follow(int32_t device_id, void *event, void *stream, ImgstatError *err)
{
    int status = enter(device_id);
    if (status == 0) {
        status = driver.stream_wait(stream, event, 0);
        leave();
    }
    return report(device_id, "ordering two streams", status, err);
}

void driver_forget(int32_t device_id, void *event)
{
    if (!event || enter(device_id) != 0)
        return;
    (void)driver.event_destroy(event); /* once it is done */
    leave();
}

ImgstatResult driver_order(int32_t device_id, void *earlier, void *later, ImgstatError *err)
{
    void *event = NULL;
    if (earlier == later)
        return IMGSTAT_OK;
    ImgstatResult res = driver_mark(device_id, earlier, &event, err);
    if (res == IMGSTAT_OK)
        res = driver_follow(device_id, event, later, err);
    driver_forget(device_id, event);
    return res;
}

ImgstatResult driver_wait(int32_t device_id, void *stream, ImgstatError *err)
{
    int status = enter(device_id);
    if (status == 0) {
        status = driver.stream_synchronize(stream);
        leave();
    }
    return report(device_id, "waiting for a stream", status, err);
}

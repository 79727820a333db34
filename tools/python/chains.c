/* SPDX-License-Identifier: MIT */
/* chains.c: keeps chains, which allocate and wait when they are made, between calls. */
#include "chains.h"
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chains beyond this are ended, those first that were not used for longest. One takes a few MiB. So
 * many measurements may be unread. */
enum { CHAINS_MOST = 16 };

struct HeldChain {
    ImgstatDevice *device;
    ImgstatChain *chain;     /* NULL for measuring */
    ImgstatPending *pending; /* NULL for transforms */
    /* What it is for: */
    ImgstatMethod method;
    ImagePro like; /* without pixels */
    size_t n;      /* images that it measures at a time */
    int16_t alpha;
    void *stream;
    void *event; /* of its last work: a new stream may have the handle of one that has ended */
    bool busy;
    HeldChain *next; /* used before this one */
};

/* Of the list, and of all chains of it while one is made. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether a chain is for images like this. It takes smaller ones. */
static bool fits(const HeldChain *held, const ImgstatMethod *method, const ImagePro *like, size_t n,
                 int16_t alpha, void *stream)
{
    const ImagePro *const own = &held->like;
    if (held->stream != stream || own->memory != like->memory ||
        own->device_id != like->device_id || own->sample != like->sample ||
        own->channels != like->channels)
        return false;
    if (!method)
        return held->pending && held->n >= n && (held->n > 1) == (n > 1);
    return held->chain && held->alpha == alpha && own->bits == like->bits &&
           own->has_nodata == like->has_nodata && own->nodata_key == like->nodata_key &&
           (uint64_t)own->width * own->height >= (uint64_t)like->width * like->height &&
           memcmp(&held->method, method, sizeof *method) == 0;
}

static ImgstatResult make(const char *device, unsigned threads, const ImgstatMethod *method,
                          const ImagePro *like, size_t n, int16_t alpha, HeldChain **out,
                          ImgstatError *err)
{
    HeldChain *const held = calloc(1, sizeof *held);
    *out = NULL;
    if (!held) {
        *err = (ImgstatError){.code = IMGSTAT_ERR_MEMORY, .message = "out of memory for a chain"};
        return err->code;
    }
    if (method)
        held->method = *method;
    held->like = *like;
    held->n = n;
    held->alpha = alpha;
    ImgstatResult res = imgstat_device_open(device, threads, &held->device, err);
    if (res == IMGSTAT_OK)
        res = method ? imgstat_chain_create(held->device, method, like, alpha, &held->chain, err)
                     : imgstat_pending_create_series(held->device, like->sample, like->channels, n,
                                                     &held->pending, err);
    if (res == IMGSTAT_OK)
        *out = held;
    else
        chain_end(held);
    return res;
}

ImgstatResult chain_make(const char *device, unsigned threads, const ImgstatMethod *method,
                         const ImagePro *like, int16_t alpha, HeldChain **out, ImgstatError *err)
{
    return make(device, threads, method, like, 1, alpha, out, err);
}

/* Memory of measurements is freed in the order of a stream of its own. */
static void wait_for(const HeldChain *chain)
{
    ImgstatError err;
    if (chain->pending && chain->stream && chain->like.memory == IMGSTAT_CUDA)
        (void)driver_wait(chain->like.device_id, chain->stream, &err);
}

void chain_end(HeldChain *chain)
{
    if (!chain)
        return;
    wait_for(chain);
    driver_forget(chain->like.device_id, chain->event);
    imgstat_chain_destroy(chain->chain);
    imgstat_pending_destroy(chain->pending);
    imgstat_device_close(chain->device);
    free(chain);
}

static size_t unread(const State *state)
{
    size_t n = 0;
    for (const HeldChain *held = state->chains; held; held = held->next)
        n += held->pending && held->busy;
    return n;
}

static HeldChain *find(State *state, const ImgstatMethod *method, const ImagePro *like, size_t n,
                       int16_t alpha, void *stream)
{
    for (HeldChain **place = &state->chains; *place; place = &(*place)->next) {
        HeldChain *const held = *place;
        if (!held->busy && fits(held, method, like, n, alpha, stream)) {
            *place = held->next; /* to the front */
            held->next = state->chains;
            state->chains = held;
            return held;
        }
    }
    return NULL;
}

/* Takes what is beyond the most out of the list, the last one that is idle; and the last one for
 * many images that is idle, as the new one has replaced it. */
static HeldChain *surplus(State *state, bool many)
{
    HeldChain **last = NULL;
    unsigned n = 0;
    for (HeldChain **place = &state->chains; *place; place = &(*place)->next, n++)
        if (!(*place)->busy && (!many || (*place)->n > 1))
            last = place;
    if ((n <= CHAINS_MOST && !many) || !last)
        return NULL;
    HeldChain *const out = *last;
    *last = out->next;
    return out;
}

static ImgstatResult make_for(const ImgstatMethod *method, const ImagePro *like, size_t n,
                              int16_t alpha, HeldChain **out, ImgstatError *err)
{
    char name[24];
    snprintf(name, sizeof name, "cuda:%d", (int)like->device_id);
    *out = NULL;
    const ImgstatResult res = make(name, 1, method, like, n, alpha, out, err);
    return res == IMGSTAT_ERR_UNSUPPORTED ? IMGSTAT_OK : res;
}

ImgstatResult chain_take(State *state, const ImgstatMethod *method, const ImagePro *like, size_t n,
                         int16_t alpha, void *stream, HeldChain **out, ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    HeldChain *ends = NULL;
    *out = NULL;
    if (driver_records(like->device_id, stream)) {
        *err = (ImgstatError){.code = IMGSTAT_ERR_ARG,
                              .message = "a graph is being recorded: make an imgstat.Chain before, "
                                         "and record its calls; statistics cannot be"};
        return err->code;
    }
    pthread_mutex_lock(&lock);
    *out = find(state, method, like, n, alpha, stream);
    if (!*out && (method || unread(state) < CHAINS_MOST))
        res = make_for(method, like, n, alpha, out, err);
    if (*out && !(*out)->stream) {
        ends = n > 1 ? surplus(state, true) : NULL;
        (*out)->stream = stream;
        (*out)->next = state->chains;
        state->chains = *out;
        ends = ends ? ends : surplus(state, false);
    }
    if (*out)
        (*out)->busy = true;
    pthread_mutex_unlock(&lock);
    chain_end(ends);
    if (*out && (*out)->event)
        res = driver_follow(like->device_id, (*out)->event, stream, err);
    return res;
}

void chain_give(HeldChain *chain)
{
    ImgstatError err;
    if (!chain)
        return;
    /* A Stats may go while a graph is recorded: the event is that of its last call then. */
    if (!driver_records(chain->like.device_id, chain->stream) &&
        driver_mark(chain->like.device_id, chain->stream, &chain->event, &err) != IMGSTAT_OK)
        (void)driver_wait(chain->like.device_id, chain->stream, &err);
    pthread_mutex_lock(&lock);
    chain->busy = false;
    pthread_mutex_unlock(&lock);
}

void chain_cancel(HeldChain *chain, Work *work)
{
    if (chain)
        imgstat_device_cancel(chain->device, work ? work_cancelled : NULL, work);
}

ImgstatResult chain_run(HeldChain *chain, const Series *from, const Series *to, void *stream,
                        ImgstatError *err)
{
    ImagePro first = *to->first;
    return imgstat_transform_series_async(chain->chain, from->first, from->step, &first, to->step,
                                          from->n, stream, err);
}

ImgstatResult chain_measure(HeldChain *chain, const Series *series, ImgstatError *err)
{
    return imgstat_measure_series_async(chain->pending, series->first, series->n, series->step,
                                        chain->stream, err);
}

ImgstatResult chain_record(HeldChain *chain, size_t i, const ImgstatMeasure *how,
                           ImgstatRecord **out, ImgstatError *err)
{
    return imgstat_pending_record_of(chain->pending, i, chain->stream, how, out, err);
}

void chains_free(State *state)
{
    while (state->chains) {
        HeldChain *const first = state->chains;
        state->chains = first->next;
        chain_end(first);
    }
}

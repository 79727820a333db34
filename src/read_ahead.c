/* SPDX-License-Identifier: MIT */
/* read_ahead.c: one thread fills slots of the buffer in turn, the caller empties them. */
#include "read_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct ReadAhead {
    Decoder *decoder;
    const ImagePro *buffer;
    uint32_t rows, slots, bands;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint32_t decoded; /* bands that are complete */
    uint32_t given;   /* bands asked for; those before the last of them are done with */
    bool stop;
    ImgstatResult result; /* of band `decoded`, where it failed */
    ImgstatError error;
};

static ImagePro band_of(const ReadAhead *ahead, uint32_t k)
{
    const uint32_t height = ahead->decoder->page.height, first = k * ahead->rows;
    const uint32_t rows = height - first < ahead->rows ? height - first : ahead->rows;
    ImagePro band = image_band(ahead->buffer, k % ahead->slots * ahead->rows, rows);
    band.first_row = first;
    return band;
}

static ImgstatResult decode(const ReadAhead *ahead, uint32_t k, ImgstatError *err)
{
    Decoder *const decoder = ahead->decoder;
    const ImagePro band = band_of(ahead, k);
    return decoder->codec->read_rows(decoder, band.host, band.pitch, band.height, err);
}

static void *reader_main(void *context)
{
    ReadAhead *const ahead = context;
    pthread_mutex_lock(&ahead->lock);
    for (uint32_t k = 0; k < ahead->bands; k++) {
        /* The slot's band before this one was k - slots. */
        while (!ahead->stop && k >= ahead->slots && ahead->given <= k - ahead->slots + 1)
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        if (ahead->stop)
            break;
        pthread_mutex_unlock(&ahead->lock);
        ImgstatError error = {0};
        const ImgstatResult result = decode(ahead, k, &error);
        pthread_mutex_lock(&ahead->lock);
        if (result != IMGSTAT_OK) {
            ahead->result = result;
            ahead->error = error;
        } else {
            ahead->decoded++;
        }
        pthread_cond_signal(&ahead->changed);
        if (result != IMGSTAT_OK)
            break;
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static bool start_thread(ReadAhead *ahead)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&ahead->thread, NULL, reader_main, ahead) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

ImgstatResult read_ahead_start(Decoder *decoder, const ImagePro *buffer, uint32_t rows,
                               bool threaded, ReadAhead **out, ImgstatError *err)
{
    *out = NULL;
    ReadAhead *const ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return error_memory(err, sizeof *ahead, "a reader");
    const uint32_t height = decoder->page.height;
    ahead->decoder = decoder;
    ahead->buffer = buffer;
    ahead->rows = rows;
    ahead->bands = height > 0 ? (height - 1) / rows + 1 : 0;
    ahead->slots = (buffer->height - 1) / rows + 1; /* the page's last band may be lower */
    pthread_mutex_init(&ahead->lock, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&ahead->changed, NULL);
    /* Without a thread the same bands are decoded when they are asked for. */
    ahead->threaded = threaded && ahead->slots > 1 && start_thread(ahead);
    *out = ahead;
    return IMGSTAT_OK;
}

ImgstatResult read_ahead_next(ReadAhead *ahead, ImagePro *band, ImgstatError *err)
{
    const uint32_t k = ahead->given;
    if (!ahead->threaded) {
        IMGSTAT_TRY(decode(ahead, k, err));
        ahead->given++;
        *band = band_of(ahead, k);
        return IMGSTAT_OK;
    }
    pthread_mutex_lock(&ahead->lock);
    ahead->given++;
    pthread_cond_signal(&ahead->changed);
    while (ahead->decoded <= k && ahead->result == IMGSTAT_OK)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    const bool there = ahead->decoded > k;
    pthread_mutex_unlock(&ahead->lock);
    if (!there) { /* the reader has ended */
        if (err)
            *err = ahead->error;
        return ahead->result;
    }
    *band = band_of(ahead, k);
    return IMGSTAT_OK;
}

void read_ahead_stop(ReadAhead *ahead)
{
    if (!ahead)
        return;
    if (ahead->threaded) {
        pthread_mutex_lock(&ahead->lock);
        ahead->stop = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

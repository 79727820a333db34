/* SPDX-License-Identifier: MIT */
/* read_ahead.c: one thread fills the slots of the buffer in turn, and the caller empties them. */
#include "measure/read_ahead.h"

#include "base/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>

struct ReadAhead {
    Decoder *decoder;
    const ImagePro *buffer;
    uint32_t first; /* row of the page that band 0 begins with */
    uint32_t rows, slots, bands;
    bool threaded;
    ImgstatWarn warn; /* the decoder's own */
    void *warn_context;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint32_t decoded; /* bands that are complete */
    uint32_t given;   /* bands asked for; the caller still uses only the last of them */
    bool stop;
    ImgstatResult result; /* of band `decoded`, where it failed */
    ImgstatError error;
    KeptWarnings kept; /* not reported yet */
};

static ImagePro band_of(const ReadAhead *ahead, uint32_t k)
{
    const uint32_t height = ahead->decoder->page.height;
    const uint32_t first = ahead->first + k * ahead->rows;
    const uint32_t rows = height - first < ahead->rows ? height - first : ahead->rows;
    ImagePro band = image_band(ahead->buffer, k % ahead->slots * ahead->rows, rows);
    band.first_row = first;
    return band;
}

static ImgstatResult decode(const ReadAhead *ahead, uint32_t k, ImgstatError *err)
{
    Decoder *const decoder = ahead->decoder;
    ImagePro band = band_of(ahead, k);
    IMGSTAT_TRY(decoder_read_rows(decoder, band.host, band.pitch, band.height, err));
    return band.mask ? page_mask_read(decoder, &band, err) : IMGSTAT_OK;
}

/* ---- Warnings, from the thread to the caller ---- */

static void keep_sentence(void *context, const char *sentence)
{
    ReadAhead *const ahead = context;
    pthread_mutex_lock(&ahead->lock);
    kept_warnings_add(&ahead->kept, sentence);
    pthread_mutex_unlock(&ahead->lock);
}

static void report_sentences(ReadAhead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    KeptWarnings kept = ahead->kept;
    ahead->kept = (KeptWarnings){0};
    pthread_mutex_unlock(&ahead->lock);
    kept_warnings_report(&kept, ahead->warn, ahead->warn_context);
    kept_warnings_release(&kept);
}

/* ---- The reader ---- */

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

static bool start_thread(ReadAhead *ahead)
{
    Warnings *const warnings = &ahead->decoder->warnings;
    ahead->warn = warnings->warn;
    ahead->warn_context = warnings->context;
    if (ahead->warn) {
        warnings->warn = keep_sentence;
        warnings->context = ahead;
    }
    const bool started = thread_start(&ahead->thread, reader_main, ahead);
    if (!started) {
        warnings->warn = ahead->warn;
        warnings->context = ahead->warn_context;
    }
    return started;
}

static void join_thread(ReadAhead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    ahead->decoder->warnings.warn = ahead->warn;
    ahead->decoder->warnings.context = ahead->warn_context;
    report_sentences(ahead);
}

/* ---- The caller ---- */

ImgstatResult read_ahead_start(Decoder *decoder, const ImagePro *buffer, uint32_t first,
                               uint32_t last, uint32_t rows, bool threaded, ReadAhead **out,
                               ImgstatError *err)
{
    *out = NULL;
    ReadAhead *const ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return error_memory(err, sizeof *ahead, "a reader");
    ahead->decoder = decoder;
    ahead->buffer = buffer;
    ahead->rows = rows;
    ahead->first = first;
    ahead->bands = last > first ? (last - first - 1) / rows + 1 : 0;
    ahead->slots = (buffer->height - 1) / rows + 1; /* the page's last band may be lower */
    pthread_mutex_init(&ahead->lock, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&ahead->changed, NULL);
    /* Without a thread, read_ahead_next decodes the same bands. */
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
    report_sentences(ahead);
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
    if (ahead->threaded)
        join_thread(ahead);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

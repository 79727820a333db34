/* SPDX-License-Identifier: MIT */
/* request_copy.c: counters of one worker. */
#include "batch/request_copy.h"

#include <stdlib.h>

static size_t count_bins(const ReadRequest *request)
{
    size_t n = request->n_digits * DIGIT_BINS;
    for (size_t i = 0; i < request->n_ranges; i++)
        n += request->ranges[i].n_bins;
    return n;
}

void request_copy_release(RequestCopy *copy)
{
    free(copy->request.digits);
    free(copy->request.ranges);
    free(copy->request.central);
    free(copy->counts);
    *copy = (RequestCopy){0};
}

ImgstatResult request_copy_make(const ReadRequest *request, uint16_t channels, size_t most,
                                RequestCopy *copy, ImgstatError *err)
{
    const size_t bins = count_bins(request);
    copy->made = true;
    copy->shared = request->n_gathers > 0 || bins * sizeof *copy->counts > most;
    if (copy->shared)
        return IMGSTAT_OK;
    copy->request = *request;
    copy->request.digits = malloc((request->n_digits + 1) * sizeof *request->digits);
    copy->request.ranges = malloc((request->n_ranges + 1) * sizeof *request->ranges);
    copy->request.central = request->central ? calloc(channels, sizeof(Central)) : NULL;
    copy->counts = calloc(bins + 1, sizeof *copy->counts);
    if (!copy->request.digits || !copy->request.ranges || !copy->counts ||
        (request->central && !copy->request.central)) {
        request_copy_release(copy); /* nothing of it is added */
        return error_memory(err, bins * sizeof *copy->counts, "counters");
    }
    uint64_t *at = copy->counts;
    for (size_t i = 0; i < request->n_digits; i++, at += DIGIT_BINS) {
        copy->request.digits[i] = request->digits[i];
        copy->request.digits[i].bins = at;
    }
    for (size_t i = 0; i < request->n_ranges; i++) {
        copy->request.ranges[i] = request->ranges[i];
        copy->request.ranges[i].bins = at;
        at += request->ranges[i].n_bins;
    }
    return IMGSTAT_OK;
}

void request_copy_add(const RequestCopy *copy, const ReadRequest *into, uint16_t channels)
{
    const ReadRequest *const from = &copy->request;
    if (!copy->made || copy->shared || !copy->counts)
        return;
    for (size_t i = 0; i < into->n_digits; i++)
        for (size_t k = 0; k < DIGIT_BINS; k++)
            into->digits[i].bins[k] += from->digits[i].bins[k];
    for (size_t i = 0; i < into->n_ranges; i++)
        for (size_t k = 0; k < into->ranges[i].n_bins; k++)
            into->ranges[i].bins[k] += from->ranges[i].bins[k];
    for (uint16_t c = 0; into->central && c < channels; c++)
        central_merge(&into->central[c], &from->central[c]);
}

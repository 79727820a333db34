/* SPDX-License-Identifier: MIT */
/* neighbour.c: compares a transfer with what an earlier run left. */
#include "transform/neighbour.h"
#include "options/value.h"
#include "text/text.h"
#include "transform/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAND_BYTES = 4 << 20 };

/* A hidden name beside a file, which no other file has. */
static char *name_beside(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    const size_t bytes = strlen(path) + 40;
    char *const name = text_alloc(bytes);
    snprintf(name, bytes, "%.*s.%s.check%ld", folder, path, path + folder, (long)getpid());
    return name;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

static bool same_bytes(const char *a, const char *b)
{
    FILE *const x = fopen(a, "rbe"), *const y = fopen(b, "rbe");
    bool same = x != NULL && y != NULL;
    while (same) {
        const int left = getc(x), right = getc(y);
        same = left == right;
        if (left == EOF)
            break;
    }
    if (x != NULL)
        fclose(x);
    if (y != NULL)
        fclose(y);
    return same;
}

static bool saved_agrees(const Options *o, const ImgstatTransfer *transfer)
{
    const char *const path = o->transform.save_transfer;
    if (path == NULL || !input_is_file(path))
        return true;
    ImgstatError error;
    char *const now = name_beside(path);
    const bool saved = imgstat_transfer_save(transfer, now, true, &error) == IMGSTAT_OK;
    const bool same = saved && same_bytes(path, now);
    if (!saved)
        fprintf(stderr, "%s\n", error.message);
    else if (!same)
        usage_error(o->command,
                    "%s is not the transfer that all inputs have now: inputs or options have "
                    "changed. 'imgstat apply' gives new inputs the saved one; --force writes all "
                    "anew",
                    path);
    unlink(now);
    free(now);
    return same;
}

/* ---- Pixels ---------------------------------------------------------------------------------- */

/* Reads the next rows of the page selected in the files: whether they are the same. */
static bool same_rows(ImgstatFile *const file[2], const ImgstatPage *page, uint32_t rows)
{
    ImagePro band[2] = {{0}, {0}};
    bool same = true;
    for (int i = 0; same && i < 2; i++)
        same = imgstat_image_create(page->width, rows, page->channels, page->sample, page->bits,
                                    &band[i], NULL) == IMGSTAT_OK &&
               imgstat_file_read(file[i], &band[i], NULL) == IMGSTAT_OK;
    const size_t bytes = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    for (uint32_t y = 0; same && y < rows; y++)
        same = memcmp((const char *)band[0].host + y * band[0].pitch,
                      (const char *)band[1].host + y * band[1].pitch, bytes) == 0;
    imgstat_image_release(&band[0]);
    imgstat_image_release(&band[1]);
    return same;
}

static bool same_page(ImgstatFile *const file[2], uint32_t number)
{
    ImgstatPage page[2];
    for (int i = 0; i < 2; i++)
        if (imgstat_file_page(file[i], number, &page[i], NULL) != IMGSTAT_OK)
            return false;
    if (page[0].width != page[1].width || page[0].height != page[1].height ||
        page[0].channels != page[1].channels || page[0].sample != page[1].sample)
        return false;
    const size_t row = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    const uint32_t most = row < BAND_BYTES ? (uint32_t)(BAND_BYTES / row) : 1;
    for (uint32_t y = 0; y < page->height; y += most)
        if (!same_rows(file, &page[0], page->height - y < most ? page->height - y : most))
            return false;
    return true;
}

static bool same_images(const Options *o, const char *a, const char *b)
{
    ImgstatFile *file[2] = {NULL, NULL};
    const ImgstatOpen open = {.limits = o->limits};
    bool same = imgstat_file_open(a, &open, &file[0], NULL) == IMGSTAT_OK &&
                imgstat_file_open(b, &open, &file[1], NULL) == IMGSTAT_OK &&
                imgstat_file_pages(file[0]) == imgstat_file_pages(file[1]);
    for (uint32_t page = 0; same && page < imgstat_file_pages(file[0]); page++)
        same = same_page(file, page);
    imgstat_file_close(file[0]);
    imgstat_file_close(file[1]);
    return same;
}

/* Whether every page can be read. */
static bool is_whole(const Options *o, const char *path)
{
    ImgstatDevice *device = NULL;
    ImgstatFile *file = NULL;
    const ImgstatOpen open = {.limits = o->limits};
    bool whole = imgstat_device_open("cpu", o->jobs, &device, NULL) == IMGSTAT_OK &&
                 imgstat_file_open(path, &open, &file, NULL) == IMGSTAT_OK;
    for (uint32_t page = 0; whole && page < imgstat_file_pages(file); page++) {
        ImgstatRecord *record = NULL;
        whole = imgstat_measure_file(device, file, page, NULL, &record, NULL) == IMGSTAT_OK;
        imgstat_record_destroy(record);
    }
    imgstat_file_close(file);
    imgstat_device_close(device);
    return whole;
}

static bool is_done(void *context, const ImgstatDone *done)
{
    *(bool *)context = done->result == IMGSTAT_OK;
    return true;
}

/* Whether a job gives the output that exists. An input that fails is reported in its turn. */
static bool job_agrees(const Options *o, const ImgstatJob *job, const ImgstatTransfer *transfer)
{
    char *const again = name_beside(job->output);
    ImgstatJob other = *job;
    other.output = again;
    bool written = false;
    ImgstatBatch batch = {.transfer = transfer,
                          .write = o->transform.write,
                          .open = options_open(o),
                          .threads = o->jobs,
                          .memory = o->transform.memory,
                          .progress = is_done,
                          .context = &written};
    batch.write.replace = true;
    if (batch.write.format == NULL)
        batch.write.format = imgstat_format_of_file(job->output);
    const ImgstatResult result = imgstat_batch_run(&batch, &other, 1, NULL);
    const bool agrees = result != IMGSTAT_OK || !written || same_images(o, job->output, again);
    unlink(again);
    free(again);
    return agrees;
}

static int compare_groups(const void *a, const void *b)
{
    const ImgstatJob *const x = *(const ImgstatJob *const *)a, *const y =
                                                                   *(const ImgstatJob *const *)b;
    const int order = x->group != NULL ? strcmp(x->group, y->group) : 0;
    return order != 0 ? order : (x > y) - (x < y);
}

/* Compares one output of n jobs of one group, unless all exist. */
static bool group_agrees(const Options *o, const ImgstatJob *const *jobs, size_t n,
                         const ImgstatTransfer *transfer)
{
    const ImgstatJob *done = NULL;
    bool any_left = false;
    for (size_t i = 0; i < n; i++)
        if (!transform_is_skipped(&o->transform, jobs[i]))
            any_left = true;
        else if (done == NULL && is_whole(o, jobs[i]->output)) /* no power cut tore it */
            done = jobs[i];
    if (!any_left)
        return true;
    if (!saved_agrees(o, transfer))
        return false;
    if (done == NULL || job_agrees(o, done, transfer))
        return true;
    usage_error(o->command,
                "%s has not the transfer that all inputs have now: inputs or options have "
                "changed. --save-transfer and 'imgstat apply' give new inputs that of others; "
                "--force writes all anew",
                done->output);
    return false;
}

bool neighbour_agrees(const Options *o, const Outputs *outputs, const ImgstatTransfer *transfer)
{
    const ImgstatJob **const jobs = text_alloc((outputs->n + 1) * sizeof *jobs);
    bool agrees = true;
    for (size_t i = 0; i < outputs->n; i++)
        jobs[i] = &outputs->jobs[i];
    qsort(jobs, outputs->n, sizeof *jobs, compare_groups);
    for (size_t i = 0, end; agrees && i < outputs->n; i = end) {
        for (end = i + 1; end < outputs->n; end++)
            if (jobs[i]->group != NULL && strcmp(jobs[i]->group, jobs[end]->group) != 0)
                break;
        agrees = group_agrees(o, jobs + i, end - i, transfer);
    }
    free(jobs);
    return agrees;
}

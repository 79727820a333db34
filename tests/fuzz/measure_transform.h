/* SPDX-License-Identifier: MIT */
/* measure_transform.h: what the fuzz targets fuzz_*_transform do with an input: it is a file that
 * is measured and transformed, in a way that two bytes choose. An output is complete or absent:
 * every page of the input is there with its role, its size, and its place among the others, and can
 * be read; with a map that changes nothing, so are its samples. */
#ifndef IMGSTAT_MEASURE_TRANSFORM_H
#define IMGSTAT_MEASURE_TRANSFORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "base/image.h"
#include "codec/codec.h"
#include "codec/page_group.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PAGES = 64, MOST_SIDE = 2048, MOST_PIXELS = 1 << 16, MEMORY = 64 << 20 };

/* Small: the fuzzer should find ways through the code, not large allocations. */
static const ImgstatLimits limits = {.max_width = MOST_SIDE,
                                     .max_height = MOST_SIDE,
                                     .max_pixels = MOST_PIXELS,
                                     .max_bytes = 1 << 20,
                                     .max_pages = MOST_PAGES,
                                     .max_tile_bytes = 1 << 20};

static char folder[64], in[80], out[80];
static ImgstatDevice *device;

static void remove_folder(void)
{
    imgstat_device_close(device);
    unlink(in);
    unlink(out);
    rmdir(folder);
}

/* In memory where the system has such a folder. */
static void make_folder(void)
{
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX");
    if (!mkdtemp(folder) || imgstat_device_open("cpu", 1, &device, NULL) != IMGSTAT_OK)
        abort();
    snprintf(in, sizeof in, "%s/in", folder);
    atexit(remove_folder);
}

static bool write_input(const uint8_t *data, size_t size)
{
    FILE *const file = fopen(in, "wb");
    const bool ok = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && ok;
}

static void demand(bool holds, const char *what, const char *message)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, message);
    abort();
}

static void demand_name(const char *sentence)
{
    demand(strncmp(sentence, folder, strlen(folder)) == 0, "names no file", sentence);
}

static void count_warning(void *context, const char *sentence)
{
    demand_name(sentence);
    ++*(unsigned *)context;
}

static void demand_sentence(ImgstatResult result, const ImgstatError *err)
{
    if (result == IMGSTAT_OK || result == IMGSTAT_ERR_MEMORY)
        return;
    demand(result == err->code, "another code", err->message);
    demand_name(err->message);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void measure(ImgstatFile *file, const uint32_t *pages, uint32_t n, ImgstatRegion region)
{
    static const double percentiles[] = {0.5, 50, 99};
    const ImgstatMeasure how = {.percentiles = percentiles,
                                .n_percentiles = 3,
                                .median = true,
                                .histogram = true,
                                .region = region};
    ImgstatRecord *record = NULL;
    ImgstatError err = {.code = IMGSTAT_OK};
    ImgstatPage first;
    if (imgstat_file_page(file, pages[0], &first, NULL) == IMGSTAT_OK && first.channels > 256)
        return; /* a record of 16 bits has 512 KiB a channel: see cli_hostile for its limit */
    const ImgstatResult result = imgstat_measure_pages(device, file, pages, n, &how, &record, &err);
    demand_sentence(result, &err);
    demand((result == IMGSTAT_OK) == (record != NULL), "a record", err.message);
    for (uint16_t c = 0; record && c < imgstat_record_channels(record); c++) {
        ImgstatStats stats;
        imgstat_record_stats(record, c, &stats);
        demand(stats.count == 0 ||
                   imgstat_value_double(stats.min) <= imgstat_value_double(stats.max),
               "extrema", "in the wrong order");
    }
    imgstat_record_destroy(record);
}

static void measure_groups(ImgstatFile *file, ImgstatGrouping by)
{
    const PageList *const list = &file->decoder->list;
    PageGroups groups;
    if (page_groups_make(by, list, file->chosen, file->n_chosen, &groups, NULL) == IMGSTAT_OK)
        for (uint32_t g = 0; g < groups.n; g++)
            measure(file, groups.page + groups.first[g], page_group_pages(&groups, g),
                    (ImgstatRegion){0});
    page_groups_release(&groups);
}

static void describe(ImgstatFile *file)
{
    const uint32_t n = imgstat_file_pages(file);
    for (uint32_t i = 0; i < n; i++) {
        char name[64];
        ImgstatPage page;
        ImgstatLayout layout;
        ImgstatError err = {.code = IMGSTAT_OK};
        uint32_t found = 0, n_found = 0;
        demand(imgstat_file_page_name(file, i, name, sizeof name) > 0, "a page", "has no name");
        demand(imgstat_file_find(file, name, &found, 1, &n_found, &err) == IMGSTAT_OK &&
                   n_found == 1 && found == i,
               "a name finds another page", name);
        const ImgstatResult result = imgstat_file_page(file, i, &page, &err);
        demand_sentence(result, &err);
        if (result != IMGSTAT_OK)
            continue;
        demand(imgstat_file_layout(file, &layout, &err) == IMGSTAT_OK, "layout", err.message);
        demand(layout.n_metadata <= sizeof layout.metadata / sizeof *layout.metadata, "layout",
               "has too much");
        demand(page.owner == IMGSTAT_NO_PAGE || page.owner < n, "owner", name);
        demand(page.mask == IMGSTAT_NO_PAGE || page.mask < n, "mask", name);
        measure(file, &i, 1,
                (ImgstatRegion){page.width / 3, page.height / 3, page.width / 2, page.height / 2});
    }
}

/* ---- Transforming ---------------------------------------------------------------------------- */

typedef struct Outcome {
    bool called;
    ImgstatResult result;
    char message[1024];
} Outcome;

static bool on_progress(void *context, const ImgstatDone *done)
{
    Outcome *const outcome = context;
    outcome->called = true;
    outcome->result = done->result;
    snprintf(outcome->message, sizeof outcome->message, "%s", done->message);
    return true;
}

static ImgstatMethod method_of(unsigned choice)
{
    static const ImgstatMethod methods[8] = {
        {.transform = IMGSTAT_STRETCH,
         .has_in_range = true,
         .in_hi = 100,
         .in_lo_percent = true,
         .in_hi_percent = true},
        {.transform = IMGSTAT_PERCENTILE},
        {.transform = IMGSTAT_CLAHE, .tiles_x = 2, .tiles_y = 2},
        {.transform = IMGSTAT_EQUALIZE},
        {.transform = IMGSTAT_MEANSTD,
         .mean = 50,
         .stddev = 10,
         .mean_percent = true,
         .stddev_percent = true},
        {.transform = IMGSTAT_GAMMA, .gamma = 0.5, .depth = IMGSTAT_DEPTH_FLOAT},
        {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_8},
        {.transform = IMGSTAT_STRETCH, .depth = IMGSTAT_DEPTH_16, .channels = IMGSTAT_EACH},
    };
    return methods[choice % 8];
}

static ImgstatBatch batch_of(unsigned choice)
{
    static const char *const compressions[8] = {NULL, "none",     "deflate", "lzw",
                                                NULL, "packbits", "zstd",    NULL};
    const unsigned group = choice >> 3 & 3;
    const ImgstatValue zero = {.sample = IMGSTAT_U8};
    return (ImgstatBatch){.method = method_of(choice),
                          .together = group == 0 && choice >> 15 ? IMGSTAT_BY_ALL
                                      : group == 3               ? IMGSTAT_BY_FILE
                                                                 : (ImgstatGrouping)group,
                          .drop_levels = choice >> 5 & 1,
                          .describe = choice >> 6 & 1,
                          .open = {.limits = limits,
                                   .salvage = choice >> 6 & 1,
                                   .indices = choice >> 14 & 1,
                                   .ignore_masks = choice >> 7 & 1,
                                   .alpha_masks = choice >> 5 & choice >> 6 & 1,
                                   .has_nodata = choice >> 12 & 1,
                                   .nodata = zero},
                          .write = {.compression = compressions[choice >> 8 & 7],
                                    .has_nodata = choice >> 11 & 1,
                                    .nodata = zero,
                                    .fast = choice >> 13 & 1,
                                    .replace = true},
                          .threads = 1,
                          .memory = MEMORY,
                          .progress = on_progress};
}

static unsigned entries(void)
{
    unsigned n = 0;
    DIR *const dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* The rows of the page selected; NULL: they cannot be read. */
static bool read_pixels(ImgstatFile *file, const ImgstatPage *page, ImagePro *image,
                        ImgstatError *err)
{
    *image = (ImagePro){.host = NULL};
    err->code = IMGSTAT_OK;
    return imgstat_image_create(page->width, page->height, page->channels, page->sample, page->bits,
                                image, err) == IMGSTAT_OK &&
           imgstat_file_read(file, image, err) == IMGSTAT_OK;
}

static void demand_same_samples(ImgstatFile *from, const ImgstatPage *a, ImgstatFile *to,
                                const ImgstatPage *b, const char *name)
{
    ImagePro before, after;
    ImgstatError err = {.code = IMGSTAT_OK};
    const bool read = read_pixels(to, b, &after, &err);
    demand(read || err.code == IMGSTAT_ERR_MEMORY, "the output cannot be read", err.message);
    const bool alike = a->sample == b->sample && a->bits == b->bits && a->channels == b->channels;
    if (read && alike && from && read_pixels(from, a, &before, &err)) {
        const size_t row = (size_t)a->width * a->channels * imgstat_sample_bytes(a->sample);
        for (uint32_t y = 0; y < a->height; y++)
            demand(memcmp(image_row(&before, y), image_row(&after, y), row) == 0,
                   "samples changed on page", name);
        imgstat_image_release(&before);
    }
    imgstat_image_release(&after);
}

/* identity: the map changes no integer, but where nodata takes an end of the output range. */
static void compare_page(ImgstatFile *from, const ChosenPage *a, ImgstatFile *to,
                         const ChosenPage *b, bool identity)
{
    char name[64];
    ImgstatPage before, after;
    ImgstatError err = {.code = IMGSTAT_OK};
    imgstat_file_page_name(from, a->page, name, sizeof name);
    demand(imgstat_file_page(from, a->page, &before, &err) == IMGSTAT_OK, "was read", err.message);
    demand(imgstat_file_page(to, b->page, &after, &err) == IMGSTAT_OK, "cannot be read",
           err.message);
    demand(before.width == after.width && before.height == after.height, "size", name);
    demand(before.role == after.role || a->leads, "role", name);
    demand(a->parent == b->parent, "parent", name);
    const bool is_float = before.sample == IMGSTAT_F16 || before.sample == IMGSTAT_F32 ||
                          before.sample == IMGSTAT_F64;
    const bool same = identity && !is_float && !before.has_nodata;
    demand_same_samples(same ? from : NULL, &before, to, &after, name);
}

static void compare(const ImgstatBatch *batch, unsigned n_warned)
{
    ImgstatOpen how = {
        .limits = limits, .indices = batch->open.indices, .salvage = batch->open.salvage};
    const unsigned with = batch->drop_levels ? WITH_MASKS : WITH_LEVELS | WITH_MASKS;
    const bool identity = batch->method.has_in_range && !batch->open.salvage &&
                          !batch->open.has_nodata && !batch->write.has_nodata;
    ImgstatFile *from = NULL, *to = NULL;
    ImgstatError err = {.code = IMGSTAT_OK};
    demand(imgstat_file_open(in, &how, &from, &err) == IMGSTAT_OK, "was open", err.message);
    how.limits.max_bytes *= 8; /* samples may have become wider */
    how.limits.max_tile_bytes *= 8;
    demand(imgstat_file_open(out, &how, &to, &err) == IMGSTAT_OK, "cannot be opened", err.message);
    demand(file_choose(from, NULL, with, &err) == IMGSTAT_OK, "pages", err.message);
    demand(file_choose(to, NULL, WITH_LEVELS | WITH_MASKS, &err) == IMGSTAT_OK, "pages",
           err.message);
    demand(to->n_chosen == imgstat_file_pages(to), "the output has thumbnails", out);
    demand(from->n_chosen == to->n_chosen, "pages are lost", out);
    bool axes = true;
    for (uint32_t i = 0; i < from->n_chosen; i++) {
        const PageEntry *const a = &from->decoder->list.entry[from->chosen[i].page];
        const PageEntry *const b = &to->decoder->list.entry[to->chosen[i].page];
        compare_page(from, &from->chosen[i], to, &to->chosen[i], identity);
        axes = axes && a->has_axes == b->has_axes &&
               (!a->has_axes ||
                (a->axis_c == b->axis_c && a->axis_z == b->axis_z && a->axis_t == b->axis_t));
    }
    demand(axes || n_warned > 0, "axes changed in silence", out);
    imgstat_file_close(from);
    imgstat_file_close(to);
}

static void transform(unsigned choice)
{
    unsigned n_warned = 0;
    Outcome outcome = {.called = false};
    ImgstatError err = {.code = IMGSTAT_OK};
    ImgstatBatch batch = batch_of(choice);
    batch.context = &outcome;
    batch.open.warn = count_warning;
    batch.open.warn_context = &n_warned;
    const ImgstatJob job = {.input = in, .output = out};
    unlink(out);
    const ImgstatResult result = imgstat_batch_run(&batch, &job, 1, &err);
    const bool done = result == IMGSTAT_OK && outcome.called && outcome.result == IMGSTAT_OK;
    demand(result != IMGSTAT_OK || outcome.called, "the job", "is not reported");
    if (result == IMGSTAT_OK && !done && outcome.result != IMGSTAT_ERR_MEMORY)
        demand_name(outcome.message);
    demand(entries() == 2u + 1u + done, "the folder",
           done ? outcome.message : "has something else");
    if (done)
        compare(&batch, n_warned);
}

/* Opens, measures and transforms an image. ending: of the output's name. */
static void measure_and_transform(const uint8_t *data, size_t size, unsigned choice,
                                  const char *ending)
{
    if (!device)
        make_folder();
    unlink(out); /* of the input before, by another name */
    snprintf(out, sizeof out, "%s/out.%s", folder, ending);
    if (!write_input(data, size))
        return;
    unsigned n_warned = 0;
    const ImgstatOpen how = {.limits = limits,
                             .salvage = choice >> 6 & 1,
                             .warn = count_warning,
                             .warn_context = &n_warned};
    ImgstatFile *file = NULL;
    ImgstatError err = {.code = IMGSTAT_OK};
    const ImgstatResult result = imgstat_file_open(in, &how, &file, &err);
    demand_sentence(result, &err);
    if (result == IMGSTAT_OK && file_choose(file, NULL, 0, &err) == IMGSTAT_OK) {
        describe(file);
        measure_groups(file, choice & 1 ? IMGSTAT_BY_CHANNEL : IMGSTAT_BY_FILE);
    }
    imgstat_file_close(file);
    transform(choice);
}

#endif

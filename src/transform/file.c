/* SPDX-License-Identifier: MIT */
/* file.c: all pages of an open file, transformed and written. */
#include "transform/file.h"

#include "base/image.h"
#include "codec/encoder.h"
#include "codec/work.h"
#include "measure/measure.h"
#include "transform/group_transfer.h"
#include "transform/level_maker.h"
#include "transform/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Permissions of the input, unless it is a pipe, whose bytes are in a temporary file, or no file.
 */
static mode_t mode_of(const Source *source)
{
    struct stat st;
    uint64_t bytes;
    const bool is_file = source->fd >= 0 && source_is_file(source->name, &bytes);
    return is_file && fstat(source->fd, &st) == 0 ? st.st_mode & 0777 : 0666;
}

static bool is_source(const Source *source, const char *path)
{
    struct stat from, to;
    return source->fd >= 0 && fstat(source->fd, &from) == 0 && stat(path, &to) == 0 &&
           from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

/* A file that takes the place of its input has all images of it, and `replace` asks for it: an
 * output that was cut is written anew without. */
static ImgstatResult refuse_loss(const ImgstatFile *file, const ImgstatJob *job, bool redoes,
                                 bool replace, ImgstatError *err)
{
    const PageList *const list = &file->decoder->list;
    uint32_t images = 0, chosen = 0;
    if (job->sink || !is_source(file->source, job->output))
        return IMGSTAT_OK;
    if (redoes && !replace)
        return error_file(err, IMGSTAT_ERR_ARG, job->output,
                          "is the input itself, which is not whole: name another output");
    if (!job->pages)
        return IMGSTAT_OK;
    for (uint32_t i = 0; i < list->n; i++)
        images += list->entry[i].role == IMGSTAT_ROLE_IMAGE;
    for (uint32_t i = 0; i < file->n_chosen; i++)
        chosen += list->entry[file->chosen[i].page].role == IMGSTAT_ROLE_IMAGE;
    if (chosen == images)
        return IMGSTAT_OK;
    return error_file(err, IMGSTAT_ERR_ARG, job->output,
                      "not replaced: it would lose %u of its %u images; name another output",
                      images - chosen, images);
}

/* Lists the pages of the chain that were chosen. *out: malloc's; NULL: all of them, or
 * none. */
static ImgstatResult chosen_chain(const ImgstatFile *file, uint32_t **out, uint32_t *n,
                                  ImgstatError *err)
{
    const uint32_t chain = file->decoder->list.chain;
    *out = malloc((file->n_chosen + (size_t)1) * sizeof **out);
    *n = 0;
    if (!*out)
        return error_memory(err, file->n_chosen * sizeof **out, "a list of pages");
    for (uint32_t i = 0; i < file->n_chosen; i++)
        if (file->chosen[i].page < chain)
            (*out)[(*n)++] = file->chosen[i].page;
    if (*n == chain || *n == 0) { /* 0: the image lies in a SubIFD */
        free(*out);
        *out = NULL;
    }
    return IMGSTAT_OK;
}

/* A file at work. A transfer is kept while pages of its group, or levels of these, are still to
 * come. */
typedef struct Run {
    const Pipeline *pipeline;
    TransformWorker *worker;
    ImgstatFile *file;
    const char *set; /* of files that this is one of; NULL: none */
    Encoder *encoder;
    PageGroups groups;
    uint32_t *group;     /* of each page of the file that is chosen */
    uint32_t *left;      /* of each group, how many pages and levels are still to come */
    uint32_t *number;    /* of each group, among those of images */
    uint32_t n_images;   /* groups of images */
    Transfer **transfer; /* of each group; NULL: none so far, or not for masks and CLAHE */
    uint32_t *levels;    /* of each page of the file, how many are still to come */
    LevelMaker **maker;  /* of each page: of levels that no transfer can map; NULL: none */
    LevelSpool spool;
    uint32_t planes; /* of a stack in one directory, which are all that is written; or 0 */
    Transfer **made; /* NULL, or for the only one that is made */
    unsigned n_made;
} Run;

/* Adaptive equalization has no transfer: its levels are made anew. */
static bool makes_levels(const Run *run)
{
    return !run->pipeline->transfer && run->pipeline->method->transform == IMGSTAT_CLAHE;
}

/* Returns how many planes of one directory are all that is written; 0: it is something else. The
 * planes of a palette image get a palette each, and so a directory each. */
static uint32_t planes_of(const ImgstatFile *file)
{
    const PageEntry *const entry = file->decoder->list.entry;
    const ChosenPage *const chosen = file->chosen;
    for (uint32_t i = 0; i < file->n_chosen; i++)
        if (entry[chosen[i].page].at != entry[chosen[0].page].at)
            return 0;
    return file->n_chosen > 1 && strcmp(file->decoder->page.photometric, "palette") != 0
               ? file->n_chosen
               : 0;
}

/* The page that a chosen page has its transfer from. */
static uint32_t leader_of(const Run *run, const ChosenPage *chosen)
{
    const PageEntry *const entry = &run->file->decoder->list.entry[chosen->page];
    return entry->role == IMGSTAT_ROLE_LEVEL && !chosen->leads ? entry->owner : chosen->page;
}

static ImgstatResult add_level(Run *run, uint32_t page, ImgstatError *err)
{
    const PageEntry *const entry = &run->file->decoder->list.entry[page];
    LevelMaker **const maker = &run->maker[entry->owner];
    run->levels[entry->owner]++;
    if (!makes_levels(run))
        return IMGSTAT_OK;
    if (!*maker)
        IMGSTAT_TRY(level_maker_create(&run->spool, run->encoder->output, maker, err));
    return level_maker_add(*maker, page, entry->width, entry->height, err);
}

static ImgstatResult run_init(Run *run, ImgstatError *err)
{
    const ImgstatFile *const file = run->file;
    const PageList *const list = &file->decoder->list;
    PageGroups *const groups = &run->groups;
    run->transfer = calloc(file->n_chosen, sizeof(Transfer *));
    run->left = calloc(file->n_chosen, sizeof *run->left);
    run->number = calloc(file->n_chosen, sizeof *run->number);
    run->group = calloc(list->n, sizeof *run->group);
    run->levels = calloc(list->n, sizeof *run->levels);
    run->maker = calloc(list->n, sizeof(LevelMaker *));
    if (!run->transfer || !run->left || !run->number || !run->group || !run->levels || !run->maker)
        return error_memory(err, list->n * sizeof(Transfer *), "transfers of pages");
    IMGSTAT_TRY(page_groups_make(group_transfer_by(run->pipeline), list, file->chosen,
                                 file->n_chosen, groups, err));
    for (uint32_t g = 0; g < groups->n; g++) {
        run->number[g] = run->n_images;
        run->n_images += list->entry[groups->page[groups->first[g]]].role == IMGSTAT_ROLE_IMAGE;
        for (uint32_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            run->group[groups->page[i]] = g;
    }
    run->planes = planes_of(file);
    for (uint32_t i = 0; i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        run->left[run->group[leader_of(run, chosen)]]++;
        if (list->entry[chosen->page].role == IMGSTAT_ROLE_LEVEL && !chosen->leads)
            IMGSTAT_TRY(add_level(run, chosen->page, err));
    }
    return IMGSTAT_OK;
}

static void run_release(Run *run)
{
    const uint32_t n = run->file->decoder->list.n;
    for (uint32_t g = 0; g < run->groups.n; g++)
        transfer_destroy(run->transfer[g]);
    for (uint32_t i = 0; run->maker && i < n; i++)
        level_maker_destroy(run->maker[i]);
    atomic_file_discard(run->spool.file);
    page_groups_release(&run->groups);
    free(run->transfer);
    free(run->left);
    free(run->number);
    free(run->group);
    free(run->levels);
    free(run->maker);
}

/* Ends the use of a group's transfer. */
static void end_transfer(Run *run, uint32_t group)
{
    Transfer *const own = run->transfer[group];
    run->transfer[group] = NULL;
    if (!own)
        return;
    if (run->made && ++run->n_made == 1) {
        *run->made = own;
        return;
    }
    transfer_destroy(own);
    if (run->made) {
        transfer_destroy(*run->made);
        *run->made = NULL;
    }
}

/* A level is mapped as its image, or made anew. */
static ImgstatResult run_level(Run *run, const Pipeline *pipeline, PageOutput *output,
                               ImgstatError *err)
{
    Decoder *const decoder = run->file->decoder;
    const uint32_t owner = decoder->page.owner;
    output->levels = run->maker[owner];
    if (output->levels)
        IMGSTAT_TRY(page_write_level(pipeline, run->worker, decoder, output, err));
    else
        IMGSTAT_TRY(page_transform(pipeline, run->worker, decoder, output, NULL, err));
    if (--run->levels[owner] == 0) {
        level_maker_destroy(run->maker[owner]);
        run->maker[owner] = NULL;
    }
    return IMGSTAT_OK;
}

/* Finds the transfer of a set for the selected page, by the channel of the image that it follows,
 * and in sets with kinds by the kind of that image. */
static ImgstatResult find_transfer(const Run *run, uint32_t leader, Pipeline *pipeline,
                                   PageOutput *output, ImgstatError *err)
{
    const Decoder *const decoder = run->file->decoder;
    const GroupKey key = page_group_key_of_set(run->set, &decoder->list, leader);
    const TransferChannel channel = transfer_channel_of(&key);
    const Transfer *const set = pipeline->transfer;
    const uint32_t page = decoder->page.page;
    const bool follows = transfer_set_has_kinds(set) && page != leader;
    if (follows)
        IMGSTAT_TRY(imgstat_file_page(run->file, leader, NULL, err));
    const ImgstatKind kind = page_kind(decoder, &(ImgstatRegion){0});
    IMGSTAT_TRY(transfer_set_find(set, &channel, &kind, &pipeline->transfer, err));
    if (follows)
        IMGSTAT_TRY(imgstat_file_page(run->file, page, NULL, err));
    output->groups = transfer_set_channels(set, pipeline->transfer, &output->group);
    return IMGSTAT_OK;
}

/* i: among those chosen. A page that is alone is measured when it is mapped, since its pixels may
 * stay in memory. */
static ImgstatResult run_page(Run *run, uint32_t i, ImgstatError *err)
{
    Decoder *const decoder = run->file->decoder;
    const ChosenPage *const chosen = &run->file->chosen[i];
    const PageGroups *const groups = &run->groups;
    const uint32_t leader = leader_of(run, chosen), g = run->group[leader];
    Pipeline pipeline = *run->pipeline;
    if (page_group_pages(groups, g) > 1 && !run->transfer[g])
        IMGSTAT_TRY(group_transfer_make(&pipeline, run->worker, run->file,
                                        groups->page + groups->first[g],
                                        page_group_pages(groups, g), &run->transfer[g], err));
    IMGSTAT_TRY(imgstat_file_page(run->file, chosen->page, NULL, err));
    const ImgstatRole role = decoder->page.role;
    const bool leads = chosen->leads && role != IMGSTAT_ROLE_MASK;
    PageOutput output = {.encoder = run->encoder,
                         .place = {.role = leads ? IMGSTAT_ROLE_IMAGE : role,
                                   .has_parent = chosen->parent != IMGSTAT_NO_PAGE,
                                   .parent = chosen->parent,
                                   .plane = run->planes ? i : 0,
                                   .planes = run->planes},
                         .group = run->number[g],
                         .groups = run->n_images};
    if (!pipeline.transfer)
        pipeline.transfer = run->transfer[g];
    else if (role != IMGSTAT_ROLE_MASK)
        IMGSTAT_TRY(error_add_file(err, find_transfer(run, leader, &pipeline, &output, err),
                                   decoder->source->name));
    if (output.place.role == IMGSTAT_ROLE_LEVEL) {
        IMGSTAT_TRY(run_level(run, &pipeline, &output, err));
    } else {
        output.levels = run->maker[chosen->page];
        IMGSTAT_TRY(page_transform(&pipeline, run->worker, decoder, &output,
                                   run->transfer[g] ? NULL : &run->transfer[g], err));
    }
    if (--run->left[g] == 0)
        end_transfer(run, g);
    return IMGSTAT_OK;
}

/* Alone, images of a stack lose what made them differ: a note, unless that was asked for. */
static ImgstatResult warn_of_images_alone(const Run *run, ImgstatError *err)
{
    const Pipeline *const pipeline = run->pipeline;
    const ImgstatFile *const file = run->file;
    ImgstatPage first = {.page = IMGSTAT_NO_PAGE};
    uint32_t images = 0, alike = 0;
    if (pipeline->transfer || pipeline->by != IMGSTAT_BY_DEFAULT ||
        pipeline->method->transform == IMGSTAT_CLAHE || !transfer_measures(pipeline->method))
        return IMGSTAT_OK;
    for (uint32_t i = 0; i < file->n_chosen; i++) {
        const PageEntry *const entry = &file->decoder->list.entry[file->chosen[i].page];
        images += file->chosen[i].leads && entry->role == IMGSTAT_ROLE_IMAGE && !entry->has_axes;
    }
    for (uint32_t i = 0; images > 1 && alike == 0 && i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        ImgstatPage page;
        if (!chosen->leads || file->decoder->list.entry[chosen->page].role != IMGSTAT_ROLE_IMAGE)
            continue;
        IMGSTAT_TRY(imgstat_file_page(run->file, chosen->page, &page, err));
        if (first.page == IMGSTAT_NO_PAGE)
            first = page;
        else
            alike += page_has_shape(&page, &first);
    }
    if (alike > 0)
        warnings_report(run->encoder->warnings,
                        "each of its %u images gets a transfer of its own, so that they no longer "
                        "compare; --together=file gives them one",
                        images);
    return IMGSTAT_OK;
}

/* Thumbnails show the contrast that an image had. Who names pages leaves out others knowingly. */
static void warn_of_thumbnails(const Run *run)
{
    const PageList *const list = &run->file->decoder->list;
    for (uint32_t i = 0; i < list->n; i++) {
        const PageEntry *const entry = &list->entry[i];
        char name[PAGE_NAME_BYTES], size[32] = "";
        if (entry->role != IMGSTAT_ROLE_THUMBNAIL)
            continue;
        page_list_name(list, i, name, sizeof name);
        if (entry->width > 0)
            snprintf(size, sizeof size, ", %u x %u", entry->width, entry->height);
        warnings_report(run->encoder->warnings,
                        "its thumbnail (page %s%s) is left out: it would show the old contrast",
                        name, size);
    }
}

static ImgstatResult run_pages(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                               const ImgstatJob *job, Encoder *encoder, Transfer **made,
                               ImgstatError *err)
{
    Run run = {.pipeline = pipeline,
               .worker = worker,
               .file = file,
               .set = job->group,
               .encoder = encoder,
               .made = made};
    ImgstatResult res = run_init(&run, err);
    if (res == IMGSTAT_OK && !job->pages)
        warn_of_thumbnails(&run);
    if (res == IMGSTAT_OK)
        res = warn_of_images_alone(&run, err);
    for (uint32_t i = 0; res == IMGSTAT_OK && i < file->n_chosen; i++)
        res = run_page(&run, i, err);
    run_release(&run);
    return res;
}

ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err)
{
    if (made)
        *made = NULL;
    Decoder *const decoder = file->decoder;
    const ImgstatWrite *const write = pipeline->write;
    const EncodeFormat *format;
    IMGSTAT_TRY(output_file_format(write, job->output, decoder, &format, err));
    const EncodeOptions options = {.compression = write->compression,
                                   .level = write->has_level ? write->level : -1,
                                   .fast = write->fast,
                                   .strip_bytes = strip_bytes(pipeline->memory),
                                   .pool = worker->pool,
                                   .threads = decoder->options.threads,
                                   .scratch = worker->device->cache,
                                   .deflaters = worker->deflaters};
    const Warnings warnings = {
        .warn = decoder->how.warn, .context = decoder->how.warn_context, .name = job->output};
    const OutputPlace place = {.name = job->output,
                               .sink = job->sink,
                               .replace = write->replace || worker->redoes,
                               .mode = mode_of(decoder->source),
                               .most = work_output_bytes(decoder)};
    IMGSTAT_TRY(refuse_loss(file, job, worker->redoes, write->replace, err));
    OutputFile output;
    ImgstatResult res =
        output_file_open(&output, format, &place, &options, warnings, &worker->device->cancel, err);
    uint32_t *chain = NULL;
    if (res == IMGSTAT_OK)
        res = chosen_chain(file, &chain, &output.encoder->n_chain, err);
    if (res == IMGSTAT_OK) {
        output.encoder->chain = chain;
        res = decoder_settle(
            decoder, run_pages(pipeline, worker, file, job, output.encoder, made, err), err);
    }
    res = output_file_close(&output, res, worker->output, err);
    free(chain);
    if (res != IMGSTAT_OK && made) {
        transfer_destroy(*made);
        *made = NULL;
    }
    return res;
}

/* SPDX-License-Identifier: MIT */
/* file.c: from the pages of an open file to a written one. */
#include "transform/file.h"

#include "transform/memory_estimate.h"
#include "transform/page.h"

#include <sys/stat.h>

EncodeOptions pipeline_encode_options(const Pipeline *pipeline, const TransformWorker *worker,
                                      unsigned threads)
{
    const ImgstatWrite *const write = pipeline->write;
    return (EncodeOptions){.compression = write->compression,
                           .level = write->has_level ? write->level : -1,
                           .fast = write->fast,
                           .strip_bytes = strip_bytes(pipeline->memory),
                           .pool = worker->pool,
                           .threads = threads,
                           .scratch = worker->device->scratch,
                           .deflaters = worker->deflaters};
}

const EncodeFormat *pipeline_format(const Pipeline *pipeline, const ImgstatJob *job,
                                    const Decoder *decoder)
{
    if (pipeline->write->format)
        return encode_format_named(pipeline->write->format);
    const EncodeFormat *const format = encode_format_of_path(job->output);
    return format ? format : encode_format_named(decoder->page.format);
}

/* What comes from pipes is in a file of our own meanwhile. */
static mode_t mode_of(const Source *source)
{
    struct stat st;
    uint64_t bytes;
    return source_is_file(source->name, &bytes) && fstat(source->fd, &st) == 0 ? st.st_mode & 0777
                                                                               : 0666;
}

static ImgstatResult run_pages(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                               const ImgstatJob *job, Encoder *encoder, Transfer **made,
                               ImgstatError *err)
{
    Decoder *const decoder = file->decoder;
    const uint32_t pages = imgstat_file_pages(file);
    const uint32_t first = job->has_page ? job->page : 0, end = job->has_page ? first + 1 : pages;
    unsigned n_made = 0;
    for (uint32_t page = first; page < end; page++) {
        Transfer *own = NULL;
        IMGSTAT_TRY(imgstat_file_page(file, page, NULL, err));
        IMGSTAT_TRY(page_transform(pipeline, worker, decoder, encoder, made ? &own : NULL, err));
        if (!own)
            continue;
        transfer_destroy(*made);
        *made = own;
        n_made++;
    }
    if (n_made > 1) {
        transfer_destroy(*made);
        *made = NULL;
    }
    return encoder_finish(encoder, err);
}

ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err)
{
    if (made)
        *made = NULL;
    Decoder *const decoder = file->decoder;
    const EncodeFormat *const format = pipeline_format(pipeline, job, decoder);
    if (!format)
        return error_set(err, IMGSTAT_ERR_ARG, "%s: no format is called \"%s\"", job->output,
                         pipeline->write->format);
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    Warnings warnings = {
        .warn = decoder->how.warn, .context = decoder->how.warn_context, .name = job->output};
    const EncodeOptions how = pipeline_encode_options(pipeline, worker, decoder->options.threads);
    ImgstatResult res = atomic_file_open(job->output, pipeline->write->replace,
                                         mode_of(decoder->source), &output, err);
    if (res == IMGSTAT_OK) {
        output->cancel = &worker->cancel;
        res = encoder_create(format, output, &how, &warnings, &encoder, err);
    }
    if (res == IMGSTAT_OK)
        res = run_pages(pipeline, worker, file, job, encoder, made, err);
    encoder_destroy(encoder);
    warnings_release(&warnings);
    if (res == IMGSTAT_OK)
        res = cancel_check(&worker->cancel, err);
    if (res == IMGSTAT_OK)
        return atomic_file_commit(output, err);
    atomic_file_discard(output);
    if (made) {
        transfer_destroy(*made);
        *made = NULL;
    }
    return res;
}

/* SPDX-License-Identifier: MIT */
/* file.c: from the pages of an open file to a written one. */
#include "transform/file.h"

#include "transform/memory_estimate.h"
#include "transform/output_file.h"
#include "transform/page.h"

#include <sys/stat.h>

/* Permissions of the input, unless it is a pipe, whose bytes are in a temporary file. */
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
    return IMGSTAT_OK;
}

ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err)
{
    if (made)
        *made = NULL;
    Decoder *const decoder = file->decoder;
    const ImgstatWrite *const write = pipeline->write;
    const EncodeFormat *const format = output_format(write, job->output, decoder);
    if (!format)
        return error_file(err, IMGSTAT_ERR_ARG, job->output, "no format is called \"%s\"",
                          write->format);
    const EncodeOptions options = {.compression = write->compression,
                                   .level = write->has_level ? write->level : -1,
                                   .fast = write->fast,
                                   .strip_bytes = strip_bytes(pipeline->memory),
                                   .pool = worker->pool,
                                   .threads = decoder->options.threads,
                                   .scratch = worker->device->scratch,
                                   .deflaters = worker->deflaters};
    const Warnings warnings = {
        .warn = decoder->how.warn, .context = decoder->how.warn_context, .name = job->output};
    OutputFile output;
    ImgstatResult res =
        output_file_open(&output, format, job->output, write->replace, mode_of(decoder->source),
                         &options, warnings, &worker->cancel, err);
    if (res == IMGSTAT_OK)
        res = run_pages(pipeline, worker, file, job, output.encoder, made, err);
    res = output_file_close(&output, res, err);
    if (res != IMGSTAT_OK && made) {
        transfer_destroy(*made);
        *made = NULL;
    }
    return res;
}

/* SPDX-License-Identifier: MIT */
/* info.c: the structure of files: pages, what belongs together, and how it is stored. */
#include "commands/commands.h"
#include "inputs/inputs.h"
#include "measure/shard_text.h"
#include "print/json.h"
#include "print/table.h"
#include "text/memory_stream.h"
#include "text/status.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

/* A file that is described. */
typedef struct Info {
    const Options *options;
    const char *path;
    ImgstatFile *file;
    uint32_t *pages; /* n of them */
    uint32_t n;
    Table *table; /* for people; NULL before the first page */
    bool cloud_optimized;
    bool failed;
    bool follows; /* a file was listed before */
} Info;

static void report_error(Info *info, const uint32_t *page, const ImgstatError *error)
{
    info->failed = true;
    status_raise(STATUS_FAILED);
    fprintf(stderr, "%s\n", error->message);
    if (info->options->style == OUTPUT_JSON)
        print_json_error(stdout, info->path, page, imgstat_result_name(error->code),
                         error->message);
}

static void on_warning(void *context, const char *sentence)
{
    const Info *const info = context;
    if (!info->options->quiet)
        text_put_file_warning(stderr, info->path, sentence);
}

/* ---- For people ------------------------------------------------------------------------------ */

/* "level of 0" */
static void put_role(FILE *out, const Info *info, const ImgstatPage *page)
{
    char name[NAME_BYTES] = "";
    fputs(imgstat_role_name(page->role), out);
    if (page->owner != IMGSTAT_NO_PAGE && page->owner != page->page &&
        imgstat_file_page_name(info->file, page->owner, name, sizeof name) > 0)
        fprintf(out, " of %s", name);
    if (page->has_axes)
        fprintf(out, " c%" PRIu32 " z%" PRIu32 " t%" PRIu32, page->axis_c, page->axis_z,
                page->axis_t);
}

static void put_channels(FILE *out, const Info *info, const ImgstatPage *page)
{
    enum { SHOWN = 6 };
    for (uint16_t c = 0; c < page->channels && c < SHOWN; c++) {
        char *const name = text_display(imgstat_file_channel(info->file, c));
        fprintf(out, "%s%s", c > 0 ? "," : "", name);
        free(name);
    }
    if (page->channels > SHOWN)
        fprintf(out, ",... (%u)", page->channels);
}

static void put_layout(FILE *out, const ImgstatPage *page, const ImgstatLayout *layout)
{
    if (layout->tiled)
        fprintf(out, "%" PRIu64 " tile%s of %" PRIu32 " x %" PRIu32, layout->tiles,
                layout->tiles > 1 ? "s" : "", layout->tile_width, layout->tile_height);
    else if (strcmp(page->format, "tiff") == 0)
        fprintf(out, "%" PRIu64 " strip%s of %" PRIu32 " row%s", layout->tiles,
                layout->tiles > 1 ? "s" : "", layout->tile_height,
                layout->tile_height > 1 ? "s" : "");
    else
        fputs(layout->interlaced ? "interlaced" : "rows", out);
    fprintf(out, "%s\t%s%s%s", layout->planar ? ", planar" : "", layout->compression,
            strcmp(layout->predictor, "none") != 0 ? ", predictor " : "",
            strcmp(layout->predictor, "none") != 0 ? layout->predictor : "");
}

static void put_kinds(FILE *out, const ImgstatPage *page, const ImgstatLayout *layout)
{
    const char *separator = "";
    if (page->has_nodata) {
        char text[TEXT_NUMBER];
        text_nodata(text, page->nodata);
        fprintf(out, "nodata %s", text);
        separator = ", ";
    }
    for (uint32_t i = 0; i < layout->n_metadata; i++, separator = ", ")
        fprintf(out, "%s%s", separator, layout->metadata[i]);
    if (!page->has_nodata && layout->n_metadata == 0)
        fputc('-', out);
}

static void put_samples(FILE *out, const Info *info, const ImgstatPage *page,
                        const ImgstatLayout *layout)
{
    fprintf(out, "\t%" PRIu32 " x %" PRIu32 "\t%s", page->width, page->height,
            imgstat_sample_name(page->sample));
    if (page->bits != 8 * imgstat_sample_bytes(page->sample))
        fprintf(out, " (%u bit%s)", page->bits, page->bits == 1 ? "" : "s");
    fprintf(out, "\t%s\t", page->photometric);
    put_channels(out, info, page);
    fputc('\t', out);
    put_layout(out, page, layout);
    fputc('\t', out);
    put_kinds(out, page, layout);
}

/* "-" for what the directory does not say. */
static void put_outline(FILE *out, const ImgstatPage *page, const ImgstatLayout *layout,
                        const char *unsupported)
{
    if (page->width > 0 && page->height > 0)
        fprintf(out, "\t%" PRIu32 " x %" PRIu32 "\t", page->width, page->height);
    else
        fputs("\t-\t", out);
    if (page->bits > 0)
        fprintf(out, "%u bits\t%s\t", page->bits, page->photometric);
    else
        fprintf(out, "-\t%s\t", page->photometric);
    if (page->channels > 0)
        fprintf(out, "%u", page->channels);
    else
        fputc('-', out);
    fprintf(out, "\t-\t%s\tnot decoded: %s", layout->compression, unsupported);
}

/* unsupported: NULL, or why the page cannot be decoded. */
static void add_line(Info *info, const ImgstatPage *page, const ImgstatLayout *layout,
                     const char *unsupported)
{
    char *line = NULL, name[NAME_BYTES] = "";
    size_t bytes = 0;
    FILE *const out = memory_stream_open(&line, &bytes);
    if (info->table == NULL) {
        const bool png = strcmp(page->format, "png") == 0;
        char *const file = text_display(info->path);
        if (info->follows)
            putchar('\n');
        printf("%s: %s%s%s, %" PRIu32 " page%s\n", file, png ? "PNG" : "TIFF",
               png                  ? ""
               : layout->big_endian ? ", big-endian"
                                    : ", little-endian",
               layout->big_file ? ", BigTIFF" : "", imgstat_file_pages(info->file),
               imgstat_file_pages(info->file) > 1 ? "s" : "");
        free(file);
        info->table = table_create();
        table_add(info->table,
                  "page\trole\tsize\ttype\tphotometric\tchannels\tlayout\tcompression\tmetadata");
    }
    (void)imgstat_file_page_name(info->file, page->page, name, sizeof name);
    fprintf(out, "%s\t", name);
    put_role(out, info, page);
    if (unsupported != NULL)
        put_outline(out, page, layout, unsupported);
    else
        put_samples(out, info, page, layout);
    memory_stream_close(out);
    table_add(info->table, line);
    free(line);
}

static void end_table(Info *info)
{
    if (info->table == NULL)
        return;
    table_flush(info->table);
    table_destroy(info->table);
    if (info->cloud_optimized)
        puts("cloud optimized: it says that all directories lie before the tiles");
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* What follows the names of file and page. */
static const char *find_reason(const ImgstatError *error)
{
    const char *reason = error->message;
    for (int names = (error->file_bytes > 0) + error->has_page; names > 0; names--) {
        const char *const from = reason == error->message ? reason + error->file_bytes : reason;
        const char *const colon = strstr(from, ": ");
        reason = colon != NULL ? colon + 2 : reason;
    }
    return reason;
}

static void describe_page(Info *info, uint32_t number)
{
    ImgstatPage page;
    ImgstatLayout layout;
    ImgstatError error, no_layout;
    ImgstatResult res = imgstat_file_page(info->file, number, &page, &error);
    const bool unsupported = res == IMGSTAT_ERR_UNSUPPORTED &&
                             imgstat_file_layout(info->file, &layout, &no_layout) == IMGSTAT_OK;
    if (res == IMGSTAT_OK)
        res = imgstat_file_layout(info->file, &layout, &error);
    if (res != IMGSTAT_OK && !unsupported) {
        report_error(info, &number, &error);
        return;
    }
    const char *const reason = unsupported ? find_reason(&error) : NULL;
    info->cloud_optimized = layout.cloud_optimized;
    if (info->options->style == OUTPUT_JSON)
        print_json_info(stdout, info->path, info->file, &page, &layout, reason);
    else
        add_line(info, &page, &layout, reason);
}

/* All pages of the file, or those that are named. */
static ImgstatResult find_pages(Info *info, const char *named, ImgstatError *error)
{
    const uint32_t all = info->n = imgstat_file_pages(info->file);
    info->pages = text_alloc(all * sizeof *info->pages);
    if (named != NULL)
        return imgstat_file_find(info->file, named, info->pages, all, &info->n, error);
    for (uint32_t i = 0; i < all; i++)
        info->pages[i] = i;
    return IMGSTAT_OK;
}

/* Whether all of it could be described. *listed: a table was printed. */
static bool describe_file(const Options *o, const Input *input, bool *listed)
{
    Info info = {.options = o, .path = input->path, .follows = *listed};
    const ImgstatJob job = input_job(input);
    const ImgstatOpen open = {.limits = o->limits, .warn = on_warning, .warn_context = &info};
    ImgstatError error = {.code = IMGSTAT_ERR_IO};
    if (input->problem != NULL) {
        snprintf(error.message, sizeof error.message, "%s", input->problem);
        report_error(&info, NULL, &error);
    } else if (input_open(&job, &open, &info.file, &error) != IMGSTAT_OK ||
               find_pages(&info, input->pages, &error) != IMGSTAT_OK) {
        report_error(&info, NULL, &error);
    } else {
        for (uint32_t i = 0; i < info.n; i++)
            describe_page(&info, info.pages[i]);
        *listed = *listed || info.table != NULL;
        end_table(&info);
    }
    status_flush_stdout();
    imgstat_file_close(info.file);
    free(info.pages);
    return !info.failed;
}

static void work(PartRun *run)
{
    Input input;
    bool listed = run->captured; /* emit_shard leaves out a first empty line */
    while (status_interrupted() == 0 && inputs_next_one(run->inputs, &input)) {
        const bool good = describe_file(run->options, &input, &listed);
        run->done += good;
        run->failed += !good;
        input_release(&input);
    }
    run->complete = status_interrupted() == 0;
    if (run->summarizes && run->done + run->failed > 1 && run->failed > 0)
        fprintf(stderr, "%zu described, %zu failed\n", run->done, run->failed);
}

/* context: whether a table was printed. */
static void emit_shard(void *context, const char *text, size_t bytes)
{
    bool *const listed = context;
    const size_t skipped = !*listed && bytes > 0 && *text == '\n';
    fwrite(text + skipped, 1, bytes - skipped, stdout);
    *listed = *listed || bytes > 0;
}

void cmd_info(Options *options)
{
    bool listed = false;
    const ShardCommand command = {.work = work,
                                  .context = &listed,
                                  .done = "described",
                                  .emit = options->style == OUTPUT_PEOPLE ? emit_shard : NULL};
    shard_text_run(options, &command);
}

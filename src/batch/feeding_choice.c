/* SPDX-License-Identifier: MIT */
/* feeding_choice.c: which batches a device decodes for, and which of their pages. */
#include "batch/feeding.h"

#include "base/sample.h"
#include "batch/job.h"
#include "codec/bands.h"

#include <string.h>

/* The device takes about 0.5 s to open and leave: fewer pages are done before. */
enum { LEAST_PAGES = 32, LEAST_BYTES = 256 << 20 };

enum { SAMPLES = 16 }; /* headers that are read, evenly spread */

typedef struct Sampled {
    unsigned pages, decodable;
    uint64_t bytes; /* of pixels, of the decodable */
    bool threads;
} Sampled;

bool feeding_open_pages(const FedJobs *jobs, size_t job, bool *unusual, ImgstatFile **file)
{
    *unusual = false;
    *file = NULL;
    return jobs->open(jobs->context, job, unusual, file) && !*unusual &&
           (*file)->n_chosen <= (jobs->one_page ? 1 : BATCH_PAGES) &&
           (!jobs->counts || sample_is_narrow((*file)->decoder->page.sample));
}

static void note_unusual(void *context, const char *sentence)
{
    (void)sentence;
    *(bool *)context = true;
}

bool feeding_open_job(const ImgstatJob *job, const ImgstatOpen *how, bool levels,
                      const Cancel *cancel, bool *unusual, ImgstatFile **file)
{
    ImgstatOpen open = *how;
    open.warn = note_unusual;
    open.warn_context = unusual;
    return job_is_readable_again(job) && job_open(job, &open, cancel, file, NULL) == IMGSTAT_OK &&
           file_choose(*file, job->pages, levels ? WITH_LEVELS : 0, NULL) == IMGSTAT_OK &&
           imgstat_file_page(*file, (*file)->chosen->page, NULL, NULL) == IMGSTAT_OK;
}

/* Uncompressed tiles gain nothing. */
static bool has_coded_tiles(Decoder *decoder)
{
    TiledPage page;
    return decoder->codec->coded_tiles(decoder, &page, NULL) &&
           (page.coding != TILE_PLAIN || decoder->mode == DECODE_THREADS);
}

bool feeding_decodes(Decoder *decoder)
{
    return decoder->mode != DECODE_PLAIN && !page_is_masked(decoder) &&
           (decoder->codec->deflated || (decoder->codec->coded_tiles && has_coded_tiles(decoder)));
}

/* Whether a TIFF like that of the decoder is deflated if nothing else is asked for. */
static bool is_deflated(Decoder *decoder)
{
    TiledPage page;
    return decoder->codec->deflated ||
           (decoder->codec->coded_tiles && decoder->codec->coded_tiles(decoder, &page, NULL) &&
            page.coding == TILE_DEFLATED);
}

uint64_t feeding_stream(Decoder *decoder)
{
    return is_deflated(decoder) ? 0 : decoder->caps.tile_bytes;
}

const EncodeFormat *feeding_writes(const ImgstatJob *job, const ImgstatWrite *how, Decoder *from)
{
    const EncodeFormat *const to = how && how->format ? encode_format_named(how->format)
                                   : job->output      ? encode_format_of_path(job->output)
                                                      : NULL;
    if (!to || (how && how->has_level))
        return NULL;
    const bool deflates = how && how->compression ? strcmp(how->compression, "deflate") == 0
                                                  : to == &png_format || is_deflated(from);
    return deflates ? to : NULL;
}

ImgstatPage feeding_part(const Decoder *decoder, const ImgstatRegion *region)
{
    ImgstatPage part = decoder->page;
    const size_t row = (size_t)part.width * part.channels * imgstat_sample_bytes(part.sample);
    if (region && region_is_within(region, part.width, part.height))
        part.height = bands_of_region(decoder, region, bands_rows(decoder, row)).n;
    return part;
}

bool feeding_is_worthwhile(double pages, double fed, double bytes)
{
    return 2 * fed >= pages && fed >= LEAST_PAGES && bytes >= LEAST_BYTES;
}

static void sample_job(const FedJobs *jobs, size_t job, Sampled *sum, ImgstatPage *like)
{
    ImgstatFile *file;
    bool unusual;
    const bool opened = feeding_open_pages(jobs, job, &unusual, &file);
    sum->pages += file ? file->n_chosen : 1;
    if (opened && feeding_decodes(file->decoder)) {
        const ImgstatPage *const page = &file->decoder->page;
        const ImgstatPage part =
            feeding_part(file->decoder, jobs->counts ? &jobs->count.region : NULL);
        sum->decodable += file->n_chosen;
        sum->bytes += page_bytes(&part) * file->n_chosen;
        sum->threads = file->decoder->mode == DECODE_THREADS;
        *like = *page;
    }
    imgstat_file_close(file);
}

bool feeding_choose(const FedJobs *jobs, bool *always, ImgstatPage *like, double *pages,
                    double *bytes)
{
    const size_t looked_at = jobs->n < SAMPLES ? jobs->n : SAMPLES;
    Sampled sum = {0};
    if (device_list_is_cpu(jobs->devices) || jobs->devices->n > 1)
        return false;
    for (size_t i = 0; i < looked_at; i++)
        sample_job(jobs, i * jobs->n / looked_at, &sum, like);
    if (sum.decodable == 0)
        return false;
    const double stands_for = jobs->more ? LEAST_BYTES : (double)jobs->n / (double)looked_at;
    *always = sum.threads;
    *pages = stands_for * sum.decodable;
    *bytes = (double)sum.bytes / sum.decodable;
    return *always || feeding_is_worthwhile(stands_for * sum.pages, *pages, *pages * *bytes);
}

FeedingRest feeding_rest(const FeedingPace *pace, bool feeds, size_t left)
{
    const double jobs = (double)left;
    if (feeds)
        return jobs * pace->alone_seconds <= pace->alone_workers * pace->latency ? REST_ALONE
                                                                                 : REST_OPEN;
    return jobs < pace->fed_a_second * pace->alone_seconds ? REST_FED : REST_OPEN;
}

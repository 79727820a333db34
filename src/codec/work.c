/* SPDX-License-Identifier: MIT */
/* work.c: the limit of work. A unit is a byte of samples that is inflated and measured: about a
 * nanosecond of a processor. */
#include "codec/work.h"

#include "base/sample.h"

enum {
    PAGE_UNITS = 128 << 10, /* to select a page */
    WIDE_READS = 2,         /* of samples of more than 16 bits, which may be read again */
    UNITS_A_BYTE = 4096     /* of a file beyond large_bytes: no deflated image has more, mapped */
};

/* Ten seconds for files up to large_bytes, as bombs are. White images of a gigapixel, masks of
 * slides and scanned books ask for less. */
static const uint64_t most_units = (uint64_t)8 << 30, large_bytes = 10000000;

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t c;
    return __builtin_mul_overflow(a, b, &c) ? UINT64_MAX : c;
}

static uint64_t page_units(const Decoder *decoder)
{
    const ImgstatPage *const page = &decoder->page;
    const uint64_t samples = product((uint64_t)page->width * page->height, page->channels);
    const uint64_t bytes = product(samples, imgstat_sample_bytes(page->sample));
    const unsigned use = decoder->options.work ? decoder->options.work : WORK_MEASURE;
    const unsigned reads = sample_is_narrow(page->sample) ? 1 : WIDE_READS;
    const uint64_t weight = decoder->caps.weight ? decoder->caps.weight : 1;
    const uint64_t units = product(product(bytes, (uint64_t)use * reads), weight);
    return units < UINT64_MAX - PAGE_UNITS ? units + PAGE_UNITS : UINT64_MAX;
}

ImgstatResult work_spend(Decoder *decoder, ImgstatError *err)
{
    PageEntry *const entry = &decoder->list.entry[decoder->page.page];
    const uint64_t file_bytes = decoder->source->bytes;
    const uint64_t beyond = file_bytes > large_bytes ? file_bytes - large_bytes : 0;
    const uint64_t more = product(beyond, UNITS_A_BYTE);
    const uint64_t most = more < UINT64_MAX - most_units ? most_units + more : UINT64_MAX;
    const uint64_t units = page_units(decoder);
    if (decoder->how.limits.unlimited || entry->work_spent)
        return IMGSTAT_OK;
    if (units > most || decoder->work > most - units)
        return error_file(err, IMGSTAT_ERR_LIMIT, decoder->source->name,
                          "%u x %u pixels are more work than the limit for a file of %llu bytes, "
                          "which \"unlimited\" lifts",
                          decoder->page.width, decoder->page.height,
                          (unsigned long long)file_bytes);
    decoder->work += units;
    entry->work_spent = true;
    return IMGSTAT_OK;
}

uint64_t work_output_bytes(const Decoder *decoder)
{
    const uint64_t bytes = product(decoder->source->bytes, OUTPUT_RATIO);
    return decoder->how.limits.unlimited ? 0 : bytes > OUTPUT_LEAST ? bytes : OUTPUT_LEAST;
}

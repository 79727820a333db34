/* SPDX-License-Identifier: MIT */
/* report.c: which pages a report is about. */
#include "print/report.h"
#include "text/memory_stream.h"
#include "text/text.h"

#include <inttypes.h>

PageName report_name_of(const Report *report, uint32_t page)
{
    PageName name = {""};
    (void)imgstat_file_page_name(report->file, page, name.text, sizeof name.text);
    return name;
}

PageName report_page_name(const Report *report)
{
    PageName name = {""};
    const ImgstatPage *const page = report->page;
    char plain[60] = "";
    if (report->by == IMGSTAT_BY_CHANNEL) {
        snprintf(name.text, sizeof name.text, "[channel %" PRIu32 "]", page->axis_c);
    } else if (report->by == IMGSTAT_BY_PAGE &&
               (page->pages > 1 || page->parent != IMGSTAT_NO_PAGE)) {
        (void)imgstat_file_page_name(report->file, page->page, plain, sizeof plain);
        snprintf(name.text, sizeof name.text, "[%s]", plain);
    }
    return name;
}

/* The end of the run of pages of the chain that begins with page i. */
static uint32_t run_end(const Report *report, uint32_t i)
{
    uint32_t end = i + 1;
    while (end < report->n_pages && report->pages[i].parent == IMGSTAT_NO_PAGE &&
           report->pages[end].parent == IMGSTAT_NO_PAGE &&
           report->pages[end].page == report->pages[end - 1].page + 1)
        end++;
    return end;
}

char *report_page_list(const Report *report)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const stream = memory_stream_open(&text, &bytes);
    for (uint32_t i = 0, end; i < report->n_pages; i = end) {
        char name[60] = "";
        end = run_end(report, i);
        (void)imgstat_file_page_name(report->file, report->pages[i].page, name, sizeof name);
        fprintf(stream, "%s%s", i > 0 ? "," : "", name);
        if (end > i + 1)
            fprintf(stream, "-%" PRIu32, report->pages[end - 1].page);
    }
    memory_stream_close(stream);
    return text;
}

bool report_same_size(const Report *report)
{
    for (uint32_t i = 1; i < report->n_pages; i++)
        if (report->pages[i].width != report->pages->width ||
            report->pages[i].height != report->pages->height)
            return false;
    return true;
}

const char *report_channel(const Report *report, uint16_t channel)
{
    return report->merged != NULL ? report->merged->kind.names[channel]
                                  : imgstat_file_channel(report->file, channel);
}

HashText report_hash(const Report *report)
{
    uint8_t hash[16];
    HashText text = {""};
    for (size_t i = 0; i < sizeof hash && imgstat_record_hash(report->record, hash); i++)
        snprintf(text.text + 2 * i, 3, "%02x", hash[i]);
    return text;
}

char *report_images(const Report *report)
{
    const MergedImages *const merged = report->merged;
    const ImgstatKind *const kind = &merged->kind;
    char *text = NULL, count[TEXT_NUMBER];
    size_t bytes = 0;
    FILE *const stream = memory_stream_open(&text, &bytes);
    text_grouped(count, merged->pages);
    fprintf(stream, "%s image%s", count, merged->pages == 1 ? "" : "s");
    if (merged->files != merged->pages) {
        text_grouped(count, merged->files);
        fprintf(stream, " in %s file%s", count, merged->files == 1 ? "" : "s");
    }
    fprintf(stream, ", %s, %s", kind->photometric, imgstat_sample_name(kind->sample));
    if (kind->bits != 8 * imgstat_sample_bytes(kind->sample))
        fprintf(stream, " (%u bit%s used)", kind->bits, kind->bits == 1 ? "" : "s");
    if (kind->has_nodata) {
        text_nodata(count, kind->nodata);
        fprintf(stream, ", nodata %s", count);
    }
    memory_stream_close(stream);
    return text;
}

/* SPDX-License-Identifier: MIT */
/* feeding.h: some workers bring compressed files to a device, which decodes many at a time. The
 * others decode files on the processor meanwhile, and before the device is open. All take jobs from
 * one queue, and use no more threads at a time than a batch without a device, beside those that
 * mostly wait for it. */
#ifndef IMGSTAT_BATCH_FEEDING_H
#define IMGSTAT_BATCH_FEEDING_H

#include "batch/device_list.h"
#include "batch/in_order.h"
#include "codec/encoder.h"
#include "decode/page_batch.h"

typedef struct Feeding Feeding;

/* A batch that has its files decoded by a device. */
typedef struct FedJobs {
    void *context;
    DeviceList *devices;
    ThreadShare share;
    size_t n;  /* jobs, as far as is known, */
    bool more; /* and there may be others */
    size_t outcome_bytes;
    bool whole_jobs; /* a worker's device also does what follows decoding */
    bool one_page;   /* the processor takes files with several chosen pages */
    bool counts;     /* the device counts the pages as well, */
    PageCount count; /* in this way */
    /* Opens the file of a job for reading it once more later, and selects its first page. False: it
     * cannot be read, or only once. A file that gives a warning sets *unusual. */
    bool (*open)(void *context, size_t job, bool *unusual, ImgstatFile **file);
    /* Does a job. pages: NULL, or its pages. Returns the seconds that it took. */
    double (*work)(void *context, void *worker, size_t job, const FedPages *pages, void *outcome);
    /* NULL, or called before a worker waits for others: it returns what these may wait for. */
    void (*idle)(void *context, void *worker);
    /* Reports a job whose device has failed. */
    void (*fail)(void *context, void *worker, size_t job, const ImgstatError *why, void *outcome);
} FedJobs;

/* What FedJobs.open does with the input of a job. levels: those of its images are chosen as well.
 */
bool feeding_open_job(const ImgstatJob *job, const ImgstatOpen *how, bool levels,
                      const Cancel *cancel, bool *unusual, ImgstatFile **file);

/* Whether a device may decode the page that is selected: it may refuse or doubt it. */
bool feeding_decodes(Decoder *decoder);

/* Returns the most bytes of samples in a strip or tile that the device does not decode in parts. */
uint64_t feeding_stream(Decoder *decoder);

/* Returns the format of what is written, if a device that has decoded the page of a job also
 * compresses that; else NULL. how: NULL for defaults. from: the decoder of the page. */
const EncodeFormat *feeding_writes(const ImgstatJob *job, const ImgstatWrite *how, Decoder *from);

/* Returns the page that is selected, with no more rows than the processor decodes for a region.
 * region: NULL, or empty, for all. */
ImgstatPage feeding_part(const Decoder *decoder, const ImgstatRegion *region);

/* Whether a batch gains by a device. fed: those of its pages that the device may decode. bytes: of
 * their pixels. */
bool feeding_is_worthwhile(double pages, double fed, double bytes);

/* Opens a file whose pages the device may decode, and count if that is asked for. *unusual becomes
 * true, then or later, if it gives a warning. */
bool feeding_open_pages(const FedJobs *jobs, size_t job, bool *unusual, ImgstatFile **file);

/* Whether the batch gains by its device, as far as a few of its files show. *always: it is to
 * decode all that it can. *like: a page of a sample. *pages: that the device may decode. *bytes: of
 * the pixels of one, about. */
bool feeding_choose(const FedJobs *jobs, bool *always, ImgstatPage *like, double *pages,
                    double *bytes);

/* Who does the last jobs of a batch. */
typedef enum FeedingRest {
    REST_OPEN, /* all */
    REST_FED,  /* workers that feed */
    REST_ALONE /* the others */
} FeedingRest;

/* How fast the jobs of a batch are done. */
typedef struct FeedingPace {
    double alone_seconds; /* of a job that a worker does which does not feed, */
    unsigned alone_workers;
    double latency;      /* seconds from a full batch to its pixels */
    double fed_a_second; /* jobs that all feeders do; 0: none are at work */
} FeedingPace;

/* Decides who does the jobs that are left when a worker asks for one. What the others will have
 * done by the time that one more batch is decoded stays theirs; they begin none that feeders will
 * have done before. */
FeedingRest feeding_rest(const FeedingPace *pace, bool feeds, size_t left);

/* Begins to open the device of a batch. *out becomes NULL if its files are too few, or not such as
 * a device decodes, or the batch has several devices or none: then workers open devices. */
ImgstatResult feeding_create(const FedJobs *jobs, Feeding **out, ImgstatError *err);

/* Closes the device. Accepts NULL. */
void feeding_destroy(Feeding *feeding);

/* Completes the description of a batch: its workers, its ring, and how many outcomes may wait. */
void feeding_order(Feeding *feeding, InOrder *order, size_t ahead);

/* Decides whether a worker feeds. first: that of the first thread. Others wait for the device. */
void feeding_open_worker(Feeding *feeding, Feeder *feeder, bool first);

/* Whether a worker takes one of so many jobs that are left. */
bool feeding_takes(Feeding *feeding, const Feeder *feeder, size_t left);

/* Does a job; a worker that feeds takes more jobs, and does them as well. */
void feeding_work(Feeding *feeding, Feeder *feeder, void *worker, size_t job, void *outcome);

/* Called before a worker releases its memory, with nothing held that others wait for. Waits until
 * none feeds: the driver would wait for all that the device does, and others for the driver. */
void feeding_end_worker(Feeding *feeding, const Feeder *feeder);

/* Waits until the device has been opened. Fails if it could not be, and nothing takes its place. */
ImgstatResult feeding_opened(Feeding *feeding, ImgstatError *err);

/* The name of the device, as it describes itself. */
const char *feeding_device_name(const Feeding *feeding);

#endif

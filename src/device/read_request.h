/* SPDX-License-Identifier: MIT */
/* read_request.h: the pixels that a device reads, how it sees their channels, and what a further
 * read finds. */
#ifndef IMGSTAT_DEVICE_READ_REQUEST_H
#define IMGSTAT_DEVICE_READ_REQUEST_H

#include "base/buffer_cache.h"
#include "record/record.h"

typedef struct ImgstatDevice Device;

/* ---- Pixels ---------------------------------------------------------------------------------- */

/* Images that a device reads. They are in host memory, which the device copies as it needs, or in
 * the memory of the device itself (IMGSTAT_CUDA with its device_id). Or there is one image without
 * memory: the threads that use its pixels fetch them into their own caches. Only devices whose ops
 * say `fetches` accept that. */
typedef struct PixelSource {
    const ImagePro *images;
    size_t n;
    /* NULL, or returns rows [row, row + rows) without gaps on a 64-byte boundary. They stay valid
     * until the same thread's next call. Returns NULL if the rows cannot be read. */
    const void *(*rows)(void *context, unsigned thread, uint32_t row, uint32_t rows);
    /* Replaces `rows` where tile_width is not 0; only for measuring narrow samples. Returns the
     * tile that begins at column x of row y; tiles at the image's ends are smaller. *pitch becomes
     * the bytes between its rows. */
    const void *(*tile)(void *context, unsigned thread, uint32_t x, uint32_t y, size_t *pitch);
    uint32_t tile_width, tile_height; /* pixels; 0: there are no tiles */
    void *context;
} PixelSource;

/* Returns a source of one image in memory. */
static inline PixelSource pixels_of(const ImagePro *image)
{
    return (PixelSource){.images = image, .n = 1};
}

/* What the channels of a record or a request stand for. */
typedef enum PixelChannels {
    VIEW_EACH,  /* the channels of the image */
    VIEW_JOINT, /* one channel: the samples of all channels but alpha */
    VIEW_LUMA   /* one channel: the luma (transfer/luma.h); pixels without luma are masked */
} PixelChannels;

/* How a device sees the channels of an image. All zero: every channel by itself. */
typedef struct PixelView {
    PixelChannels channels;
    int16_t alpha;     /* VIEW_JOINT: the channel that is left out, or -1 */
    uint16_t first;    /* VIEW_EACH: the number that channel 0 of the image has in a request */
    uint16_t of_plane; /* channels of the page whose plane the image is; 0: it is no plane */
} PixelView;

/* ---- Requests -------------------------------------------------------------------------------- */

/* A digit: the bits of a key that one read counts. */
enum { DIGIT_BITS = 16, DIGIT_BINS = 1 << DIGIT_BITS };

/* Counts the next 16 bits of the keys whose leading bits are known: one step of a radix select.
 * bins[k] counts the valid samples of `channel` with key >> (shift + 16) == prefix and
 * (key >> shift) & 0xFFFF == k. */
typedef struct DigitCount {
    uint16_t channel;
    uint8_t shift; /* 0, 16 or 32 */
    uint64_t prefix;
    uint64_t *bins; /* DIGIT_BINS on the host, added to */
} DigitCount;

/* Counts between ascending edges: bins[k] counts the valid samples of `channel` with
 * edge[k] <= key < edge[k+1]. Samples outside all edges are not counted. */
typedef struct RangeCount {
    uint16_t channel;
    uint32_t n_bins;
    const uint64_t *edge; /* n_bins + 1 order keys, on the host */
    double lo, per_bin;   /* (value - lo) * per_bin is the number of the bin or of its neighbour;
                           * per_bin 0: there is no such formula, search the edges */
    uint64_t *bins;       /* n_bins on the host, added to */
} RangeCount;

/* Gathers the keys of the valid samples of `channel` with lo <= key <= hi, in any order. */
typedef struct KeyGather {
    uint16_t channel;
    uint64_t lo, hi;
    uint64_t *keys;  /* on the host */
    size_t capacity; /* known from bins; a read that finds more keys fails: the pixels changed */
    size_t n;        /* gathered so far; added to */
} KeyGather;

/* What one read finds. It adds to what the lists, keys and sums hold already. */
typedef struct ReadRequest {
    DigitCount *digits;
    size_t n_digits;
    RangeCount *ranges;
    size_t n_ranges;
    KeyGather *gathers;
    size_t n_gathers;
    const uint16_t *sort; /* NULL, or the channel whose keys are added to the sort that has begun */
    const double *center; /* one a channel, with `central` */
    Central *central;     /* NULL, or one a channel: power sums about the centers. VIEW_EACH only */
    size_t counter_bytes; /* limit for the counters of all threads; 0: 64 MiB a thread */
} ReadRequest;

/* The error of a read that finds other samples than the one before. */
static inline ImgstatResult pixels_changed(ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_IO, "the pixels changed between two reads");
}

/* How to read the pixels of a record again. */
typedef struct FurtherReads {
    /* Reads all pixels once: an image, a page band by band, or many images. NULL: the caller asks
     * for nothing that is read again. */
    ImgstatResult (*read)(void *context, const ReadRequest *request, ImgstatError *err);
    void *context;
    unsigned threads;   /* for sorting gathered keys; 0: one */
    BufferCache *cache; /* for counters and keys */
    size_t room;        /* keys that are sorted at a time for a mode or a deviation; 0: MODE_KEYS */
    Device *sorter;     /* NULL, or the device that reads and may sort */
} FurtherReads;

#endif

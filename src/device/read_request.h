/* SPDX-License-Identifier: MIT */
/* read_request.h: where a device takes pixels from, what it sees of them, and what a further read
 * is to find. */
#ifndef IMGSTAT_DEVICE_READ_REQUEST_H
#define IMGSTAT_DEVICE_READ_REQUEST_H

#include "base/buffer_cache.h"
#include "record/record.h"

typedef struct ImgstatDevice Device;

/* ---- Pixels ---------------------------------------------------------------------------------- */

/* n images: in host memory, which a device moves as it needs, or in the memory of the device
 * (memory
 * == IMGSTAT_CUDA, of its device_id), used in place. Or one image without memory, whose pixels the
 * threads that use them fetch, so that they find them in their caches: only for a device whose ops
 * say `fetches`. */
typedef struct PixelSource {
    const ImagePro *images;
    size_t n;
    /* NULL, or gives rows [row, row + rows) without gaps on a 64-byte boundary. They stay until the
     * same thread's next call. Returns NULL if they cannot be read: then nothing of them is used.
     */
    const void *(*rows)(void *context, unsigned thread, uint32_t row, uint32_t rows);
    /* With a tile_width in place of rows, for measuring narrow samples only: gives the tile that
     * begins at column x of row y, smaller at the image's ends. *pitch: bytes between its rows. */
    const void *(*tile)(void *context, unsigned thread, uint32_t x, uint32_t y, size_t *pitch);
    uint32_t tile_width, tile_height; /* pixels; 0: there are no tiles */
    void *context;
} PixelSource;

/* One image in memory. */
static inline PixelSource pixels_of(const ImagePro *image)
{
    return (PixelSource){.images = image, .n = 1};
}

/* What the channels of a record or of a request are. */
typedef enum PixelChannels {
    VIEW_EACH,  /* the channels of the image */
    VIEW_JOINT, /* one: the samples of all channels but alpha */
    VIEW_LUMA   /* one: the luma (transfer/luma.h); pixels without one are masked */
} PixelChannels;

/* All zero: every channel of the image. */
typedef struct PixelView {
    PixelChannels channels;
    int16_t alpha;     /* VIEW_JOINT: the channel that is left out, or -1 */
    uint16_t first;    /* VIEW_EACH: what a request calls the image's channel 0, */
    uint16_t of_plane; /* where the image is a plane of a page of so many channels; else 0 */
} PixelView;

/* ---- Requests -------------------------------------------------------------------------------- */

/* Counting by the next 16 bits of the key among samples whose leading key bits are known: one step
 * of a radix select. bins[k] counts the valid samples of `channel` with key >> (shift + 16) ==
 * prefix and (key >> shift) & 0xFFFF == k. */
typedef struct DigitCount {
    uint16_t channel;
    uint8_t shift; /* 0, 16 or 32 */
    uint64_t prefix;
    uint64_t *bins; /* 65,536 on the host, added to */
} DigitCount;

/* Counting between edges: bins[k] counts the valid samples of `channel` with
 * edge[k] <= key < edge[k+1]; edges ascend; what lies outside is not counted. */
typedef struct RangeCount {
    uint16_t channel;
    uint32_t n_bins;
    const uint64_t *edge; /* n_bins + 1 order keys, on the host */
    double lo, per_bin;   /* (value - lo) * per_bin is bin k to within a bin: a guess to start from;
                           * per_bin is 0 where no such guess exists: search the edges */
    uint64_t *bins;       /* n_bins on the host, added to */
} RangeCount;

/* Gathering: the keys of the valid samples of `channel` with lo <= key <= hi, in any order. */
typedef struct KeyGather {
    uint16_t channel;
    uint64_t lo, hi;
    uint64_t *keys;  /* on the host */
    size_t capacity; /* the caller knows the count from bins; more is IMGSTAT_ERR_ARG */
    size_t n;        /* gathered so far; added to */
} KeyGather;

/* Everything here is found in one read, and added to what its places hold. An empty list asks for
 * nothing. */
typedef struct ReadRequest {
    DigitCount *digits;
    size_t n_digits;
    RangeCount *ranges;
    size_t n_ranges;
    KeyGather *gathers;
    size_t n_gathers;
    const uint16_t *sort; /* NULL, or the channel whose keys go to the sort that has begun */
    const double *center; /* with central: one a channel */
    Central *central;     /* NULL, or one a channel: power sums about the centers. VIEW_EACH only */
    size_t counter_bytes; /* most that the counters of all threads take; 0: 64 MiB a thread */
} ReadRequest;

/* How the pixels that a record was made from are read again. */
typedef struct FurtherReads {
    /* Reads all of them once: an image, a file's page band by band, or many images. */
    ImgstatResult (*read)(void *context, const ReadRequest *request, ImgstatError *err);
    void *context;
    unsigned threads;   /* that sort the keys that were read; 0: one */
    BufferCache *cache; /* where memory for what is found comes from */
    Device *sorter;     /* NULL, or the device that reads and may sort */
} FurtherReads;

#endif

/* SPDX-License-Identifier: MIT */
/* decode.h: files on their way to a device: what decode/async.c and decode/prepare.c share. */
#ifndef IMGSTAT_DECODE_DECODE_H
#define IMGSTAT_DECODE_DECODE_H

#include "imgstat_async.h"

#include "codec/codec.h"
#include "codec/decode_work.h"
#include "decode/tile_place.h"
#include "device/device.h"

/* One file. */
typedef struct DecodeFile {
    ImgstatEncoded from;
    ImgstatPage page;
    ImgstatError error; /* its code is not IMGSTAT_OK: the file cannot be read */
    bool unusual;       /* a warning was given */
    bool on_device;
    DeflatedRows rows;    /* on_device, if there are no tiles */
    uint8_t (*colors)[4]; /* with ROWS_COLORS */
    TiledPage tiled;      /* on_device, if there are */
    CodedTile *tiles;     /* malloc's */
    bool direct;          /* compressed pixels are uploaded from the file as they are decoded */
    FileSpan span;        /* of the tiles */
    size_t tiles_at;      /* their place in device memory, decompressed */
    size_t staged_at;     /* room for the compressed pixels among those of all files; if direct,
                             their place in device memory */
    ImagePro image;
} DecodeFile;

struct ImgstatDecode {
    Device *device;
    ImgstatOpen how;
    size_t n;
    DecodeFile *file;
    uint8_t *staged; /* compressed pixels, until they are on the device */
    size_t staged_bytes;
    void *list;                     /* host_alloc: of work */
    DecodeUpload *uploads;          /* of work */
    DecodeWork work;                /* of the files that the device decodes, in order */
    size_t parted_at, parted_bytes; /* place in `memory` of what streams in parts need */
    DevMem memory, list_there, checks;
    bool enqueued, finished;
};

/* ---- decode/prepare.c ---- */

/* Opens a file and selects its first page. */
ImgstatResult decode_open_page(DecodeFile *f, const ImgstatOpen *how, ImgstatFile **file,
                               ImgstatPage *page, ImgstatError *err);

/* Lists n files, reads their heads, and brings what the device decodes there. */
ImgstatResult decode_prepare(ImgstatDecode *decode, const ImgstatEncoded *files, size_t n,
                             ImgstatError *err);

/* ---- decode/parted.c ---- */

/* Counts the streams that are decoded in parts: a few long ones. Places what they need behind *at.
 */
void decode_plan_parts(ImgstatDecode *decode, size_t *at);

/* Returns how many images the device decodes. */
static inline size_t decode_images(const ImgstatDecode *decode)
{
    return decode->work.n_rows + decode->work.n_pages;
}

#endif

/* SPDX-License-Identifier: MIT */
/* direct_read.c: rows that only need reading, read by the threads that use them, and strips or
 * tiles, decoded by them: their bytes come into the cache of one core, and no band waits for
 * another. */
#include "measure/direct_read.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    ROW_BYTES = 1 << 20,  /* longer rows would be read again for each of their parts */
    TILE_PIXELS = 1 << 24 /* counters of 32 bits hold them many times over */
};

typedef struct Fetching {
    const Decoder *decoder;
    uint16_t plane;
    size_t row_bytes;
    BandMemory *memory; /* a thread each */
    unsigned threads;
    atomic_bool failed;
} Fetching;

static bool reserve(BufferCache *scratch, BandMemory *memory, size_t bytes)
{
    if (memory->bytes >= bytes)
        return true;
    buffer_cache_release(memory->memory);
    memory->memory = buffer_cache_acquire(scratch, bytes);
    memory->bytes = memory->memory ? bytes : 0;
    return memory->memory != NULL;
}

static const void *fetch_rows(void *context, unsigned thread, uint32_t row, uint32_t rows)
{
    Fetching *const f = context;
    if (!atomic_load(&f->failed) && thread < f->threads &&
        reserve(f->decoder->options.buffers, &f->memory[thread], rows * f->row_bytes) &&
        f->decoder->codec->read_at(f->decoder, f->plane, row, f->memory[thread].memory, rows))
        return f->memory[thread].memory;
    atomic_store(&f->failed, true); /* the other threads need not go on */
    return NULL;
}

static const void *fetch_tile(void *context, unsigned thread, uint32_t x, uint32_t y, size_t *pitch)
{
    Fetching *const f = context;
    const void *pixels = NULL;
    if (!atomic_load(&f->failed) && thread < f->threads)
        pixels = f->decoder->codec->tile_at(f->decoder, thread, f->plane, x, y, pitch);
    if (!pixels)
        atomic_store(&f->failed, true);
    return pixels;
}

bool direct_rows(const Device *device, const Decoder *decoder)
{
    const ImgstatPage *const page = &decoder->page;
    size_t row;
    return decoder->caps.random_rows && device->ops->fetches &&
           size_product(page->width, decoder_channels(decoder) * imgstat_sample_bytes(page->sample),
                        &row) &&
           row <= ROW_BYTES;
}

/* Makes the decoder ready for threads that decode its tiles. */
static bool begin_tiles(const Device *device, Decoder *decoder)
{
    return device->ops->fetches && decoder->caps.tile_width > 0 &&
           sample_is_narrow(decoder->page.sample) &&
           (uint64_t)decoder->caps.tile_width * decoder->caps.tile_height <= TILE_PIXELS &&
           decoder->codec->tiles_begin(decoder, device->threads);
}

ImgstatResult direct_read(PageReader *reader, bool tiles, UseSource use, void *context,
                          DirectRead *done, ImgstatError *err)
{
    Device *const device = reader->device;
    Decoder *const decoder = reader->decoder;
    *done = DIRECT_NONE;
    if (!reader->direct || reader->kept)
        return IMGSTAT_OK;
    const bool rows = direct_rows(device, decoder);
    if (!rows && !(tiles && begin_tiles(device, decoder)))
        return IMGSTAT_OK;
    ImagePro page = reader->page;
    page.host = NULL;
    page.height = decoder->page.height;
    Fetching fetching = {.decoder = decoder,
                         .plane = reader->plane,
                         .row_bytes = page.pitch,
                         .memory = calloc(device->threads, sizeof *fetching.memory),
                         .threads = device->threads};
    if (!fetching.memory)
        return error_memory(err, device->threads * sizeof *fetching.memory, "buffers");
    PixelSource source = {.images = &page, .n = 1, .context = &fetching};
    if (rows) {
        source.rows = fetch_rows;
    } else {
        source.tile = fetch_tile;
        source.tile_width = decoder->caps.tile_width;
        source.tile_height = decoder->caps.tile_height;
    }
    const ImgstatResult res = use(context, &source, err);
    for (unsigned i = 0; i < fetching.threads; i++)
        buffer_cache_release(fetching.memory[i].memory);
    free(fetching.memory);
    *done = atomic_load(&fetching.failed) ? DIRECT_FAILED : DIRECT_COMPLETE;
    if (*done == DIRECT_FAILED)
        reader->direct = false;
    return res;
}

/* SPDX-License-Identifier: MIT */
/* direct_read.c: rows that only need reading, read by the threads that use them, and strips or
 * tiles, decoded by them: their bytes come into the cache of one core, and no band waits for
 * another. */
#include "measure/page_reader.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    ROW_BYTES = 1 << 20,   /* longer rows would be read again for each of their parts */
    CHUNK_PIXELS = 1 << 24 /* counters of 32 bits hold them many times over */
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

static const void *fetch_chunk(void *context, unsigned thread, uint32_t x, uint32_t y,
                               size_t *pitch)
{
    Fetching *const f = context;
    const void *pixels = NULL;
    if (!atomic_load(&f->failed) && thread < f->threads)
        pixels = f->decoder->codec->tile_at(f->decoder, thread, f->plane, x, y, pitch);
    if (!pixels)
        atomic_store(&f->failed, true);
    return pixels;
}

bool bands_fetches(const Device *device, const Decoder *decoder)
{
    const ImgstatPage *const page = &decoder->page;
    size_t row;
    return decoder->caps.random_rows && device->ops == &cpu_device_ops &&
           size_product(page->width, decoder_channels(decoder) * imgstat_sample_bytes(page->sample),
                        &row) &&
           row <= ROW_BYTES;
}

bool bands_fetchable(const Bands *bands)
{
    return bands->decoder && !bands->kept && !bands->unfetchable &&
           bands_fetches(bands->device, bands->decoder);
}

bool bands_chunks_begin(const Bands *bands)
{
    const Device *const device = bands->device;
    Decoder *const decoder = bands->decoder;
    return decoder && !bands->kept && !bands->unfetchable && device->ops == &cpu_device_ops &&
           decoder->caps.tile_width > 0 && sample_is_narrow(decoder->page.sample) &&
           (uint64_t)decoder->caps.tile_width * decoder->caps.tile_height <= CHUNK_PIXELS &&
           decoder->codec->tiles_begin(decoder, device->threads);
}

/* Rows where they only need reading, else what bands_chunks_begin began with. */
static RowSource source_of(Fetching *fetching)
{
    const Decoder *const decoder = fetching->decoder;
    if (decoder->caps.random_rows)
        return (RowSource){.rows = fetch_rows, .context = fetching};
    return (RowSource){.chunk = fetch_chunk,
                       .chunk_width = decoder->caps.tile_width,
                       .chunk_height = decoder->caps.tile_height,
                       .context = fetching};
}

ImgstatResult bands_fetch(Bands *bands, UseBand use, void *context, bool *complete,
                          ImgstatError *err)
{
    Device *const device = bands->device;
    ImagePro page = bands->page;
    page.host = NULL;
    page.height = bands->decoder->page.height;
    Fetching fetching = {.decoder = bands->decoder,
                         .plane = bands->plane,
                         .row_bytes = page.pitch,
                         .memory = calloc(device->threads, sizeof *fetching.memory),
                         .threads = device->threads};
    *complete = false;
    if (!fetching.memory)
        return error_memory(err, device->threads * sizeof *fetching.memory, "buffers");
    const RowSource source = source_of(&fetching);
    device->source = &source;
    const ImgstatResult res = use(context, &page, err);
    device->source = NULL;
    for (unsigned i = 0; i < fetching.threads; i++)
        buffer_cache_release(fetching.memory[i].memory);
    free(fetching.memory);
    bands->unfetchable = atomic_load(&fetching.failed);
    *complete = !bands->unfetchable;
    return res;
}

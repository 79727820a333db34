/* SPDX-License-Identifier: MIT */
/* bands_fetch.c: rows that only need reading, read by the threads that use them: their bytes come
 * from the page cache into the cache of one core, and no band waits for another. */
#include "bands.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    ROW_BYTES = 1 << 20, /* longer rows would be read again for each of their parts */
    ALIGN = 64
};

typedef struct Fetching {
    const Decoder *decoder;
    size_t row_bytes;
    BandMemory *memory; /* a thread each */
    unsigned threads;
    atomic_bool failed;
} Fetching;

static bool reserve(BandMemory *memory, size_t bytes)
{
    if (memory->bytes >= bytes)
        return true;
    free(memory->memory);
    memory->memory = aligned_alloc(ALIGN, (bytes / ALIGN + 1) * ALIGN);
    memory->bytes = memory->memory ? bytes : 0;
    return memory->memory != NULL;
}

static const void *fetch_rows(void *context, unsigned thread, uint32_t row, uint32_t rows)
{
    Fetching *const f = context;
    const Decoder *const decoder = f->decoder;
    if (!atomic_load(&f->failed) && thread < f->threads &&
        reserve(&f->memory[thread], rows * f->row_bytes) &&
        decoder->codec->read_at(decoder, row, f->memory[thread].memory, rows))
        return f->memory[thread].memory;
    atomic_store(&f->failed, true); /* the other threads need not go on */
    return NULL;
}

bool bands_fetchable(const Bands *bands)
{
    return bands->decoder && !bands->kept && !bands->unfetchable && bands->decoder->anywhere &&
           bands->page.pitch <= ROW_BYTES && bands->device->ops == &cpu_device_ops;
}

ImgstatResult bands_fetch(Bands *bands, UseBand use, void *context, bool *complete,
                          ImgstatError *err)
{
    Device *const device = bands->device;
    ImagePro page = bands->page;
    page.host = NULL;
    page.height = bands->decoder->page.height;
    Fetching fetching = {.decoder = bands->decoder,
                         .row_bytes = page.pitch,
                         .memory = calloc(device->threads, sizeof *fetching.memory),
                         .threads = device->threads};
    *complete = false;
    if (!fetching.memory)
        return error_memory(err, device->threads * sizeof *fetching.memory, "buffers");
    const RowSource source = {.rows = fetch_rows, .context = &fetching};
    device->source = &source;
    const ImgstatResult res = use(context, &page, err);
    device->source = NULL;
    for (unsigned i = 0; i < fetching.threads; i++)
        free(fetching.memory[i].memory);
    free(fetching.memory);
    bands->unfetchable = atomic_load(&fetching.failed);
    *complete = !bands->unfetchable;
    return res;
}

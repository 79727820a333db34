/* SPDX-License-Identifier: MIT */
/* page.c: one page: measured, given its transfer, mapped, handed to the encoder. */
#include "transform/page.h"

#include "base/padded.h"
#include "base/pixel.h"
#include "base/sample.h"
#include "codec/salvage.h"
#include "transfer/clamped.h"
#include "transfer/json.h"
#include "transform/clahe_page.h"
#include "transform/palette.h"
#include "transform/undefined.h"

#include <stdlib.h>
#include <string.h>

/* Of an output band. */
enum { OUT_BYTES = 4 << 20 };

/* ---- Mapping --------------------------------------------------------------------------------- */

/* What is done to the pixels of a page: one of the two. */
typedef struct Mapper {
    const Transfer *transfer;
    const ClahePage *clahe;
    int16_t alpha;
} Mapper;

static ImgstatResult map_band(const Mapper *mapper, const TransformWorker *worker,
                              const ImagePro *from, ImagePro *to, ImgstatError *err)
{
    Device *const device = worker->device;
    if (mapper->clahe)
        return device->ops->clahe_apply(device, mapper->clahe, from, to, err);
    return device->ops->apply(device, mapper->transfer, from, mapper->alpha, to, err);
}

bool page_is_mask(const ImgstatPage *page)
{
    return page->role == IMGSTAT_ROLE_MASK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct Writing {
    TransformWorker *worker;
    const Mapper *mapper;          /* NULL: rows as they are */
    const Palette *palette;        /* whose indices they then are */
    const ImgstatClamped *clamped; /* of a pixel of each colour; NULL: nothing is counted */
    Encoder *encoder;
    const Undefined *undefined; /* where rows are mapped */
    const Decoder *salvaged;    /* NULL, or knows which samples are lost */
    LevelMaker *levels;         /* NULL: none are made */
    ImgstatSample sample;       /* of the output */
    uint8_t bits;
} Writing;

/* Adds what the transfer limits of a piece. As in statistics, pixels with a lost sample do not
 * count. */
static ImgstatResult count_piece(const Writing *w, const ImagePro *piece, ImgstatError *err)
{
    ImagePro counted = *piece;
    uint8_t *mask = NULL;
    if (w->salvaged && salvage_lost(w->salvaged, piece)) {
        const size_t bytes = (size_t)piece->width * piece->height;
        mask = malloc(bytes);
        if (!mask)
            return error_memory(err, bytes, "a mask");
        counted = salvage_masked(w->salvaged, piece, mask);
    }
    transfer_count_clamped(w->mapper->transfer, &counted, w->mapper->alpha, w->worker->clamped);
    free(mask);
    return IMGSTAT_OK;
}

/* Maps and writes a piece of a band: one that is kept may be far larger than an output band. */
static ImgstatResult write_piece(Writing *w, const ImagePro *piece, ImgstatError *err)
{
    if (!w->mapper)
        return encoder_write_rows(w->encoder, piece->host, piece->pitch, piece->height, err);
    const size_t row = piece->width * (size_t)piece->channels * imgstat_sample_bytes(w->sample);
    Device *const device = w->worker->device;
    ImagePro to;
    IMGSTAT_TRY(band_memory_reserve(device, &w->worker->out, row * piece->height, err));
    IMGSTAT_TRY(imgstat_image_wrap(IMGSTAT_HOST, 0, w->worker->out.memory, 0, piece->width,
                                   piece->height, piece->channels, w->sample, w->bits, NULL, NULL,
                                   &to, err));
    to.first_row = piece->first_row;
    IMGSTAT_TRY(map_band(w->mapper, w->worker, piece, &to, err));
    undefined_fill(w->undefined, w->worker->pool, piece, &to);
    if (w->salvaged && salvage_lost(w->salvaged, &to))
        salvage_overwrite(w->salvaged, &to, sample_raw(to.sample, w->undefined->holes.mask_hole));
    if (w->worker->clamped)
        IMGSTAT_TRY(count_piece(w, piece, err));
    to.mask = piece->mask;
    to.mask_pitch = piece->mask_pitch;
    if (w->levels)
        IMGSTAT_TRY(level_maker_rows(w->levels, &to, err));
    return encoder_write_rows(w->encoder, to.host, to.pitch, to.height, err);
}

/* Maps rows that lie in the device's memory, and has them compressed there. */
static ImgstatResult write_there(const Writing *w, const ImagePro *rows, ImgstatError *err)
{
    enum { ROW_ALIGN = 16 };
    TransformWorker *const worker = w->worker;
    Device *const device = worker->device;
    size_t row, bytes;
    ImagePro to;
    if (!size_product(rows->width, rows->channels * imgstat_sample_bytes(w->sample), &row) ||
        !size_product(row + ROW_ALIGN, rows->height, &bytes))
        return error_set(err, IMGSTAT_ERR_LIMIT, "rows are too large");
    if (worker->mapped_there.bytes < bytes) {
        device->ops->release(device, &worker->mapped_there);
        IMGSTAT_TRY(device->ops->alloc(device, bytes, &worker->mapped_there, err));
    }
    IMGSTAT_TRY(imgstat_image_wrap(IMGSTAT_CUDA, device->index,
                                   (void *)(uintptr_t)worker->mapped_there.address,
                                   padded(row, ROW_ALIGN), rows->width, rows->height,
                                   rows->channels, w->sample, w->bits, NULL, NULL, &to, err));
    to.first_row = rows->first_row;
    IMGSTAT_TRY(map_band(w->mapper, worker, rows, &to, err));
    return encode_page(device, &worker->rows, w->encoder, &to, err);
}

/* Adds what the transfer limits of pixels that are indices of colours. */
static void count_indices(const Writing *w, const ImagePro *band)
{
    const size_t bytes = imgstat_sample_bytes(band->sample);
    ImgstatClamped *const sum = w->worker->clamped;
    for (size_t y = 0; y < band->height; y++)
        for (size_t x = 0; x < band->width; x++) {
            const ImgstatClamped *const one =
                &w->clamped[load_raw(image_row(band, y) + x * bytes, bytes)];
            sum->n += one->n;
            sum->low += one->low;
            sum->high += one->high;
        }
}

/* Returns what the transfer limits of a pixel of each colour; NULL on allocation failure. */
static ImgstatClamped *clamped_colours(const Mapper *mapper, const Palette *palette)
{
    const ImagePro *const colours = &palette->colours;
    const size_t pixel = colours->channels * imgstat_sample_bytes(colours->sample);
    ImgstatClamped *const counts = calloc(colours->width, sizeof *counts);
    ImagePro one = *colours;
    one.width = 1;
    for (size_t i = 0; counts && i < colours->width; i++) {
        one.host = (unsigned char *)colours->host + i * pixel;
        transfer_count_clamped(mapper->transfer, &one, mapper->alpha, &counts[i]);
    }
    return counts;
}

static ImgstatResult write_band(void *context, const ImagePro *band, ImgstatError *err)
{
    Writing *const w = context;
    const size_t row = band->width * (size_t)band->channels * imgstat_sample_bytes(w->sample);
    if (w->palette)
        IMGSTAT_TRY(palette_check(w->palette, band, err));
    if (w->clamped)
        count_indices(w, band);
    const uint32_t unit = w->encoder->band_rows;
    size_t rows = row && row < OUT_BYTES ? OUT_BYTES / row : 1;
    rows = rows > unit ? rows - rows % unit : rows;
    const bool is_there = band->memory == IMGSTAT_CUDA && w->mapper && !w->levels;
    for (uint32_t y = 0; y < band->height;) {
        const uint32_t left = band->height - y;
        const uint32_t there = is_there ? encode_page_rows(w->encoder, left) : 0;
        const uint32_t n = there > 0 ? there : left < rows ? left : (uint32_t)rows;
        const ImagePro piece = image_band(band, y, n);
        IMGSTAT_TRY(cancel_check(&w->worker->device->cancel, err));
        IMGSTAT_TRY(there > 0 ? write_there(w, &piece, err) : write_piece(w, &piece, err));
        y += n;
    }
    return IMGSTAT_OK;
}

static ImgstatResult begin_page(const PageOutput *output, Decoder *like, EncodePage page,
                                ImgstatError *err)
{
    const EncodePage *const place = &output->place;
    page.role = place->role;
    page.has_parent = place->has_parent;
    page.parent = place->parent;
    page.plane = place->plane;
    page.planes = place->planes;
    if (page.bits == 0)
        page.bits = (uint8_t)(8 * imgstat_sample_bytes(page.sample));
    return encoder_begin_page(output->encoder, like, &page, err);
}

/* Indices as they are, colours changed. *done stays false where that is not possible. */
static ImgstatResult write_palette(const Mapper *mapper, TransformWorker *worker, Decoder *decoder,
                                   const PageOutput *output, bool *done, ImgstatError *err)
{
    Palette *palette = NULL;
    uint16_t *colours = NULL;
    PageReader reader;
    ImgstatResult res = palette_open(decoder, &palette, err);
    if (res != IMGSTAT_OK || !palette)
        return res;
    *done = true;
    const ImgstatPage *const page = &palette->indices->page;
    res = palette_transfer(worker->device, palette, mapper->transfer, mapper->alpha, &colours, err);
    if (res == IMGSTAT_OK)
        res = begin_page(output, palette->indices,
                         (EncodePage){.width = page->width,
                                      .height = page->height,
                                      .channels = 1,
                                      .sample = page->sample,
                                      .bits = page->bits,
                                      .alpha = -1,
                                      .colormap = colours,
                                      .mapped = true},
                         err);
    if (res == IMGSTAT_OK)
        res = page_reader_open(worker->device, palette->indices, false, &worker->indices, &reader,
                               err);
    ImgstatClamped *const clamped =
        res == IMGSTAT_OK && worker->clamped ? clamped_colours(mapper, palette) : NULL;
    if (res == IMGSTAT_OK && worker->clamped && !clamped)
        res = error_memory(err, palette->colours.width * sizeof *clamped, "a palette");
    Writing writing = {.worker = worker,
                       .palette = palette,
                       .clamped = clamped,
                       .encoder = output->encoder,
                       .sample = page->sample};
    if (res == IMGSTAT_OK)
        res = page_reader_each(&reader, write_band, &writing, err);
    free(clamped);
    free(colours);
    palette_close(palette);
    return res;
}

/* A transparency mask is alpha, kept in a page of its own: as it is, in the type that it has. */
static ImgstatResult copy_page(TransformWorker *worker, Decoder *decoder, const PageOutput *output,
                               ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    PageReader reader;
    IMGSTAT_TRY(begin_page(output, decoder,
                           (EncodePage){.width = page->width,
                                        .height = page->height,
                                        .channels = page->channels,
                                        .sample = page->sample,
                                        .bits = page->bits,
                                        .alpha = page->alpha},
                           err));
    IMGSTAT_TRY(page_reader_open(worker->device, decoder, false, &worker->in, &reader, err));
    Writing writing = {
        .worker = worker, .encoder = output->encoder, .sample = page->sample, .bits = page->bits};
    return page_reader_each(&reader, write_band, &writing, err);
}

static ImgstatResult write_page(const Pipeline *pipeline, const Mapper *mapper,
                                const TransferShape *shape, TransformWorker *worker,
                                PageReader *reader, const PageOutput *output, ImgstatError *err)
{
    Decoder *const decoder = reader->decoder;
    const ImgstatPage *const page = &decoder->page;
    const Transfer *const transfer = mapper->transfer ? mapper->transfer : mapper->clahe->rescale;
    uint8_t bits;
    const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
    const Undefined undefined =
        undefined_of(pipeline->write, decoder, shape, transfer, reader->page.mask != NULL);
    bool done = false;
    /* Masked pixels stay, while others of the same colour are mapped: colours cannot tell them. */
    if (mapper->transfer && !undefined.any && !reader->page.mask && !decoder->how.salvage &&
        palette_used(decoder) && sample == page->sample &&
        strcmp(output->encoder->format->name, page->format) == 0)
        IMGSTAT_TRY(write_palette(mapper, worker, decoder, output, &done, err));
    if (done)
        return IMGSTAT_OK;
    const EncodePage image = {.width = page->width,
                              .height = page->height,
                              .channels = page->channels,
                              .sample = sample,
                              .bits = bits,
                              .alpha = page->alpha,
                              .has_nodata = undefined.named,
                              .nodata = undefined.nodata,
                              .mapped = true,
                              .converts =
                                  pipeline->method && pipeline->method->depth != IMGSTAT_DEPTH_KEEP,
                              .low = transfer->range.lo,
                              .high = transfer->range.hi};
    IMGSTAT_TRY(begin_page(output, decoder, image, err));
    if (output->levels)
        IMGSTAT_TRY(level_maker_begin(output->levels, &image,
                                      undefined.has_nodata ? &undefined.nodata : NULL, err));
    undefined_warn(&undefined, decoder, shape, output->encoder);
    Writing writing = {.worker = worker,
                       .mapper = mapper,
                       .encoder = output->encoder,
                       .undefined = &undefined,
                       .salvaged = decoder->how.salvage ? decoder : NULL,
                       .levels = output->levels,
                       .sample = sample,
                       .bits = bits};
    return page_reader_each(reader, write_band, &writing, err);
}

/* ---- One page -------------------------------------------------------------------------------- */

static ImgstatResult make_transfer(const Pipeline *pipeline, PageReader *reader,
                                   const TransferShape *shape, const MatchReference *reference,
                                   Transfer **out, ImgstatError *err)
{
    TransferInput *input = NULL;
    *out = NULL;
    ImgstatResult res = transfer_input_image(pipeline->method, reader, shape,
                                             sort_bytes(pipeline->memory), &input, err);
    if (res == IMGSTAT_OK)
        res = transfer_create(reader->device->cache, pipeline->method, shape, input->sources,
                              reference, out, err);
    transfer_input_destroy(input);
    return res;
}

static bool same_nodata(const TransferShape *a, const TransferShape *b)
{
    return a->has_nodata == b->has_nodata && a->nodata_key == b->nodata_key &&
           a->has_hole == b->has_hole && a->hole_key == b->hole_key;
}

/* Finds the given transfer for a nodata value. The last one is kept, since pages of a folder mostly
 * have one nodata value. */
static ImgstatResult with_nodata(TransformWorker *worker, const Transfer *given,
                                 const TransferShape *shape, const Transfer **out,
                                 ImgstatError *err)
{
    const Transfer *const last = worker->with_nodata;
    if (!last || worker->given != given->id || !same_nodata(&worker->shape, shape)) {
        worker_forget_nodata(worker);
        IMGSTAT_TRY(
            transfer_with_nodata(worker->device->cache, given, shape, &worker->with_nodata, err));
        worker->given = transfer_id_retain(given->id);
        worker->shape = *shape;
    }
    *out = worker->with_nodata;
    return IMGSTAT_OK;
}

/* Adds a page to those that were mapped. transfer: NULL for adaptive equalization. */
static ImgstatResult describe_page(const Pipeline *pipeline, TransformWorker *worker,
                                   const Decoder *decoder, const PageOutput *output,
                                   const Transfer *transfer, ImgstatError *err)
{
    MappedPages *const mapped = worker->mapped;
    const ImgstatPage *const page = &decoder->page;
    char name[PAGE_NAME_BYTES];
    page_list_name(&decoder->list, page->page, name, sizeof name);
    const ImgstatMapped item = {.page = page->page,
                                .pages = page->pages,
                                .name = strdup(name),
                                .transfer = transfer
                                                ? transfer_describe(transfer, err)
                                                : transfer_describe_clahe(pipeline->method, err),
                                .group = output->group,
                                .groups = output->groups};
    IMGSTAT_TRY(mapped_pages_add(mapped, &item, err));
    if (transfer && transfer_clamps(transfer)) {
        mapped->items[mapped->n - 1].has_clamped = true;
        worker->clamped = &mapped->items[mapped->n - 1].clamped;
    }
    return IMGSTAT_OK;
}

ImgstatResult page_write_level(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                               const PageOutput *output, ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    const EncodePage level = level_maker_page(output->levels, page->page);
    if (worker->mapped)
        IMGSTAT_TRY(describe_page(pipeline, worker, decoder, output, NULL, err));
    IMGSTAT_TRY(begin_page(output, decoder, level, err));
    return level_maker_write(output->levels, page->page, output->encoder, err);
}

/* Whether all that is to be done to the pixels of a page can be done by the device. */
static bool is_plain(const TransformWorker *worker, const TransferShape *shape)
{
    return !worker->mapped && !shape->has_hole;
}

bool page_open_there(const TransformWorker *worker, Decoder *decoder, const TransferShape *shape,
                     PageReader *out)
{
    const ImagePro *const there =
        is_plain(worker, shape) && worker->fed ? fed_page_image(worker->fed, &decoder->page) : NULL;
    if (!there)
        return false;
    page_reader_of_image(worker->device, there, out);
    out->decoder = decoder;
    return true;
}

/* Opens the page for reading. A large one may be decoded on the device band by band, as often as it
 * is read. */
static ImgstatResult open_page(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                               const TransferShape *shape, PageReader *out, ImgstatError *err)
{
    if (page_open_there(worker, decoder, shape, out))
        return IMGSTAT_OK;
    const bool tiles = is_plain(worker, shape) && !worker->device->ops->fetches &&
                       page_reader_tiles_there(decoder);
    const bool keep = !tiles && page_memory(pipeline, decoder).keep;
    IMGSTAT_TRY(page_reader_open(worker->device, decoder, keep, &worker->in, out, err));
    out->tiles_there = tiles;
    return IMGSTAT_OK;
}

ImgstatResult page_transform(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                             const PageOutput *output, Transfer **made, ImgstatError *err)
{
    if (page_is_mask(&decoder->page))
        return copy_page(worker, decoder, output, err);
    const char *const name = decoder->source->name;
    TransferShape shape = shape_of_page(decoder);
    IMGSTAT_TRY(undefined_choose(pipeline, decoder, &shape, err));
    const MatchReference *reference = NULL;
    if (!pipeline->transfer)
        IMGSTAT_TRY(reference_get(pipeline->reference, worker, pipeline->method, &shape, name,
                                  &reference, err));
    PageReader reader;
    IMGSTAT_TRY(open_page(pipeline, worker, decoder, &shape, &reader, err));
    Mapper mapper = {.transfer = pipeline->transfer, .alpha = shape.alpha};
    Transfer *own = NULL;
    ClahePage *clahe = NULL;
    ImgstatResult res = IMGSTAT_OK;
    if (pipeline->transfer) {
        res = transfer_check_image(pipeline->transfer, &reader.page, shape.alpha, err);
        if (res == IMGSTAT_OK && transfer_lacks_nodata(pipeline->transfer, &shape))
            res = with_nodata(worker, pipeline->transfer, &shape, &mapper.transfer, err);
    } else if (pipeline->method->transform == IMGSTAT_CLAHE) {
        res = clahe_page_create(pipeline->method, &shape, &reader, &clahe, err);
        mapper.clahe = clahe;
    } else {
        res = make_transfer(pipeline, &reader, &shape, reference, &own, err);
        mapper.transfer = own;
    }
    if (res == IMGSTAT_OK && worker->mapped)
        res = describe_page(pipeline, worker, decoder, output, mapper.transfer, err);
    res = error_add_file(err, res, name);
    if (res == IMGSTAT_OK)
        res = write_page(pipeline, &mapper, &shape, worker, &reader, output, err);
    worker->clamped = NULL;
    clahe_page_destroy(worker->device, clahe);
    if (res == IMGSTAT_OK && made)
        *made = own;
    else
        transfer_destroy(own);
    return res;
}

/* SPDX-License-Identifier: MIT */
/* transfer.c: creates, copies and destroys transfers. */
#include "transfer/transfer.h"

#include "transfer/maps.h"

#include <stdatomic.h>
#include <stdlib.h>

static bool range_is_any(const MapRange *range)
{
    return sample_is_float(range->sample) &&
           range->lo_key == sample_key_infinity(range->sample, true) + 1 &&
           range->hi_key == sample_key_infinity(range->sample, false) - 1;
}

void passthrough_maps(ImgstatSample from, uint8_t from_bits, const MapRange *to, uint8_t to_bits,
                      bool has_nodata, uint64_t nodata_key, Map *rescale, Map *passthrough)
{
    *passthrough =
        (Map){.from = from, .to = *to, .has_nodata = has_nodata, .nodata_key = nodata_key};
    sample_full_scale(from, from_bits, &passthrough->full_lo, &passthrough->full_hi);
    map_unchanged_image(passthrough);
    *rescale = *passthrough;
    rescale->has_nodata = rescale->to.has_nodata = 0;
    sample_full_scale(to->sample, to_bits, &rescale->to.lo_key, &rescale->to.hi_key);
    rescale->to.lo = map_value(to->sample, rescale->to.lo_key);
    rescale->to.hi = map_value(to->sample, rescale->to.hi_key);
    if (range_is_any(to)) { /* the range of a reference; samples that pass have the full scale */
        passthrough->to = rescale->to;
        passthrough->to.has_nodata = to->has_nodata;
    }
    if (from != to->sample && sample_is_float(from) && sample_is_float(to->sample)) {
        rescale->kind = MAP_LINEAR;
        rescale->divisor = rescale->factor = 1.0;
        range_any(&rescale->to);
    }
    /* one type may have two scales: 4 and 8 bits in u8 */
    passthrough->same_scale = rescale->same_scale = from == to->sample &&
                                                    passthrough->full_lo == rescale->to.lo_key &&
                                                    passthrough->full_hi == rescale->to.hi_key;
}

struct TransferId {
    atomic_uint references;
};

static TransferId *id_create(void)
{
    TransferId *const id = malloc(sizeof *id);
    if (id)
        atomic_init(&id->references, 1);
    return id;
}

TransferId *transfer_id_retain(TransferId *id)
{
    atomic_fetch_add(&id->references, 1);
    return id;
}

void transfer_id_release(TransferId *id)
{
    if (id && atomic_fetch_sub(&id->references, 1) == 1)
        free(id);
}

ImgstatResult transfer_begin(BufferCache *buffers, ImgstatSample from, uint8_t from_bits,
                             const MapRange *to, uint8_t to_bits, uint16_t n_maps, bool has_nodata,
                             uint64_t nodata_key, bool luma, Transfer **out, ImgstatError *err)
{
    *out = NULL;
    const size_t entries = sample_is_narrow(from) ? sample_record_bins(from) : 0;
    const size_t bytes = n_maps * sizeof(Map) + (n_maps + 1u) * entries * sizeof(uint32_t);
    Transfer *const transfer = calloc(1, sizeof *transfer);
    TransferId *const id = id_create();
    Map *const maps = calloc(n_maps, sizeof *maps);
    KnotTable **const knot_tables = calloc(n_maps, sizeof *knot_tables);
    uint32_t *const tables =
        buffer_cache_acquire(buffers, (n_maps + 1u) * entries * sizeof *tables);
    if (!transfer || !id || !maps || !knot_tables || !tables) {
        free(transfer);
        transfer_id_release(id);
        free(maps);
        free(knot_tables);
        buffer_cache_release(tables);
        return error_memory(err, bytes, "a transfer");
    }
    *transfer = (Transfer){.id = id,
                           .from = from,
                           .from_bits = from_bits,
                           .to_bits = to_bits,
                           .luma = luma,
                           .n_maps = n_maps,
                           .range = *to,
                           .maps = maps,
                           .knot_tables = knot_tables,
                           .tables = tables,
                           .rescale_table = tables + n_maps * entries};
    passthrough_maps(from, from_bits, to, to_bits, has_nodata, nodata_key, &transfer->rescale,
                     &transfer->passthrough);
    if (entries)
        rescale_make_table(&transfer->rescale, transfer->rescale_table);
    Map blank = {.from = from,
                 .to = *to,
                 .same_scale = transfer->passthrough.same_scale,
                 .has_nodata = has_nodata,
                 .nodata_key = nodata_key,
                 .full_lo = transfer->passthrough.full_lo,
                 .full_hi = transfer->passthrough.full_hi};
    if (luma) { /* the luma of valid samples may be any value, even the nodata value */
        blank.has_nodata = 0;
        blank.to.has_nodata = 0;
    }
    for (uint16_t m = 0; m < n_maps; m++)
        maps[m] = blank;
    *out = transfer;
    return IMGSTAT_OK;
}

void transfer_unchanged(const Transfer *transfer, Map *map)
{
    if (!map->passthrough)
        return;
    const uint32_t has_nodata = map->to.has_nodata;
    map->to = transfer->passthrough.to;
    map->to.has_nodata = has_nodata;
}

void transfer_prepare(BufferCache *buffers, Transfer *transfer)
{
    for (uint16_t m = 0; m < transfer->n_maps; m++)
        transfer->knot_tables[m] = knot_table_create(buffers, &transfer->maps[m]);
}

void transfer_destroy(Transfer *transfer)
{
    for (Transfer *next; transfer; transfer = next) {
        next = transfer->next;
        for (uint16_t m = 0; m < transfer->n_maps; m++)
            knot_table_destroy(transfer->knot_tables[m]);
        free(transfer->knot_tables);
        free(transfer->maps);
        buffer_cache_release(transfer->tables);
        buffer_cache_release(transfer->knots);
        transfer_id_release(transfer->id);
        free((void *)(uintptr_t)transfer->channel.name);
        free((void *)(uintptr_t)transfer->channel.group);
        free(transfer->kind);
        free(transfer);
    }
}

void imgstat_transfer_destroy(ImgstatTransfer *transfer)
{
    transfer_destroy(transfer);
}

/* The output of the nodata value that a map was made with, in the table of a map that has another.
 * No such sample was counted, so without parameters it is mapped as the nearest level below. */
static uint64_t former_nodata(const Transfer *given, const Map *map, const uint32_t *table)
{
    const bool formula =
        given->has_parameters &&
        (map->kind == MAP_AFFINE || map->kind == MAP_LINEAR || map->kind == MAP_POWER);
    uint64_t key = given->passthrough.nodata_key;
    if (map->passthrough || formula)
        return map_sample(map, key);
    const bool lowest = key == 0 || map_undefined(map->from, key - 1);
    key = lowest ? key + 1 : key - 1;
    return range_avoid(&map->to, sample_key(map->to.sample, table[key]));
}

/* Copies a table for another nodata value: samples that pass keep their values, others avoid it. */
static void table_with_nodata(const Transfer *given, const Map *map, const uint32_t *from,
                              uint32_t *to)
{
    const uint32_t entries = sample_record_bins(map->from);
    const uint64_t former = given->passthrough.nodata_key;
    for (uint32_t key = 0; key < entries; key++) {
        const uint64_t made = sample_key(map->to.sample, from[key]);
        to[key] = (uint32_t)sample_raw(map->to.sample, map_is_passthrough(map, map->from, key)
                                                           ? map_unchanged(map, key)
                                                           : range_avoid(&map->to, made));
    }
    if (map->has_nodata && map->nodata_key != former && given->passthrough.has_nodata &&
        !map_undefined(map->from, former))
        to[former] = (uint32_t)sample_raw(map->to.sample, former_nodata(given, map, from));
}

ImgstatResult transfer_with_nodata(BufferCache *buffers, const Transfer *given,
                                   const TransferShape *shape, Transfer **out, ImgstatError *err)
{
    *out = NULL;
    MapRange range = given->range;
    const Map *const before = &given->passthrough;
    const bool has_nodata = shape->has_nodata || before->has_nodata;
    const uint64_t nodata_key = shape->has_nodata ? shape->nodata_key : before->nodata_key;
    if (shape->has_hole)
        range_set_hole(&range, shape->hole_key);
    else
        range_set_nodata(&range, given->from, has_nodata, nodata_key);
    Transfer *transfer;
    IMGSTAT_TRY(transfer_begin(buffers, given->from, given->from_bits, &range, given->to_bits,
                               given->n_maps, has_nodata, nodata_key, given->luma, &transfer, err));
    transfer->transform = given->transform;
    transfer->like = given->like;
    transfer->has_parameters = given->has_parameters;
    transfer->has_hole = shape->has_hole;
    transfer->hole_key = shape->hole_key;
    const size_t entries = sample_is_narrow(given->from) ? sample_record_bins(given->from) : 0;
    for (uint16_t m = 0; m < given->n_maps; m++) {
        const Map blank = transfer->maps[m];
        Map *const map = &transfer->maps[m];
        *map = given->maps[m];
        map->to = blank.to;
        transfer_unchanged(transfer, map);
        map->has_nodata = blank.has_nodata;
        map->nodata_key = blank.nodata_key;
        if (entries)
            table_with_nodata(given, map, given->tables + m * entries,
                              transfer->tables + m * entries);
    }
    transfer_prepare(buffers, transfer);
    *out = transfer;
    return IMGSTAT_OK;
}

/* Checks that narrow images have a reference with counts, and wide ones one with counts or
 * ranks. */
static ImgstatResult check_reference(const TransferShape *shape, const MatchReference *reference,
                                     uint16_t n_maps, ImgstatError *err)
{
    if (!reference)
        return error_set(err, IMGSTAT_ERR_ARG, "matching needs a reference");
    if (reference->n_sources != 1 && reference->n_sources != n_maps)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the reference has %u channels where the image has %u; one or as many are "
                         "expected",
                         reference->n_sources, n_maps);
    if (sample_is_narrow(shape->sample) && !sample_is_narrow(reference->sample))
        return error_set(
            err, IMGSTAT_ERR_UNSUPPORTED,
            "the reference has samples of type %s; for an image of type %s at most 16 bits "
            "are supported",
            imgstat_sample_name(reference->sample), imgstat_sample_name(shape->sample));
    return IMGSTAT_OK;
}

/* Sets the reference of a map. full: the full scale of the output. */
static MapReference set_reference(Map *map, const MatchReference *reference,
                                  const MapSource *source, const MapRange *full)
{
    map->reference = reference->sample;
    sample_full_scale(reference->sample, reference->bits, &map->reference_lo, &map->reference_hi);
    map->reference_n = source->n;
    map->reference_cdf = source->cdf;
    const bool as_is = map->reference == full->sample && map->reference_lo == full->lo_key &&
                       map->reference_hi == full->hi_key;
    return (MapReference){.source = source, .as_is = as_is};
}

/* Floats that are matched to floats become values of the reference, wherever these lie. */
static void range_of_reference(MapRange *range, ImgstatSample reference, const TransferShape *shape)
{
    if (!sample_is_float(range->sample) || !sample_is_float(reference))
        return;
    range_any(range);
    range_set_nodata(range, shape->sample, shape->has_nodata && !shape->has_hole,
                     shape->nodata_key);
    if (shape->has_hole)
        range_set_hole(range, shape->hole_key);
}

ImgstatResult transfer_create(BufferCache *buffers, const ImgstatMethod *method,
                              const TransferShape *shape, const MapSource *sources,
                              const MatchReference *reference, Transfer **out, ImgstatError *err)
{
    *out = NULL;
    const bool match = method->transform == IMGSTAT_MATCH, narrow = sample_is_narrow(shape->sample);
    const uint16_t n_maps = transfer_maps(method, shape);
    IMGSTAT_TRY(transfer_check(method, shape, err));
    if (match)
        IMGSTAT_TRY(check_reference(shape, reference, n_maps, err));
    uint8_t bits;
    (void)transfer_output(method, shape, &bits);
    MapRange range = transfer_range(method, shape);
    if (match && !method->has_range)
        range_of_reference(&range, reference->sample, shape);
    Transfer *transfer;
    IMGSTAT_TRY(transfer_begin(buffers, shape->sample, shape->bits, &range, bits, n_maps,
                               shape->has_nodata, shape->nodata_key,
                               transfer_channels(method, shape) == IMGSTAT_LUMA, &transfer, err));
    transfer->transform = method->transform;
    transfer->like = method->like;
    transfer->has_parameters = method->like == IMGSTAT_LIKE_IMGSTAT;
    transfer->has_hole = shape->has_hole;
    transfer->hole_key = shape->hole_key;
    size_t n_knots = 0;
    if (!narrow && (match || method->transform == IMGSTAT_EQUALIZE))
        for (uint16_t m = 0; m < n_maps; m++)
            n_knots += sources[m].ranks ? sources[m].ranks->n_knots : 0;
    if (n_knots &&
        !(transfer->knots = buffer_cache_acquire(buffers, n_knots * sizeof *transfer->knots))) {
        transfer_destroy(transfer);
        return error_memory(err, n_knots * sizeof(MapKnot), "a transfer");
    }
    MapKnot *knots = transfer->knots;
    for (uint16_t m = 0; m < n_maps; m++) {
        Map *const map = &transfer->maps[m];
        MapReference from = {0};
        if (match)
            from = set_reference(map, reference,
                                 &reference->sources[reference->n_sources == 1 ? 0 : m],
                                 &transfer->rescale.to);
        if (narrow) {
            map_set_parameters(map, method, shape, &sources[m]);
            transfer_unchanged(transfer, map);
            const ImgstatResult made =
                map_make_table(map, method, &sources[m], &from, transfer->rescale_table,
                               transfer->tables + (size_t)m * sample_record_bins(map->from), err);
            if (made != IMGSTAT_OK) {
                transfer_destroy(transfer);
                return made;
            }
        } else if (match || method->transform == IMGSTAT_EQUALIZE) {
            map_make_knots(map, method, &sources[m], &from, knots);
            transfer_unchanged(transfer, map);
            map->reference_cdf = NULL;
            if (n_knots) /* else there is no memory for any */
                knots += sources[m].ranks ? sources[m].ranks->n_knots : 0;
        } else
            map_set_parameters(map, method, shape, &sources[m]);
    }
    transfer_prepare(buffers, transfer);
    *out = transfer;
    return IMGSTAT_OK;
}

/* ---- Narrow types, straight from the bins of a record ---- */

MapSource map_source_counts(const Record *record, uint16_t channel, uint64_t *cdf)
{
    const size_t n_bins = sample_record_bins(record->sample);
    const uint64_t *const bins = record->bins + channel * n_bins;
    const Tally *const tally = &record->tally[channel];
    const size_t first = tally->n > 0 ? tally->min_key : n_bins; /* not empty */
    const size_t end = tally->n > 0 ? tally->max_key + 1 : n_bins;
    uint64_t sum = 0;
    memset(cdf, 0, first * sizeof *cdf);
    for (size_t k = first; k < end; k++) {
        sum += bins[k];
        cdf[k] = sum;
    }
    for (size_t k = end; k < n_bins; k++)
        cdf[k] = sum;
    return (MapSource){.n = sum, .min_key = tally->min_key, .max_key = tally->max_key, .cdf = cdf};
}

ImgstatResult transfer_create_counts(const ImgstatMethod *method, const TransferShape *shape,
                                     const Record *record, const double *mean, const double *stddev,
                                     Transfer **out, ImgstatError *err)
{
    *out = NULL;
    const ImgstatChannels mode = transfer_channels(method, shape);
    const uint16_t n_maps = transfer_maps(method, shape);
    const size_t bins = sample_record_bins(shape->sample);
    Record *joint = NULL;
    if (mode == IMGSTAT_JOINT)
        IMGSTAT_TRY(record_joint(NULL, record, shape->alpha, &joint, err));
    const Record *const from = joint ? joint : record;
    MapSource *const sources = calloc(n_maps, sizeof *sources);
    uint64_t *const cdf = malloc(n_maps * bins * sizeof *cdf);
    ImgstatResult result =
        sources && cdf ? IMGSTAT_OK : error_memory(err, n_maps * bins * sizeof *cdf, "a transfer");
    for (uint16_t m = 0, c = 0; result == IMGSTAT_OK && m < n_maps; m++, c++) {
        if (mode == IMGSTAT_EACH && c == shape->alpha && c + 1 < from->channels)
            c++;
        sources[m] = map_source_counts(from, c, cdf + m * bins);
        sources[m].mean = mean ? mean[m] : NAN;
        sources[m].stddev = stddev ? stddev[m] : NAN;
    }
    if (result == IMGSTAT_OK)
        result = transfer_create(NULL, method, shape, sources, NULL, out, err);
    free(sources);
    free(cdf);
    record_destroy(joint);
    return result;
}

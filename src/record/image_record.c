/* SPDX-License-Identifier: MIT */
/* image_record.c: records of images of one kind: making, merging, and what they are of. */
#include "record/image_record.h"

#include "record/kind.h"

#include <stdlib.h>

/* ---- Making ---- */

ImgstatResult image_record_create(const ImgstatKind *kind, Record *record, ImagePlace place,
                                  ImgstatRecord **out, ImgstatError *err)
{
    *out = NULL;
    ImgstatRecord *const made = calloc(1, sizeof *made);
    ImgstatKind *const copy = kind_copy(kind);
    Places *const places = calloc(kind->channels, sizeof *places);
    if (!made || !copy || !places) {
        record_destroy(record);
        free(made);
        free(copy);
        free(places);
        return error_memory(err, kind->channels * sizeof *places, "statistics");
    }
    *made = (ImgstatRecord){.kind = copy, .record = record, .places = places, .pages = 1};
    for (uint16_t c = 0; c < kind->channels; c++) {
        if (record->tally[c].n == 0)
            continue;
        places[c] = (Places){.min_file = shared_text_retain(place.file),
                             .max_file = shared_text_retain(place.file),
                             .min_page = place.page,
                             .max_page = place.page,
                             .min_width = place.width,
                             .max_width = place.width};
    }
    *out = made;
    return IMGSTAT_OK;
}

void image_record_count_file(ImgstatRecord *record, const char *name)
{
    record->files++;
    digest_add_text(&record->names, name);
}

static ImgstatResult check_kind(const ImgstatKind *kind, ImgstatError *err)
{
    IMGSTAT_TRY(image_check_kind(kind->channels, kind->sample, kind->bits, err));
    if (kind->alpha < -1 || kind->alpha >= kind->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "alpha channel %d of %u channels", kind->alpha,
                         kind->channels);
    if (!kind_texts_fit(kind))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the photometric or the name of a channel has more than %d bytes",
                         IMGSTAT_NAME_MOST);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_record_create(const ImgstatKind *kind, ImgstatRecord **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(kind && out, __func__, err));
    IMGSTAT_TRY(check_kind(kind, err));
    IMGSTAT_TRY(record_check_bytes(kind->sample, kind->channels, RECORD_BINS, err));
    Record *record = NULL;
    IMGSTAT_TRY(record_create(NULL, kind->sample, kind->channels, RECORD_BINS, &record, err));
    IMGSTAT_TRY(image_record_create(kind, record, (ImagePlace){NULL, 0, 0}, out, err));
    (*out)->pages = 0;
    return IMGSTAT_OK;
}

void image_record_clear(ImgstatRecord *record)
{
    for (uint16_t c = 0; record->channel && c < record->record->channels; c++) {
        free(record->channel[c].percentile);
        free(record->channel[c].rank);
        free(record->channel[c].bounds);
        histogram_release(&record->channel[c].histogram);
    }
    free(record->channel);
    record->channel = NULL;
    record->has_histogram = false;
    record->n_percentiles = 0;
}

void imgstat_record_destroy(ImgstatRecord *record)
{
    if (!record)
        return;
    image_record_clear(record);
    for (uint16_t c = 0; c < record->kind->channels; c++) {
        shared_text_release(record->places[c].min_file);
        shared_text_release(record->places[c].max_file);
    }
    free(record->places);
    preview_destroy(record->preview);
    shared_text_release(record->group);
    record_destroy(record->record);
    free(record->kind);
    free(record);
}

/* ---- Merging ---- */

/* Of the highest limb of a sum; below that, 2^31 records do not exceed it. */
static bool sums_fit(const ExactSum *a, const ExactSum *b)
{
    const int64_t sum = a->limb[EXACT_LIMBS - 1] + b->limb[EXACT_LIMBS - 1];
    return sum >= INT32_MIN && sum <= INT32_MAX;
}

ImgstatResult image_record_check(const ImgstatRecord *into, const ImgstatRecord *from,
                                 ImgstatError *err)
{
    const Record *const a = into->record, *const b = from->record;
    if (!a->bins != (!b->bins && !b->sparse))
        return error_set(
            err, IMGSTAT_ERR_ARG,
            "one of the records of %s samples has no counts: it was not measured to be "
            "merged",
            imgstat_sample_name(a->sample));
    for (uint16_t c = 0; c < a->channels; c++) {
        const Tally *const x = &a->tally[c], *const y = &b->tally[c];
        if (tally_samples(x) + tally_samples(y) > RECORD_MOST_SAMPLES ||
            !sums_fit(&x->fsum, &y->fsum) || !sums_fit(&x->fsum2, &y->fsum2))
            return error_set(err, IMGSTAT_ERR_LIMIT, "more than 2^63 samples in one record");
    }
    if (into->files > RECORD_MOST_SAMPLES - from->files ||
        into->pages > RECORD_MOST_SAMPLES - from->pages)
        return error_set(err, IMGSTAT_ERR_LIMIT, "more than 2^63 files or pages in one record");
    return IMGSTAT_OK;
}

/* Whether an extremum at one place comes before an equal one at another. */
static bool comes_first(ImagePlace place, uint64_t at, ImagePlace other, uint64_t other_at)
{
    const int less = place.file == other.file
                         ? 0
                         : strcmp(shared_text_of(place.file), shared_text_of(other.file));
    if (less != 0)
        return less < 0;
    if (place.page != other.page)
        return place.page < other.page;
    return at != other_at ? at < other_at : place.width < other.width;
}

static ImagePlace min_place(const Places *places)
{
    return (ImagePlace){places->min_file, places->min_page, places->min_width};
}

static ImagePlace max_place(const Places *places)
{
    return (ImagePlace){places->max_file, places->max_page, places->max_width};
}

static void replace_text(SharedText **text, SharedText *by)
{
    if (*text == by)
        return;
    shared_text_release(*text);
    *text = shared_text_retain(by);
}

/* Merging tallies compares raster indices, which means something within one image only. */
typedef struct Ats {
    uint64_t min, max;
} Ats;

/* Merges places of a channel; returns the raster indices of the extrema. */
static Ats merge_places(const Tally *into, const Tally *from, Places *places, const Places *others)
{
    Ats at = {into->min_at, into->max_at};
    if (from->n == 0)
        return at;
    if (into->n == 0 || from->min_key < into->min_key ||
        (from->min_key == into->min_key &&
         comes_first(min_place(others), from->min_at, min_place(places), into->min_at))) {
        replace_text(&places->min_file, others->min_file);
        places->min_page = others->min_page;
        places->min_width = others->min_width;
        at.min = from->min_at;
    }
    if (into->n == 0 || from->max_key > into->max_key ||
        (from->max_key == into->max_key &&
         comes_first(max_place(others), from->max_at, max_place(places), into->max_at))) {
        replace_text(&places->max_file, others->max_file);
        places->max_page = others->max_page;
        places->max_width = others->max_width;
        at.max = from->max_at;
    }
    return at;
}

void image_record_add(ImgstatRecord *into, const ImgstatRecord *from)
{
    image_record_clear(into);
    into->has_hash = into->has_clipped = false;
    preview_destroy(into->preview);
    into->preview = NULL;
    for (uint16_t c = 0; c < into->kind->channels; c++) {
        Tally *const tally = &into->record->tally[c];
        const Ats at =
            merge_places(tally, &from->record->tally[c], &into->places[c], &from->places[c]);
        record_merge_channel(into->record, from->record, c);
        tally->min_at = at.min;
        tally->max_at = at.max;
    }
    into->files += from->files;
    into->pages += from->pages;
    digest_add(&into->names, &from->names);
}

ImgstatResult imgstat_record_merge(ImgstatRecord *into, const ImgstatRecord *from,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(into && from, __func__, err));
    if (into->in_dataset)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the record is that of a data set, which merges with data sets alone");
    if (!kinds_fit(into->kind, from->kind)) {
        char of_from[KIND_WORDS], of_into[KIND_WORDS];
        kinds_differ(from->kind, into->kind, of_from, of_into);
        return error_set(err, IMGSTAT_ERR_ARG, "a record of %s does not merge with one of %s",
                         of_from, of_into);
    }
    IMGSTAT_TRY(image_record_check(into, from, err));
    if (kind_is_bare(into->kind) && !kind_is_bare(from->kind)) {
        ImgstatKind *const kind = kind_copy(from->kind);
        if (!kind)
            return error_memory(err, sizeof *kind, "statistics");
        free(into->kind);
        into->kind = kind;
    }
    if (strcmp(shared_text_of(into->group), shared_text_of(from->group)) != 0) {
        shared_text_release(into->group);
        into->group = NULL;
    }
    image_record_add(into, from);
    return IMGSTAT_OK;
}

ImgstatResult image_record_copy(const ImgstatRecord *record, ImgstatRecord **out, ImgstatError *err)
{
    const Record *const from = record->record;
    Record *empty = NULL;
    *out = NULL;
    IMGSTAT_TRY(record_create(NULL, from->sample, from->channels, from->parts, &empty, err));
    IMGSTAT_TRY(image_record_create(record->kind, empty, (ImagePlace){NULL, 0, 0}, out, err));
    (*out)->pages = 0;
    (*out)->group = shared_text_retain(record->group);
    image_record_add(*out, record);
    return IMGSTAT_OK;
}

/* ---- What it is of ---- */

uint16_t imgstat_record_channels(const ImgstatRecord *record)
{
    return record->kind->channels;
}

void imgstat_record_kind(const ImgstatRecord *record, ImgstatKind *out)
{
    *out = *record->kind;
}

ImgstatResult imgstat_record_set_kind(ImgstatRecord *record, const ImgstatKind *kind,
                                      ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(record && kind, __func__, err));
    IMGSTAT_TRY(check_kind(kind, err));
    if (record->in_dataset)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the record is that of a data set, whose kind cannot change");
    ImgstatKind *const copy = kind_copy(kind);
    if (!copy)
        return error_memory(err, sizeof *copy, "a record");
    if (!kind_is_of(record->kind, copy)) {
        char of_record[KIND_WORDS], of_copy[KIND_WORDS];
        kinds_differ(record->kind, copy, of_record, of_copy);
        free(copy);
        return error_set(err, IMGSTAT_ERR_ARG, "a record of %s does not become one of %s",
                         of_record, of_copy);
    }
    free(record->kind);
    record->kind = copy;
    return IMGSTAT_OK;
}

const char *imgstat_record_group(const ImgstatRecord *record)
{
    return shared_text_of(record->group);
}

bool imgstat_record_hash(const ImgstatRecord *record, uint8_t hash[16])
{
    if (record->has_hash)
        memcpy(hash, record->hash, SAMPLE_HASH_BYTES);
    return record->has_hash;
}

bool imgstat_record_clipped(const ImgstatRecord *record, uint64_t *pixels, uint64_t *low,
                            uint64_t *high)
{
    *pixels = record->clipped.pixels;
    *low = record->clipped.low;
    *high = record->clipped.high;
    return record->has_clipped;
}

const float *imgstat_record_preview(const ImgstatRecord *record, uint32_t *width, uint32_t *height)
{
    *width = record->preview ? record->preview->width : 0;
    *height = record->preview ? record->preview->height : 0;
    return record->preview ? record->preview->samples : NULL;
}

void imgstat_record_images(const ImgstatRecord *record, uint64_t *files, uint64_t *pages)
{
    if (files)
        *files = record->files;
    if (pages)
        *pages = record->pages;
}

/* SPDX-License-Identifier: MIT */
/* record_code.c: one record as bytes: its kind, its places, and of each channel what merges. */
#include "record/record_code.h"

#include "record/bin_code.h"
#include "record/kind.h"

#include <stdlib.h>

enum {
    HAS_NODATA = 1,   /* a nodata value was given */
    NODATA_KEY = 2,   /* and the sample type holds it: its order key follows */
    IGNORE_MASKS = 4, /* rules of reading */
    ALPHA_MASKS = 8,
    MASK = 16,
    INDICES = 32,
    REGION = 64, /* which follows */
    BINS = 128   /* the record has bins */
};

enum { SUM_WORDS = 2, SUM2_WORDS = 3 };

ImgstatResult record_damaged(ImgstatError *err, const char *what)
{
    return error_set(err, IMGSTAT_ERR_FORMAT, "the record is damaged: %s", what);
}

/* ---- Kinds ---- */

static void put_kind(ByteWriter *writer, const ImgstatKind *kind, bool bins)
{
    uint64_t key = 0;
    const bool held = kind->has_nodata && sample_key_of(kind->sample, kind->nodata, &key);
    const ImgstatRegion *const region = &kind->region;
    put_number(writer, kind->sample, 1);
    put_number(writer, kind->bits, 1);
    put_varint(writer, kind->channels);
    put_varint(writer, (uint64_t)(kind->alpha + 1));
    put_text(writer, kind->photometric);
    for (uint16_t c = 0; c < kind->channels; c++)
        put_text(writer, kind->names[c]);
    put_number(writer,
               (kind->has_nodata ? HAS_NODATA : 0u) | (held ? NODATA_KEY : 0u) |
                   (kind->ignore_masks ? IGNORE_MASKS : 0u) |
                   (kind->alpha_masks ? ALPHA_MASKS : 0u) | (kind->mask ? MASK : 0u) |
                   (kind->indices ? INDICES : 0u) | (region->width ? REGION : 0u) |
                   (bins ? BINS : 0u),
               1);
    if (held)
        put_varint(writer, key);
    if (region->width == 0)
        return;
    const uint32_t numbers[] = {region->x, region->y, region->width, region->height};
    for (int i = 0; i < 4; i++)
        put_varint(writer, numbers[i]);
}

static uint64_t last_key(ImgstatSample sample)
{
    return UINT64_MAX >> (64 - sample_bits(sample));
}

/* The rules, behind what the samples are. */
static void get_rules(ByteReader *reader, ImgstatKind *kind, bool *bins)
{
    const unsigned flags = (unsigned)get_number(reader, 1);
    kind->ignore_masks = flags & IGNORE_MASKS;
    kind->alpha_masks = flags & ALPHA_MASKS;
    kind->mask = flags & MASK;
    kind->indices = flags & INDICES;
    *bins = flags & BINS;
    kind->has_nodata = flags & HAS_NODATA;
    kind->nodata = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = (double)NAN};
    if (flags & NODATA_KEY) {
        const uint64_t key = get_varint_up_to(reader, last_key(kind->sample));
        uint64_t again = 0;
        kind->nodata = sample_value(kind->sample, key);
        if (!kind->has_nodata || !sample_key_of(kind->sample, kind->nodata, &again) || again != key)
            reader->failed = true;
    }
    if (flags & REGION) {
        uint32_t number[4];
        for (int i = 0; i < 4; i++)
            number[i] = (uint32_t)get_varint_up_to(reader, UINT32_MAX);
        kind->region = (ImgstatRegion){number[0], number[1], number[2], number[3]};
        if (number[2] == 0 || number[3] == 0)
            reader->failed = true;
    }
    if ((kind->alpha_masks && kind->alpha < 0) ||
        (sample_is_narrow(kind->sample) && !*bins)) /* they have bins always */
        reader->failed = true;
}

/* Reads a kind whose texts the caller frees. *texts becomes its photometric, then its names. */
static ImgstatResult get_kind(ByteReader *reader, ImgstatKind *kind, char ***texts, bool *bins,
                              ImgstatError *err)
{
    bool memory = false;
    kind->sample = (ImgstatSample)get_number(reader, 1);
    kind->bits = (uint8_t)get_number(reader, 1);
    kind->channels = (uint16_t)get_varint_up_to(reader, UINT16_MAX);
    const uint64_t most = kind->channels <= INT16_MAX ? kind->channels : INT16_MAX + 1;
    kind->alpha = (int16_t)((int)get_varint_up_to(reader, most) - 1);
    if (reader->failed || kind->bits == 0 ||
        image_check_kind(kind->channels, kind->sample, kind->bits, NULL) != IMGSTAT_OK ||
        kind->channels > reader->end - reader->at)
        return record_damaged(err, "the kind of its images is wrong");
    *texts = calloc(kind->channels + (size_t)1, sizeof **texts);
    if (!*texts)
        return error_memory(err, kind->channels * sizeof **texts, "a record");
    for (uint32_t i = 0; i <= kind->channels && !memory && !reader->failed; i++)
        (*texts)[i] = get_text(reader, &memory);
    if (memory)
        return error_memory(err, TEXT_MOST, "a record");
    kind->photometric = **texts;
    kind->names = (const char *const *)(*texts + 1);
    get_rules(reader, kind, bins);
    return reader->failed ? record_damaged(err, "the rules of reading are wrong") : IMGSTAT_OK;
}

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

/* ---- Names of files ---- */

/* The distinct names of the files of extrema, in ascending order. */
typedef struct Names {
    SharedText **name; /* n of them */
    bool *used;
    size_t n;
} Names;

static int compare_names(const void *a, const void *b)
{
    const SharedText *const *x = a, *const *y = b;
    return strcmp((*x)->text, (*y)->text);
}

/* Lists the names that a record refers to; the record keeps them. False: memory ran out. */
static bool names_of(const ImgstatRecord *record, Names *out)
{
    *out = (Names){.name = malloc(2 * (size_t)record->kind->channels * sizeof *out->name)};
    if (!out->name)
        return false;
    for (uint16_t c = 0; c < record->kind->channels; c++) {
        SharedText *const two[] = {record->places[c].min_file, record->places[c].max_file};
        for (int i = 0; i < 2; i++)
            if (two[i])
                out->name[out->n++] = two[i];
    }
    qsort(out->name, out->n, sizeof *out->name, compare_names);
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++)
        if (kept == 0 || compare_names(&out->name[kept - 1], &out->name[i]) != 0)
            out->name[kept++] = out->name[i];
    out->n = kept;
    return true;
}

static void put_names(ByteWriter *writer, const Names *names)
{
    put_varint(writer, names->n);
    for (size_t i = 0; i < names->n; i++)
        put_text(writer, names->name[i]->text);
}

static ImgstatResult get_names(ByteReader *reader, uint16_t channels, Names *out, ImgstatError *err)
{
    const size_t n = get_varint_up_to(reader, 2 * (uint64_t)channels);
    bool memory = false;
    *out = (Names){.name = calloc(n + 1, sizeof *out->name), .used = calloc(n + 1, 1)};
    memory = !out->name || !out->used;
    for (size_t i = 0; i < n && !memory && !reader->failed; i++) {
        char *const text = get_text(reader, &memory);
        SharedText *const name = text ? shared_text_create(text, strlen(text)) : NULL;
        memory = memory || (text && !name);
        free(text);
        if (!name)
            break;
        out->name[out->n++] = name;
        if (i > 0 && compare_names(&out->name[i - 1], &out->name[i]) >= 0)
            reader->failed = true;
    }
    if (memory)
        return error_memory(err, n * sizeof *out->name, "a record");
    return reader->failed ? record_damaged(err, "its names of files are wrong") : IMGSTAT_OK;
}

static void release_read_names(Names *names)
{
    for (size_t i = 0; i < names->n; i++)
        shared_text_release(names->name[i]);
    free(names->name);
    free(names->used);
}

/* ---- Places ---- */

static void put_place(ByteWriter *writer, const Names *names, SharedText *file, uint32_t page,
                      uint32_t width, uint64_t at)
{
    SharedText *const *const found =
        file ? bsearch(&file, names->name, names->n, sizeof *names->name, compare_names) : NULL;
    put_varint(writer, found ? (uint64_t)(found - names->name) + 1 : 0);
    put_varint(writer, page);
    put_varint(writer, width);
    put_varint(writer, at);
}

static void get_place(ByteReader *reader, Names *names, SharedText **file, uint32_t *page,
                      uint32_t *width, uint64_t *at)
{
    const size_t name = get_varint_up_to(reader, names->n);
    *page = (uint32_t)get_varint_up_to(reader, UINT32_MAX);
    *width = (uint32_t)get_varint_up_to(reader, UINT32_MAX);
    *at = get_varint(reader);
    if (name == 0 || reader->failed)
        return;
    names->used[name - 1] = true;
    *file = shared_text_retain(names->name[name - 1]);
}

/* ---- Sums ---- */

static void put_words(ByteWriter *writer, const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_number(writer, words[i], 8);
}

static void get_words(ByteReader *reader, uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        words[i] = get_number(reader, 8);
}

/* Writes two's complement words of 32 bits, from the first that is not 0 to the last that is more
 * than the sign of the word before it. */
static void put_exact(ByteWriter *writer, const ExactSum *sum)
{
    size_t first = 0, end = EXACT_LIMBS;
    while (first < EXACT_LIMBS && (uint32_t)sum->limb[first] == 0)
        first++;
    const uint32_t sign = sum->limb[EXACT_LIMBS - 1] < 0 ? UINT32_MAX : 0;
    while (end > first && (uint32_t)sum->limb[end - 1] == sign &&
           (end - 1 == first ? sign == 0 : ((uint32_t)sum->limb[end - 2] ^ sign) < 0x80000000u))
        end--;
    put_varint(writer, end > first ? first : 0);
    put_varint(writer, end - first);
    for (size_t i = first; i < end; i++)
        put_number(writer, (uint32_t)sum->limb[i], 4);
}

static void get_exact(ByteReader *reader, ExactSum *sum)
{
    const size_t first = get_varint_up_to(reader, EXACT_LIMBS - 1);
    const size_t n = get_varint_up_to(reader, EXACT_LIMBS - first);
    uint32_t words[EXACT_LIMBS] = {0};
    for (size_t i = first; i < first + n; i++)
        words[i] = (uint32_t)get_number(reader, 4);
    const size_t last = first + n - 1;
    if (reader->failed || (n == 0 && first > 0) || (n > 0 && words[first] == 0)) {
        reader->failed = true;
        return;
    }
    const bool negative = n > 0 && words[last] >> 31;
    const uint32_t sign = negative ? UINT32_MAX : 0;
    if (n > 1 && words[last] == sign && (words[last - 1] ^ sign) < 0x80000000u)
        reader->failed = true; /* one word too many */
    for (size_t i = 0; i < EXACT_LIMBS; i++)
        sum->limb[i] = n > 0 && i > last ? sign : words[i];
    if (negative) /* the highest limb alone is signed */
        sum->limb[EXACT_LIMBS - 1] = (int32_t)(uint32_t)sum->limb[EXACT_LIMBS - 1];
    else if (sum->limb[EXACT_LIMBS - 1] > INT32_MAX)
        reader->failed = true;
}

static void put_sums(ByteWriter *writer, ImgstatSample sample, const Tally *tally)
{
    if (sample_is_float(sample)) {
        put_varint(writer, tally->sum_overflow);
        put_varint(writer, tally->sum2_overflow);
        put_exact(writer, &tally->fsum);
        put_exact(writer, &tally->fsum2);
    } else {
        put_words(writer, tally->sum, SUM_WORDS);
        put_words(writer, tally->sum2, SUM2_WORDS);
    }
}

static void get_sums(ByteReader *reader, ImgstatSample sample, Tally *tally)
{
    if (sample_is_float(sample)) {
        tally->sum_overflow = get_varint_up_to(reader, RECORD_MOST_SAMPLES);
        tally->sum2_overflow = get_varint_up_to(reader, RECORD_MOST_SAMPLES);
        get_exact(reader, &tally->fsum);
        get_exact(reader, &tally->fsum2);
    } else {
        get_words(reader, tally->sum, SUM_WORDS);
        get_words(reader, tally->sum2, SUM2_WORDS);
    }
}

/* ---- Channels ---- */

static void put_channel(ByteWriter *writer, const ImgstatRecord *record, const Names *names,
                        uint16_t channel)
{
    const Record *const counts = record->record;
    const Tally *const tally = &counts->tally[channel];
    const Places *const places = &record->places[channel];
    const bool narrow = sample_is_narrow(counts->sample);
    const size_t bins = sample_record_bins(counts->sample);
    const uint64_t outside[] = {tally->nan, tally->pinf, tally->ninf, tally->nodata, tally->masked};
    for (int i = 0; i < 5; i++)
        put_varint(writer, outside[i]);
    if (!narrow)
        put_varint(writer, tally->n);
    if (counts->bins)
        bins_put(writer, counts->bins + channel * bins, bins);
    if (tally->n == 0)
        return;
    if (!narrow) {
        put_varint(writer, tally->min_key);
        put_varint(writer, tally->max_key);
        put_sums(writer, counts->sample, tally);
    }
    put_place(writer, names, places->min_file, places->min_page, places->min_width, tally->min_at);
    put_place(writer, names, places->max_file, places->max_page, places->max_width, tally->max_at);
}

/* Reads the bins of a channel into its record. False: memory ran out. */
static bool get_bins(ByteReader *reader, Record *counts, uint16_t channel, BinRange *range)
{
    const size_t n = sample_record_bins(counts->sample);
    SparseBins bins = {0};
    const bool good = bins_get(reader, n, &bins, range);
    if (counts->sparse) {
        counts->sparse[channel] = bins;
        return good;
    }
    uint64_t *const at = counts->bins + channel * n;
    for (size_t i = 0; i < bins.n; i++)
        at[bins.bin[i]] = bins.count[i];
    free(bins.count);
    return good;
}

/* Whether the bins that were read are those of the tally. */
static bool has_range(const Record *counts, const Tally *tally, const BinRange *range)
{
    const unsigned shift = sample_bin_shift(counts->sample);
    return range->n == tally->n && (tally->n == 0 || (tally->min_key >> shift == range->first &&
                                                      tally->max_key >> shift == range->last));
}

static ImgstatResult get_channel(ByteReader *reader, ImgstatRecord *record, Names *names,
                                 uint16_t channel, ImgstatError *err)
{
    Record *const counts = record->record;
    Tally *const tally = &counts->tally[channel];
    Places *const places = &record->places[channel];
    const bool narrow = sample_is_narrow(counts->sample), bins = counts->bins || counts->sparse;
    uint64_t *const outside[] = {&tally->nan, &tally->pinf, &tally->ninf, &tally->nodata,
                                 &tally->masked};
    BinRange range = {0};
    for (int i = 0; i < 5; i++)
        *outside[i] = get_varint(reader);
    if (!narrow)
        tally->n = get_varint(reader);
    if (bins && !get_bins(reader, counts, channel, &range))
        return error_memory(err, sample_record_bins(counts->sample), "a record");
    if (reader->failed)
        return IMGSTAT_OK;
    if (narrow) {
        tally->n = range.n;
        tally->min_key = range.first;
        tally->max_key = range.last;
    }
    if (tally->n > 0 && !narrow) {
        tally->min_key = get_varint(reader);
        tally->max_key = get_varint(reader);
        get_sums(reader, counts->sample, tally);
    }
    if (tally->n > 0) {
        get_place(reader, names, &places->min_file, &places->min_page, &places->min_width,
                  &tally->min_at);
        get_place(reader, names, &places->max_file, &places->max_page, &places->max_width,
                  &tally->max_at);
    }
    if (!tally_is_possible(counts->sample, tally) || (bins && !has_range(counts, tally, &range)))
        reader->failed = true;
    return IMGSTAT_OK;
}

/* ---- Records ---- */

void record_put(ByteWriter *writer, const ImgstatRecord *record)
{
    Names names;
    if (!names_of(record, &names)) {
        writer->failed = true;
        return;
    }
    put_text(writer, shared_text_of(record->group));
    put_kind(writer, record->kind, record->record->bins != NULL);
    put_varint(writer, record->files);
    put_varint(writer, record->pages);
    put_number(writer, record->names.low, 8);
    put_number(writer, record->names.high, 8);
    put_names(writer, &names);
    for (uint16_t c = 0; c < record->kind->channels; c++)
        put_channel(writer, record, &names, c);
    free(names.name);
}

static ImgstatResult get_channels(ByteReader *reader, ImgstatRecord *record, ImgstatError *err)
{
    Names names = {0};
    record->files = get_varint_up_to(reader, RECORD_MOST_SAMPLES);
    record->pages = get_varint_up_to(reader, RECORD_MOST_SAMPLES);
    record->names.low = get_number(reader, 8);
    record->names.high = get_number(reader, 8);
    ImgstatResult res = get_names(reader, record->kind->channels, &names, err);
    for (uint16_t c = 0; res == IMGSTAT_OK && !reader->failed && c < record->kind->channels; c++)
        res = get_channel(reader, record, &names, c, err);
    for (size_t i = 0; res == IMGSTAT_OK && i < names.n; i++)
        if (!names.used[i])
            reader->failed = true;
    release_read_names(&names);
    if (res == IMGSTAT_OK && reader->failed)
        res = record_damaged(err, "its counts contradict each other");
    return res;
}

/* Makes an empty record of a kind that was read. */
static ImgstatResult make_record(const ImgstatKind *kind, bool bins, bool sparse, uint64_t *memory,
                                 ImgstatRecord **out, ImgstatError *err)
{
    const unsigned parts = bins ? RECORD_BINS : 0;
    IMGSTAT_TRY(record_check_bytes(kind->sample, kind->channels, parts, err));
    const size_t dense = record_bytes(kind->sample, kind->channels, parts);
    const size_t bytes = sparse ? dense + dense / 4 : dense; /* a bin and its count take 10 bytes */
    if (bytes > *memory)
        return error_set(err, IMGSTAT_ERR_LIMIT, "the records need more memory than is allowed");
    *memory -= bytes;
    Record *counts = NULL;
    if (sparse && bins)
        IMGSTAT_TRY(record_create_sparse(kind->sample, kind->channels, &counts, err));
    else
        IMGSTAT_TRY(record_create(NULL, kind->sample, kind->channels, parts, &counts, err));
    return image_record_create(kind, counts, (ImagePlace){NULL, 0, 0}, out, err);
}

ImgstatResult record_get(ByteReader *reader, bool sparse, uint64_t *memory, ImgstatRecord **out,
                         ImgstatError *err)
{
    bool no_memory = false, bins = false;
    char *const group = get_text(reader, &no_memory), **texts = NULL;
    ImgstatKind kind = {.sample = IMGSTAT_U8};
    *out = NULL;
    if (!group)
        return no_memory ? error_memory(err, TEXT_MOST, "a record")
                         : record_damaged(err, "its group has no name");
    ImgstatResult res = get_kind(reader, &kind, &texts, &bins, err);
    if (res == IMGSTAT_OK)
        res = make_record(&kind, bins, sparse, memory, out, err);
    if (res == IMGSTAT_OK && *group && !((*out)->group = shared_text_create(group, strlen(group))))
        res = error_memory(err, strlen(group), "a record");
    if (res == IMGSTAT_OK)
        res = get_channels(reader, *out, err);
    free_texts(texts, kind.channels + (size_t)1);
    free(group);
    if (res != IMGSTAT_OK) {
        imgstat_record_destroy(*out);
        *out = NULL;
    }
    return res;
}

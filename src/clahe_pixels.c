/* SPDX-License-Identifier: MIT */
/* clahe_pixels.c: contrast-limited adaptive equalization: counting the pixels of a tile, and
 * mapping rows between the tables of four. */
#include "clahe.h"
#include "clahe_levels.h"
#include "clahe_words.h"
#include "scratch.h"

#include <string.h>

/* ---- Samples --------------------------------------------------------------------------------- */

/* The bits of every `step`th sample of a channel, of a type of so many bytes. */
static inline uint32_t bits_at(const unsigned char *at, size_t i, size_t step, size_t bytes)
{
    uint16_t word;
    if (bytes == 1)
        return at[i * step];
    memcpy(&word, at + 2 * i * step, sizeof word);
    return word;
}

/* Sample x of a channel in row y of a band. */
static const unsigned char *sample_at(const ImagePro *band, uint16_t channel, size_t x, size_t y)
{
    return image_row(band, y) + (x * band->channels + channel) * (sample_bits(band->sample) / 8);
}

/* Brings pixels [x, x + n) of row y near, where they are in the image: processors foresee few bytes
 * of many rows badly, and none that are to be written. Inline: compilers leave out calls of what
 * only prefetches. */
static inline __attribute__((always_inline)) void prefetch(const ImagePro *image, size_t x,
                                                           size_t y, size_t n)
{
    enum { CACHE_LINE = 64 };
    if (y >= image->height || x >= image->width)
        return;
    const size_t pixel = image->channels * (sample_bits(image->sample) / 8);
    const unsigned char *const at = image_row(image, y) + x * pixel;
    const size_t bytes = (n < image->width - x ? n : image->width - x) * pixel;
    for (size_t i = 0; i < bytes; i += CACHE_LINE)
        __builtin_prefetch(at + i);
}

static uint32_t at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool is_masked(const ImagePro *band, size_t x, size_t y)
{
    return band->mask && !band->mask[y * band->mask_pitch + x];
}

static bool is_valid(const Clahe *clahe, const ImagePro *band, size_t x, size_t y, uint32_t key)
{
    if (clahe->has_nodata && key == clahe->nodata_key)
        return false;
    return !is_masked(band, x, y);
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Neighbours, which are often equal, add to different tables: else each waits for the one before.
 */
enum { COUNT_TABLES = 4 };
typedef uint32_t CountTables[COUNT_TABLES]
                            [CLAHE_NODES + 16]; /* 16: not all at one place of a page */

static inline void count_all(const uint8_t *bin, const unsigned char *at, size_t n, size_t step,
                             size_t bytes, CountTables tables)
{
    size_t i = 0;
    for (; i + COUNT_TABLES <= n; i += COUNT_TABLES)
        for (size_t k = 0; k < COUNT_TABLES; k++)
            tables[k][bin[bits_at(at, i + k, step, bytes)]]++;
    for (; i < n; i++)
        tables[0][bin[bits_at(at, i, step, bytes)]]++;
}

static void count_row(const uint8_t *bin, const unsigned char *at, size_t n, size_t step,
                      size_t bytes, CountTables tables)
{
    if (bytes == 1 && step == 1)
        count_all(bin, at, n, 1, 1, tables);
    else if (bytes == 1)
        count_all(bin, at, n, step, 1, tables);
    else if (step == 1)
        count_all(bin, at, n, 1, 2, tables);
    else
        count_all(bin, at, n, step, 2, tables);
}

/* Words in a counter each. */
static void count_words(const Clahe *clahe, const unsigned char *at, size_t n, size_t step,
                        uint64_t *counts)
{
    const uint32_t flip = (uint32_t)sample_key(clahe->sample, 0); /* of integers: the sign */
    for (size_t i = 0; i < n; i++)
        counts[bits_at(at, i, step, 2) ^ flip]++;
}

/* The same in counters of 16 bits, of which four times as many are near; what they cannot hold goes
 * to the others at once. */
static void count_words_low(const Clahe *clahe, const unsigned char *at, size_t n, size_t step,
                            uint16_t *low, uint64_t *counts)
{
    const uint32_t flip = (uint32_t)sample_key(clahe->sample, 0);
    for (size_t i = 0; i < n; i++) {
        const uint32_t key = bits_at(at, i, step, 2) ^ flip;
        if (++low[key] == 0)
            counts[key] += UINT16_MAX + 1;
    }
}

/* Counters of 16 bits where so many pixels earn that they are emptied and added up; else, or where
 * memory is out, NULL. */
static uint16_t *low_counters(const Clahe *clahe, uint64_t pixels)
{
    enum { LEAST = 8192, PIXELS = 2 }; /* keys, of which fewer are near anyway; of a key */
    const uint64_t keys = clahe->white - clahe->black + 1;
    if (clahe->bin || keys < LEAST || pixels < PIXELS * keys)
        return NULL;
    return scratch_zeroed(NULL, clahe->bins, sizeof(uint16_t));
}

static void add_low(const Clahe *clahe, const uint16_t *low, uint64_t *counts)
{
    enum { SOME = 64, AHEAD = 512 }; /* the counters of all tiles are in no near cache */
    for (size_t key = clahe->black, end = clahe->white + 1, n; key < end; key += n) {
        n = end - key < SOME ? end - key : SOME;
        for (size_t i = 0; i < n; i += 8)
            __builtin_prefetch(counts + key + i + AHEAD, 1);
        for (size_t i = 0; i < n; i++)
            counts[key + i] += low[key + i];
    }
}

/* One sample after the other, some of which may be padding, undefined or masked. */
static void count_any(const Clahe *clahe, const ImagePro *band, uint16_t channel, size_t y,
                      uint32_t begin, uint32_t end, uint64_t *counts)
{
    const size_t bytes = sample_bits(clahe->sample) / 8;
    for (uint32_t p = begin; p < end; p++) {
        const uint32_t x = clahe_reflect(p, clahe->x.length);
        const uint32_t raw = bits_at(sample_at(band, channel, x, y), 0, 1, bytes);
        const uint32_t key = (uint32_t)sample_key(clahe->sample, raw);
        if (is_valid(clahe, band, x, y, key))
            counts[clahe->bin ? clahe->bin[raw] : clahe->position[key]]++;
    }
}

/* Padded pixels of tile k of an axis. */
static void tile_span(const Clahe *clahe, const ClaheAxis *axis, uint32_t k, uint32_t *begin,
                      uint32_t *end)
{
    const bool even = clahe->like == IMGSTAT_LIKE_IMGSTAT;
    *begin = even ? clahe_edge(k, axis->tiles, axis->length) : k * axis->tile;
    *end = even ? clahe_edge(k + 1, axis->tiles, axis->length) : *begin + axis->tile;
}

void clahe_count(Clahe *clahe, size_t tile, const ImagePro *band, uint16_t channel)
{
    const size_t bytes = sample_bits(clahe->sample) / 8;
    uint64_t *const counts = clahe->counts + tile * clahe->bins;
    uint32_t left, right, top, bottom;
    CountTables tables;
    bool used = false;
    if (clahe->unchanged)
        return;
    tile_span(clahe, &clahe->x, (uint32_t)(tile % clahe->x.tiles), &left, &right);
    tile_span(clahe, &clahe->y, (uint32_t)(tile / clahe->x.tiles), &top, &bottom);
    const uint32_t width = right - left;
    const uint64_t most = (uint64_t)width * band->height;
    const bool all = right <= clahe->x.length && !clahe->has_nodata && !band->mask;
    /* Tables are emptied and added up, which a few pixels do not earn. */
    const bool many = all && clahe->bin && most >= 8 * CLAHE_NODES;
    uint16_t *const low = all ? low_counters(clahe, most) : NULL;
    for (uint32_t p = top; p < bottom; p++) {
        const uint32_t y = clahe_reflect(p, clahe->y.length) - band->first_row;
        if (y >= band->height) /* or above the band */
            continue;
        if (!many && (!all || clahe->bin)) {
            count_any(clahe, band, channel, y, left, right, counts);
            continue;
        }
        const unsigned char *const at = sample_at(band, channel, left, y);
        prefetch(band, left, (size_t)y + 2, width);
        if (many && !used)
            memset(tables, 0, sizeof tables);
        used = many;
        if (many)
            count_row(clahe->bin, at, width, band->channels, bytes, tables);
        else if (low)
            count_words_low(clahe, at, width, band->channels, low, counts);
        else
            count_words(clahe, at, width, band->channels, counts);
    }
    if (low)
        add_low(clahe, low, counts);
    scratch_give(low);
    for (uint32_t k = 0; used && k < CLAHE_NODES; k++)
        for (size_t t = 0; t < COUNT_TABLES; t++)
            counts[k] += tables[t][k];
}

/* ---- Mapping --------------------------------------------------------------------------------- */

enum {
    ROW_BLOCK = 512,     /* pixels that are mapped at once, while the next are on their way */
    ROW_TABLE = 96,      /* pixels between the same tiles that earn two tables for their row */
    WORD_ROW_TABLE = 48, /* the same of words */
    JOIN_PLACES = 4      /* places of four tables that are joined for a pixel */
};

/* Pixels [x, x + n) of row y, between the same four tiles. */
typedef struct Stretch {
    const Clahe *clahe;
    const uint32_t *table[4];  /* upper left, upper right, lower left, lower right */
    const ClaheLevels *joined; /* like opencv: what these have; NULL where that is not made */
    uint32_t x, y, n;
} Stretch;

/* The tables of a row: shares of the tile above and of the one below, weighed; by key for 8-bit
 * samples, else as clahe_words.h has them. Of two columns of tiles that are neighbours; tile:
 * whose, plus one. */
typedef struct RowTables {
    uint64_t row[2][CLAHE_NODES];
    uint32_t tile[2];
} RowTables;

/* first * (CLAHE_WEIGHT - weight) + second * weight, modulo 2^64 as everything here. */
static inline uint64_t mix(uint64_t first, uint64_t second, uint64_t weight)
{
    return first * CLAHE_WEIGHT + (second - first) * weight;
}

/* The end of clahe_key: the key of all four shares, weighed. */
static inline uint64_t mixed_key(uint64_t sum, uint64_t lo_key, uint64_t span)
{
    const uint64_t unit = (sum + ((uint64_t)1 << 23)) >> 24;
    return lo_key + ((unit * span + ((uint64_t)1 << 31)) >> 32);
}

static void make_row(const uint32_t *upper, const uint32_t *lower, uint32_t y_weight, uint64_t *row)
{
    for (uint32_t key = 0; key < CLAHE_NODES; key++)
        row[key] =
            (uint64_t)upper[key] * (CLAHE_WEIGHT - y_weight) + (uint64_t)lower[key] * y_weight;
}

static bool is_made(const RowTables *tables, uint32_t tile)
{
    return tables->tile[tile % 2] == tile + 1;
}

/* Whether so many pixels are worth the tables of the row, or these are there. */
static bool earns_rows(const Stretch *s, const RowTables *tables, uint32_t least)
{
    const ClaheBlend *const bx = &s->clahe->x.blend[s->x];
    return s->n >= least || (is_made(tables, bx->first) && is_made(tables, bx->second));
}

/* Of the left or the right tiles of a stretch. */
static const uint64_t *row_table(const Stretch *s, RowTables *tables, bool right,
                                 ClaheWordsRow *make)
{
    const ClaheBlend *const bx = &s->clahe->x.blend[s->x];
    const uint32_t tile = right ? bx->second : bx->first;
    uint64_t *const row = tables->row[tile % 2];
    if (!is_made(tables, tile))
        make(s->table[right], s->table[2 + right], s->clahe->y.blend[s->y].weight, row);
    tables->tile[tile % 2] = tile + 1;
    return row;
}

static void map_bytes(const Stretch *s, RowTables *tables, const uint16_t *key, uint16_t *out)
{
    const ClaheBlend *const bx = &s->clahe->x.blend[s->x];
    const uint32_t y_weight = s->clahe->y.blend[s->y].weight;
    const MapRange *const to = &s->clahe->to;
    const uint64_t span = to->hi_key - to->lo_key;
    if (!earns_rows(s, tables, ROW_TABLE)) {
        for (uint32_t i = 0; i < s->n; i++) {
            const uint64_t share[4] = {s->table[0][key[i]], s->table[1][key[i]],
                                       s->table[2][key[i]], s->table[3][key[i]]};
            out[i] = (uint16_t)clahe_key(share, bx[i].weight, y_weight, to->lo_key, span);
        }
        return;
    }
    const uint64_t *const first = row_table(s, tables, false, make_row);
    const uint64_t *const second = row_table(s, tables, true, make_row);
    for (uint32_t i = 0; i < s->n; i++)
        out[i] =
            (uint16_t)mixed_key(mix(first[key[i]], second[key[i]], bx[i].weight), to->lo_key, span);
}

static void map_words(const Stretch *s, RowTables *tables, const uint16_t *key, uint16_t *out)
{
    const Clahe *const clahe = s->clahe;
    ClaheWords words = {.black = (uint32_t)clahe->black,
                        .white = (uint32_t)clahe->white,
                        .step = clahe->step,
                        .y_weight = clahe->y.blend[s->y].weight,
                        .lo_key = clahe->to.lo_key,
                        .span = clahe->to.hi_key - clahe->to.lo_key};
    const ClaheBlend *const bx = clahe->x.blend + s->x;
    memcpy(words.table, s->table, sizeof words.table);
    if (!earns_rows(s, tables, WORD_ROW_TABLE)) {
        clahe_words_exact(&words, bx, key, s->n, out);
        return;
    }
    const ClaheWordsLoops *const loops = clahe_words();
    words.row[0] = row_table(s, tables, false, loops->row);
    words.row[1] = row_table(s, tables, true, loops->row);
    loops->map(&words, bx, key, s->n, out);
}

/* Levels of few pixels are joined one by one, then mixed as if they were those of a table. */
static void opencv_unjoined(const Stretch *s, const uint16_t *key, uint16_t *out)
{
    enum { SOME = 64 };
    const float *const x_weight = s->clahe->x.weight + s->x;
    ClaheLevels levels[SOME];
    uint16_t place[SOME];
    for (uint16_t k = 0; k < SOME; k++)
        place[k] = k;
    for (uint32_t i = 0, n; i < s->n; i += n) {
        n = at_most(s->n - i, SOME);
        for (uint32_t k = 0; k < n; k++) /* whose position is the key */
            levels[k] = clahe_levels_at(s->table, key[i + k]);
        clahe_levels()->opencv(levels, place, n, x_weight + i, s->clahe->y.weight[s->y],
                               s->clahe->bins, out + i);
    }
}

static void map_opencv(const Stretch *s, const uint16_t *key, uint16_t *out)
{
    const Clahe *const clahe = s->clahe;
    if (s->joined)
        clahe_levels()->opencv(s->joined, key, s->n, clahe->x.weight + s->x, clahe->y.weight[s->y],
                               clahe->bins, out);
    else
        opencv_unjoined(s, key, out);
}

/* Grays before the last rescaling: less than SKIMAGE_GRAYS. */
static void gray_skimage(const Stretch *s, const uint16_t *key, uint16_t *out)
{
    const double *const part = s->clahe->x.part + s->x, y_part = s->clahe->y.part[s->y];
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t bin = s->clahe->position[key[i]];
        const uint32_t level[4] = {s->table[0][bin], s->table[1][bin], s->table[2][bin],
                                   s->table[3][bin]};
        out[i] = (uint16_t)clahe_skimage(level, part[i], y_part);
    }
}

/* How many of n > 0 pixels are between the same tiles as the first: these only rise. */
static uint32_t stretch_end(const ClaheBlend *blend, uint32_t n)
{
    uint32_t low = 1, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (blend[middle].first == blend->first && blend[middle].second == blend->second)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of pixel x of row y of the image, and those of n > 0 that follow it between the same tiles. */
static Stretch stretch_at(const Clahe *clahe, uint32_t x, uint32_t y, uint32_t n)
{
    const ClaheBlend *const bx = &clahe->x.blend[x], *const by = &clahe->y.blend[y];
    const size_t row = (size_t)clahe->x.tiles * clahe->bins;
    const uint32_t *const upper = clahe->share + by->first * row;
    const uint32_t *const lower = clahe->share + by->second * row;
    const size_t first = (size_t)bx->first * clahe->bins;
    const size_t second = (size_t)bx->second * clahe->bins;
    return (Stretch){.clahe = clahe,
                     .table = {upper + first, upper + second, lower + first, lower + second},
                     .x = x,
                     .y = y,
                     .n = stretch_end(bx, n)};
}

/* Maps the keys of pixels [x, x + n) of row y of the image; like skimage: to grays. */
static void map_keys(const Clahe *clahe, uint32_t x, uint32_t y, uint32_t n, RowTables *tables,
                     const uint16_t *key, uint16_t *out)
{
    for (uint32_t i = 0; i < n;) {
        const Stretch s = stretch_at(clahe, x + i, y, n - i);
        if (clahe->like == IMGSTAT_LIKE_SKIMAGE)
            gray_skimage(&s, key + i, out + i);
        else if (clahe_by_key(clahe))
            map_bytes(&s, tables, key + i, out + i);
        else
            map_words(&s, tables, key + i, out + i);
        i += s.n;
    }
}

static inline void load_all(const unsigned char *at, size_t n, size_t step, size_t bytes,
                            uint16_t flip, uint16_t *key)
{
    for (size_t i = 0; i < n; i++)
        key[i] = (uint16_t)(bits_at(at, i, step, bytes) ^ flip);
}

static void load_keys(const ImagePro *band, uint16_t channel, uint32_t x, uint32_t y, uint32_t n,
                      uint16_t *key)
{
    const unsigned char *const at = sample_at(band, channel, x, y);
    const size_t step = band->channels;
    const uint16_t flip = (uint16_t)sample_key(band->sample, 0); /* of integers: the sign */
    if (sample_bits(band->sample) == 8 && step == 1)
        load_all(at, n, 1, 1, flip, key);
    else if (sample_bits(band->sample) == 8)
        load_all(at, n, step, 1, flip, key);
    else if (step == 1)
        load_all(at, n, 1, 2, flip, key);
    else
        load_all(at, n, step, 2, flip, key);
}

static inline void store_all(unsigned char *at, size_t n, size_t step, size_t bytes, uint16_t flip,
                             const uint16_t *key)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t raw = key[i] ^ flip;
        memcpy(at + bytes * i * step, &raw, bytes); /* little-endian */
    }
}

static void store_keys(const ImagePro *to, uint16_t channel, uint32_t x, uint32_t y, uint32_t n,
                       const uint16_t *key)
{
    const size_t bytes = sample_bits(to->sample) / 8, step = to->channels;
    unsigned char *const at =
        (unsigned char *)to->host + y * to->pitch + ((size_t)x * step + channel) * bytes;
    const uint16_t flip = (uint16_t)sample_raw(to->sample, 0);
    if (bytes == 1 && step == 1)
        store_all(at, n, 1, 1, flip, key);
    else if (bytes == 1)
        store_all(at, n, step, 1, flip, key);
    else if (step == 1)
        store_all(at, n, 1, 2, flip, key);
    else
        store_all(at, n, step, 2, flip, key);
}

bool clahe_observes(const Clahe *clahe)
{
    return clahe->like == IMGSTAT_LIKE_SKIMAGE && !clahe->unchanged;
}

void clahe_observe(Clahe *clahe, const ImagePro *band, uint16_t channel)
{
    uint16_t key[ROW_BLOCK], gray[ROW_BLOCK];
    if (!clahe_observes(clahe))
        return;
    for (uint32_t y = 0; y < band->height; y++)
        for (uint32_t x = 0, n; x < band->width; x += n) {
            n = at_most(band->width - x, ROW_BLOCK);
            load_keys(band, channel, x, y, n, key);
            map_keys(clahe, x, band->first_row + y, n, NULL, key, gray);
            for (uint32_t i = 0; i < n; i++) {
                if (!is_valid(clahe, band, x + i, y, key[i]))
                    continue;
                clahe->out_min = gray[i] < clahe->out_min ? gray[i] : clahe->out_min;
                clahe->out_max = gray[i] > clahe->out_max ? gray[i] : clahe->out_max;
            }
        }
}

/* Keeps mapped keys off the nodata value, and puts what stays in its place. */
static void settle(const Clahe *clahe, const ImagePro *band, uint32_t x, uint32_t y, uint32_t n,
                   const uint16_t *key, uint16_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        if (!clahe->unchanged && is_valid(clahe, band, x + i, y, key[i]))
            out[i] = (uint16_t)range_avoid(&clahe->to, out[i]);
        else
            out[i] = (uint16_t)map_sample(
                is_masked(band, x + i, y) ? &clahe->rescale : &clahe->stays, key[i]);
}

/* One channel of a band on its way to another band, or to itself. */
typedef struct Mapping {
    const Clahe *clahe;
    const ImagePro *band;
    uint16_t channel;
    ImagePro *to;
    bool all; /* every sample is mapped, and to any key */
} Mapping;

static void put_keys(const Mapping *m, uint32_t x, uint32_t y, uint32_t n, const uint16_t *key,
                     uint16_t *out)
{
    if (!m->all)
        settle(m->clahe, m->band, x, y, n, key, out);
    store_keys(m->to, m->channel, x, y, n, out);
}

static void apply_rows(const Mapping *m)
{
    const Clahe *const clahe = m->clahe;
    const ImagePro *const band = m->band;
    uint16_t key[ROW_BLOCK], out[ROW_BLOCK] = {0};
    RowTables tables;
    for (uint32_t y = 0; y < band->height; y++) {
        tables.tile[0] = tables.tile[1] = 0;
        for (uint32_t x = 0, n; x < band->width; x += n) {
            n = at_most(band->width - x, ROW_BLOCK);
            load_keys(band, m->channel, x, y, n, key);
            const bool last = x + n == band->width;
            prefetch(band, last ? 0 : x + n, (size_t)y + last, n);
            prefetch(m->to, x, y, n);
            if (!clahe->unchanged)
                map_keys(clahe, x, band->first_row + y, n, &tables, key, out);
            for (uint32_t i = 0; clahe_observes(clahe) && i < n; i++)
                out[i] = (uint16_t)clahe_skimage_key(out[i], clahe->out_min, clahe->out_max,
                                                     clahe->to.hi_key);
            put_keys(m, x, y, n, key, out);
        }
    }
}

/* Maps so many rows from row y of the band on of a stretch of the first one. */
static void apply_cell(const Mapping *m, Stretch s, uint32_t y, uint32_t rows)
{
    const uint32_t width = s.n, end = s.x + width;
    uint16_t key[ROW_BLOCK], out[ROW_BLOCK];
    for (; rows > 0; rows--, y++, s.y++)
        for (s.x = end - width; s.x < end; s.x += s.n) {
            s.n = at_most(end - s.x, ROW_BLOCK);
            load_keys(m->band, m->channel, s.x, y, s.n, key);
            prefetch(m->band, s.x, (size_t)y + 1, s.n);
            prefetch(m->to, s.x, y, s.n);
            map_opencv(&s, key, out);
            put_keys(m, s.x, y, s.n, key, out);
        }
}

/* Like opencv: all pixels between the same four tiles together, whose tables are joined for them;
 * memory for that: NULL if there is none. */
static void apply_cells(const Mapping *m, ClaheLevels *memory)
{
    const Clahe *const clahe = m->clahe;
    const ImagePro *const band = m->band;
    /* keys of other samples are looked up, too */
    const uint32_t begin = m->all ? (uint32_t)clahe->black : 0;
    const uint32_t end = m->all ? (uint32_t)clahe->white + 1 : clahe->bins;
    for (uint32_t y = 0, rows; y < band->height; y += rows) {
        rows = stretch_end(&clahe->y.blend[band->first_row + y], band->height - y);
        for (uint32_t x = 0, n; x < band->width; x += n) {
            Stretch s = stretch_at(clahe, x, band->first_row + y, band->width - x);
            n = s.n;
            if (memory && (uint64_t)n * rows >= (end - begin) / JOIN_PLACES) {
                clahe_levels()->join(s.table, begin, end, memory);
                s.joined = memory;
            }
            apply_cell(m, s, y, rows);
        }
    }
}

void clahe_apply(const Clahe *clahe, const ImagePro *band, uint16_t channel, ImagePro *to)
{
    const bool all =
        !clahe->unchanged && !clahe->has_nodata && !clahe->to.has_nodata && !band->mask;
    const Mapping mapping = {clahe, band, channel, to, all};
    if (clahe->like != IMGSTAT_LIKE_OPENCV || clahe->unchanged) {
        apply_rows(&mapping);
        return;
    }
    ClaheLevels *const memory = scratch_take(NULL, clahe->bins * sizeof *memory);
    apply_cells(&mapping, memory);
    scratch_give(memory);
}

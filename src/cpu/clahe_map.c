/* SPDX-License-Identifier: MIT */
/* clahe_map.c: contrast-limited adaptive equalization: mapping rows between the tables of four
 * tiles. */
#include "base/pixel.h"
#include "cpu/clahe_map16.h"
#include "cpu/clahe_rows.h"
#include "cpu/loops.h"
#include "transfer/clahe.h"

/* ---- Mapping --------------------------------------------------------------------------------- */

enum {
    ROW_BLOCK = 512,    /* pixels mapped at once, while the next are prefetched */
    ROW_TABLE = 96,     /* fewest pixels between the same tiles that are worth tables of the row */
    WORD_ROW_TABLE = 48 /* the same for 16-bit samples */
};

/* Pixels [x, x + n) of row y, between the same four tiles. */
typedef struct Span {
    const Clahe *clahe;
    const uint32_t *table[4]; /* upper left, upper right, lower left, lower right */
    uint32_t x, y, n;
} Span;

/* Tables of a row: weighted shares of the tiles above and below, by key for 8-bit samples, else as
 * cpu/clahe_map16.h describes. For two neighbouring columns of tiles; tile: column + 1. */
typedef struct RowTables {
    uint64_t row[2][CLAHE_NODES];
    uint32_t tile[2];
} RowTables;

/* Returns first * (CLAHE_WEIGHT - weight) + second * weight, modulo 2^64. */
static inline uint64_t mix(uint64_t first, uint64_t second, uint64_t weight)
{
    return first * CLAHE_WEIGHT + (second - first) * weight;
}

/* The end of clahe_key: returns the key for the weighted sum of the four shares. */
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

/* Whether n pixels are worth the tables of the row, or these exist already. */
static bool uses_rows(const Span *s, const RowTables *tables, uint32_t least)
{
    const ClaheBlend *const bx = &s->clahe->x.blend[s->x];
    return s->n >= least || (is_made(tables, bx->first) && is_made(tables, bx->second));
}

/* Returns the row table of the left or the right tiles of a span. */
static const uint64_t *row_table(const Span *s, RowTables *tables, bool right, ClaheRow16 *make)
{
    const ClaheBlend *const bx = &s->clahe->x.blend[s->x];
    const uint32_t tile = right ? bx->second : bx->first;
    uint64_t *const row = tables->row[tile % 2];
    if (!is_made(tables, tile))
        make(s->table[right], s->table[2 + right], s->clahe->y.blend[s->y].weight, row);
    tables->tile[tile % 2] = tile + 1;
    return row;
}

static void map_bytes(const Span *s, RowTables *tables, const uint16_t *key, uint16_t *out)
{
    const ClaheBlend *const bx = &s->clahe->x.blend[s->x];
    const uint32_t y_weight = s->clahe->y.blend[s->y].weight;
    const MapRange *const to = &s->clahe->to;
    const uint64_t span = to->hi_key - to->lo_key;
    if (!uses_rows(s, tables, ROW_TABLE)) {
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

static void map_words(const Span *s, RowTables *tables, const uint16_t *key, uint16_t *out)
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
    if (!uses_rows(s, tables, WORD_ROW_TABLE)) {
        for (uint32_t i = 0; i < s->n; i++)
            out[i] = clahe_words_key(&words, bx[i].weight, key[i]);
        return;
    }
    const CpuLoops *const loops = cpu_loops();
    words.row[0] = row_table(s, tables, false, loops->clahe_row16);
    words.row[1] = row_table(s, tables, true, loops->clahe_row16);
    loops->clahe_map16(&words, bx, key, s->n, out);
}

/* Maps keys as OpenCV and scikit-image do; for the latter to grays before the last rescaling. */
static void map_like(const Span *s, const uint16_t *key, uint16_t *out)
{
    const Clahe *const clahe = s->clahe;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t place = clahe->position[key[i]], x = s->x + i;
        const uint32_t level[4] = {s->table[0][place], s->table[1][place], s->table[2][place],
                                   s->table[3][place]};
        if (clahe->like == IMGSTAT_LIKE_OPENCV)
            out[i] = (uint16_t)clahe_opencv(level, clahe->x.weight[x], clahe->y.weight[s->y],
                                            clahe->bins);
        else
            out[i] = (uint16_t)clahe_skimage(level, clahe->x.part[x], clahe->y.part[s->y]);
    }
}

/* Returns how many of n > 0 pixels lie between the same tiles as the first. Tile numbers only
 * rise. */
static uint32_t span_end(const ClaheBlend *blend, uint32_t n)
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

/* Returns the span of pixel x of row y of the image and of the n > 0 pixels after it between the
 * same tiles. */
static Span span_at(const Clahe *clahe, uint32_t x, uint32_t y, uint32_t n)
{
    const ClaheBlend *const bx = &clahe->x.blend[x], *const by = &clahe->y.blend[y];
    const size_t row = (size_t)clahe->x.tiles * clahe->bins;
    const uint32_t *const upper = clahe->share + by->first * row;
    const uint32_t *const lower = clahe->share + by->second * row;
    const size_t first = (size_t)bx->first * clahe->bins;
    const size_t second = (size_t)bx->second * clahe->bins;
    return (Span){.clahe = clahe,
                  .table = {upper + first, upper + second, lower + first, lower + second},
                  .x = x,
                  .y = y,
                  .n = span_end(bx, n)};
}

/* Maps the keys of pixels [x, x + n) of row y of the image. */
static void map_keys(const Clahe *clahe, uint32_t x, uint32_t y, uint32_t n, RowTables *tables,
                     const uint16_t *key, uint16_t *out)
{
    for (uint32_t i = 0; i < n;) {
        const Span s = span_at(clahe, x + i, y, n - i);
        if (clahe->like != IMGSTAT_LIKE_IMGSTAT)
            map_like(&s, key + i, out + i);
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
        key[i] = (uint16_t)(clahe_bits_at(at, i, step, bytes) ^ flip);
}

static void load_keys(const ImagePro *band, uint16_t channel, uint32_t x, uint32_t y, uint32_t n,
                      uint16_t *key)
{
    const unsigned char *const at = clahe_sample_at(band, channel, x, y);
    const size_t step = band->channels;
    const uint16_t flip = (uint16_t)sample_key(band->sample, 0); /* the sign bit of integers */
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

/* Keeps mapped keys off the nodata value, and stores samples that pass through. */
static void store_passthrough(const Clahe *clahe, const ImagePro *band, uint32_t x, uint32_t y,
                              uint32_t n, const uint16_t *key, uint16_t *out)
{
    const bool keeps = map_is_identity(&clahe->rescale) && map_is_identity(&clahe->passthrough) &&
                       !clahe->unchanged;
    const uint8_t *const row = mask_row(band, y), *const mask = row ? row + x : NULL;
    const uint32_t none = UINT32_MAX;
    const uint32_t nodata = clahe->has_nodata ? (uint32_t)clahe->nodata_key : none;
    const uint32_t avoided = clahe->to.has_nodata ? (uint32_t)clahe->to.nodata_key : none;
    const uint16_t instead = (uint16_t)range_avoid(&clahe->to, avoided);
    for (uint32_t i = 0; keeps && i < n; i++) { /* the usual case, without branches */
        const uint16_t mapped = out[i] == avoided ? instead : out[i];
        out[i] = ((key[i] == nodata) | (mask && !mask[i])) ? key[i] : mapped;
    }
    for (uint32_t i = 0; !keeps && i < n; i++)
        if (!clahe->unchanged && clahe_is_valid(clahe, band, x + i, y, key[i]))
            out[i] = (uint16_t)range_avoid(&clahe->to, out[i]);
        else
            out[i] = (uint16_t)map_sample(
                clahe_is_masked(band, x + i, y) ? &clahe->rescale : &clahe->passthrough, key[i]);
}

/* Arguments of mapping one channel of a band to another band, or to itself. */
typedef struct Mapping {
    const Clahe *clahe;
    const ImagePro *band;
    uint16_t channel;
    ImagePro *to;       /* NULL: grays are observed */
    bool all;           /* every sample is mapped, and may get any key */
    uint16_t *of_gray;  /* like skimage: output keys by gray, after observing */
    uint32_t *extremes; /* receives the extremes of observed grays */
} Mapping;

/* Observes the grays of pixels, like skimage. */
static void observe_grays(const Mapping *m, uint32_t x, uint32_t y, uint32_t n, const uint16_t *key,
                          const uint16_t *gray)
{
    uint16_t least = UINT16_MAX, most = 0;
    for (uint32_t i = 0; m->all && i < n; i++) {
        least = gray[i] < least ? gray[i] : least;
        most = gray[i] > most ? gray[i] : most;
    }
    for (uint32_t i = 0; !m->all && i < n; i++)
        if (clahe_is_valid(m->clahe, m->band, x + i, y, key[i])) {
            least = gray[i] < least ? gray[i] : least;
            most = gray[i] > most ? gray[i] : most;
        }
    m->extremes[0] = clahe_at_most(m->extremes[0], least);
    m->extremes[1] = most > m->extremes[1] ? most : m->extremes[1];
}

static void put_keys(const Mapping *m, uint32_t x, uint32_t y, uint32_t n, const uint16_t *key,
                     uint16_t *out)
{
    for (uint32_t i = 0; m->of_gray && i < n; i++)
        out[i] = m->of_gray[out[i]];
    if (!m->all)
        store_passthrough(m->clahe, m->band, x, y, n, key, out);
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
            n = clahe_at_most(band->width - x, ROW_BLOCK);
            load_keys(band, m->channel, x, y, n, key);
            const bool last = x + n == band->width;
            clahe_prefetch(band, last ? 0 : x + n, (size_t)y + last, n);
            if (m->to)
                clahe_prefetch(m->to, x, y, n);
            if (!clahe->unchanged)
                map_keys(clahe, x, band->first_row + y, n, &tables, key, out);
            if (m->to)
                put_keys(m, x, y, n, key, out);
            else
                observe_grays(m, x, y, n, key, out);
        }
    }
}

static bool maps_all(const Clahe *clahe, const ImagePro *band)
{
    return !clahe->unchanged && !clahe->has_nodata && !clahe->to.has_nodata && !band->mask;
}

void clahe_observe(Clahe *clahe, const ImagePro *band, uint16_t channel)
{
    uint32_t extremes[2] = {clahe->out_min, clahe->out_max};
    if (!clahe_observes(clahe))
        return;
    apply_rows(&(Mapping){.clahe = clahe,
                          .band = band,
                          .channel = channel,
                          .all = maps_all(clahe, band),
                          .extremes = extremes});
    clahe->out_min = extremes[0];
    clahe->out_max = extremes[1];
}

void clahe_apply(const Clahe *clahe, const ImagePro *band, uint16_t channel, ImagePro *to)
{
    uint16_t of_gray[SKIMAGE_GRAYS];
    Mapping mapping = {
        .clahe = clahe, .band = band, .channel = channel, .to = to, .all = maps_all(clahe, band)};
    if (clahe_observes(clahe)) {
        memset(of_gray, 0, sizeof of_gray);
        for (uint32_t gray = clahe->out_min; gray <= clahe->out_max; gray++)
            of_gray[gray] =
                (uint16_t)clahe_skimage_key(gray, clahe->out_min, clahe->out_max, clahe->to.hi_key);
        mapping.of_gray = of_gray;
    }
    apply_rows(&mapping);
}

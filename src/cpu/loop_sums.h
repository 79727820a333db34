/* SPDX-License-Identifier: MIT */
/* loop_sums.h: loops over wide samples: sums, pieces of floats, leading bits of keys. */
#ifndef IMGSTAT_CPU_LOOP_SUMS_H
#define IMGSTAT_CPU_LOOP_SUMS_H

#include "cpu/loop_common.h"

enum { SUMS_BLOCK = 64 }; /* samples a channel */

FORCE_INLINE void sums32_of(ImgstatSample sample, const Mem32 *x, size_t n, unsigned channels,
                            LoopSums *out)
{
    enum { ALL = SUMS_BLOCK * LOOP_CHANNELS };
    uint64_t sum[ALL] = {0}, low[ALL] = {0}, high[ALL] = {0};
    uint32_t lo[ALL], hi[ALL] = {0};
    const size_t block = (size_t)SUMS_BLOCK * channels;
    memset(lo, 0xFF, sizeof lo);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = least(block, n - at);
        for (size_t j = 0; j < m; j++) {
            const uint32_t raw = x[at + j], key = key32(sample, raw);
            const int32_t v = (int32_t)raw;
            const uint32_t size = sample == IMGSTAT_I32 && v < 0 ? 0u - raw : raw;
            const uint64_t square = (uint64_t)size * size;
            sum[j] += sample == IMGSTAT_I32 ? (uint64_t)(int64_t)v : raw;
            low[j] += square & 0xFFFFFFFFu;
            high[j] += square >> 32;
            lo[j] = key < lo[j] ? key : lo[j];
            hi[j] = key > hi[j] ? key : hi[j];
        }
    }
    for (unsigned c = 0; c < channels; c++) {
        out[c] = (LoopSums){.min = UINT32_MAX};
        for (size_t j = c; j < block; j += channels) {
            out[c].sum += sum[j];
            out[c].low += low[j];
            out[c].high += high[j];
            out[c].min = lo[j] < out[c].min ? lo[j] : out[c].min;
            out[c].max = hi[j] > out[c].max ? hi[j] : out[c].max;
        }
    }
}

static void sums32(ImgstatSample sample, const void *x, size_t n, unsigned channels, LoopSums *out)
{
    if (sample == IMGSTAT_I32)
        sums32_of(IMGSTAT_I32, x, n, channels, out);
    else
        sums32_of(IMGSTAT_U32, x, n, channels, out);
}

/* The lanes that fold reads when a channel has n samples: the power of two that covers n. */
FORCE_INLINE size_t lanes_used(size_t n)
{
    size_t lanes = PIECE_LANES;
    while (lanes / 2 >= n && lanes > 1)
        lanes /= 2;
    return lanes;
}

/* Step 4 of docs/float-sums.md for all channels, whose sums move to the front. Lanes that no sample
 * reached hold +0 and change nothing, so the fold starts with those in use. */
FORCE_INLINE void fold(double *lane, unsigned channels, size_t lanes)
{
    for (size_t h = lanes / 2 * channels; h >= channels; h /= 2)
        for (size_t j = 0; j < h; j++)
            lane[j] += lane[j + h];
}

/* Blocks that are added in one turn: accumulators are loaded and stored once for all of them. */
enum { TURN_BLOCKS = 8 };

FORCE_INLINE uint64_t is_bad_f64(double v, bool has_nodata, double nodata)
{
    const uint64_t exponent = (uint64_t)0x7FF << 52;
    uint64_t raw;
    memcpy(&raw, &v, sizeof raw);
    return ((raw & exponent) == exponent ? 1u : 0u) | (has_nodata && v == nodata ? 1u : 0u);
}

/* Lanes of a piece of f32, for each channel. */
typedef struct LanesF32 {
    double d[PIECE_LANES * LOOP_CHANNELS], q[PIECE_LANES * LOOP_CHANNELS];
    double pivot[PIECE_LANES * LOOP_CHANNELS];
    float lo[PIECE_LANES * LOOP_CHANNELS], hi[PIECE_LANES * LOOP_CHANNELS];
    uint32_t nodata[PIECE_LANES * LOOP_CHANNELS]; /* not 0: a sample was nodata */
} LanesF32;

/* Adds n samples from each of `turns` blocks of samples, sample j of each to lane j. */
FORCE_INLINE void turn_f32(const MemF32 *x, size_t n, size_t block, size_t turns, bool has_nodata,
                           float nodata, LanesF32 *to)
{
    for (size_t j = 0; j < n; j++) {
        double sum = to->d[j], square = to->q[j];
        float low = to->lo[j], high = to->hi[j];
        uint32_t any = to->nodata[j];
        for (size_t k = 0; k < turns; k++) {
            const float v = x[k * block + j];
            const double t = (double)v - to->pivot[j];
            sum += t;
            square += t * t;
            low = v < low ? v : low;
            high = v > high ? v : high;
            any |= has_nodata && v == nodata ? 1u : 0u;
        }
        to->d[j] = sum;
        to->q[j] = square;
        to->lo[j] = low;
        to->hi[j] = high;
        to->nodata[j] = any;
    }
}

/* Adds a piece. A sample that is not finite makes the sum of its lane not finite for good, and
 * nothing else does: doubles hold the sums and squares of 4,096 floats. */
FORCE_INLINE bool piece_f32(const MemF32 *x, size_t n, unsigned channels, bool has_nodata,
                            float nodata, LoopPiece *out)
{
    __attribute__((aligned(64))) LanesF32 to;
    size_t at = 0;
    const size_t block = (size_t)PIECE_LANES * channels, lanes = lanes_used(n / channels);
    const size_t used = lanes * channels;
    memset(to.d, 0, used * sizeof *to.d);
    memset(to.q, 0, used * sizeof *to.q);
    memset(to.nodata, 0, used * sizeof *to.nodata);
    for (unsigned c = 0; c < channels; c++) {
        to.lo[c] = x[c];
        to.pivot[c] = (double)x[c] + 0.0; /* +0 for -0 */
    }
    for (size_t j = channels; j < used; j *= 2) {
        memcpy(to.lo + j, to.lo, j * sizeof *to.lo);
        memcpy(to.pivot + j, to.pivot, j * sizeof *to.pivot);
    }
    memcpy(to.hi, to.lo, used * sizeof *to.hi);
    for (; n - at >= TURN_BLOCKS * block; at += TURN_BLOCKS * block)
        turn_f32(x + at, block, block, TURN_BLOCKS, has_nodata, nodata, &to);
    for (; at < n; at += block)
        turn_f32(x + at, least(block, n - at), block, 1, has_nodata, nodata, &to);
    uint64_t any = 0;
    for (size_t j = 0; j < used; j++)
        any |= to.nodata[j] | is_bad_f64(to.d[j], false, 0);
    if (any)
        return false;
    for (size_t h = used / 2; h >= channels; h /= 2) {
        for (size_t j = 0; j < h; j++) {
            to.lo[j] = to.lo[j + h] < to.lo[j] ? to.lo[j + h] : to.lo[j];
            to.hi[j] = to.hi[j + h] > to.hi[j] ? to.hi[j + h] : to.hi[j];
        }
    }
    fold(to.d, channels, lanes);
    fold(to.q, channels, lanes);
    for (unsigned c = 0; c < channels; c++) {
        uint32_t low, high;
        memcpy(&low, &to.lo[c], sizeof low);
        memcpy(&high, &to.hi[c], sizeof high);
        out[c].min = key32(IMGSTAT_F32, low);
        out[c].max = key32(IMGSTAT_F32, high);
        out[c].pivot = to.pivot[c];
        out[c].d = to.d[c];
        out[c].q = to.q[c];
    }
    return true;
}

/* Lanes of a piece of f64, for each channel. */
typedef struct LanesF64 {
    double d[PIECE_LANES * LOOP_CHANNELS], q[PIECE_LANES * LOOP_CHANNELS];
    double pivot[PIECE_LANES * LOOP_CHANNELS];
    double lo[PIECE_LANES * LOOP_CHANNELS], hi[PIECE_LANES * LOOP_CHANNELS];
    uint64_t bad[PIECE_LANES * LOOP_CHANNELS]; /* not 0: a sample was not finite, or nodata */
} LanesF64;

/* Works as turn_f32, for doubles. */
FORCE_INLINE void turn_f64(const MemF64 *x, size_t n, size_t block, size_t turns, bool has_nodata,
                           double nodata, LanesF64 *to)
{
    for (size_t j = 0; j < n; j++) {
        double sum = to->d[j], square = to->q[j], low = to->lo[j], high = to->hi[j];
        uint64_t any = to->bad[j];
        for (size_t k = 0; k < turns; k++) {
            const double v = x[k * block + j], t = v - to->pivot[j];
            sum += t;
            square += t * t;
            low = v < low ? v : low;
            high = v > high ? v : high;
            any |= is_bad_f64(v, has_nodata, nodata);
        }
        to->d[j] = sum;
        to->q[j] = square;
        to->lo[j] = low;
        to->hi[j] = high;
        to->bad[j] = any;
    }
}

FORCE_INLINE bool piece_f64(const MemF64 *x, size_t n, unsigned channels, bool has_nodata,
                            double nodata, LoopPiece *out)
{
    __attribute__((aligned(64))) LanesF64 to;
    size_t at = 0;
    const size_t block = (size_t)PIECE_LANES * channels, lanes = lanes_used(n / channels);
    const size_t used = lanes * channels;
    memset(to.d, 0, used * sizeof *to.d);
    memset(to.q, 0, used * sizeof *to.q);
    memset(to.bad, 0, used * sizeof *to.bad);
    for (size_t j = 0; j < used; j++) {
        const double first = j < channels ? x[j] : to.lo[j - channels];
        to.pivot[j] = first + 0.0; /* +0 for -0 */
        to.lo[j] = to.hi[j] = first;
    }
    for (; n - at >= TURN_BLOCKS * block; at += TURN_BLOCKS * block)
        turn_f64(x + at, block, block, TURN_BLOCKS, has_nodata, nodata, &to);
    for (; at < n; at += block)
        turn_f64(x + at, least(block, n - at), block, 1, has_nodata, nodata, &to);
    uint64_t any = 0;
    for (size_t j = 0; j < used; j++)
        any |= to.bad[j];
    if (any)
        return false;
    for (size_t h = used / 2; h >= channels; h /= 2) {
        for (size_t j = 0; j < h; j++) {
            to.lo[j] = to.lo[j + h] < to.lo[j] ? to.lo[j + h] : to.lo[j];
            to.hi[j] = to.hi[j + h] > to.hi[j] ? to.hi[j + h] : to.hi[j];
        }
    }
    fold(to.d, channels, lanes);
    fold(to.q, channels, lanes);
    for (unsigned c = 0; c < channels; c++) {
        uint64_t low, high;
        memcpy(&low, &to.lo[c], sizeof low);
        memcpy(&high, &to.hi[c], sizeof high);
        out[c].min = key64(IMGSTAT_F64, low);
        out[c].max = key64(IMGSTAT_F64, high);
        out[c].pivot = to.pivot[c];
        out[c].d = to.d[c];
        out[c].q = to.q[c];
    }
    return true;
}

/* 256-bit vectors are 1.5 times as fast here on Zen 4 as 512-bit ones. */
#if defined(__AVX512F__) && !defined(__clang__)
__attribute__((target("prefer-vector-width=256")))
#endif
static bool
piece_any_f64(const MemF64 *x, size_t n, unsigned channels, const uint64_t *nodata, LoopPiece *out)
{
    const uint64_t raw = nodata ? sample_raw(IMGSTAT_F64, *nodata) : 0;
    double v;
    memcpy(&v, &raw, sizeof v);
    return nodata ? piece_f64(x, n, channels, true, v, out)
                  : piece_f64(x, n, channels, false, 0, out);
}

static bool piece(ImgstatSample sample, const void *x, size_t n, unsigned channels,
                  const uint64_t *nodata, LoopPiece *out)
{
    if (sample == IMGSTAT_F64)
        return piece_any_f64(x, n, channels, nodata, out);
    const uint32_t raw = nodata ? (uint32_t)sample_raw(sample, *nodata) : 0;
    float v;
    memcpy(&v, &raw, sizeof v);
    return nodata && *nodata <= UINT32_MAX ? piece_f32(x, n, channels, true, v, out)
                                           : piece_f32(x, n, channels, false, 0, out);
}

/* ---- Pieces with samples that are not valid ---- */

typedef struct FillCall {
    const void *x;
    size_t n;
    const uint8_t *mask;    /* NULL: nothing is masked */
    const uint64_t *nodata; /* NULL, or a key */
    void *to;
    LoopGaps *gaps;
} FillCall;

/* Whether sample i is valid. */
FORCE_INLINE bool is_valid(ImgstatSample sample, const FillCall *c, size_t i, bool has_mask,
                           bool has_nodata, uint64_t nodata)
{
    const uint64_t key = key_at(sample, c->x, i);
    const uint64_t lowest = sample_key_infinity(sample, true);
    const uint64_t highest = sample_key_infinity(sample, false);
    return (!has_mask || c->mask[i]) & !(has_nodata & (key == nodata)) & (key > lowest) &
           (key < highest);
}

FORCE_INLINE void fill_of(ImgstatSample sample, const FillCall *c, bool has_mask)
{
    const bool has_nodata = c->nodata != NULL;
    const uint64_t nodata = has_nodata ? *c->nodata : 0;
    uint32_t masked = 0, empty = 0, above = 0, below = 0, valid = 0;
    size_t first = 0;
    for (size_t i = 0; i < c->n; i++) {
        const uint64_t key = key_at(sample, c->x, i);
        const bool in = !has_mask || c->mask[i], hole = has_nodata & (key == nodata);
        masked += !in;
        empty += in & hole;
        above += in & !hole & (key == sample_key_infinity(sample, false));
        below += in & !hole & (key == sample_key_infinity(sample, true));
        valid += is_valid(sample, c, i, has_mask, has_nodata, nodata);
    }
    *c->gaps = (LoopGaps){.valid = valid,
                          .masked = masked,
                          .nodata = empty,
                          .pinf = above,
                          .ninf = below,
                          .nan = (uint32_t)c->n - valid - masked - empty - above - below};
    if (valid == 0)
        return;
    while (!is_valid(sample, c, first, has_mask, has_nodata, nodata))
        first++;
    /* One loop by load_raw and store_raw takes twice as long. */
    if (sample == IMGSTAT_F32) {
        const Mem32 *const x = c->x;
        Mem32 *const to = c->to;
        const uint32_t pivot = x[first];
        LOOP_INDEPENDENT
        for (size_t i = 0; i < c->n; i++)
            to[i] = is_valid(sample, c, i, has_mask, has_nodata, nodata) ? x[i] : pivot;
    } else {
        const Mem64 *const x = c->x;
        Mem64 *const to = c->to;
        const uint64_t pivot = x[first];
        LOOP_INDEPENDENT
        for (size_t i = 0; i < c->n; i++)
            to[i] = is_valid(sample, c, i, has_mask, has_nodata, nodata) ? x[i] : pivot;
    }
}

static void fill(ImgstatSample sample, const void *x, size_t n, const uint8_t *mask,
                 const uint64_t *nodata, void *to, LoopGaps *gaps)
{
    const FillCall c = {x, n, mask, nodata, to, gaps};
    if (sample == IMGSTAT_F32 && mask)
        fill_of(IMGSTAT_F32, &c, true);
    else if (sample == IMGSTAT_F32)
        fill_of(IMGSTAT_F32, &c, false);
    else if (mask)
        fill_of(IMGSTAT_F64, &c, true);
    else
        fill_of(IMGSTAT_F64, &c, false);
}

typedef struct LeadingCall {
    const void *x;
    size_t n;
    uint16_t *out;
} LeadingCall;

FORCE_INLINE void leading_call(ImgstatSample sample, const void *call)
{
    const LeadingCall *const c = call;
    for (size_t i = 0; i < c->n; i++)
        c->out[i] = (uint16_t)(key_at(sample, c->x, i) >> (sample_bits(sample) - 16));
}

static void leading(ImgstatSample sample, const void *x, size_t n, uint16_t *out)
{
    const LeadingCall call = {x, n, out};
    for_wide_sample(sample, leading_call, &call);
}

#endif

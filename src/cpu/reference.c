/* SPDX-License-Identifier: MIT */
/* reference.c: measuring sample by sample, the specification of every faster loop. */
#include "cpu/reference.h"

void tally_begin(Tally *tally)
{
    memset(tally, 0, sizeof *tally);
    tally->min_key = tally->min_at = tally->max_at = UINT64_MAX;
}

void tally_end(Tally *tally)
{
    if (tally->min_key > tally->max_key) { /* none valid */
        tally->min_key = tally->n > 0;
        tally->max_key = tally->min_at = tally->max_at = 0;
    }
    exact_normalize(&tally->fsum);
    exact_normalize(&tally->fsum2);
}

static void add_extrema(Tally *tally, uint64_t key, uint64_t at)
{
    if (key < tally->min_key || (key == tally->min_key && at < tally->min_at)) {
        tally->min_key = key;
        tally->min_at = at;
    }
    if (key > tally->max_key || (key == tally->max_key && at < tally->max_at)) {
        tally->max_key = key;
        tally->max_at = at;
    }
}

static void add_integer(Tally *tally, ImgstatSample sample, uint64_t raw)
{
    const bool negative = sample_is_signed(sample) && raw >> (sample_bits(sample) - 1);
    const uint64_t high_bits = sample_bits(sample) == 32 ? 0xFFFFFFFF00000000u : 0;
    const uint64_t low = negative ? raw | high_bits : raw, high = negative ? UINT64_MAX : 0;
    const uint64_t magnitude = negative ? ~low + 1 : low;
    const unsigned __int128 square = (unsigned __int128)magnitude * magnitude;

    const unsigned __int128 sum = (((unsigned __int128)tally->sum[1] << 64) | tally->sum[0]) +
                                  (((unsigned __int128)high << 64) | low);
    tally->sum[0] = (uint64_t)sum;
    tally->sum[1] = (uint64_t)(sum >> 64);

    const unsigned __int128 sum2 =
        (((unsigned __int128)tally->sum2[1] << 64) | tally->sum2[0]) + square;
    tally->sum2[0] = (uint64_t)sum2;
    tally->sum2[1] = (uint64_t)(sum2 >> 64);
    tally->sum2[2] += sum2 < square;
}

static double load_double(ImgstatSample sample, const unsigned char *at)
{
    double d;
    float f;
    if (sample == IMGSTAT_F64) {
        memcpy(&d, at, sizeof d);
        return d;
    }
    memcpy(&f, at, sizeof f);
    return (double)f;
}

static bool all_finite(const double *term, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(term[i]))
            return false;
    }
    return true;
}

void piece_add(Tally *tally, uint32_t n, double pivot, double d, double q)
{
    double term[PIECE_TERMS];
    piece_terms((double)n, pivot, d, q, term);
    if (all_finite(term, PIECE_SUM_TERMS)) {
        for (int i = 0; i < PIECE_SUM_TERMS; i++)
            exact_add(&tally->fsum, term[i]);
    } else {
        tally->sum_overflow++;
    }
    if (all_finite(term + PIECE_SUM_TERMS, PIECE_TERMS - PIECE_SUM_TERMS)) {
        for (int i = PIECE_SUM_TERMS; i < PIECE_TERMS; i++)
            exact_add(&tally->fsum2, term[i]);
    } else {
        tally->sum2_overflow++;
    }
}

/* Adds the sums of one piece of a float image: n samples, `stride` bytes apart. */
static void add_piece(const ImagePro *image, const unsigned char *at, size_t stride,
                      const uint8_t *mask, uint32_t n, Tally *tally)
{
    double sum[PIECE_LANES] = {0}, sum2[PIECE_LANES] = {0}, pivot = 0;
    uint32_t valid = 0;

    for (uint32_t i = 0; i < n; i++, at += stride) {
        const size_t bytes = sample_bits(image->sample) / 8;
        if ((mask && !mask[i]) || !cpu_valid(image, sample_key(image->sample, load_raw(at, bytes))))
            continue;
        const double v = load_double(image->sample, at);
        if (valid++ == 0)
            pivot = v + 0.0; /* turns -0 into +0 */
        const double d = v - pivot;
        sum[i % PIECE_LANES] += d;
        sum2[i % PIECE_LANES] += d * d;
    }
    if (valid == 0)
        return;
    for (int h = PIECE_LANES / 2; h > 0; h /= 2) {
        for (int l = 0; l < h; l++) {
            sum[l] += sum[l + h];
            sum2[l] += sum2[l + h];
        }
    }
    piece_add(tally, valid, pivot, sum[0], sum2[0]);
}

static void add_sample(const ImagePro *image, uint64_t raw, uint64_t at, Tally *tally,
                       uint64_t *bins)
{
    const ImgstatSample sample = image->sample;
    const uint64_t key = sample_key(sample, raw);
    const bool valid = cpu_valid(image, key), narrow = sample_is_narrow(sample);

    if (narrow || valid) {
        tally->n++;
        if (bins)
            bins[narrow ? key : key >> (sample_bits(sample) - 16)]++;
    } else if (image->has_nodata && key == image->nodata_key) {
        tally->nodata++;
    } else if (key == sample_key_infinity(sample, false)) {
        tally->pinf++;
    } else if (key == sample_key_infinity(sample, true)) {
        tally->ninf++;
    } else {
        tally->nan++;
    }
    if (!valid)
        return;
    add_extrema(tally, key, at);
    if (!narrow && !sample_is_float(sample))
        add_integer(tally, sample, raw);
}

static void measure_row(const CpuRect *rect, uint32_t y, uint16_t channel, Tally *tally,
                        uint64_t *bins)
{
    const ImagePro *image = rect->image;
    const size_t bytes = sample_bits(image->sample) / 8, stride = bytes * image->channels;
    const unsigned char *row = image_row(image, y) + channel * bytes;
    const uint8_t *mask = mask_row(image, y);
    const uint64_t first = ((uint64_t)image->first_row + y) * image->width + rect->left;

    for (uint32_t x = rect->x0; x < rect->x1; x++) {
        if (mask && !mask[x])
            tally->masked++;
        else
            add_sample(image, load_raw(row + x * stride, bytes), first + x, tally, bins);
    }
    if (sample_is_narrow(image->sample) || !sample_is_float(image->sample))
        return;
    for (uint32_t x = rect->x0, n; x < rect->x1; x += n) {
        n = rect->x1 - x < PIECE ? rect->x1 - x : PIECE;
        add_piece(image, row + x * stride, stride, mask ? mask + x : NULL, n, tally);
    }
}

void reference_measure(const CpuRect *rect, Tally *tally, uint64_t *bins)
{
    const ImagePro *image = rect->image;
    const size_t stride = sample_record_bins(image->sample);
    for (uint32_t y = rect->y0; y < rect->y1; y++) {
        for (uint16_t c = 0; c < image->channels; c++)
            measure_row(rect, y, c, &tally[c], bins ? bins + c * stride : NULL);
    }
}

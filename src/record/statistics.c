/* SPDX-License-Identifier: MIT */
/* statistics.c: moments from exact sums, rounded once at the end; percentiles, mode and entropy. */
#include "record/statistics.h"

#include "base/text_buffer.h"
#include "record/bigint.h"

#include <stdio.h>
#include <stdlib.h>

/* 100 percent. Percentiles have nine decimals, and are exact fractions of this number. */
static const uint64_t PERCENT_100 = 100000000000u;

/* Sums of x, x^2, x^3, x^4: power[k - 1] in units of 2^unit[k - 1]. */
typedef struct Sums {
    BigInt power[4];
    int unit[4];
    bool known[2]; /* of x and x^2: no piece overflowed */
} Sums;

/* The value of a narrow key as mantissa * 2^shift, in units of 1 or, for f16, of 2^-24. */
static int64_t narrow_term(ImgstatSample sample, uint64_t key, unsigned *shift)
{
    *shift = 0;
    if (sample != IMGSTAT_F16)
        return (int64_t)key -
               (sample_is_signed(sample) ? (int64_t)1 << (sample_bits(sample) - 1) : 0);
    const uint64_t raw = sample_raw(sample, key);
    const unsigned exponent = (unsigned)(raw >> 10) & 31;
    int64_t mantissa = (int64_t)(raw & 1023);
    if (exponent > 0) {
        mantissa += 1024;
        *shift = exponent - 1;
    }
    return (raw & 0x8000) ? -mantissa : mantissa;
}

/* Adds what was gathered for one shift to the sums, and empties it. */
static void fold(Sums *sums, __int128 part[4], unsigned shift, unsigned powers)
{
    for (unsigned k = 0; k < powers; k++) {
        const uint64_t word[2] = {(uint64_t)part[k], (uint64_t)(part[k] >> 64)};
        BigInt term = big_from_words(word, 2, true);
        big_shift(&term, shift * (k + 1));
        const BigInt before = sums->power[k];
        big_add(&sums->power[k], &before, &term);
        part[k] = 0;
    }
}

/* Adds n neighbouring bins of integers, the first of which counts x. Sums of sums from the last bin
 * on, which need no products, give those of powers of the distance j from x - 1: after the loop a_m
 * is the sum of counts times C(j + m - 1, m). From these follow those of the values. n <= RUN, and
 * the counts add up to less than 2^31: all fit 64 bits. */
enum { RUN = 256 };
static void add_run(const uint64_t *bins, size_t n, int64_t x, __int128 part[4])
{
    uint64_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0;
    for (size_t k = n; k-- > 0;) {
        a0 += bins[k];
        a1 += a0;
        a2 += a1;
        a3 += a2;
        a4 += a3;
    }
    const uint64_t s0 = a0, s1 = a1, s2 = 2 * a2 - a1, s3 = 6 * (a3 - a2) + a1;
    const uint64_t s4 = 24 * a4 - 36 * a3 + 14 * a2 - a1;
    const __int128 first = x - 1, first2 = first * first, first3 = first2 * first;
    part[0] += first * s0 + s1;
    part[1] += first2 * s0 + 2 * first * s1 + s2;
    part[2] += first3 * s0 + 3 * first2 * s1 + 3 * first * s2 + s3;
    part[3] += first3 * first * s0 + 4 * first3 * s1 + 6 * first2 * s2 + 4 * first * s3 + s4;
}

/* The bins of a channel from the key of its minimum to that of its maximum. */
typedef struct Bins {
    ImgstatSample sample;
    const uint64_t *bins;
    uint64_t from, end;
} Bins;

static void sum_runs(const Bins *b, unsigned powers, Sums *sums)
{
    __int128 part[4] = {0};
    unsigned shift = 0;
    for (uint64_t key = b->from; key < b->end; key += RUN) {
        const uint64_t left = b->end - key;
        add_run(b->bins + key, left < RUN ? left : RUN, narrow_term(b->sample, key, &shift), part);
    }
    fold(sums, part, shift, powers);
}

/* |x| < 2^16 for integers and |mantissa| < 2^11 for f16, counts add up to less than 2^63: no sum of
 * fourth powers of one shift exceeds 2^127. */
static void sum_each(const Bins *b, unsigned powers, Sums *sums)
{
    __int128 part[4] = {0};
    unsigned part_shift = 0;
    for (uint64_t key = b->from; key < b->end; key++) {
        if (!b->bins[key])
            continue;
        unsigned shift;
        const int64_t x = narrow_term(b->sample, key, &shift);
        if (shift != part_shift) {
            fold(sums, part, part_shift, powers);
            part_shift = shift;
        }
        __int128 term = b->bins[key];
        for (unsigned k = 0; k < powers; k++) {
            term *= x;
            part[k] += term;
        }
    }
    fold(sums, part, part_shift, powers);
}

static void sums_of_bins(const Record *record, uint16_t channel, unsigned powers, Sums *sums)
{
    const Tally *const tally = &record->tally[channel];
    const Bins bins = {record->sample,
                       record->bins + (size_t)channel * sample_record_bins(record->sample),
                       tally->min_key, tally->max_key + 1};
    const bool is_float = record->sample == IMGSTAT_F16;
    for (int k = 0; k < 4; k++)
        sums->unit[k] = is_float ? (k + 1) * -24 : 0;
    if (tally->n > 0 && (is_float || tally->n >= 1u << 31))
        sum_each(&bins, powers, sums);
    else if (tally->n > 0)
        sum_runs(&bins, powers, sums);
}

/* powers: 2, or 4 where they follow from bins. */
static void sums_of(const Record *record, uint16_t channel, unsigned powers, Sums *sums)
{
    *sums = (Sums){.known = {true, true}};
    const Tally *const tally = &record->tally[channel];
    if (sample_is_narrow(record->sample)) {
        sums_of_bins(record, channel, powers, sums);
    } else if (sample_is_float(record->sample)) {
        sums->power[0] = big_from_exact(&tally->fsum);
        sums->power[1] = big_from_exact(&tally->fsum2);
        sums->unit[0] = sums->unit[1] = EXACT_EXPONENT;
        sums->known[0] = tally->sum_overflow == 0;
        sums->known[1] = tally->sum2_overflow == 0;
    } else {
        sums->power[0] = big_from_words(tally->sum, 2, sample_is_signed(record->sample));
        sums->power[1] = big_from_words(tally->sum2, 3, false);
    }
}

static double defined(double x)
{
    return isfinite(x) ? x : (double)NAN;
}

static double mean_of(const Sums *sums, uint64_t n)
{
    if (n == 0 || !sums->known[0])
        return (double)NAN;
    const BigInt count = big_from_u64(n);
    return defined(big_quotient(&sums->power[0], &count, sums->unit[0]));
}

/* n S2 - S1^2, in units of 2^(2 unit[0]); at least 0. */
static BigInt scatter(const Sums *sums, uint64_t n)
{
    const BigInt count = big_from_u64(n);
    BigInt left, right, out;
    big_multiply(&left, &count, &sums->power[1]);
    big_shift(&left, (unsigned)(sums->unit[1] - 2 * sums->unit[0]));
    big_multiply(&right, &sums->power[0], &sums->power[0]);
    big_subtract(&out, &left, &right);
    return out.negative ? (BigInt){0} : out; /* float squares are rounded within pieces */
}

static double variance_of(const Sums *sums, uint64_t n, unsigned ddof)
{
    if (n <= ddof || !sums->known[0] || !sums->known[1])
        return (double)NAN;
    const BigInt numerator = scatter(sums, n), a = big_from_u64(n), b = big_from_u64(n - ddof);
    BigInt denominator;
    big_multiply(&denominator, &a, &b);
    return defined(big_quotient(&numerator, &denominator, 2 * sums->unit[0]));
}

double statistics_stddev(const ExactSum power[2], uint64_t n, unsigned ddof)
{
    const Sums sums = {.power = {big_from_exact(&power[0]), big_from_exact(&power[1])},
                       .unit = {EXACT_EXPONENT, EXACT_EXPONENT},
                       .known = {true, true}};
    return sqrt(variance_of(&sums, n, ddof));
}

/* out += factor * a * b * c * d; NULL for fewer factors. */
static void add_product(BigInt *out, int factor, const BigInt *a, const BigInt *b, const BigInt *c,
                        const BigInt *d)
{
    const BigInt *const number[4] = {a, b, c, d};
    BigInt product = big_from_u64((uint64_t)abs(factor)), before;
    product.negative = factor < 0;
    for (int i = 0; i < 4 && number[i]; i++) {
        before = product;
        big_multiply(&product, &before, number[i]);
    }
    before = *out;
    big_add(out, &before, &product);
}

/* With M_k = n^k times the central moment m_k, an integer: skewness^2 = M3^2 / M2^3 and
 * kurtosis = M4 / M2^2 - 3, the powers of n and of the unit cancelling. */
static void shape_exact(const Sums *sums, uint64_t count, ImgstatStats *out)
{
    const BigInt n = big_from_u64(count), m2 = scatter(sums, count);
    const BigInt *const s1 = &sums->power[0], *const s2 = &sums->power[1];
    const BigInt *const s3 = &sums->power[2], *const s4 = &sums->power[3];
    if (m2.n == 0)
        return;
    BigInt m3 = {0}, excess = {0}, top = {0}, bottom = {0}, m2_square = {0};
    add_product(&m3, 1, &n, &n, s3, NULL);
    add_product(&m3, -3, &n, s1, s2, NULL);
    add_product(&m3, 2, s1, s1, s1, NULL);
    add_product(&top, 1, &m3, &m3, NULL, NULL);
    add_product(&bottom, 1, &m2, &m2, &m2, NULL);
    const double skewness = sqrt(big_quotient(&top, &bottom, 0));
    out->skewness = m3.negative ? -skewness : skewness;

    add_product(&m2_square, 1, &m2, &m2, NULL, NULL);
    add_product(&excess, 1, &n, &n, &n, s4);
    add_product(&excess, -4, &n, &n, s1, s3);
    add_product(&excess, 6, &n, s1, s1, s2);
    add_product(&excess, -3, s1, s1, s1, s1);
    add_product(&excess, -3, &m2, &m2, NULL, NULL);
    out->kurtosis = big_quotient(&excess, &m2_square, 0);
}

/* Computes shape from sums of powers of whole distances. The center may be as far from the mean as
 * neighbouring doubles of its size are from each other. */
static void shape_whole(const Central *central, uint64_t count, ImgstatStats *out)
{
    Sums sums = {.known = {true, true}};
    for (int k = 0; k < 4; k++) {
        sums.power[k] = big_from_exact(&central->power[k]);
        big_shift_down(&sums.power[k], -EXACT_EXPONENT);
    }
    shape_exact(&sums, count, out);
}

/* Computes shape from power sums about the rounded mean. delta: the mean less the rounded one. */
static void shape_central(const Central *central, uint64_t count, ImgstatStats *out)
{
    /* Below this, fourth powers have lost digits to underflow. */
    const double least_fourth = 1e-290;
    const BigInt n = big_from_u64(count);
    double mean[4];
    for (int k = 0; k < 4; k++) {
        const BigInt sum = big_from_exact(&central->power[k]);
        mean[k] = big_quotient(&sum, &n, EXACT_EXPONENT);
    }
    const double delta = mean[0];
    const double m2 = mean[1] - delta * delta;
    const double m3 = mean[2] - 3 * delta * mean[1] + 2 * delta * delta * delta;
    const double m4 = mean[3] - 4 * delta * mean[2] + 6 * delta * delta * mean[1] -
                      3 * delta * delta * delta * delta;
    if (!(m2 > 0) || mean[3] < least_fourth)
        return;
    out->skewness = defined(m3 / m2 / sqrt(m2));
    out->kurtosis = defined(m4 / m2 / m2 - 3);
}

/* Writes x with 15, 16 or 17 digits: the fewest that read back as x, whatever the locale's decimal
 * point. */
static void double_text(double x, char text[48])
{
    static const char *const format[] = {"%.15g", "%.16g", "%.17g"};
    for (size_t k = 0; k < sizeof format / sizeof *format; k++) {
        snprintf(text, 48, format[k], x);
        if (strtod(text, NULL) == x)
            break;
    }
    text_plain_number(text);
}

ImgstatStats statistics_undefined(ImgstatSample sample)
{
    const double nan = (double)NAN;
    return (ImgstatStats){
        .min = sample_value(sample, 0),
        .max = sample_value(sample, 0),
        .min_file = "",
        .max_file = "",
        .sum = nan,
        .mean = nan,
        .variance = nan,
        .stddev = nan,
        .median = nan,
        .entropy = nan,
        .skewness = nan,
        .kurtosis = nan,
        .mode = {.sample = sample},
        .low = IMGSTAT_COUNT_UNKNOWN,
        .high = IMGSTAT_COUNT_UNKNOWN,
    };
}

void statistics_fill_counts(const Record *record, uint16_t channel, ImgstatStats *out)
{
    const Tally *const tally = &record->tally[channel];
    out->count = tally->n;
    out->nan = tally->nan;
    out->inf = tally->pinf + tally->ninf;
    out->nodata = tally->nodata;
    out->masked = tally->masked;
    if (tally->n == 0)
        return;
    out->min = sample_value(record->sample, tally->min_key);
    out->max = sample_value(record->sample, tally->max_key);
    out->min_at = tally->min_at;
    out->max_at = tally->max_at;
}

bool statistics_lack_squares(const Record *record, uint16_t channel)
{
    const Tally *const tally = &record->tally[channel];
    if (record->sample != IMGSTAT_F64 || tally->n == 0)
        return false;
    const double lo = sample_double(IMGSTAT_F64, tally->min_key),
                 hi = sample_double(IMGSTAT_F64, tally->max_key);
    return tally->sum2_overflow > 0 || (lo < hi && hi - lo < 0x1p-450);
}

void statistics_fill(const Record *record, uint16_t channel, unsigned ddof, bool shape,
                     const Central *central, ImgstatStats *out, char sum[48])
{
    const Tally *const tally = &record->tally[channel];
    *out = statistics_undefined(record->sample);
    statistics_fill_counts(record, channel, out);
    snprintf(sum, 48, "null");
    if (tally->n == 0)
        return;
    const bool narrow = sample_is_narrow(record->sample);
    Sums sums;
    sums_of(record, channel, shape && narrow ? 4 : 2, &sums);
    if (sums.known[0])
        out->sum = defined(big_double(&sums.power[0], sums.unit[0]));
    if (!sample_is_float(record->sample))
        big_decimal(&sums.power[0], sum, 48);
    else if (isfinite(out->sum))
        double_text(out->sum, sum);
    out->mean = mean_of(&sums, tally->n);
    out->variance = variance_of(&sums, tally->n, ddof);
    out->stddev = statistics_lack_squares(record, channel) ? (double)NAN : sqrt(out->variance);
    if (!shape)
        return;
    if (narrow)
        shape_exact(&sums, tally->n, out);
    else if (central && !central->overflow && center_is_whole(record->sample, out->mean))
        shape_whole(central, tally->n, out);
    else if (central && !central->overflow)
        shape_central(central, tally->n, out);
}

double statistics_center(const Record *record, uint16_t channel)
{
    Sums sums;
    sums_of(record, channel, 2, &sums);
    const double mean = mean_of(&sums, record->tally[channel].n);
    return isfinite(mean) ? mean : 0;
}

double statistics_origin(const Record *record, uint16_t channel, uint64_t *origin)
{
    const Tally *const tally = &record->tally[channel];
    unsigned __int128 sum = (unsigned __int128)tally->sum[1] << 64 | tally->sum[0]; /* of keys: */
    if (sample_is_signed(record->sample))
        sum += (unsigned __int128)tally->n << 63;
    *origin = (uint64_t)(sum / tally->n);
    return (double)(uint64_t)(sum % tally->n) / (double)tally->n;
}

uint64_t statistics_mode(const uint64_t *bins, size_t n)
{
    uint64_t most = 0;
    size_t best = 0;
    for (size_t k = 0; k < n; k++) {
        if (__builtin_expect(bins[k] > most, 0)) { /* a branch: each step waits for none before */
            best = k;
            most = bins[k];
        }
    }
    return best;
}

double statistics_entropy(const uint64_t *counts, size_t n)
{
    enum { KNOWN = 1024 };
    double known[KNOWN] = {0}; /* terms of small counts, which many bins have; 0: not yet known */
    uint64_t total = 0;
    for (size_t k = 0; k < n; k++)
        total += counts[k];
    if (total == 0)
        return (double)NAN;
    double sum = 0, lost = 0; /* compensated: 65,536 terms must not cost digits */
    for (size_t k = 0; k < n; k++) {
        if (!counts[k])
            continue;
        double own = counts[k] < KNOWN ? known[counts[k]] : 0;
        if (own == 0) {
            const double p = (double)counts[k] / (double)total;
            own = p * log2((double)total / (double)counts[k]);
            if (counts[k] < KNOWN)
                known[counts[k]] = own;
        }
        const double term = own - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    return sum;
}

PercentileRank percentile_rank(double p, ImgstatPercentile method, uint64_t n)
{
    const uint64_t part = (uint64_t)llround(p * 1e9); /* of PERCENT_100 */
    if (method == IMGSTAT_NEAREST) {
        const unsigned __int128 up = (unsigned __int128)n * part + PERCENT_100 - 1;
        const uint64_t rank = (uint64_t)(up / PERCENT_100);
        const uint64_t at = rank ? rank - 1 : 0;
        return (PercentileRank){.low = at, .high = at};
    }
    const unsigned __int128 h = (unsigned __int128)(n - 1) * part;
    const uint64_t low = (uint64_t)(h / PERCENT_100), rest = (uint64_t)(h % PERCENT_100);
    return (PercentileRank){.low = low,
                            .high = low + (rest > 0),
                            .rest = rest,
                            .t = (double)rest / (double)PERCENT_100};
}

double percentile_value(ImgstatSample sample, uint64_t key_low, uint64_t key_high, double t)
{
    const double a = sample_double(sample, key_low), b = sample_double(sample, key_high);
    if (key_low == key_high || t == 0)
        return a;
    const double apart = b - a;
    if (!isfinite(apart))
        return a * (1 - t) + b * t;
    return t >= 0.5 ? b - apart * (1 - t) : a + apart * t; /* as numpy, monotonic in t */
}

bool percentile_between(ImgstatSample sample, uint64_t key_low, uint64_t key_high, uint64_t rest,
                        uint64_t *key, double *value)
{
    const ImgstatValue low = sample_value(sample, key_low);
    const __int128 first = sample_is_signed(sample) ? low.as.i : (__int128)low.as.u;
    /* keys differ as the values do */
    const unsigned __int128 parts = (unsigned __int128)(key_high - key_low) * rest;
    const __int128 point = first * PERCENT_100 + (__int128)parts; /* below 2^102 */
    *key = key_low + (uint64_t)(parts / PERCENT_100);
    const __int128 exact_double = (__int128)1 << 53;
    if (point < exact_double && point > -exact_double) {
        *value = (double)(int64_t)point / (double)PERCENT_100;
    } else {
        const uint64_t word[2] = {(uint64_t)point, (uint64_t)(point >> 64)};
        const BigInt numerator = big_from_words(word, 2, true), unit = big_from_u64(PERCENT_100);
        *value = big_quotient(&numerator, &unit, 0);
    }
    return parts % PERCENT_100 == 0;
}

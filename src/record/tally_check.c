/* SPDX-License-Identifier: MIT */
/* tally_check.c: bounds of sums that follow from the extrema and the number of samples. */
#include "record/record_code.h"

#include "record/bigint.h"

/* Whether a key is that of a sample that counts. */
static bool is_finite(ImgstatSample sample, uint64_t key)
{
    if (!sample_is_float(sample))
        return key <= UINT64_MAX >> (64 - sample_bits(sample));
    return key > sample_key_infinity(sample, true) && key < sample_key_infinity(sample, false);
}

static __int128 integer_of(ImgstatSample sample, uint64_t key)
{
    const ImgstatValue value = sample_value(sample, key);
    return sample_is_signed(sample) ? value.as.i : (__int128)value.as.u;
}

static BigInt big_product(const BigInt *a, const BigInt *b)
{
    BigInt product;
    big_multiply(&product, a, b);
    return product;
}

static bool is_at_most(const BigInt *a, const BigInt *b)
{
    BigInt rest;
    big_subtract(&rest, b, a);
    return !rest.negative;
}

/* The sum lies between n times the extrema, which are below 2^127. That of squares is at most n
 * times the largest square, and n times it at least the square of the sum. */
static bool integer_sums_fit(ImgstatSample sample, const Tally *tally)
{
    const __int128 least = integer_of(sample, tally->min_key);
    const __int128 most = integer_of(sample, tally->max_key), n = tally->n;
    const __int128 sum = (__int128)((unsigned __int128)tally->sum[1] << 64 | tally->sum[0]);
    if (sum < n * least || sum > n * most)
        return false;
    const __int128 far = -least > most ? -least : most;
    const uint64_t word[2] = {(uint64_t)far, (uint64_t)(far >> 64)};
    const BigInt count = big_from_u64(tally->n), distance = big_from_words(word, 2, true);
    const BigInt square = big_product(&distance, &distance), limit = big_product(&square, &count);
    const BigInt sum1 = big_from_words(tally->sum, 2, true);
    const BigInt sum2 = big_from_words(tally->sum2, 3, false);
    const BigInt above = big_product(&sum2, &count), below = big_product(&sum1, &sum1);
    return is_at_most(&sum2, &limit) && is_at_most(&below, &above);
}

bool tally_is_possible(ImgstatSample sample, const Tally *tally)
{
    const bool is_float = sample_is_float(sample);
    if (tally_samples(tally) > RECORD_MOST_SAMPLES ||
        (!is_float && (tally->nan > 0 || tally->pinf > 0 || tally->ninf > 0)))
        return false;
    if (tally->n == 0)
        return true;
    if (tally->min_key > tally->max_key || !is_finite(sample, tally->min_key) ||
        !is_finite(sample, tally->max_key))
        return false;
    if (sample_is_narrow(sample))
        return true;
    if (is_float) /* a segment has at least one sample */
        return tally->sum_overflow <= tally->n && tally->sum2_overflow <= tally->n;
    return integer_sums_fit(sample, tally);
}

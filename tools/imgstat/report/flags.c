/* SPDX-License-Identifier: MIT */
/* flags.c: compares the images of a set with each other, and flags them. */
#include "options/value.h"
#include "report/page.h"
#include "text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const Flag flag_table[N_FLAGS] = {
    {"damaged", MEASURE_LOST, FLAG_ABOVE, 0, "rows",
     "The file cannot be read, or --salvage lost rows of it."},
    {"empty", MEASURE_EMPTY, FLAG_ABOVE, 50, "%",
     "Samples that are nodata, masked or not finite, of the channel with most."},
    {"constant", MEASURE_RANGE, FLAG_AT_MOST, 0, "%",
     "Largest less smallest sample, in per cent of full scale, of the channel with most."},
    {"clipped-low", MEASURE_LOW, FLAG_ABOVE, 1, "%",
     "Samples at the low end of full scale, of the colour channel with most."},
    {"clipped-high", MEASURE_HIGH, FLAG_ABOVE, 1, "%",
     "Samples at the high end of full scale, of the colour channel with most."},
    {"clipped-low-all", MEASURE_LOW_ALL, FLAG_ABOVE, 1, "%",
     "Pixels whose colour channels are all at the low end of full scale."},
    {"clipped-high-all", MEASURE_HIGH_ALL, FLAG_ABOVE, 1, "%",
     "Pixels whose colour channels are all at the high end of full scale."},
    {"few-levels", MEASURE_LEVELS, FLAG_AT_MOST, 256, "",
     "Values that occur, of integers of 9 to 16 bits: 8-bit data in 16 have at most 256."},
    {"stepped", MEASURE_STEP, FLAG_ABOVE, 1, "",
     "The largest number that divides all differences of values, of integers of 9 to 16 bits: 16 "
     "for 12 bits shifted by 4, 257 for 8 bits scaled to 16."},
    {"low-contrast", MEASURE_CONTRAST, FLAG_BELOW, 5, "%",
     "Percentile 99 less percentile 1, in per cent of full scale, of the channel with most."},
    {"dark", MEASURE_EXPOSURE, FLAG_BELOW, -3.5, "",
     "Robust z of the median: its distance from the median of all medians, divided by 1.4826 times "
     "the median of these distances. From 10 images on."},
    {"bright", MEASURE_EXPOSURE, FLAG_ABOVE, 3.5, "", "The same."},
    {"odd-form", MEASURE_FORM, FLAG_BELOW, 5, "%",
     "Images of the set with this size, format, colours and sample type, if half of the images "
     "have one of these in common."},
    {"duplicate", MEASURE_COPIES, FLAG_ABOVE, 1, "",
     "Images of the set with the same size, type and samples, by a hash of 128 bits."},
    {"outlier", MEASURE_APART, FLAG_ABOVE, 5, "",
     "Robust z of the distance from the distribution of all images of this kind: the mean "
     "difference of 20 percentiles (2.5, 7.5 ... 97.5), which is their 1-Wasserstein distance."}};

/* ---- --fail-on ---------------------------------------------------------------------------------
 */

/* "clipped" means all flags that begin with "clipped-". */
static bool is_named(const char *flag, const char *name, size_t length)
{
    static const char all[] = "clipped";
    const bool several = length == sizeof all - 1 && strncmp(name, all, length) == 0;
    return strncmp(flag, name, length) == 0 &&
           (flag[length] == '\0' || (several && flag[length] == '-'));
}

static bool take_item(Survey *survey, const char *item, size_t length)
{
    const char *const name = survey->options->command;
    const size_t word = strcspn(item, "<>,");
    const bool has_threshold = word < length;
    uint32_t found = 0;
    char *end = NULL;
    const double threshold = has_threshold ? strtod(item + word + 1, &end) : 0;
    for (size_t i = 0; i < N_FLAGS; i++)
        found |= (uint32_t)is_named(flag_table[i].name, item, word) << i;
    if (word == 0 || found == 0)
        return usage_error(name,
                           "--fail-on: there is no flag '%.*s'; 'imgstat report --help' lists "
                           "them",
                           (int)word, item);
    survey->failing |= found;
    if (!has_threshold)
        return true;
    const bool any = end > item + word + 1;
    end += *end == '%';
    if (!any || end != item + length || !isfinite(threshold))
        return usage_error(name, "--fail-on takes flags such as clipped>1%%,constant, not '%.*s'",
                           (int)length, item);
    for (size_t i = 0; i < N_FLAGS; i++) {
        if ((found >> i & 1) == 0)
            continue;
        if ((flag_table[i].way == FLAG_ABOVE) != (item[word] == '>'))
            return usage_error(name, "--fail-on: %s is for images with a measure %s the threshold",
                               flag_table[i].name,
                               flag_table[i].way == FLAG_ABOVE ? "above" : "below");
        survey->threshold[i] = threshold;
    }
    return true;
}

bool survey_begin(const Options *options, Survey *out)
{
    *out = (Survey){.options = options};
    pthread_mutex_init(&out->lock, NULL); /* cannot fail with default attributes on Linux */
    for (size_t i = 0; i < N_FLAGS; i++)
        out->threshold[i] = flag_table[i].threshold;
    bool good = true;
    const char *item = options->fail_on;
    while (good && item != NULL) { /* an empty text is no flag: it would never fail */
        const size_t length = strcspn(item, ",");
        good = take_item(out, item, length);
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    return good;
}

/* ---- Comparisons -------------------------------------------------------------------------------
 */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

enum { LEAST_IMAGES = 10 };

/* Replaces a measure by its robust z among those of all images; not a number of few images, and
 * where half of them are equal. */
static void standardize(Survey *survey, Measure measure)
{
    double *const values = text_alloc((survey->n + 1) * sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < survey->n; i++)
        if (isfinite(survey->images[i].measure[measure]))
            values[n++] = survey->images[i].measure[measure];
    double middle = 0, spread = 0;
    if (n >= LEAST_IMAGES) {
        middle = median_of(values, n);
        for (size_t i = 0; i < n; i++)
            values[i] = fabs(values[i] - middle);
        spread = 1.4826 * median_of(values, n);
    }
    for (size_t i = 0; i < survey->n; i++) {
        double *const value = &survey->images[i].measure[measure];
        *value = spread > 0 ? (*value - middle) / spread : (double)NAN;
    }
    free(values);
}

/* In per cent of full scale, from the distribution of the kind: of the channel that is farthest. */
static double distance_of(const SurveyImage *image)
{
    const SurveyKind *const kind = image->kind;
    double most = (double)NAN;
    for (size_t c = 0; c < survey_colours(&kind->kind); c++) {
        double sum = 0;
        for (size_t k = c * SURVEY_QUANTILES; k < (c + 1) * SURVEY_QUANTILES; k++)
            sum += fabs(image->quantile[k] - kind->quantile[k]);
        if (isfinite(sum))
            most = fmax(most, 100 * sum / SURVEY_QUANTILES / (kind->hi - kind->lo));
    }
    return most;
}

static void compare_with_kind(SurveyImage *image)
{
    const SurveyKind *const kind = image->kind;
    const double scale = kind->hi - kind->lo;
    double *const m = image->measure;
    m[MEASURE_RANGE] *= 100 / scale;
    m[MEASURE_CONTRAST] *= 100 / scale;
    m[MEASURE_EXPOSURE] = 100 * (m[MEASURE_MEDIAN] - kind->lo) / scale;
    m[MEASURE_DISTANCE] = m[MEASURE_APART] = distance_of(image);
}

static int compare_hashes(const void *a, const void *b)
{
    const SurveyImage *const x = *(const SurveyImage *const *)a, *const y =
                                                                     *(const SurveyImage *const *)b;
    return memcmp(x->hash, y->hash, sizeof x->hash);
}

int survey_compare_forms(const SurveyImage *x, const SurveyImage *y)
{
    if (x->kind != y->kind)
        return x->kind->number < y->kind->number ? -1 : 1;
    if (x->width != y->width)
        return x->width < y->width ? -1 : 1;
    if (x->height != y->height)
        return x->height < y->height ? -1 : 1;
    return strcmp(x->format, y->format);
}

static int compare_forms(const void *a, const void *b)
{
    return survey_compare_forms(*(const SurveyImage *const *)a, *(const SurveyImage *const *)b);
}

/* Where no form is that of half of the images, none is odd. */
static void forget_forms(Survey *survey)
{
    double most = 0;
    for (size_t i = 0; i < survey->n; i++)
        most = fmax(most, survey->images[i].measure[MEASURE_FORM]);
    for (size_t i = 0; most < 50 && i < survey->n; i++)
        survey->images[i].measure[MEASURE_FORM] = (double)NAN;
}

/* Gives each image the number of those that are equal to it, or their share. */
static void count_equal(const Survey *survey, Measure measure, bool share,
                        int (*compare)(const void *, const void *))
{
    SurveyImage **const sorted = text_alloc((survey->n + 1) * sizeof(SurveyImage *));
    size_t n = 0;
    for (size_t i = 0; i < survey->n; i++)
        if (survey->images[i].kind != NULL)
            sorted[n++] = &survey->images[i];
    qsort(sorted, n, sizeof *sorted, compare);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare(&sorted[i], &sorted[end]) == 0;)
            end++;
        for (size_t k = i; k < end; k++)
            sorted[k]->measure[measure] =
                share ? 100.0 * (double)(end - i) / (double)n : (double)(end - i);
    }
    free(sorted);
}

static bool has_flag(const Survey *survey, const SurveyImage *image, size_t flag)
{
    const double value = image->measure[flag_table[flag].measure];
    const double threshold = survey->threshold[flag];
    if (image->kind == NULL)
        return flag == 0 && !image->empty;
    switch (flag_table[flag].way) {
    case FLAG_ABOVE:
        return value > threshold;
    case FLAG_BELOW:
        return value < threshold;
    case FLAG_AT_MOST:
        break;
    }
    return value <= threshold;
}

/* ---- Kinds -------------------------------------------------------------------------------------
 */

/* A percentile of a kind; of wider types the middle of its bounds. */
static double percentile_of(const SurveyKind *kind, uint16_t channel, size_t k)
{
    double lo, hi;
    if (imgstat_record_bounds(kind->record, channel, k, &lo, &hi))
        return lo + (hi - lo) / 2;
    return imgstat_record_percentile(kind->record, channel, k);
}

/* Of more values than a plot shows: bins over those that occur. */
static void set_bins(const SurveyKind *kind, ImgstatMeasure *how)
{
    how->lo = INFINITY;
    how->hi = -INFINITY;
    for (uint16_t i = 0; i < survey_colours(&kind->kind); i++) {
        ImgstatStats s;
        imgstat_record_stats(kind->record, survey_colour(&kind->kind, i), &s);
        if (s.count == 0)
            continue;
        how->lo = fmin(how->lo, imgstat_value_double(s.min));
        how->hi = fmax(how->hi, imgstat_value_double(s.max) + !kind->is_float);
    }
    how->has_range = how->lo < how->hi;
    how->bins = 256;
    if (how->has_range && !kind->is_float) { /* as many values each: others would show a comb */
        const double values = how->hi - how->lo, each = ceil(values / how->bins);
        how->bins = (uint32_t)ceil(values / each);
        how->hi = how->lo + how->bins * each;
    }
}

static bool compute_kind(SurveyKind *kind, const char *command, bool full_scale)
{
    const bool narrow = imgstat_sample_bytes(kind->kind.sample) <= 2;
    ImgstatMeasure how = {.percentiles = survey_percentiles,
                          .n_percentiles = N_PLACES,
                          .median = true,
                          .histogram = narrow,
                          .region = kind->kind.region};
    if (narrow && kind->kind.bits > 8)
        set_bins(kind, &how);
    const uint16_t n = survey_colours(&kind->kind);
    ImgstatError error;
    if (imgstat_record_compute(kind->record, &how, &error) != IMGSTAT_OK) {
        fprintf(stderr, "%s: %s\n", command, error.message);
        return false;
    }
    kind->quantile = text_alloc((size_t)(n + 1) * SURVEY_QUANTILES * sizeof *kind->quantile);
    kind->black = kind->white = (double)NAN;
    for (uint16_t i = 0; i < n; i++) {
        const uint16_t c = survey_colour(&kind->kind, i);
        for (size_t k = 0; k < SURVEY_QUANTILES; k++)
            kind->quantile[i * (size_t)SURVEY_QUANTILES + k] = percentile_of(kind, c, k);
        kind->black = fmin(kind->black, percentile_of(kind, c, PLACE_BLACK));
        kind->white = fmax(kind->white, percentile_of(kind, c, PLACE_WHITE));
    }
    if (kind->is_float) {
        kind->lo = kind->black;
        kind->hi = kind->white > kind->black
                       ? kind->white
                       : fmax(kind->black + 1, nextafter(kind->black, INFINITY));
    }
    if (full_scale) { /* so that inputs and outputs can be compared */
        kind->black = kind->lo;
        kind->white = kind->hi;
    }
    return true;
}

static int compare_kinds(const void *a, const void *b)
{
    const SurveyKind *const x = *(SurveyKind *const *)a, *const y = *(SurveyKind *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Threads met kinds in any order; now they are in that of the images. */
static void order_kinds(Survey *survey)
{
    SurveyKind **const sorted = text_alloc((survey->n_kinds + 1) * sizeof(SurveyKind *));
    size_t n = 0;
    for (size_t i = survey->n; i-- > 0;)
        if (survey->images[i].kind != NULL)
            survey->images[i].kind->first = i;
    for (SurveyKind *kind = survey->kinds; kind != NULL; kind = kind->next)
        sorted[n++] = kind;
    qsort(sorted, n, sizeof *sorted, compare_kinds);
    SurveyKind **end = &survey->kinds;
    for (size_t i = 0; i < n; i++) {
        sorted[i]->number = i;
        *end = sorted[i];
        end = &sorted[i]->next;
    }
    *end = NULL;
    free(sorted);
}

/* The folder that all images are in. */
static size_t common_folder(const Survey *survey)
{
    if (survey->n == 0)
        return 0;
    const char *const first = survey->images[0].name, *const slash = strrchr(first, '/');
    size_t length = slash != NULL ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < survey->n && length > 0; i++)
        while (length > 0 && strncmp(first, survey->images[i].name, length) != 0)
            for (length--; length > 0 && first[length - 1] != '/';)
                length--;
    return length;
}

bool survey_finish(Survey *survey)
{
    survey->below = common_folder(survey);
    if (survey->n > 0)
        order_kinds(survey);
    for (SurveyKind *kind = survey->kinds; kind != NULL; kind = kind->next)
        if (!compute_kind(kind, survey->options->command, survey->in_pairs))
            return false;
    for (size_t i = 0; i < survey->n; i++)
        if (survey->images[i].kind != NULL)
            compare_with_kind(&survey->images[i]);
    standardize(survey, MEASURE_EXPOSURE);
    standardize(survey, MEASURE_APART);
    count_equal(survey, MEASURE_COPIES, false, compare_hashes);
    count_equal(survey, MEASURE_FORM, true, compare_forms);
    forget_forms(survey);
    for (size_t i = 0; i < survey->n; i++)
        for (size_t k = 0; k < N_FLAGS; k++)
            survey->images[i].flags |= (uint32_t)has_flag(survey, &survey->images[i], k) << k;
    return true;
}

size_t survey_images(const Survey *survey)
{
    return survey->n - survey->empties + (size_t)survey->merged;
}

size_t survey_count(const Survey *survey, size_t flag)
{
    size_t n = 0;
    for (size_t i = 0; i < survey->n; i++)
        n += survey->images[i].flags >> flag & 1;
    return n;
}

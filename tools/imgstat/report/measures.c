/* SPDX-License-Identifier: MIT */
/* measures.c: the measures of one image, from its record. */
#include "print/report.h"
#include "report/survey.h"
#include "report/thumbnail.h"
#include "text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double survey_percentiles[N_PLACES] = {2.5,  7.5,  12.5, 17.5, 22.5, 27.5, 32.5, 37.5,
                                             42.5, 47.5, 52.5, 57.5, 62.5, 67.5, 72.5, 77.5,
                                             82.5, 87.5, 92.5, 97.5, 0.1,  1,    99,   99.9};

uint16_t survey_colours(const ImgstatKind *kind)
{
    return (uint16_t)(kind->channels - (kind->alpha >= 0));
}

uint16_t survey_colour(const ImgstatKind *kind, uint16_t i)
{
    return (uint16_t)(i + (kind->alpha >= 0 && i >= kind->alpha));
}

/* ---- Ends and levels of integers of at most 16 bits --------------------------------------------
 */

static double share(uint64_t part, uint64_t all)
{
    return 100.0 * (double)part / (double)all;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Adds a channel to the numbers of levels and to their step. */
static void add_levels(const ImgstatHistogram *h, double *levels, uint32_t *step)
{
    uint32_t n = 0, before = 0;
    for (uint32_t k = 0; k < h->bins; k++) {
        if (h->counts[k] == 0)
            continue;
        if (n++ > 0)
            *step = gcd(*step, k - before);
        before = k;
    }
    *levels = fmax(*levels, n);
}

static void measure_ends(const ImgstatMeasured *from, const SurveyKind *kind, SurveyImage *out)
{
    double *const m = out->measure;
    uint32_t step = 0;
    for (uint16_t i = 0; i < survey_colours(&kind->kind); i++) {
        ImgstatHistogram h;
        ImgstatStats stats;
        const uint16_t c = survey_colour(&kind->kind, i);
        imgstat_record_stats(from->record, c, &stats);
        if (kind->is_float || !imgstat_record_histogram(from->record, c, &h) || !h.per_value)
            return;
        if (stats.count == 0)
            continue;
        m[MEASURE_LOW] = fmax(m[MEASURE_LOW], share(stats.low, stats.count));
        m[MEASURE_HIGH] = fmax(m[MEASURE_HIGH], share(stats.high, stats.count));
        if (kind->kind.bits > 8)
            add_levels(&h, &m[MEASURE_LEVELS], &step);
    }
    if (m[MEASURE_LEVELS] > 1)
        m[MEASURE_STEP] = step;
    else
        m[MEASURE_LEVELS] = (double)NAN; /* one level is a constant image */
    uint64_t pixels, low, high;
    if (survey_colours(&kind->kind) > 1 &&
        imgstat_record_clipped(from->record, &pixels, &low, &high) && pixels > 0) {
        m[MEASURE_LOW_ALL] = share(low, pixels);
        m[MEASURE_HIGH_ALL] = share(high, pixels);
    }
}

/* ---- All types ---------------------------------------------------------------------------------
 */

/* The samples of some channels together. */
typedef struct Pooled {
    double count, mean, stddev;
    unsigned channels; /* those that have samples */
} Pooled;

/* From the differences of means: those of squares would lose the digits of a small deviation. */
static void pool(Pooled *all, const ImgstatStats *s)
{
    const double n = all->count, k = (double)s->count, total = n + k;
    const double apart = s->mean - all->mean;
    const double within = hypot(all->stddev * sqrt(n / total), s->stddev * sqrt(k / total));
    all->stddev = n > 0 ? hypot(within, apart * (sqrt(n) * sqrt(k) / total)) : s->stddev;
    all->mean += apart * (k / total);
    all->count = total;
    all->channels++;
}

/* Of one type: integers beyond 2^53 may share a double, and then a sign. */
static bool is_less(ImgstatValue a, ImgstatValue b)
{
    const double x = imgstat_value_double(a), y = imgstat_value_double(b);
    return x != y ? x < y : a.as.u < b.as.u;
}

static void measure_channels(const ImgstatMeasured *from, const SurveyKind *kind, SurveyImage *out)
{
    double *const m = out->measure;
    const uint16_t n = survey_colours(&kind->kind);
    double sum = 0, medians = 0;
    Pooled colours = {.count = 0};
    out->quantile = text_alloc((size_t)(n + 1) * SURVEY_QUANTILES * sizeof *out->quantile);
    for (uint16_t i = 0; i < n; i++) {
        ImgstatStats s;
        const uint16_t c = survey_colour(&kind->kind, i);
        imgstat_record_stats(from->record, c, &s);
        const uint64_t all = s.count + s.nan + s.inf + s.nodata + s.masked;
        m[MEASURE_EMPTY] = fmax(m[MEASURE_EMPTY], all > 0 ? share(all - s.count, all) : 100);
        for (size_t k = 0; k < SURVEY_QUANTILES; k++)
            out->quantile[i * (size_t)SURVEY_QUANTILES + k] =
                imgstat_record_percentile(from->record, c, k);
        if (s.count == 0)
            continue;
        const double min = imgstat_value_double(s.min), max = imgstat_value_double(s.max);
        const double contrast = imgstat_record_percentile(from->record, c, PLACE_99) -
                                imgstat_record_percentile(from->record, c, PLACE_1);
        if (colours.channels == 0 || is_less(s.min, out->min))
            out->min = s.min;
        if (colours.channels == 0 || is_less(out->max, s.max))
            out->max = s.max;
        pool(&colours, &s);
        sum += s.sum;
        medians += s.median;
        m[MEASURE_MIN] = fmin(m[MEASURE_MIN], min);
        m[MEASURE_MAX] = fmax(m[MEASURE_MAX], max);
        m[MEASURE_RANGE] = fmax(m[MEASURE_RANGE], max - min);
        m[MEASURE_CONTRAST] = fmax(m[MEASURE_CONTRAST], contrast);
        out->black = fmin(out->black, imgstat_record_percentile(from->record, c, PLACE_BLACK));
        out->white = fmax(out->white, imgstat_record_percentile(from->record, c, PLACE_WHITE));
    }
    if (colours.channels == 0)
        return;
    m[MEASURE_MEAN] = sum / colours.count;
    m[MEASURE_STDDEV] = colours.stddev;
    m[MEASURE_MEDIAN] = medians / colours.channels;
}

/* ---- Kinds -------------------------------------------------------------------------------------
 */

static bool is_kind(const ImgstatKind *a, const ImgstatKind *b)
{
    bool same = a->sample == b->sample && a->bits == b->bits && a->channels == b->channels &&
                a->alpha == b->alpha && strcmp(a->photometric, b->photometric) == 0;
    for (uint16_t c = 0; same && c < a->channels; c++)
        same = strcmp(a->names[c], b->names[c]) == 0;
    return same;
}

/* Full scale; of floats it follows when all of them are known. */
static void set_scale(SurveyKind *kind)
{
    const unsigned bits = kind->kind.bits;
    const ImgstatSample s = kind->kind.sample;
    const bool is_signed =
        s == IMGSTAT_I8 || s == IMGSTAT_I16 || s == IMGSTAT_I32 || s == IMGSTAT_I64;
    kind->is_float = text_is_float(s);
    kind->lo = is_signed ? -ldexp(1, (int)bits - 1) : 0;
    kind->hi = is_signed ? ldexp(1, (int)bits - 1) - 1 : ldexp(1, (int)bits) - 1;
}

void survey_begin_kind(SurveyKind *kind, const ImgstatRecord *record)
{
    ImgstatKind of_record;
    ImgstatError error;
    imgstat_record_kind(record, &of_record);
    if (imgstat_record_create(&of_record, &kind->record, &error) != IMGSTAT_OK)
        text_no_memory();
    imgstat_record_kind(kind->record, &kind->kind);
    set_scale(kind);
}

/* The kind of an image, with its record added. */
static SurveyKind *add_to_kind(Survey *survey, const ImgstatRecord *record)
{
    ImgstatKind kind;
    ImgstatError error;
    imgstat_record_kind(record, &kind);
    SurveyKind **place = &survey->kinds;
    while (*place != NULL && !is_kind(&(*place)->kind, &kind))
        place = &(*place)->next;
    if (*place == NULL) {
        SurveyKind *const made = text_alloc(sizeof *made);
        *made = (SurveyKind){.first = SIZE_MAX};
        survey_begin_kind(made, record);
        *place = made;
        survey->n_kinds++;
    }
    if (imgstat_record_merge((*place)->record, record, &error) != IMGSTAT_OK)
        text_no_memory();
    return *place;
}

static void add_preview(Survey *survey, const ImgstatMeasured *from, SurveyImage *out)
{
    Thumbnail thumbnail;
    if (survey->previews == NULL ||
        !thumbnail_create(from->record, out->black, out->white, &thumbnail))
        return;
    pthread_mutex_lock(&survey->lock);
    out->preview_at = ftell(survey->previews);
    if (out->preview_at >= 0 &&
        fwrite(thumbnail.jpeg, 1, thumbnail.bytes, survey->previews) == thumbnail.bytes) {
        out->preview_width = thumbnail.width;
        out->preview_height = thumbnail.height;
        out->preview_bytes = (uint32_t)thumbnail.bytes;
    } else {
        survey->previews_failed = true;
    }
    pthread_mutex_unlock(&survey->lock);
    free(thumbnail.jpeg);
}

static char *name_of(const ImgstatMeasured *from, const char *path)
{
    const Report report = {.file = from->file, .page = from->page, .by = from->by};
    const PageName page = report_page_name(&report);
    char *const name = text_alloc(strlen(path) + sizeof page.text);
    sprintf(name, "%s%s", path, page.text);
    return name;
}

void survey_take(Survey *survey, const ImgstatMeasured *from, const char *path, SurveyImage *out)
{
    pthread_mutex_lock(&survey->lock);
    SurveyKind *const kind = add_to_kind(survey, from->record);
    pthread_mutex_unlock(&survey->lock);
    *out = (SurveyImage){.name = name_of(from, path),
                         .kind = kind,
                         .format = from->page->format,
                         .width = from->page->width,
                         .height = from->page->height,
                         .black = (double)NAN,
                         .white = (double)NAN};
    for (size_t i = 0; i < N_MEASURES; i++)
        out->measure[i] = (double)NAN; /* which fmin and fmax ignore */
    out->measure[MEASURE_LOST] = (double)imgstat_file_lost_rows(from->file);
    (void)imgstat_record_hash(from->record, out->hash);
    measure_channels(from, kind, out);
    measure_ends(from, kind, out);
    add_preview(survey, from, out);
}

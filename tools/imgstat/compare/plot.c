/* SPDX-License-Identifier: MIT */
/* plot.c: for each channel both histograms, as shares of the samples, and both cumulative
 * distributions; of wider types these alone, through percentiles. */
#include "compare/plot.h"
#include "plot/draw.h"
#include "text/memory_stream.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PANELS_MOST = 8 };

/* Blue and orange, which most people can tell apart. */
static const char *const colours[2] = {"#1f77b4", "#d95f02"};

/* A channel of both. */
typedef struct Pair {
    const Compared *of[2];
    ImgstatStats stats[2];
    ImgstatHistogram histogram[2];
    bool per_value; /* there are histograms with a bin for each value */
    uint16_t channel;
} Pair;

static Pair pair_of(const ComparePlot *both, uint16_t channel)
{
    Pair pair = {.of = {both->a, both->b}, .per_value = true, .channel = channel};
    for (int i = 0; i < 2; i++) {
        imgstat_record_stats(pair.of[i]->record, channel, &pair.stats[i]);
        pair.per_value =
            imgstat_record_histogram(pair.of[i]->record, channel, &pair.histogram[i]) &&
            pair.histogram[i].per_value && pair.per_value;
    }
    return pair;
}

/* From the smallest to the largest sample of both. */
static void limit(const Pair *pair, PlotFrame *frame)
{
    frame->lo = INFINITY;
    frame->hi = -INFINITY;
    for (int i = 0; i < 2; i++) {
        if (pair->stats[i].count == 0)
            continue;
        frame->lo = fmin(frame->lo, imgstat_value_double(pair->stats[i].min));
        frame->hi = fmax(frame->hi, imgstat_value_double(pair->stats[i].max));
    }
    if (!(frame->lo <= frame->hi)) /* no sample: an empty frame */
        frame->lo = 0, frame->hi = 1;
}

/* "red: distance 3.2, largest difference of the dashed curves 12.5 %" */
static char *title_of(const Pair *pair)
{
    const Apart apart = compare_distributions(pair->of[0], pair->of[1], pair->channel);
    char *title = NULL, distance[TEXT_NUMBER];
    size_t bytes = 0;
    char *const name = text_display(pair->of[0]->kind.names[pair->channel]);
    FILE *const out = memory_stream_open(&title, &bytes);
    text_short(distance, apart.distance);
    fprintf(out, "%s: distance %s", name, distance);
    if (isfinite(apart.share))
        fprintf(out, ", largest difference of the dashed curves %.3g %%", 100 * apart.share);
    memory_stream_close(out);
    free(name);
    return title;
}

static void put_names(PlotCanvas *canvas, const Pair *pair)
{
    enum { BETWEEN = 310, LONGEST = 36 };
    for (int i = 0; i < 2; i++) {
        char *const name = text_display(text_base(pair->of[i]->name));
        char *const shown = text_shorten(name, LONGEST);
        plot_key(canvas, PLOT_LEFT + BETWEEN * i, 40, colours[i], shown);
        free(shown);
        free(name);
    }
}

/* Without the ends, where clipped samples can be many: they would press the rest flat. */
static uint64_t inner_peak(const Curve *curve)
{
    uint64_t peak = 0;
    for (uint32_t k = 1; k + 1 < curve->n; k++)
        peak = curve->counts[k] > peak ? curve->counts[k] : peak;
    return peak > 0 ? peak : curve->peak;
}

static void draw_values(PlotCanvas *canvas, const Pair *pair, PlotFrame *frame)
{
    Curve curves[2];
    double scale[2];
    for (int i = 0; i < 2; i++) {
        const ImgstatHistogram *const h = &pair->histogram[i];
        curves[i] = curve_of_bins(h, (uint32_t)(frame->lo - h->lo),
                                  (uint32_t)(frame->hi - frame->lo) + 1, PLOT_POINTS);
        scale[i] = curves[i].total > 0 ? 100 / (double)curves[i].total : 0;
        frame->peak = fmax(frame->peak, scale[i] * (double)inner_peak(&curves[i]));
    }
    frame->hi = curves[0].hi;
    frame->label = "per cent of the samples, ends may be cut";
    char *const title = title_of(pair);
    plot_axes(canvas, frame, title);
    free(title);
    for (int i = 0; i < 2; i++) {
        PlotPoint points[PLOT_POINTS + 1];
        if (curves[i].total > 0) {
            const size_t n = curve_distribution(&curves[i], points);
            plot_distribution(canvas, frame, points, n, colours[i]);
            plot_curve(canvas, frame, &curves[i], scale[i], colours[i]);
        }
    }
    free(curves[0].counts);
    free(curves[1].counts);
}

static void draw_percentiles(PlotCanvas *canvas, const Pair *pair, PlotFrame *frame)
{
    char *const title = title_of(pair);
    plot_axes(canvas, frame, title);
    free(title);
    for (int i = 0; i < 2; i++) {
        PlotPoint points[COMPARE_QUANTILES + 2];
        const ImgstatStats *const s = &pair->stats[i];
        if (s->count == 0)
            continue;
        points[0] = (PlotPoint){imgstat_value_double(s->min), 0};
        for (size_t k = 0; k < COMPARE_QUANTILES; k++)
            points[k + 1] = (PlotPoint){compare_percentile(pair->of[i]->record, pair->channel, k),
                                        ((double)k + 0.5) / COMPARE_QUANTILES};
        points[COMPARE_QUANTILES + 1] = (PlotPoint){imgstat_value_double(s->max), 1};
        plot_distribution(canvas, frame, points, COMPARE_QUANTILES + 2, colours[i]);
    }
}

static void draw(PlotCanvas *canvas, size_t panel, const void *context)
{
    const Pair pair = pair_of(context, (uint16_t)panel);
    PlotFrame frame = {.label = ""};
    limit(&pair, &frame);
    if (pair.per_value)
        draw_values(canvas, &pair, &frame);
    else
        draw_percentiles(canvas, &pair, &frame);
    put_names(canvas, &pair);
}

Plot compare_plot_of(const ComparePlot *both)
{
    const uint16_t a = both->a->kind.channels, b = both->b->kind.channels;
    const size_t common = a < b ? a : b;
    return (Plot){common < PANELS_MOST ? common : PANELS_MOST, draw, both};
}

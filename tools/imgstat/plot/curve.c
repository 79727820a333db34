/* SPDX-License-Identifier: MIT */
/* curve.c: which bins are drawn, and how many of them make one point. */
#include "plot/curve.h"
#include "text/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct Bins {
    uint32_t first, n;
} Bins;

/* A 12-bit scan held in 16 bits would fill a sixteenth of the plot: where a bin is one value and
 * nobody asked for a range, samples of more than 8 bits are drawn from the smallest to the
 * largest present in any channel, others over what their bits can hold. */
static Bins choose_bins(const Report *report, uint16_t channels)
{
    ImgstatHistogram h = {0};
    uint32_t low = UINT32_MAX, high = 0;
    for (uint16_t c = 0; c < channels; c++) {
        if (!imgstat_record_histogram(report->record, c, &h))
            return (Bins){0, 0};
        for (uint32_t i = 0; i < h.bins; i++) {
            if (h.counts[i] == 0)
                continue;
            low = i < low ? i : low;
            high = i > high ? i : high;
        }
    }
    const uint8_t bits = report->page->bits;
    if (report->options->has_range || !h.per_value || low > high)
        return (Bins){0, h.bins};
    if (report->page->sample == IMGSTAT_U8 && bits <= 8 && high < 1u << bits)
        return (Bins){0, 1u << bits};
    if (report->page->sample == IMGSTAT_U8 || report->page->sample == IMGSTAT_I8)
        return (Bins){0, h.bins};
    return (Bins){low, high - low + 1};
}

Curve curve_of_bins(const ImgstatHistogram *h, uint32_t first, uint32_t n, uint32_t max_points)
{
    /* Equal groups: unequal ones would show a comb that is not in the image. */
    const uint32_t group = (n + max_points - 1) / max_points;
    Curve curve = {.n = (n + group - 1) / group};
    curve.counts = text_alloc(curve.n * sizeof *curve.counts);
    for (uint32_t i = 0; i < curve.n; i++)
        curve.counts[i] = 0;
    for (uint32_t i = 0; i < n && first + i < h->bins; i++)
        curve.counts[i / group] += h->counts[first + i];
    for (uint32_t i = 0; i < curve.n; i++) {
        curve.total += curve.counts[i];
        if (curve.counts[i] > curve.peak)
            curve.peak = curve.counts[i];
    }
    const double all = (double)group * curve.n;
    curve.lo = h->per_value ? h->lo + first : h->lo;
    curve.hi =
        h->per_value ? curve.lo + all : fmin(text_point(h->lo, h->hi, all, h->bins), DBL_MAX);
    curve.last = h->per_value ? curve.lo + n - 1 : curve.hi;
    return curve;
}

size_t curve_distribution(const Curve *curve, PlotPoint *points)
{
    uint64_t sum = 0;
    points[0] = (PlotPoint){curve->lo, 0};
    for (uint32_t i = 0; i < curve->n; i++) {
        sum += curve->counts[i];
        points[i + 1] = (PlotPoint){text_point(curve->lo, curve->hi, i + 1, curve->n),
                                    (double)sum / (double)curve->total};
    }
    return (size_t)curve->n + 1;
}

size_t curves_create(const Report *report, uint32_t max_points, Curve **out)
{
    const uint16_t n = imgstat_record_channels(report->record);
    const Bins bins = choose_bins(report, n);
    *out = text_alloc(n * sizeof **out);
    for (uint16_t c = 0; c < n; c++) {
        ImgstatHistogram h;
        (*out)[c] = (Curve){0};
        if (imgstat_record_histogram(report->record, c, &h) && bins.n > 0)
            (*out)[c] = curve_of_bins(&h, bins.first, bins.n, max_points);
        (*out)[c].name = text_display(report_channel(report, c));
    }
    return n;
}

void curves_release(Curve *curves, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(curves[i].name);
        free(curves[i].counts);
    }
    free(curves);
}

double curve_height(double count, double peak, bool log)
{
    if (count <= 0 || peak <= 0)
        return 0;
    return log ? log1p(count) / log1p(peak) : count / peak;
}

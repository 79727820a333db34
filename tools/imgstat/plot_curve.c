/* SPDX-License-Identifier: MIT */
/* plot_curve.c: which bins are drawn, and how many of them make one point. */
#include "plot_curve.h"
#include "text.h"

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

static Curve group_bins(const Report *report, uint16_t channel, Bins bins, uint32_t max_points)
{
    Curve curve = {.name = report_channel(report, channel)};
    ImgstatHistogram h;
    if (!imgstat_record_histogram(report->record, channel, &h) || bins.n == 0)
        return curve;
    /* Equal groups: unequal ones would show a comb that is not in the image. */
    const uint32_t group = (bins.n + max_points - 1) / max_points;
    curve.n = (bins.n + group - 1) / group;
    curve.counts = text_alloc(curve.n * sizeof *curve.counts);
    for (uint32_t i = 0; i < curve.n; i++)
        curve.counts[i] = 0;
    for (uint32_t i = 0; i < bins.n; i++)
        curve.counts[i / group] += h.counts[bins.first + i];
    for (uint32_t i = 0; i < curve.n; i++) {
        curve.total += curve.counts[i];
        if (curve.counts[i] > curve.peak)
            curve.peak = curve.counts[i];
    }
    const double n = (double)group * curve.n;
    curve.lo = h.per_value ? h.lo + bins.first : h.lo;
    curve.hi = h.per_value ? curve.lo + n : fmin(text_point(h.lo, h.hi, n, h.bins), DBL_MAX);
    curve.last = h.per_value ? curve.lo + bins.n - 1 : curve.hi;
    return curve;
}

size_t curves_create(const Report *report, uint32_t max_points, Curve **out)
{
    const uint16_t n = imgstat_record_channels(report->record);
    const Bins bins = choose_bins(report, n);
    *out = text_alloc(n * sizeof **out);
    for (uint16_t c = 0; c < n; c++)
        (*out)[c] = group_bins(report, c, bins, max_points);
    return n;
}

void curves_release(Curve *curves, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(curves[i].counts);
    free(curves);
}

double curve_height(uint64_t count, uint64_t peak, bool log)
{
    if (count == 0 || peak == 0)
        return 0;
    return log ? log1p((double)count) / log1p((double)peak) : (double)count / (double)peak;
}

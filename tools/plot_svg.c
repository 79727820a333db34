/* SPDX-License-Identifier: MIT */
/* plot_svg.c: axes with round tick values, one curve per channel, its distribution dashed. */
#include "plot_svg.h"
#include "plot_curve.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The picture, in SVG units; the plot's frame lies inside. */
enum {
    WIDTH = 860,
    HEIGHT = 480,
    LEFT = 84,
    RIGHT = WIDTH - 150,
    TOP = 48,
    BOTTOM = HEIGHT - 64,
    POINTS_MAX = 512,
    TICKS = 6
};

typedef struct Frame {
    double lo, hi; /* values at LEFT and RIGHT */
    uint64_t peak; /* count at TOP */
    bool log;
} Frame;

static void put_escaped(FILE *out, const char *bytes)
{
    char *const text = text_display(bytes);
    for (const char *s = text; *s != '\0'; s++) {
        switch (*s) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*s, out);
        }
    }
    free(text);
}

static const char *channel_colour(const char *name, size_t index)
{
    static const struct {
        const char *name, *colour;
    } known[] = {
        {"red", "#d62728"},   {"green", "#2ca02c"}, {"blue", "#1f77b4"},    {"alpha", "#7f7f7f"},
        {"gray", "#222222"},  {"cyan", "#17becf"},  {"magenta", "#c2359c"}, {"yellow", "#b8a000"},
        {"black", "#000000"}, {"index", "#9467bd"},
    };
    static const char *const others[] = {"#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#bcbd22"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].colour;
    return others[index % (sizeof others / sizeof others[0])];
}

static double map_x(const Frame *frame, double value)
{
    const double span = frame->hi - frame->lo;
    return LEFT + (span > 0 ? (value - frame->lo) / span : 0.5) * (RIGHT - LEFT);
}

static double map_y(const Frame *frame, uint64_t count)
{
    return BOTTOM - curve_height(count, frame->peak, frame->log) * (BOTTOM - TOP);
}

/* The largest of 1, 2, 5 times a power of ten that gives about TICKS steps. */
static double tick_step(double span)
{
    const double raw = span / TICKS;
    const double power = pow(10, floor(log10(raw)));
    const double rest = raw / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

static void put_x_ticks(FILE *out, const Frame *frame)
{
    const double span = frame->hi - frame->lo;
    const double step = span > 0 ? tick_step(span) : 0;
    /* Spans of huge or tiny numbers may have no step that moves; then the ends are enough. */
    const bool steps = step > 0 && isfinite(step) && frame->lo + step > frame->lo;
    const double first = steps ? ceil(frame->lo / step) * step : frame->lo;
    for (int i = 0; i <= 2 * TICKS; i++) {
        const double value = steps ? first + i * step : frame->lo + i * span;
        if (value > frame->hi + span * 1e-9 || (!steps && i > 1))
            break;
        char text[TEXT_NUMBER];
        text_short(text, fabs(value) < span * 1e-12 ? 0 : value);
        const double x = map_x(frame, value);
        fprintf(out,
                "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" class=\"grid\"/>"
                "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x, TOP, x, BOTTOM + 5, x, BOTTOM + 20, text);
    }
}

static void put_y_tick(FILE *out, const Frame *frame, uint64_t count)
{
    char text[TEXT_NUMBER];
    text_short(text, (double)count);
    const double y = map_y(frame, count);
    fprintf(out,
            "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" class=\"grid\"/>"
            "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%s</text>\n",
            LEFT - 5, y, RIGHT, y, LEFT - 9, y + 4, text);
}

static void put_y_ticks(FILE *out, const Frame *frame)
{
    put_y_tick(out, frame, 0);
    if (frame->log) {
        uint64_t step = 10;
        while (frame->peak / step > 10000000)
            step *= 10;
        for (uint64_t count = 1; count <= frame->peak; count *= step) {
            put_y_tick(out, frame, count);
            if (count > frame->peak / step)
                break;
        }
        return;
    }
    double step = frame->peak > 0 ? tick_step((double)frame->peak) : 1;
    if (step < 1)
        step = 1;
    for (double count = step; count <= (double)frame->peak; count += step)
        put_y_tick(out, frame, (uint64_t)count);
}

/* A step per point: what is drawn is the histogram itself, nothing between the bins. */
static void put_curve(FILE *out, const Frame *frame, const Curve *curve, const char *colour)
{
    const double width = curve->n > 0 ? (curve->hi - curve->lo) / curve->n : 0;
    fprintf(out, "<polyline class=\"curve\" stroke=\"%s\" points=\"", colour);
    for (uint32_t i = 0; i < curve->n; i++) {
        const double y = map_y(frame, curve->counts[i]);
        fprintf(out, "%.2f,%.2f %.2f,%.2f ", map_x(frame, curve->lo + i * width), y,
                map_x(frame, curve->lo + (i + 1) * width), y);
    }
    fputs("\"/>\n", out);
}

static void put_distribution(FILE *out, const Frame *frame, const Curve *curve, const char *colour)
{
    const double width = curve->n > 0 ? (curve->hi - curve->lo) / curve->n : 0;
    if (curve->total == 0)
        return;
    fprintf(out, "<path class=\"cdf\" stroke=\"%s\" d=\"M%.2f,%d", colour, map_x(frame, curve->lo),
            BOTTOM);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < curve->n; i++) {
        sum += curve->counts[i];
        fprintf(out, " L%.2f,%.2f", map_x(frame, curve->lo + (i + 1) * width),
                BOTTOM - (double)sum / (double)curve->total * (BOTTOM - TOP));
    }
    fputs("\"/>\n", out);
}

static void put_legend(FILE *out, const Curve *curves, size_t n)
{
    const size_t shown = n < 18 ? n : 18; /* what the height has room for */
    for (size_t i = 0; i < shown; i++) {
        const int y = TOP + 10 + 20 * (int)i;
        fprintf(out,
                "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"/>"
                "<text x=\"%d\" y=\"%d\">",
                RIGHT + 62, y, RIGHT + 84, y, channel_colour(curves[i].name, i), RIGHT + 90, y + 4);
        put_escaped(out, curves[i].name);
        fputs("</text>\n", out);
    }
    if (shown < n)
        fprintf(out, "<text x=\"%d\" y=\"%d\">and %zu more</text>\n", RIGHT + 62,
                TOP + 14 + 20 * (int)shown, n - shown);
}

static void put_head(FILE *out, const Report *report)
{
    const ImgstatPage *const page = report->page;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.grid{stroke:#ddd}.frame{fill:none;stroke:#333}"
            ".curve{fill:none;stroke-width:1.2}"
            ".cdf{fill:none;stroke-width:1;stroke-dasharray:5 3;opacity:.55}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"26\" "
            "font-size=\"15\">",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    const char *const slash = strrchr(report->name, '/');
    put_escaped(out, slash != NULL && slash[1] != '\0' ? slash + 1 : report->name);
    if (page->pages > 1)
        fprintf(out, " [%u]", page->page);
    fprintf(out, ", %u x %u, %s</text>\n", page->width, page->height,
            imgstat_sample_name(page->sample));
}

static void put_axes(FILE *out, const Frame *frame)
{
    put_x_ticks(out, frame);
    put_y_ticks(out, frame);
    for (int percent = 0; percent <= 100; percent += 25)
        fprintf(out, "<text x=\"%d\" y=\"%d\">%d %%</text>\n", RIGHT + 8,
                BOTTOM - (BOTTOM - TOP) * percent / 100 + 4, percent);
    fprintf(out,
            "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">sample value</text>\n"
            "<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">samples%s"
            "</text>\n"
            "<text x=\"%d\" y=\"%d\" fill=\"#555\">dashed: cumulative, right axis</text>\n",
            LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, (LEFT + RIGHT) / 2, HEIGHT - 18,
            (TOP + BOTTOM) / 2, frame->log ? ", logarithmic" : "", RIGHT - 60, HEIGHT - 18);
}

void plot_svg(FILE *out, const Report *report)
{
    Curve *curves = NULL;
    const size_t n = curves_create(report, POINTS_MAX, &curves);
    Frame frame = {.lo = INFINITY, .hi = -INFINITY, .log = report->options->log};
    for (size_t i = 0; i < n; i++) {
        if (curves[i].n == 0 || curves[i].total == 0)
            continue;
        frame.lo = fmin(frame.lo, curves[i].lo);
        frame.hi = fmax(frame.hi, curves[i].hi);
        frame.peak = curves[i].peak > frame.peak ? curves[i].peak : frame.peak;
    }
    if (!(frame.lo <= frame.hi)) /* no sample anywhere: an empty frame */
        frame.lo = 0, frame.hi = 1;

    put_head(out, report);
    put_axes(out, &frame);
    for (size_t i = 0; i < n; i++)
        if (curves[i].total > 0)
            put_distribution(out, &frame, &curves[i], channel_colour(curves[i].name, i));
    for (size_t i = 0; i < n; i++)
        if (curves[i].total > 0)
            put_curve(out, &frame, &curves[i], channel_colour(curves[i].name, i));
    put_legend(out, curves, n);
    fputs("</svg>\n", out);
    curves_release(curves, n);
}

/* SPDX-License-Identifier: MIT */
/* draw.c: axes with round tick values, one curve per channel, its distribution dashed. */
#include "plot/draw.h"
#include "text/memory_stream.h"
#include "text/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The plot's frame inside the picture. */
enum { LEFT = PLOT_LEFT, RIGHT = PLOT_WIDTH - 150, TOP = 48, BOTTOM = PLOT_HEIGHT - 64, TICKS = 6 };

static void put_line(PlotCanvas *canvas, PlotStyle style, const char *colour, double x1, double y1,
                     double x2, double y2)
{
    const PlotPoint ends[] = {{x1, y1}, {x2, y2}};
    canvas->path(canvas, style, colour, ends, 2);
}

static void put_text(PlotCanvas *canvas, double x, double y, PlotAnchor anchor, const char *text)
{
    canvas->text(canvas, x, y, anchor, PLOT_TEXT, false, text);
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

static double map_x(const PlotFrame *frame, double value)
{
    const double half = frame->hi / 2 - frame->lo / 2; /* twice that need not be a double */
    return LEFT + (half > 0 ? (value / 2 - frame->lo / 2) / half : 0.5) * (RIGHT - LEFT);
}

/* Where point i of a curve begins, or with i = n the last one ends. */
static double point_x(const PlotFrame *frame, const Curve *curve, uint32_t i)
{
    return map_x(frame, text_point(curve->lo, curve->hi, i, curve->n));
}

static double map_y(const PlotFrame *frame, double count)
{
    return BOTTOM - curve_height(count, frame->peak, frame->log) * (BOTTOM - TOP);
}

/* The largest of 1, 2, 5 times a power of ten that gives about so many steps. */
static double tick_step(double span, int ticks)
{
    const double raw = span / ticks;
    const double power = pow(10, floor(log10(raw)));
    const double rest = raw / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* With as many digits as tell two ticks apart. step: 0 where there are only ends. */
static void tick_text(char out[TEXT_NUMBER], double value, double step)
{
    const double digits = floor(log10(fabs(value))) - floor(log10(step)) + 1;
    if (value != 0 && step > 0 && digits > 6)
        snprintf(out, TEXT_NUMBER, "%.*g", (int)fmin(digits, DBL_DECIMAL_DIG), value);
    else
        text_short(out, value);
}

/* Whether the numbers of ticks have room beside each other. */
static bool ticks_fit(const PlotFrame *frame, double span, double step)
{
    enum { LETTER = 9 };
    char lo[TEXT_NUMBER], hi[TEXT_NUMBER];
    tick_text(lo, floor(frame->lo / step) * step, step);
    tick_text(hi, floor(frame->hi / step) * step, step);
    const size_t longest = strlen(lo) > strlen(hi) ? strlen(lo) : strlen(hi);
    return (double)(LETTER * longest) <= step / span * (RIGHT - LEFT);
}

static void put_x_ticks(PlotCanvas *canvas, const PlotFrame *frame)
{
    const double span = fmin(frame->hi - frame->lo, DBL_MAX);
    double step = span > 0 ? tick_step(span, TICKS) : 0;
    for (int ticks = TICKS; ticks > 2 && step > 0 && !ticks_fit(frame, span, step);)
        step = tick_step(span, --ticks);
    /* Spans of huge or tiny numbers may have no step that moves; then the ends are enough. */
    const bool steps = step > 0 && isfinite(step) && frame->lo + step > frame->lo;
    const double first = steps ? ceil(frame->lo / step) * step : frame->lo;
    for (int i = 0; i <= 2 * TICKS; i++) {
        const double value = steps ? first + i * step : frame->lo + i * span;
        if (value > frame->hi + span * 1e-9 || (!steps && i > 1))
            break;
        char text[TEXT_NUMBER];
        tick_text(text, fabs(value) < span * 1e-12 ? 0 : value, steps ? step : 0);
        const double x = map_x(frame, value);
        put_line(canvas, PLOT_GRID, NULL, x, TOP, x, BOTTOM + 5);
        put_text(canvas, x, BOTTOM + 20, PLOT_MIDDLE, text);
    }
}

static void put_y_tick(PlotCanvas *canvas, const PlotFrame *frame, double count)
{
    char text[TEXT_NUMBER];
    if (frame->peak < 1e8)
        text_short(text, count);
    else
        snprintf(text, sizeof text, "%g", count); /* more digits have no room */
    const double y = map_y(frame, count);
    put_line(canvas, PLOT_GRID, NULL, LEFT - 5, y, RIGHT, y);
    put_text(canvas, LEFT - 9, y + 4, PLOT_END, text);
}

static void put_y_ticks(PlotCanvas *canvas, const PlotFrame *frame)
{
    put_y_tick(canvas, frame, 0);
    if (frame->log) {
        double step = 10;
        while (frame->peak / step > 10000000)
            step *= 10;
        for (double count = 1; count <= frame->peak; count *= step)
            put_y_tick(canvas, frame, count);
        return;
    }
    if (frame->peak <= 0)
        return;
    const double step = tick_step(frame->peak, TICKS), least = frame->whole ? fmax(step, 1) : step;
    for (double count = least; count <= frame->peak; count += least)
        put_y_tick(canvas, frame, count);
}

/* What is drawn is the histogram itself, nothing between the bins. */
void plot_curve(PlotCanvas *canvas, const PlotFrame *frame, const Curve *curve, double scale,
                const char *colour)
{
    PlotPoint points[2 * PLOT_POINTS];
    for (uint32_t i = 0; i < curve->n; i++) {
        const double y = map_y(frame, fmin(scale * (double)curve->counts[i], frame->peak));
        points[2 * i] = (PlotPoint){point_x(frame, curve, i), y};
        points[2 * i + 1] = (PlotPoint){point_x(frame, curve, i + 1), y};
    }
    canvas->path(canvas, PLOT_CURVE, colour, points, 2 * (size_t)curve->n);
}

void plot_distribution(PlotCanvas *canvas, const PlotFrame *frame, const PlotPoint *points,
                       size_t n, const char *colour)
{
    PlotPoint mapped[PLOT_POINTS + 1];
    for (size_t i = 0; i < n; i++)
        mapped[i] = (PlotPoint){map_x(frame, points[i].x), BOTTOM - points[i].y * (BOTTOM - TOP)};
    canvas->path(canvas, PLOT_CDF, colour, mapped, n);
}

void plot_key(PlotCanvas *canvas, double x, double y, const char *colour, const char *name)
{
    char *const shown = text_display(name);
    put_line(canvas, PLOT_KEY, colour, x, y, x + 22, y);
    put_text(canvas, x + 28, y + 4, PLOT_START, shown);
    free(shown);
}

static void put_legend(PlotCanvas *canvas, const Curve *curves, size_t n)
{
    const size_t shown = n < 18 ? n : 18; /* what the height has room for */
    for (size_t i = 0; i < shown; i++) {
        plot_key(canvas, RIGHT + 62, TOP + 10 + 20 * (int)i, channel_colour(curves[i].name, i),
                 curves[i].name);
    }
    if (shown < n) {
        char text[48];
        snprintf(text, sizeof text, "and %zu more", n - shown);
        put_text(canvas, RIGHT + 62, TOP + 14 + 20 * (int)shown, PLOT_START, text);
    }
}

/* The caller frees it. */
static char *title_of(const Report *report)
{
    char *title = NULL;
    size_t bytes = 0;
    FILE *const out = memory_stream_open(&title, &bytes);
    if (report->merged != NULL) {
        char *const group = text_display(report->merged->group);
        char *const images = report_images(report);
        fprintf(out, "%s%s%s", group, *group != '\0' ? ": " : "", images);
        free(images);
        free(group);
    } else {
        const ImgstatPage *const page = report->page;
        const PageName number = report_page_name(report);
        enum { LONGEST = 44 }; /* what the width has room for, in PNG */
        char *const whole = text_display(text_base(report->name));
        char *const name = text_shorten(whole, LONGEST);
        fprintf(out, "%s%s%s, ", name, number.text[0] != '\0' ? " " : "", number.text);
        if (report_same_size(report))
            fprintf(out, "%u x %u, ", page->width, page->height);
        else
            fputs("several sizes, ", out);
        fputs(imgstat_sample_name(page->sample), out);
        free(name);
        free(whole);
    }
    memory_stream_close(out);
    return title;
}

void plot_axes(PlotCanvas *canvas, const PlotFrame *frame, const char *title)
{
    static const PlotPoint corners[] = {
        {LEFT, TOP}, {RIGHT, TOP}, {RIGHT, BOTTOM}, {LEFT, BOTTOM}, {LEFT, TOP}};
    canvas->text(canvas, LEFT, 26, PLOT_START, PLOT_TITLE, false, title);
    put_x_ticks(canvas, frame);
    put_y_ticks(canvas, frame);
    for (int percent = 0; percent <= 100; percent += 25) {
        char text[16];
        snprintf(text, sizeof text, "%d %%", percent);
        put_text(canvas, RIGHT + 8, BOTTOM - (BOTTOM - TOP) * percent / 100 + 4, PLOT_START, text);
    }
    canvas->path(canvas, PLOT_FRAME, NULL, corners, sizeof corners / sizeof corners[0]);
    put_text(canvas, (LEFT + RIGHT) / 2, PLOT_HEIGHT - 18, PLOT_MIDDLE, "sample value");
    canvas->text(canvas, 16, (TOP + BOTTOM) / 2, PLOT_MIDDLE, PLOT_TEXT, true, frame->label);
    put_text(canvas, RIGHT - 60, PLOT_HEIGHT - 18, PLOT_START, "dashed: cumulative, right axis");
}

static void put_cumulative(PlotCanvas *canvas, const PlotFrame *frame, const Curve *curve,
                           const char *colour)
{
    PlotPoint points[PLOT_POINTS + 1];
    const size_t n = curve_distribution(curve, points);
    plot_distribution(canvas, frame, points, n, colour);
}

static void draw(PlotCanvas *canvas, size_t panel, const void *context)
{
    const Report *const report = context;
    Curve *curves = NULL;
    const size_t n = curves_create(report, PLOT_POINTS, &curves);
    PlotFrame frame = {.lo = INFINITY,
                       .hi = -INFINITY,
                       .whole = true,
                       .log = report->options->log,
                       .label = report->options->log ? "samples, logarithmic" : "samples"};
    (void)panel;
    for (size_t i = 0; i < n; i++) {
        if (curves[i].n == 0 || curves[i].total == 0)
            continue;
        frame.lo = fmin(frame.lo, curves[i].lo);
        frame.hi = fmax(frame.hi, curves[i].hi);
        frame.peak = fmax(frame.peak, (double)curves[i].peak);
    }
    if (!(frame.lo <= frame.hi)) /* no sample anywhere: an empty frame */
        frame.lo = 0, frame.hi = 1;

    char *const title = title_of(report);
    plot_axes(canvas, &frame, title);
    free(title);
    for (size_t i = 0; i < n; i++)
        if (curves[i].total > 0)
            put_cumulative(canvas, &frame, &curves[i], channel_colour(curves[i].name, i));
    for (size_t i = 0; i < n; i++)
        if (curves[i].total > 0)
            plot_curve(canvas, &frame, &curves[i], 1, channel_colour(curves[i].name, i));
    put_legend(canvas, curves, n);
    curves_release(curves, n);
}

Plot plot_of(const Report *report)
{
    return (Plot){1, draw, report};
}

/* SPDX-License-Identifier: MIT */
/* terminal.c: columns of block characters, an axis, and the percentiles below it. */
#include "plot/terminal.h"
#include "plot/curve.h"
#include "text/terminal.h"
#include "text/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80, DEFAULT_HEIGHT = 8, LABEL_MAX = 32 };

/* What a column's cell shows, from empty to full. */
typedef struct Glyphs {
    const char *const *levels;
    unsigned n_levels; /* of a cell; levels[n_levels] is full */
    const char *axis_side, *axis_corner, *axis_line;
} Glyphs;

static const char *const block_levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii_levels[] = {" ", ".", ":", "#"};
static const Glyphs blocks = {block_levels, 8, "┤", "└", "─"};
static const Glyphs ascii = {ascii_levels, 3, "|", "+", "-"};

static void draw_rows(FILE *out, const Curve *curve, const Glyphs *glyphs, unsigned height,
                      uint32_t repeat, int margin, bool log)
{
    const Styles *const styles = terminal_styles(STDOUT_FILENO);
    const char *const colour = terminal_channel(styles, curve->name);
    for (unsigned row = height; row-- > 0;) {
        if (row == height - 1)
            fprintf(out, "%*" PRIu64 " %s", margin, curve->peak, glyphs->axis_side);
        else
            fprintf(out, "%*s %s", margin, "", glyphs->axis_side);
        fputs(colour, out);
        for (uint32_t i = 0; i < curve->n; i++) {
            const double full = (double)(height * glyphs->n_levels);
            double level =
                ceil(curve_height((double)curve->counts[i], (double)curve->peak, log) * full);
            level -= (double)(row * glyphs->n_levels); /* what reaches into this row */
            if (level < 0)
                level = 0;
            if (level > glyphs->n_levels)
                level = glyphs->n_levels;
            for (uint32_t k = 0; k < repeat; k++)
                fputs(glyphs->levels[(unsigned)level], out);
        }
        fprintf(out, "%s\n", *colour != '\0' ? styles->end : "");
    }
}

/* Values below the axis where they have room: both ends, then the quarters. */
static void draw_axis(FILE *out, const Curve *curve, const Glyphs *glyphs, uint32_t columns,
                      int margin)
{
    fprintf(out, "%*s %s", margin, "0", glyphs->axis_corner);
    for (uint32_t i = 0; i < columns; i++)
        fputs(glyphs->axis_line, out);
    fputc('\n', out);

    char line[1024 + LABEL_MAX];
    memset(line, ' ', sizeof line);
    size_t end = 0;
    char previous[TEXT_NUMBER] = "";
    for (unsigned quarter = 0; quarter <= 4; quarter++) {
        char label[TEXT_NUMBER], last[TEXT_NUMBER];
        const uint32_t column = columns * quarter / 4;
        text_short(last, curve->last);
        text_short(label, text_point(curve->lo, curve->hi, quarter, 4));
        if (quarter == 4)
            strcpy(label, last);
        const size_t length = strlen(label);
        const size_t start = quarter == 4 && column > length ? column - length : column;
        const bool meets_last =
            quarter > 0 && quarter < 4 && start + length + strlen(last) + 2 > columns;
        if ((quarter > 0 && start < end + 2) || meets_last || strcmp(label, previous) == 0)
            continue;
        strcpy(previous, label);
        memcpy(line + start, label, length);
        end = start + length;
    }
    fprintf(out, "%*s  %.*s\n", margin, "", (int)end, line);
}

/* As many to a line as fit. */
static void draw_percentiles(FILE *out, const Report *report, uint16_t channel, unsigned width,
                             int margin)
{
    const Options *const o = report->options;
    size_t used = 0;
    for (size_t k = 0; k < o->n_percentiles; k++) {
        char value[TEXT_NUMBER], text[2 * TEXT_NUMBER + 32];
        text_short_percentile(value, report->record, channel, k);
        snprintf(text, sizeof text, "%.24s%% %s", o->percentile_keys[k], value);
        const size_t length = strlen(text);
        if (used > 0 && used + 3 + length + (size_t)margin + 2 > width) {
            fputc('\n', out);
            used = 0;
        }
        if (used == 0)
            used += (size_t)fprintf(out, "%*s  %s", margin, "", text) - (size_t)margin - 2;
        else
            used += (size_t)fprintf(out, "   %s", text);
    }
    if (used > 0)
        fputc('\n', out);
}

static void draw_channel(FILE *out, const Report *report, uint16_t channel, const Curve *curve,
                         const Glyphs *glyphs, unsigned width, int margin)
{
    const Options *const o = report->options;
    ImgstatStats stats;
    imgstat_record_stats(report->record, channel, &stats);
    fprintf(out, "\n%s: %" PRIu64 " sample%s", curve->name, stats.count,
            stats.count == 1 ? "" : "s");
    if (stats.count == 0) {
        fputs(", nothing to draw\n", out);
        return;
    }
    char min[TEXT_NUMBER], max[TEXT_NUMBER], mean[TEXT_NUMBER], stddev[TEXT_NUMBER];
    text_short_value(min, stats.min);
    text_short_value(max, stats.max);
    text_short(mean, stats.mean);
    text_short(stddev, stats.stddev);
    fprintf(out, ", min %s, max %s, mean %s, stddev %s%s\n", min, max, mean, stddev,
            o->log ? ", logarithmic" : "");
    if (curve->total == 0) {
        fputs("no sample in the range\n", out);
    } else {
        const uint32_t room = width - (uint32_t)margin - 2;
        const uint32_t repeat = room / curve->n > 0 ? room / curve->n : 1;
        draw_rows(out, curve, glyphs, o->plot_height > 0 ? o->plot_height : DEFAULT_HEIGHT, repeat,
                  margin, o->log);
        draw_axis(out, curve, glyphs, curve->n * repeat, margin);
    }
    draw_percentiles(out, report, channel, width, margin);
}

/* The most that a bin may count. */
static uint64_t most_samples(const Report *report)
{
    uint64_t most = (uint64_t)report->page->width * report->page->height;
    for (uint16_t c = 0; c < imgstat_record_channels(report->record); c++) {
        ImgstatStats stats;
        imgstat_record_stats(report->record, c, &stats);
        most = stats.count > most ? stats.count : most;
    }
    return most;
}

void plot_terminal(FILE *out, const Report *report)
{
    const unsigned width =
        report->options->plot_width > 0 ? report->options->plot_width : DEFAULT_WIDTH;
    const Glyphs *const glyphs = report->options->ascii ? &ascii : &blocks;

    /* The left margin holds the largest count; grouping can only be chosen once it is known. */
    char count[TEXT_NUMBER];
    snprintf(count, sizeof count, "%" PRIu64, most_samples(report));
    int margin = (int)strlen(count);
    if ((unsigned)margin + 12 > width)
        margin = 1;

    Curve *curves = NULL;
    const size_t n = curves_create(report, width - (unsigned)margin - 2, &curves);
    for (size_t c = 0; c < n; c++)
        draw_channel(out, report, (uint16_t)c, &curves[c], glyphs, width, margin);
    curves_release(curves, n);
}

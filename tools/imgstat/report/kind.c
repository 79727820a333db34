/* SPDX-License-Identifier: MIT */
/* kind.c: the record of a kind of images on a page: numbers to paste, a table, a plot. */
#include "report/page.h"
#include "text/page_text.h"
#include "text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { PLOT_W = 512, PLOT_H = 150, STEPS_MOST = 64, OPEN_KINDS = 3 };

static void put_heading(const SurveyKind *kind, FILE *out)
{
    const ImgstatKind *const k = &kind->kind;
    uint64_t pages;
    char count[TEXT_NUMBER];
    imgstat_record_images(kind->record, NULL, &pages);
    text_grouped(count, pages);
    fprintf(out, "<details%s><summary><h3>%s image%s, ", kind->number < OPEN_KINDS ? " open" : "",
            count, pages == 1 ? "" : "s");
    page_put_text(out, k->photometric);
    fprintf(out, ", %s", imgstat_sample_name(k->sample));
    if (k->bits != 8 * imgstat_sample_bytes(k->sample))
        fprintf(out, " (%u bit%s)", k->bits, k->bits == 1 ? "" : "s");
    if (k->channels != 1 && k->channels != 3) /* as with alpha */
        fprintf(out, ", %u channels", k->channels);
    if (k->has_nodata) {
        text_nodata(count, k->nodata);
        fprintf(out, ", nodata %s", count);
    }
    if (kind->group != NULL && *kind->group != '\0') {
        fputs(", group ", out);
        page_put_text(out, kind->group);
    }
    fputs("</h3></summary>\n", out);
}

/* "mean = [0.4853, ...]", of full scale or in values. */
static void put_list(const SurveyKind *kind, const char *name, bool deviation, bool scaled,
                     FILE *out)
{
    const double by = scaled ? kind->hi - kind->lo : 1, from = scaled && !deviation ? kind->lo : 0;
    fprintf(out, "%s=[", name);
    for (uint16_t i = 0; i < survey_colours(&kind->kind); i++) {
        ImgstatStats s;
        imgstat_record_stats(kind->record, survey_colour(&kind->kind, i), &s);
        fprintf(out, "%s%.6g", i > 0 ? ", " : "", ((deviation ? s.stddev : s.mean) - from) / by);
    }
    fputc(']', out);
}

static void put_paste(const SurveyKind *kind, FILE *out)
{
    for (uint16_t i = 0; i < survey_colours(&kind->kind); i++) {
        ImgstatStats s;
        imgstat_record_stats(kind->record, survey_colour(&kind->kind, i), &s);
        if (!isfinite(s.mean) || !isfinite(s.stddev))
            return;
    }
    if (!kind->is_float) {
        fputs("<p>To paste, with samples scaled to 0 ... 1:</p>\n<pre>Normalize(", out);
        put_list(kind, "mean", false, true, out);
        fputs(", ", out);
        put_list(kind, "std", true, true, out);
        fputs(")</pre>\n", out);
    }
    fputs("<p>In values of samples:</p>\n<pre>", out);
    put_list(kind, "mean", false, false, out);
    fputs(", ", out);
    put_list(kind, "std", true, false, out);
    fputs("</pre>\n", out);
}

/* A percentile; of wider types what it lies between. */
static void put_percentile(const ImgstatRecord *record, uint16_t c, size_t k, FILE *out)
{
    double lo, hi;
    fputs("<td>", out);
    if (imgstat_record_bounds(record, c, k, &lo, &hi)) {
        page_put_number(out, lo);
        fputs(" to ", out);
        page_put_number(out, hi);
    } else {
        page_put_number(out, imgstat_record_percentile(record, c, k));
    }
    fputs("</td>", out);
}

static void put_row(const SurveyKind *kind, uint16_t c, FILE *out)
{
    static const size_t places[] = {PLACE_BLACK, PLACE_1, PLACE_99, PLACE_WHITE};
    ImgstatStats s;
    double lo, hi;
    char text[TEXT_NUMBER];
    imgstat_record_stats(kind->record, c, &s);
    fputs("<tr><th scope=\"row\">", out);
    page_put_text(out, kind->kind.names[c]);
    text_grouped(text, s.count);
    fprintf(out, "</th><td>%s</td><td>", text);
    text_grouped(text, s.nan + s.inf + s.nodata + s.masked);
    fprintf(out, "%s</td><td>", text);
    if (s.count > 0) {
        text_short_value(text, s.min);
        fprintf(out, "%s</td><td>", text);
        text_short_value(text, s.max);
        fputs(text, out);
    } else {
        fputs("</td><td>", out);
    }
    fputs("</td><td>", out);
    page_put_number(out, s.mean);
    fputs("</td><td>", out);
    page_put_number(out, s.stddev);
    fputs("</td>", out);
    put_percentile(kind->record, c, places[0], out);
    put_percentile(kind->record, c, places[1], out);
    fputs("<td>", out);
    if (imgstat_record_bounds(kind->record, c, IMGSTAT_MEDIAN, &lo, &hi)) {
        page_put_number(out, lo);
        fputs(" to ", out);
        page_put_number(out, hi);
    } else {
        page_put_number(out, s.median);
    }
    fputs("</td>", out);
    put_percentile(kind->record, c, places[2], out);
    put_percentile(kind->record, c, places[3], out);
    fputs("</tr>\n", out);
}

static void put_table(const SurveyKind *kind, FILE *out)
{
    static const char *const headings[] = {"Channel", "Samples", "Not valid", "Min",
                                           "Max",     "Mean",    "Std dev",   "p0.1",
                                           "p1",      "Median",  "p99",       "p99.9"};
    fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Statistics of the "
          "channels\"><table><thead><tr>",
          out);
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
        fprintf(out, "<th scope=\"col\">%s</th>", headings[i]);
    fputs("</tr></thead><tbody>\n", out);
    for (uint16_t c = 0; c < kind->kind.channels; c++)
        put_row(kind, c, out);
    fputs("</tbody></table></div>\n", out);
}

/* ---- The plot ----------------------------------------------------------------------------------
 */

static double height_of(uint64_t count, bool logarithms)
{
    return logarithms ? log1p((double)count) : (double)count;
}

/* Bins without the ends, which clipped samples would make the highest; all of them where there is
 * nothing else. */
static double highest(const SurveyKind *kind, bool logarithms)
{
    double most = 0, inner = 0;
    for (uint16_t i = 0; i < survey_colours(&kind->kind); i++) {
        ImgstatHistogram h;
        if (!imgstat_record_histogram(kind->record, survey_colour(&kind->kind, i), &h))
            continue;
        for (uint32_t k = 0; k < h.bins; k++) {
            const double height = height_of(h.counts[k], logarithms);
            most = fmax(most, height);
            if (k > 0 && k + 1 < h.bins)
                inner = fmax(inner, height);
        }
    }
    return inner > 0 ? inner : most > 0 ? most : 1;
}

static void put_curves(const SurveyKind *kind, bool logarithms, FILE *out)
{
    const double most = highest(kind, logarithms);
    const uint16_t n = survey_colours(&kind->kind);
    fprintf(out, "<g class=\"%s\">", logarithms ? "log" : "linear");
    for (uint16_t i = 0; i < n; i++) {
        ImgstatHistogram h;
        if (!imgstat_record_histogram(kind->record, survey_colour(&kind->kind, i), &h))
            continue;
        fprintf(out, "<polyline class=\"%s%u\" points=\"", n == 1 ? "only c" : "c",
                n == 1 ? 9u : i % 4u);
        const bool steps = h.bins <= STEPS_MOST;
        for (uint32_t k = 0; k < h.bins; k++) {
            const double y = PLOT_H * (1 - fmin(height_of(h.counts[k], logarithms) / most, 1));
            const double width = (double)PLOT_W / h.bins;
            if (steps)
                fprintf(out, "%.1f,%.1f %.1f,%.1f ", k * width, y, (k + 1) * width, y);
            else
                fprintf(out, "%.1f,%.1f ", (k + 0.5) * width, y);
        }
        fputs("\"/>", out);
    }
    fputs("</g>\n", out);
}

static void put_plot(const SurveyKind *kind, FILE *out)
{
    ImgstatHistogram h;
    const uint16_t n = survey_colours(&kind->kind);
    if (n == 0 || !imgstat_record_histogram(kind->record, survey_colour(&kind->kind, 0), &h)) {
        fputs("<p>Samples of more than 16 bits have no histogram here, and of percentiles "
              "bounds.</p>\n",
              out);
        return;
    }
    fprintf(out, "<figure><svg viewBox=\"-1 -4 %d %d\" role=\"img\" aria-label=\"Histogram of ",
            PLOT_W + 2, PLOT_H + 24);
    for (uint16_t i = 0; i < n; i++) {
        fputs(i > 0 ? ", " : "", out);
        page_put_text(out, kind->kind.names[survey_colour(&kind->kind, i)]);
    }
    fprintf(out, "\">\n<rect class=\"frame\" width=\"%d\" height=\"%d\"/>\n", PLOT_W, PLOT_H);
    put_curves(kind, false, out);
    put_curves(kind, true, out);
    fprintf(out, "<text x=\"0\" y=\"%d\">", PLOT_H + 14);
    page_put_number(out, h.lo);
    fprintf(out, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", PLOT_W, PLOT_H + 14);
    page_put_number(out, h.hi);
    fputs("</text></svg><figcaption>", out);
    for (uint16_t i = 0; n > 1 && i < n; i++) {
        fprintf(out, "<span class=\"key c%u\">", i % 4u);
        page_put_text(out, kind->kind.names[survey_colour(&kind->kind, i)]);
        fputs("</span> ", out);
    }
    fputs("The highest bin but the ends is the top.</figcaption></figure>\n", out);
}

void survey_put_kind(const SurveyKind *kind, FILE *out)
{
    put_heading(kind, out);
    put_table(kind, out);
    put_paste(kind, out);
    put_plot(kind, out);
    fputs("</details>\n", out);
}

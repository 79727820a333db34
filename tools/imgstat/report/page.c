/* SPDX-License-Identifier: MIT */
/* page.c: fills in the page of tools/imgstat/report. */
#include "report/page.h"
#include "plot/file.h"
#include "text/page_text.h"
#include "text/status.h"
#include "text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const ShownMeasure survey_shown[] = {
    {MEASURE_MEAN, "before_mean", "Mean before", true},
    {MEASURE_MEAN, "mean", "Mean", false},
    {MEASURE_STDDEV, "before_stddev", "Std dev before", true},
    {MEASURE_STDDEV, "stddev", "Std dev", false},
    {MEASURE_MIN, "min", "Min", false},
    {MEASURE_MEDIAN, "median", "Median", false},
    {MEASURE_MAX, "max", "Max", false},
    {MEASURE_CONTRAST, "before_contrast", "Contrast % before", true},
    {MEASURE_CONTRAST, "contrast", "Contrast %", false},
    {MEASURE_LOW, "before_low", "Low end % before", true},
    {MEASURE_LOW, "low", "Low end %", false},
    {MEASURE_HIGH, "before_high", "High end % before", true},
    {MEASURE_HIGH, "high", "High end %", false},
    {MEASURE_DISTANCE, "distance", "Distance %", false}};
const size_t survey_shown_n = sizeof survey_shown / sizeof survey_shown[0];

bool survey_shows(const Survey *survey, const ShownMeasure *shown)
{
    return survey->before != NULL || !shown->before;
}

double survey_value(const SurveyImage *image, const ShownMeasure *shown)
{
    const SurveyImage *const of = shown->before ? image->before : image;
    return of != NULL ? of->measure[shown->measure] : (double)NAN;
}

/* Columns of numbers. */
static size_t columns_of(const Survey *survey)
{
    size_t n = 0;
    for (size_t i = 0; i < survey_shown_n; i++)
        n += survey_shows(survey, &survey_shown[i]);
    return n;
}

enum { MANY_IMAGES = 1000, THUMBS_OF_MANY = 200 };

/* The images that are in the page without its script. */
typedef struct Chosen {
    bool *is; /* each of all */
    size_t n;
} Chosen;

void survey_put_size(const SurveyImage *image, FILE *out)
{
    fprintf(out, "%u × %u", (unsigned)image->width, (unsigned)image->height);
}

void survey_put_type(const SurveyImage *image, FILE *out)
{
    const ImgstatKind *const kind = &image->kind->kind;
    fprintf(out, "%s, ", image->format);
    page_put_text(out, kind->photometric);
    fprintf(out, ", %s", imgstat_sample_name(kind->sample));
    if (kind->bits != 8 * imgstat_sample_bytes(kind->sample))
        fprintf(out, " (%u bit%s)", kind->bits, kind->bits == 1 ? "" : "s");
}

/* ---- Which images ---- */

static size_t flags_of(const SurveyImage *image)
{
    return (size_t)__builtin_popcount(image->flags);
}

/* All of them, up to MANY_IMAGES; else those with most flags. */
static Chosen choose(const Survey *survey)
{
    const size_t most = survey->n <= MANY_IMAGES ? MANY_IMAGES : THUMBS_OF_MANY;
    Chosen chosen = {.is = text_alloc(survey->n + 1)};
    memset(chosen.is, 0, survey->n + 1);
    for (size_t flags = N_FLAGS + 1; flags-- > 0;)
        for (size_t i = 0; chosen.n < most && i < survey->n; i++)
            if (flags_of(&survey->images[i]) == flags) {
                chosen.is[i] = true;
                chosen.n++;
            }
    return chosen;
}

/* ---- Thumbnails ---- */

/* Levels of a thumbnail are those of its own contrast. This filter makes them those of the contrast
 * that its kind has in common: level times slope plus offset, from 0 to 1. No step of it leaves
 * that range where the result is within. */
static void put_filter(const SurveyImage *image, FILE *out)
{
    const double range = image->kind->white - image->kind->black;
    const bool one = range > 0 && isfinite(range) && isfinite(image->white - image->black);
    const double slope = one ? (image->white - image->black) / range : 1;
    const double offset = one ? (image->black - image->kind->black) / range : 0;
    if (offset <= 0)
        fprintf(out, "brightness(%.4g) contrast(%.4g)", slope / (1 - 2 * offset), 1 - 2 * offset);
    else
        fprintf(out, "contrast(%.4g) brightness(%.4g)", slope / (2 * offset + slope),
                2 * offset + slope);
}

static void put_thumbnail(Survey *survey, const SurveyImage *image, const char *what, FILE *out)
{
    if (image == NULL || image->preview_bytes == 0)
        return;
    unsigned char *const jpeg = text_alloc(image->preview_bytes);
    if (fseek(survey->previews, image->preview_at, SEEK_SET) == 0 &&
        fread(jpeg, 1, image->preview_bytes, survey->previews) == image->preview_bytes) {
        fprintf(out, "<img width=\"%u\" height=\"%u\" alt=\"%s of ", image->preview_width,
                image->preview_height, what);
        page_put_text(out, image->name + survey->below);
        fputs("\" style=\"--one:", out);
        put_filter(image, out);
        fputs("\" src=\"data:image/jpeg;base64,", out);
        page_put_base64(out, jpeg, image->preview_bytes);
        fputs("\">", out);
    } else {
        survey->previews_failed = true;
    }
    free(jpeg);
}

/* ---- The table of images ---- */

static void put_headings(Survey *survey, FILE *out)
{
    fputs("<th scope=\"col\">Image</th><th scope=\"col\" class=\"text\" "
          "data-column=\"name\">Name</th>"
          "<th scope=\"col\" class=\"text\" data-column=\"flags\">Flags</th>"
          "<th scope=\"col\" class=\"text\">Size</th><th scope=\"col\" class=\"text\">Type</th>",
          out);
    for (size_t i = 0; i < survey_shown_n; i++)
        if (survey_shows(survey, &survey_shown[i]))
            fprintf(out, "<th scope=\"col\" data-column=\"%s\">%s</th>", survey_shown[i].name,
                    survey_shown[i].heading);
}

static void put_flag_names(const SurveyImage *image, FILE *out)
{
    bool any = false;
    for (size_t k = 0; k < N_FLAGS; k++) {
        if ((image->flags >> k & 1) == 0)
            continue;
        fprintf(out, "%s%s", any ? ", " : "", flag_table[k].name);
        any = true;
    }
}

static void put_image(Survey *survey, size_t i, bool thumbnail, FILE *out)
{
    const SurveyImage *const image = &survey->images[i];
    fprintf(out, "<tr data-i=\"%zu\"><td>", i);
    if (thumbnail && survey->before != NULL)
        put_thumbnail(survey->before, image->before, "Input", out);
    if (thumbnail)
        put_thumbnail(survey, image, survey->before != NULL ? "Output" : "Thumbnail", out);
    fputs("</td><th scope=\"row\">", out);
    page_put_text(out, image->name + survey->below);
    fputs("</th><td class=\"text flag\">", out);
    put_flag_names(image, out);
    fputs("</td>", out);
    if (image->kind == NULL) {
        fprintf(out, "<td class=\"message\" colspan=\"%zu\">", columns_of(survey) + 2);
        page_put_text(out, image->message);
        fputs("</td>", out);
    } else {
        fputs("<td class=\"text\">", out);
        survey_put_size(image, out);
        fputs("</td><td class=\"text\">", out);
        survey_put_type(image, out);
        fputs("</td>", out);
        for (size_t k = 0; k < survey_shown_n; k++) {
            if (!survey_shows(survey, &survey_shown[k]))
                continue;
            fputs("<td>", out);
            page_put_number(out, survey_value(image, &survey_shown[k]));
            fputs("</td>", out);
        }
    }
    fputs("</tr>\n", out);
}

static void put_images(Survey *survey, FILE *out)
{
    const Options *const o = survey->options;
    Chosen chosen = choose(survey);
    size_t thumbs = o->has_thumbs ? o->thumbs : chosen.n;
    for (size_t i = 0; i < survey->n; i++) {
        const bool thumbnail = thumbs > 0 && survey->images[i].preview_bytes > 0;
        if (!chosen.is[i])
            continue;
        thumbs -= thumbnail;
        put_image(survey, i, thumbnail, out);
    }
    free(chosen.is);
}

/* ---- The rest ---- */

static void put_title(Survey *survey, FILE *out)
{
    const Options *const o = survey->options;
    fputs("Report: ", out);
    page_put_text(out, o->n_names == 1 ? o->names[0] : "images");
}

static void put_count(FILE *out, size_t n, const char *one, const char *many)
{
    char text[TEXT_NUMBER];
    text_grouped(text, n);
    fprintf(out, "%s %s", text, n == 1 ? one : many);
}

static void put_summary(Survey *survey, FILE *out)
{
    size_t flagged = 0;
    for (size_t i = 0; i < survey->n; i++)
        flagged += survey->images[i].flags != 0;
    put_count(out, survey->files - survey->empties, "file", "files");
    fputs(" (", out);
    put_count(out, survey->failed - survey->empties, "damaged), ", "damaged), ");
    put_count(out, survey_images(survey), "image", "images");
    fputs(", ", out);
    put_count(out, flagged, "with a flag", "with flags");
    fprintf(out, ". Made by imgstat %s.", imgstat_version());
}

static void put_kinds(Survey *survey, FILE *out)
{
    fputs("<p><label><input type=\"checkbox\" id=\"log\"> Histograms: logarithms of the "
          "counts</label></p>\n",
          out);
    if (survey->before != NULL)
        fputs("<p>Before, the inputs:</p>\n", out);
    for (const SurveyKind *kind = survey->before != NULL ? survey->before->kinds : NULL;
         kind != NULL; kind = kind->next)
        survey_put_kind(kind, out);
    if (survey->before != NULL)
        fputs("<p>After, the outputs:</p>\n", out);
    for (const SurveyKind *kind = survey->kinds; kind != NULL; kind = kind->next)
        survey_put_kind(kind, out);
}

static void put_flags(Survey *survey, FILE *out)
{
    static const char *const ways[] = {
        [FLAG_ABOVE] = "&gt;", [FLAG_BELOW] = "&lt;", [FLAG_AT_MOST] = "&lt;="};
    for (size_t k = 0; k < N_FLAGS; k++) {
        const Flag *const flag = &flag_table[k];
        char count[TEXT_NUMBER];
        text_grouped(count, survey_count(survey, k));
        fprintf(out, "<tr><th scope=\"row\">%s</th><td id=\"n-%s\">%s</td><td id=\"t-%s\">%s ",
                flag->name, flag->name, count, flag->name, ways[flag->way]);
        page_put_number(out, survey->threshold[k]);
        fprintf(out, " %s</td><td>%s</td></tr>\n", flag->unit, flag->definition);
    }
}

static void put_shown(Survey *survey, FILE *out)
{
    if (survey->below > 0) {
        char *const folder = text_copy(survey->images[0].name);
        folder[survey->below] = '\0';
        fputs("Names are those below ", out);
        page_put_text(out, folder);
        fputs(". ", out);
        free(folder);
    }
    if (survey->n > MANY_IMAGES)
        fprintf(out,
                "The page has thumbnails of the %d images with most flags; without a script it "
                "shows these alone.",
                THUMBS_OF_MANY);
}

static void put_style(Survey *survey, FILE *out)
{
    (void)survey;
    fputs(report_page_css, out);
}

static void put_script(Survey *survey, FILE *out)
{
    (void)survey;
    fputs(report_page_js, out);
}

static void put_data(Survey *survey, FILE *out)
{
    survey_put_data(survey, out);
}

void survey_page(Survey *survey, FILE *out)
{
    static const struct {
        const char *name;
        void (*put)(Survey *survey, FILE *out);
    } parts[] = {{"title", put_title},      {"style", put_style}, {"summary", put_summary},
                 {"kinds", put_kinds},      {"flags", put_flags}, {"shown", put_shown},
                 {"images", put_images},    {"data", put_data},   {"script", put_script},
                 {"headings", put_headings}};
    const char *from = report_page_html;
    for (const char *mark; (mark = strstr(from, "{{")) != NULL; from = strstr(mark, "}}") + 2) {
        fwrite(from, 1, (size_t)(mark - from), out);
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            const size_t length = strlen(parts[i].name);
            if (strncmp(mark + 2, parts[i].name, length) == 0 && mark[2 + length] == '}')
                parts[i].put(survey, out);
        }
    }
    fputs(from, out);
    if (survey->previews_failed || (survey->before != NULL && survey->before->previews_failed)) {
        fprintf(stderr, "%s: thumbnails are missing: their temporary file failed\n",
                survey->options->command);
        status_raise(STATUS_FAILED);
    }
}

bool survey_write(Survey *survey)
{
    const Options *const o = survey->options;
    const bool replace = o->force || o->transform.write.replace;
    PlotFile file;
    if (strcmp(o->report, "-") == 0) {
        survey_page(survey, stdout);
        return true;
    }
    if (!plot_file_open(o->report, replace, &file, stderr))
        return false;
    survey_page(survey, file.stream);
    return plot_file_commit(&file, replace, stderr);
}

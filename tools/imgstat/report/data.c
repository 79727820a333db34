/* SPDX-License-Identifier: MIT */
/* data.c: the measures of all images as the script of a page reads them: small, because
 * there may be 100,000. */
#include "report/page.h"
#include "report/survey.h"
#include "text/page_text.h"
#include "text/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MOST = 256 }; /* values that a byte can name */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static bool is_same(double a, double b)
{
    return compare_doubles(&a, &b) == 0;
}

/* A float has the digits that the table shows, and is 0 or infinite only where the value is. */
static bool is_float_enough(double value)
{
    const double size = fabs(value);
    return isnan(value) || value == 0 || (size >= (double)FLT_MIN && size < 0x1p24);
}

/* Sorts the different values to the front; returns their number. */
static size_t different(double *values, size_t n)
{
    size_t kept = 0;
    qsort(values, n, sizeof *values, compare_doubles);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !is_same(values[i], values[kept - 1]))
            values[kept++] = values[i];
    return kept;
}

/* In floats if that is enough for each value, else in doubles; little-endian as browsers are. */
static void put_reals(FILE *out, const double *values, size_t n)
{
    float *const floats = text_alloc((n + 1) * sizeof *floats);
    bool enough = true;
    for (size_t i = 0; i < n; i++) {
        floats[i] = (float)values[i];
        enough = enough && is_float_enough(values[i]);
    }
    fputs(enough ? "{\"floats\":\"" : "{\"doubles\":\"", out);
    if (enough)
        page_put_base64(out, floats, n * sizeof *floats);
    else
        page_put_base64(out, values, n * sizeof *values);
    fputs("\"}", out);
    free(floats);
}

static void put_column(FILE *out, const double *values, size_t n)
{
    double *const list = text_alloc((n + 1) * sizeof *list);
    memcpy(list, values, n * sizeof *list);
    const size_t count = different(list, n);
    if (count <= 1) {
        fputs("{\"all\":", out);
        page_put_real(out, count > 0 ? list[0] : (double)NAN);
        fputc('}', out);
    } else if (count <= LIST_MOST) {
        uint8_t *const places = text_alloc(n);
        for (size_t i = 0; i < n; i++)
            places[i] = (uint8_t)((const double *)bsearch(&values[i], list, count, sizeof *list,
                                                          compare_doubles) -
                                  list);
        fputs("{\"list\":[", out);
        for (size_t i = 0; i < count; i++) {
            fputs(i > 0 ? "," : "", out);
            page_put_real(out, list[i]);
        }
        fputs("],\"places\":\"", out);
        page_put_base64(out, places, n);
        fputs("\"}", out);
        free(places);
    } else {
        put_reals(out, values, n);
    }
    free(list);
}

static void put_values(const Survey *survey, const ShownMeasure *of, bool first, double *values,
                       FILE *out)
{
    for (size_t i = 0; i < survey->n; i++)
        values[i] = survey_value(&survey->images[i], of);
    fprintf(out, "%s\n\"%s\":", first ? "" : ",", of->name);
    put_column(out, values, survey->n);
}

/* The columns of the table, and the measures of flags that it does not show. */
static void put_columns(const Survey *survey, FILE *out)
{
    double *const values = text_alloc((survey->n + 1) * sizeof *values);
    bool done[N_MEASURES] = {false}, first = true;
    fputs("\"columns\":{", out);
    for (size_t i = 0; i < survey_shown_n; i++) {
        if (!survey_shows(survey, &survey_shown[i]))
            continue;
        put_values(survey, &survey_shown[i], first, values, out);
        done[survey_shown[i].measure] = true; /* those before are shown after as well */
        first = false;
    }
    for (size_t k = 0; k < N_FLAGS; k++) {
        const Measure measure = flag_table[k].measure;
        const ShownMeasure hidden = {.measure = measure, .name = measure_names[measure]};
        if (!done[measure])
            put_values(survey, &hidden, first, values, out);
        done[measure] = true;
    }
    fputs("},\n", out);
    free(values);
}

/* ---- Size and type of each image ---------------------------------------------------------------
 */

static int compare_shapes(const void *a, const void *b)
{
    const SurveyImage *const x = *(const SurveyImage *const *)a, *const y =
                                                                     *(const SurveyImage *const *)b;
    return survey_compare_forms(x, y);
}

static void put_forms(const Survey *survey, FILE *out)
{
    const SurveyImage **const sorted = text_alloc((survey->n + 1) * sizeof(SurveyImage *));
    uint32_t *const form = text_alloc((survey->n + 1) * sizeof *form);
    uint32_t forms = 0;
    size_t n = 0;
    for (size_t i = 0; i < survey->n; i++) {
        form[i] = 0;
        if (survey->images[i].kind != NULL)
            sorted[n++] = &survey->images[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_shapes);
    fputs("\"forms\":[", out);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_shapes(&sorted[i], &sorted[i - 1]) != 0) {
            fputs(forms++ > 0 ? ",[\"" : "[\"", out);
            survey_put_size(sorted[i], out);
            fputs("\",\"", out);
            survey_put_type(sorted[i], out);
            fputs("\"]", out);
        }
        form[sorted[i] - survey->images] = forms - 1;
    }
    fputs("],\n\"form\":\"", out);
    page_put_base64(out, form, survey->n * sizeof *form);
    fputs("\",\n", out);
    free(form);
    free(sorted);
}

/* ---- Names -------------------------------------------------------------------------------------
 */

enum { SHARED_MOST = 74 }; /* from '0' on, all of it ASCII */

static void put_names(const Survey *survey, FILE *out)
{
    char *last = text_copy("");
    fputs("\"names\":\"", out);
    for (size_t i = 0; i < survey->n; i++) {
        char *const name = text_display(survey->images[i].name + survey->below);
        size_t shared = 0;
        while (shared < SHARED_MOST && name[shared] == last[shared] && name[shared] != '\0' &&
               (unsigned char)name[shared] < 0x80)
            shared++;
        const char mark[] = {(char)('0' + shared), '\0'};
        fputs(i > 0 ? "\\n" : "", out);
        page_put_string(out, mark);
        page_put_string(out, name + shared);
        free(last);
        last = name;
    }
    fputs("\",\n", out);
    free(last);
}

static void put_messages(const Survey *survey, FILE *out)
{
    bool any = false;
    fputs("\"messages\":{", out);
    for (size_t i = 0; i < survey->n; i++) {
        if (survey->images[i].message == NULL)
            continue;
        fprintf(out, "%s\"%zu\":\"", any ? "," : "", i);
        page_put_string(out, survey->images[i].message);
        fputc('"', out);
        any = true;
    }
    fputs("},\n\"empty\":[", out);
    any = false;
    for (size_t i = 0; i < survey->n; i++) {
        if (!survey->images[i].empty)
            continue;
        fprintf(out, "%s%zu", any ? "," : "", i);
        any = true;
    }
    fputs("],\n", out);
}

static void put_flags(const Survey *survey, FILE *out)
{
    static const char *const ways[] = {
        [FLAG_ABOVE] = ">", [FLAG_BELOW] = "<", [FLAG_AT_MOST] = "<="};
    fputs("\"flags\":[", out);
    for (size_t k = 0; k < N_FLAGS; k++) {
        const Flag *const flag = &flag_table[k];
        fprintf(out, "%s{\"name\":\"%s\",\"measure\":\"%s\",\"way\":\"", k > 0 ? "," : "",
                flag->name, measure_names[flag->measure]);
        page_put_string(out, ways[flag->way]);
        fprintf(out, "\",\"unit\":\"%s\",\"threshold\":", flag->unit);
        page_put_real(out, survey->threshold[k]);
        fputc('}', out);
    }
    fputs("],\n\"shown\":[", out);
    bool any = false;
    for (size_t i = 0; i < survey_shown_n; i++) {
        if (!survey_shows(survey, &survey_shown[i]))
            continue;
        fprintf(out, "%s\"%s\"", any ? "," : "", survey_shown[i].name);
        any = true;
    }
    fputs("]}", out);
}

void survey_put_data(const Survey *survey, FILE *out)
{
    fprintf(out, "{\"n\":%zu,\n", survey->n);
    put_names(survey, out);
    put_forms(survey, out);
    put_messages(survey, out);
    put_columns(survey, out);
    put_flags(survey, out);
}

/* SPDX-License-Identifier: MIT */
/* json.c: the images of a survey as lines of JSON. */
#include "report/survey.h"
#include "text/json_line.h"

#include <math.h>
#include <string.h>

const char *const measure_names[N_MEASURES] = {
    "mean",      "stddev",   "min",    "max",      "median",   "low",  "low_all",
    "high",      "high_all", "range",  "contrast", "levels",   "step", "empty",
    "lost_rows", "form",     "copies", "exposure", "distance", "apart"};

static json_object *new_flags(const SurveyImage *image)
{
    json_object *const flags = line_array();
    for (size_t k = 0; k < N_FLAGS; k++)
        if (image->flags >> k & 1)
            line_append(flags, line_string(flag_table[k].name));
    return flags;
}

static void add_measures(json_object *object, const SurveyImage *image)
{
    const ImgstatKind *const kind = &image->kind->kind;
    char hash[33];
    for (size_t i = 0; i < sizeof image->hash; i++)
        snprintf(hash + 2 * i, 3, "%02x", image->hash[i]);
    line_add(object, "format", line_string(image->format));
    line_add(object, "width", line_count(image->width));
    line_add(object, "height", line_count(image->height));
    line_add(object, "sample", line_string(imgstat_sample_name(kind->sample)));
    line_add(object, "bits", line_count(kind->bits));
    line_add(object, "photometric", line_string(kind->photometric));
    line_add(object, "channels", line_count(kind->channels));
    line_add(object, "hash", line_string(hash));
    for (size_t i = 0; i < N_MEASURES; i++) {
        const double x = image->measure[i];
        const bool extremum = i == MEASURE_MIN || i == MEASURE_MAX;
        const ImgstatValue exact = i == MEASURE_MIN ? image->min : image->max;
        line_add(object, measure_names[i],
                 extremum ? line_value(exact, isfinite(x)) : line_real(x));
    }
}

void survey_json(const Survey *survey, FILE *out)
{
    for (size_t i = 0; i < survey->n; i++) {
        const SurveyImage *const image = &survey->images[i];
        json_object *const object = line_object();
        line_add(object, "file", line_string(image->name));
        line_add(object, "flags", new_flags(image));
        if (image->kind != NULL) {
            add_measures(object, image);
        } else {
            line_add(object, "error", line_string(image->word));
            line_add(object, "message", line_string(image->message));
        }
        line_print(out, object);
    }
}

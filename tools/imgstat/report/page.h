/* SPDX-License-Identifier: MIT */
/* page.h: parts of the page that its table and its script share. */
#ifndef IMGSTAT_TOOLS_REPORT_PAGE_H
#define IMGSTAT_TOOLS_REPORT_PAGE_H

#include "report/survey.h"

/* Columns of numbers in the table of images. */
typedef struct ShownMeasure {
    Measure measure;
    const char *name; /* in the data of the script */
    const char *heading;
    bool before; /* measure of the image that this one was made from, if known */
} ShownMeasure;

extern const ShownMeasure survey_shown[];
extern const size_t survey_shown_n;
/* Whether the page has a column. */
bool survey_shows(const Survey *survey, const ShownMeasure *shown);

/* Returns the value of an image in a column. */
double survey_value(const SurveyImage *image, const ShownMeasure *shown);

/* Compares by kind, size and format. Both images were measured. */
int survey_compare_forms(const SurveyImage *a, const SurveyImage *b);

/* Writes "640 x 480" with a multiplication sign. */
void survey_put_size(const SurveyImage *image, FILE *out);

/* Writes "png, rgb, u8". */
void survey_put_type(const SurveyImage *image, FILE *out);

/* Writes the record of a kind as HTML. */
void survey_put_kind(const SurveyKind *kind, FILE *out);
/* Writes the JSON for the script. */
void survey_put_data(const Survey *survey, FILE *out);

#endif

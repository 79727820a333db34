/* SPDX-License-Identifier: MIT */
/* survey.h: what 'imgstat report' finds of a set of images: measures of each, records of each kind,
 * and flags. docs/reports.md has the definitions. */
#ifndef IMGSTAT_TOOLS_SURVEY_H
#define IMGSTAT_TOOLS_SURVEY_H

#include "options.h"

#include <pthread.h>
#include <stdio.h>

/* Of an image; not a number where it is not defined. Shares and distances are per cent. */
typedef enum Measure {
    MEASURE_MEAN, /* of all samples of the colour channels; as the next two */
    MEASURE_STDDEV,
    MEASURE_MIN,
    MEASURE_MAX,
    MEASURE_MEDIAN, /* the mean of the channels' medians */
    MEASURE_LOW,    /* samples at the low end of full scale: of the channel with most */
    MEASURE_LOW_ALL,
    MEASURE_HIGH, /* at the high end */
    MEASURE_HIGH_ALL,
    MEASURE_RANGE,    /* largest less smallest, of the channel with most, of full scale */
    MEASURE_CONTRAST, /* percentile 99 less percentile 1, the same */
    MEASURE_LEVELS,   /* values that occur, of integers of 9 to 16 bits */
    MEASURE_STEP,     /* largest number that divides all differences of these */
    MEASURE_EMPTY,    /* samples that are not valid */
    MEASURE_LOST,     /* rows that --salvage lost in the file */
    MEASURE_FORM,     /* images of the set with this size, format, colours and type */
    MEASURE_COPIES,   /* images of the set with these pixels */
    MEASURE_EXPOSURE, /* robust z of the median, of full scale */
    MEASURE_DISTANCE, /* from the distribution of its kind, of full scale */
    MEASURE_APART,    /* robust z of that */
    N_MEASURES
} Measure;

/* Percentiles (k + 1/2) / N of the distributions that are compared. */
enum { SURVEY_QUANTILES = 20 };
/* Places of these in the percentiles that are measured, behind the quantiles. */
enum { PLACE_BLACK = SURVEY_QUANTILES, PLACE_1, PLACE_99, PLACE_WHITE, N_PLACES };
extern const double survey_percentiles[N_PLACES];

typedef enum FlagWay { FLAG_ABOVE, FLAG_BELOW, FLAG_AT_MOST } FlagWay;

typedef struct Flag {
    const char *name; /* "clipped-low" */
    Measure measure;
    FlagWay way; /* of the measure to the threshold */
    double threshold;
    const char *unit;
    const char *definition; /* a sentence */
} Flag;

enum { N_FLAGS = 15 };
extern const Flag flag_table[N_FLAGS];

/* Images of one kind, merged. */
typedef struct SurveyKind {
    ImgstatKind kind; /* its texts are the record's */
    ImgstatRecord *record;
    char *group;         /* of a data set that was measured before; owned; NULL: none */
    bool is_float;       /* the full scale is that of the set */
    double lo, hi;       /* full scale */
    double black, white; /* what previews have in common */
    float *quantile;     /* SURVEY_QUANTILES of each colour channel */
    size_t first;        /* image */
    size_t number;
    struct SurveyKind *next;
} SurveyKind;

typedef struct SurveyImage {
    char *name;       /* with the page; owned */
    char *message;    /* owned; NULL: it was measured */
    const char *word; /* of that failure */
    SurveyKind *kind; /* NULL after a failure */
    const char *format;
    uint32_t width, height;
    double measure[N_MEASURES];
    float *quantile; /* SURVEY_QUANTILES of each colour channel; owned */
    uint8_t hash[16];
    uint32_t flags;                   /* bits, 1 << place in flag_table */
    size_t job;                       /* that it is of; not of images from records */
    const struct SurveyImage *before; /* NULL, or the input that it was made from */
    float black, white;               /* of the preview, which has gray levels of its own */
    uint16_t preview_width, preview_height;
    uint32_t preview_bytes; /* 0: there is none */
    long preview_at;        /* in Survey.previews */
} SurveyImage;

typedef struct Survey {
    const Options *options;
    SurveyImage *images; /* n of them, in the order of the inputs */
    size_t n, capacity;
    SurveyKind *kinds; /* in the order of their first images */
    size_t n_kinds;
    double threshold[N_FLAGS];
    uint32_t failing;      /* bits: flags that raise the exit status */
    FILE *previews;        /* JPEGs; NULL: none are wanted */
    bool previews_failed;  /* some could not be written there, or read again */
    bool in_pairs;         /* inputs and outputs, which have one contrast: full scale */
    struct Survey *before; /* NULL, or of the inputs that these images were made from */
    pthread_mutex_t lock;
    uint64_t files, failed;
    size_t below; /* where in the names begins what they do not have in common: a folder */
} Survey;

/* Takes the thresholds of --fail-on. False after a usage error. */
bool survey_begin(const Options *options, Survey *out);
void survey_release(Survey *survey);

/* Measures all inputs. False: an interruption, or an error that was reported. */
bool survey_measure(Survey *survey);
/* Measures the inputs of jobs, and says nothing about those that fail. */
bool survey_measure_jobs(Survey *survey, const ImgstatJob *jobs, size_t n);
/* Joins images of outputs with those of the inputs of their jobs. */
void survey_pair(Survey *before, Survey *after);
/* Loads the records that the inputs are. */
bool survey_load(Survey *survey);

/* Fills in an image from its record, any thread. */
void survey_take(Survey *survey, const ImgstatMeasured *from, const char *path, SurveyImage *out);
/* Makes the empty record and the full scale of a kind like that of the record. */
void survey_begin_kind(SurveyKind *kind, const ImgstatRecord *record);
/* The channels that are no alpha. */
uint16_t survey_colours(const ImgstatKind *kind);
uint16_t survey_colour(const ImgstatKind *kind, uint16_t i);

/* Finds what compares images with each other, and all flags. */
bool survey_finish(Survey *survey);
/* How many images have a flag. */
size_t survey_count(const Survey *survey, size_t flag);

extern const char *const measure_names[N_MEASURES]; /* in JSON and on the page */

/* A line of JSON for each image. */
void survey_json(const Survey *survey, FILE *out);
/* The page. */
void survey_page(Survey *survey, FILE *out);
/* Writes it as the file that the options name. */
bool survey_write(Survey *survey);

#endif

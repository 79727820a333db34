/* SPDX-License-Identifier: MIT */
/* survey.h: the findings of 'imgstat report' about a set of images: measures of each, records of
 * each kind, and flags. docs/reports.md has the definitions. */
#ifndef IMGSTAT_TOOLS_REPORT_SURVEY_H
#define IMGSTAT_TOOLS_REPORT_SURVEY_H

#include "options/options.h"

#include <pthread.h>
#include <stdio.h>

/* Measures of an image; NaN if undefined. Shares and distances are in per cent. */
typedef enum Measure {
    MEASURE_MEAN, /* of all samples of the colour channels; so are the next two */
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
    MEASURE_STEP,     /* largest number that divides all differences of these values */
    MEASURE_EMPTY,    /* samples that are not valid */
    MEASURE_LOST,     /* rows that --salvage lost in the file */
    MEASURE_FORM,     /* images of the set with this size, format, colours and type */
    MEASURE_COPIES,   /* images of the set with these pixels */
    MEASURE_EXPOSURE, /* robust z of the median, of full scale */
    MEASURE_DISTANCE, /* from the distribution of its kind, of full scale */
    MEASURE_APART,    /* robust z of the distance */
    N_MEASURES
} Measure;

/* Percentiles (k + 1/2) / N of the distributions that are compared. */
enum { SURVEY_QUANTILES = 20 };
/* Places of these percentiles in the list that is measured, after the quantiles. */
enum { PLACE_BLACK = SURVEY_QUANTILES, PLACE_1, PLACE_99, PLACE_WHITE, N_PLACES };
extern const double survey_percentiles[N_PLACES];

typedef enum FlagWay { FLAG_ABOVE, FLAG_BELOW, FLAG_AT_MOST } FlagWay;

typedef struct Flag {
    const char *name; /* "clipped-low" */
    Measure measure;
    FlagWay way; /* how the measure compares with the threshold */
    double threshold;
    const char *unit;
    const char *definition; /* a sentence */
} Flag;

enum { N_FLAGS = 15 };
extern const Flag flag_table[N_FLAGS];

/* Images of one kind, merged. */
typedef struct SurveyKind {
    ImgstatKind kind; /* the record owns its texts */
    ImgstatRecord *record;
    char *group;         /* group of a data set that was measured before; owned; NULL: none */
    bool is_float;       /* floats: the full scale is that of the set */
    double lo, hi;       /* full scale */
    double black, white; /* contrast that all previews share */
    double *quantile;    /* SURVEY_QUANTILES of each colour channel */
    size_t first;        /* index of its first image */
    size_t number;
    struct SurveyKind *next;
} SurveyKind;

typedef struct SurveyImage {
    char *name;       /* name with the page; owned */
    char *message;    /* message of a failure; owned; NULL: it was measured */
    const char *word; /* word of that failure */
    bool empty;       /* that failure: a folder or an archive without images, which is no image */
    SurveyKind *kind; /* NULL after a failure */
    const char *format;
    uint32_t width, height;
    double measure[N_MEASURES];
    ImgstatValue min, max; /* exactly; undefined where their measures are */
    double *quantile;      /* SURVEY_QUANTILES of each colour channel; owned */
    uint8_t hash[16];
    uint32_t flags;                   /* bits, 1 << place in flag_table */
    size_t job;                       /* job of the image; not for images from records */
    const struct SurveyImage *before; /* NULL, or the input that it was made from */
    double black, white;              /* gray levels of this preview alone */
    uint16_t preview_width, preview_height;
    uint32_t preview_bytes; /* 0: there is none */
    long preview_at;        /* offset in Survey.previews */
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
    bool previews_failed;  /* some could not be written or read again */
    bool in_pairs;         /* inputs and outputs, which share one contrast: full scale */
    struct Survey *before; /* NULL, or the survey of the inputs that these images were made from */
    pthread_mutex_t lock;
    uint64_t files, failed;
    uint64_t merged; /* images of records, which are not among `images` */
    size_t empties;  /* those of `images` that are none */
    size_t below;    /* offset of what follows the folder that all names share */
} Survey;

/* Reads the thresholds of --fail-on. Returns false after a usage error. */
bool survey_begin(const Options *options, Survey *out);
void survey_release(Survey *survey);

/* Measures all inputs. Returns false after an interruption, or an error that was reported. */
bool survey_measure(Survey *survey);
/* Measures the inputs of jobs, without messages about failures. */
bool survey_measure_jobs(Survey *survey, const ImgstatJob *jobs, size_t n);
/* Pairs images of outputs with those of the inputs of their jobs. */
void survey_pair(Survey *before, Survey *after);
/* Loads records that were given as inputs. */
bool survey_load(Survey *survey);

/* Fills in an image from its record. Any thread. */
void survey_take(Survey *survey, const ImgstatMeasured *from, const char *path, SurveyImage *out);
/* Creates the empty record and the full scale of the record's kind. */
void survey_begin_kind(SurveyKind *kind, const ImgstatRecord *record);
/* Returns the number of channels without alpha. */
uint16_t survey_colours(const ImgstatKind *kind);
uint16_t survey_colour(const ImgstatKind *kind, uint16_t i);

/* Computes the measures that compare images, and all flags. */
bool survey_finish(Survey *survey);

/* Returns how many images there are. */
size_t survey_images(const Survey *survey);

/* Returns how many images have a flag. */
size_t survey_count(const Survey *survey, size_t flag);

extern const char *const measure_names[N_MEASURES]; /* in JSON and on the page */

/* Writes a line of JSON for each image. */
void survey_json(const Survey *survey, FILE *out);
/* Writes the page. */
void survey_page(Survey *survey, FILE *out);
/* Writes the page as the file that the options name. */
bool survey_write(Survey *survey);

#endif

/* SPDX-License-Identifier: MIT */
/* kind.c: copies, compares and describes kinds of images. */
#include "record/kind.h"

#include "base/sample.h"

#include <stdio.h>
#include <stdlib.h>

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static const char *name_of(const ImgstatKind *kind, uint16_t channel)
{
    return kind->names ? text_or_empty(kind->names[channel]) : "";
}

bool kind_texts_fit(const ImgstatKind *kind)
{
    bool fit = strlen(text_or_empty(kind->photometric)) <= IMGSTAT_NAME_MOST;
    for (uint16_t c = 0; fit && c < kind->channels; c++)
        fit = strlen(name_of(kind, c)) <= IMGSTAT_NAME_MOST;
    return fit;
}

/* Appends a text with its NUL. */
static const char *append(char **end, const char *text)
{
    char *const at = *end;
    const size_t bytes = strlen(text) + 1;
    memcpy(at, text, bytes);
    *end += bytes;
    return at;
}

ImgstatKind *kind_copy(const ImgstatKind *kind)
{
    const char *const photometric = text_or_empty(kind->photometric);
    size_t bytes = strlen(photometric) + 1;
    for (uint16_t c = 0; c < kind->channels; c++)
        bytes += strlen(name_of(kind, c)) + 1 + sizeof(char *);
    ImgstatKind *const copy = malloc(sizeof *copy + bytes);
    if (!copy)
        return NULL;
    const char **const names = (const char **)(void *)(copy + 1);
    char *end = (char *)(names + kind->channels);
    *copy = *kind;
    copy->photometric = append(&end, photometric);
    copy->names = names;
    for (uint16_t c = 0; c < kind->channels; c++)
        names[c] = append(&end, name_of(kind, c));
    if (copy->bits == 0)
        copy->bits = (uint8_t)sample_bits(copy->sample);
    if (copy->region.width == 0 || copy->region.height == 0)
        copy->region = (ImgstatRegion){0};
    copy->alpha_masks = copy->alpha_masks && copy->alpha >= 0;
    kind_set_nodata(copy, kind->has_nodata, kind->nodata);
    return copy;
}

void kind_set_nodata(ImgstatKind *kind, bool has_nodata, ImgstatValue nodata)
{
    uint64_t key;
    kind->has_nodata = has_nodata;
    if (!has_nodata)
        kind->nodata = (ImgstatValue){.sample = kind->sample};
    else if (sample_key_of(kind->sample, nodata, &key))
        kind->nodata = sample_value(kind->sample, key);
    else
        kind->nodata = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = (double)NAN};
}

/* A number for each nodata rule, in the form that kind_set_nodata gives it: *any is false for those
 * that mark nothing. */
static uint64_t nodata_key(const ImgstatKind *kind, bool *any)
{
    uint64_t key = 0;
    *any = kind->has_nodata && sample_key_of(kind->sample, kind->nodata, &key);
    return key;
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_pixels(const ImgstatKind *a, const ImgstatKind *b)
{
    int less = order(a->sample, b->sample);
    if (!less)
        less = order(a->bits, b->bits);
    return less ? less : order(a->channels, b->channels);
}

static int compare_rules(const ImgstatKind *a, const ImgstatKind *b)
{
    bool any[2];
    const uint64_t key[2] = {nodata_key(a, &any[0]), nodata_key(b, &any[1])};
    const uint64_t rules[][2] = {{a->has_nodata, b->has_nodata},
                                 {any[0], any[1]},
                                 {key[0], key[1]},
                                 {a->ignore_masks, b->ignore_masks},
                                 {a->alpha_masks, b->alpha_masks},
                                 {a->mask, b->mask},
                                 {a->indices, b->indices},
                                 {a->region.width, b->region.width},
                                 {a->region.height, b->region.height},
                                 {a->region.x, b->region.x},
                                 {a->region.y, b->region.y}};
    int less = 0;
    for (size_t i = 0; !less && i < sizeof rules / sizeof *rules; i++)
        less = order(rules[i][0], rules[i][1]);
    return less;
}

static int compare_colours(const ImgstatKind *a, const ImgstatKind *b)
{
    int less = (a->alpha > b->alpha) - (a->alpha < b->alpha);
    if (!less)
        less = strcmp(a->photometric, b->photometric);
    for (uint16_t c = 0; !less && c < a->channels; c++)
        less = strcmp(a->names[c], b->names[c]);
    return less;
}

int kind_compare(const ImgstatKind *a, const ImgstatKind *b)
{
    int less = compare_pixels(a, b);
    if (!less)
        less = compare_colours(a, b);
    return less ? less : compare_rules(a, b);
}

bool kind_is_bare(const ImgstatKind *kind)
{
    bool bare = !*kind->photometric && kind->alpha < 0;
    for (uint16_t c = 0; bare && c < kind->channels; c++)
        bare = !*kind->names[c];
    return bare;
}

bool kinds_fit(const ImgstatKind *a, const ImgstatKind *b)
{
    return compare_pixels(a, b) == 0 &&
           (kind_is_bare(a) || kind_is_bare(b) || compare_colours(a, b) == 0) &&
           compare_rules(a, b) == 0;
}

bool kind_is_of(const ImgstatKind *kind, const ImgstatKind *image)
{
    const uint8_t bits = image->bits ? image->bits : (uint8_t)sample_bits(image->sample);
    const char *const photometric = text_or_empty(image->photometric);
    if (kind->sample != image->sample || kind->bits != bits || kind->channels != image->channels)
        return false;
    if (kind_is_bare(kind) || (!*photometric && image->alpha < 0))
        return true;
    bool same = kind->alpha == image->alpha && strcmp(kind->photometric, photometric) == 0;
    for (uint16_t c = 0; same && image->names && c < kind->channels; c++)
        same = strcmp(kind->names[c], name_of(image, c)) == 0;
    return same;
}

void kind_describe(const ImgstatKind *kind, char text[KIND_WORDS])
{
    const unsigned width = sample_bits(kind->sample), bits = kind->bits ? kind->bits : width;
    const char *const photometric = text_or_empty(kind->photometric);
    char depth[32] = "";
    if (bits != width)
        snprintf(depth, sizeof depth, " of %u bits", bits);
    snprintf(text, KIND_WORDS, "%.60s%s%s images%s with %u channel%s%s", photometric,
             *photometric ? " " : "", imgstat_sample_name(kind->sample), depth, kind->channels,
             kind->channels == 1 ? "" : "s", kind->alpha >= 0 ? ", one of them alpha" : "");
}

bool kind_has_region(const ImgstatKind *kind, const ImgstatRegion *asked)
{
    const ImgstatRegion *const has = &kind->region;
    const bool whole = asked->width == 0 && asked->height == 0;
    return whole || (asked->x == has->x && asked->y == has->y && asked->width == has->width &&
                     asked->height == has->height);
}

/* ---- What differs ---- */

static void describe_nodata(const ImgstatKind *kind, char text[KIND_WORDS])
{
    if (!kind->has_nodata)
        snprintf(text, KIND_WORDS, "no nodata value that was given");
    else if (kind->nodata.sample != kind->sample)
        snprintf(text, KIND_WORDS, "no nodata at all");
    else
        snprintf(text, KIND_WORDS, "the nodata value %.17g", imgstat_value_double(kind->nodata));
}

static void describe_region(const ImgstatKind *kind, char text[KIND_WORDS])
{
    const ImgstatRegion *const r = &kind->region;
    if (r->width == 0)
        snprintf(text, KIND_WORDS, "whole images");
    else
        snprintf(text, KIND_WORDS, "the region %u,%u,%u,%u", r->x, r->y, r->width, r->height);
}

static void describe_alpha(const ImgstatKind *kind, char text[KIND_WORDS])
{
    if (kind->alpha < 0)
        snprintf(text, KIND_WORDS, "no alpha channel");
    else
        snprintf(text, KIND_WORDS, "alpha in channel %d", kind->alpha);
}

/* The first channel whose names differ. */
static void describe_channel(const ImgstatKind *kind, uint16_t channel, char text[KIND_WORDS])
{
    snprintf(text, KIND_WORDS, "a channel %u that is %.100s", channel,
             *kind->names[channel] ? kind->names[channel] : "not named");
}

static bool rule_differs(const ImgstatKind *a, const ImgstatKind *b, const char **of_a,
                         const char **of_b)
{
    const struct {
        bool a, b;
        const char *with, *without;
    } rules[] = {
        {a->ignore_masks, b->ignore_masks, "pixels whose masks were ignored",
         "pixels whose masks counted"},
        {a->alpha_masks, b->alpha_masks, "pixels that alpha masks", "pixels whatever their alpha"},
        {a->mask, b->mask, "pixels that a given mask leaves", "pixels without a given mask"},
        {a->indices, b->indices, "indices of palettes", "colours of palettes"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].a == rules[i].b)
            continue;
        *of_a = rules[i].a ? rules[i].with : rules[i].without;
        *of_b = rules[i].b ? rules[i].with : rules[i].without;
        return true;
    }
    return false;
}

static void describe_each(void (*describe)(const ImgstatKind *, char[KIND_WORDS]),
                          const ImgstatKind *a, const ImgstatKind *b, char of_a[KIND_WORDS],
                          char of_b[KIND_WORDS])
{
    describe(a, of_a);
    describe(b, of_b);
}

static void colours_differ(const ImgstatKind *a, const ImgstatKind *b, char of_a[KIND_WORDS],
                           char of_b[KIND_WORDS])
{
    const char *const unknown = "images of unknown colours";
    if (strcmp(a->photometric, b->photometric) != 0) {
        snprintf(of_a, KIND_WORDS, "%.100s", *a->photometric ? a->photometric : unknown);
        snprintf(of_b, KIND_WORDS, "%.100s", *b->photometric ? b->photometric : unknown);
        return;
    }
    if (a->alpha != b->alpha) {
        describe_each(describe_alpha, a, b, of_a, of_b);
        return;
    }
    uint16_t c = 0;
    while (c + 1 < a->channels && strcmp(a->names[c], b->names[c]) == 0)
        c++;
    describe_channel(a, c, of_a);
    describe_channel(b, c, of_b);
}

void kinds_differ(const ImgstatKind *a, const ImgstatKind *b, char of_a[KIND_WORDS],
                  char of_b[KIND_WORDS])
{
    const char *rule_a, *rule_b;
    if (a->sample != b->sample) {
        snprintf(of_a, KIND_WORDS, "%s", imgstat_sample_name(a->sample));
        snprintf(of_b, KIND_WORDS, "%s", imgstat_sample_name(b->sample));
    } else if (a->bits != b->bits) {
        snprintf(of_a, KIND_WORDS, "%u significant bits", a->bits);
        snprintf(of_b, KIND_WORDS, "%u", b->bits);
    } else if (a->channels != b->channels) {
        snprintf(of_a, KIND_WORDS, "%u channel%s", a->channels, a->channels == 1 ? "" : "s");
        snprintf(of_b, KIND_WORDS, "%u", b->channels);
    } else if (compare_colours(a, b) != 0 && !kind_is_bare(a) && !kind_is_bare(b)) {
        colours_differ(a, b, of_a, of_b);
    } else if (rule_differs(a, b, &rule_a, &rule_b)) {
        snprintf(of_a, KIND_WORDS, "%s", rule_a);
        snprintf(of_b, KIND_WORDS, "%s", rule_b);
    } else if (memcmp(&a->region, &b->region, sizeof a->region) != 0) {
        describe_each(describe_region, a, b, of_a, of_b);
    } else if (compare_rules(a, b) != 0) {
        describe_each(describe_nodata, a, b, of_a, of_b);
    } else {
        colours_differ(a, b, of_a, of_b);
    }
}

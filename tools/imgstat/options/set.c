/* SPDX-License-Identifier: MIT */
/* set.c: output styles, methods, and names of outputs. */
#include "options/set.h"
#include "inputs/inputs.h"
#include "options/value.h"
#include "text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool set_style(Options *o, OutputStyle style)
{
    if (o->style != OUTPUT_PEOPLE && o->style != style)
        return usage_error(o->command, "--json and --csv exclude each other");
    o->style = style;
    return true;
}

bool set_json(const char *text, Options *o)
{
    (void)text;
    return set_style(o, OUTPUT_JSON);
}

bool set_csv(const char *text, Options *o)
{
    (void)text;
    return set_style(o, OUTPUT_CSV);
}

static bool unknown_field(const char *command, const char *word, size_t length)
{
    char names[512] = "";
    size_t end = 0;
    for (int i = 0; i < N_FIELDS; i++)
        end += (size_t)snprintf(names + end, sizeof names - end, "%s%s", i > 0 ? ", " : "",
                                field_table[i].name);
    return usage_error(command, "--fields: there is no field '%.*s'; there are %s", (int)length,
                       word, names);
}

bool set_fields(const char *text, Options *o)
{
    for (const char *word = text; word != NULL;) {
        const size_t length = strcspn(word, ",");
        int field = 0;
        while (field < N_FIELDS && (strlen(field_table[field].name) != length ||
                                    strncmp(field_table[field].name, word, length) != 0))
            field++;
        if (field == N_FIELDS)
            return unknown_field(o->command, word, length);
        fields_add(&o->fields, (Field)field);
        o->shape = o->shape || field == FIELD_SKEWNESS || field == FIELD_KURTOSIS;
        o->hash = o->hash || field == FIELD_HASH;
        word = word[length] == ',' ? word + length + 1 : NULL;
    }
    return true;
}

bool set_help(const char *text, Options *o)
{
    (void)text;
    o->help = HELP_EVERYDAY;
    return true;
}

bool set_help_all(const char *text, Options *o)
{
    (void)text;
    o->help = HELP_ALL;
    return true;
}

/* ---- Inputs -----------------------------------------------------------------------------------
 */

bool set_files0_from(const char *text, Options *o)
{
    if (o->files0_from != NULL)
        return usage_error(o->command, "--files0-from names one list; these are two");
    o->files0_from = text;
    return true;
}

static bool set_number_of_shards(Options *o, uint32_t n)
{
    if (o->shards > 0 && o->shards != n)
        return usage_error(o->command, "the inputs cannot be both %u shards and %u",
                           (unsigned)o->shards, (unsigned)n);
    o->shards = n;
    return true;
}

bool set_shard(const char *text, Options *o)
{
    char *end = NULL;
    const bool begins = *text >= '0' && *text <= '9';
    const unsigned long long shard = begins ? strtoull(text, &end, 10) : 0;
    const bool slash = begins && *end == '/' && end[1] >= '0' && end[1] <= '9';
    const unsigned long long n = slash ? strtoull(end + 1, &end, 10) : 0;
    if (!slash || *end != '\0' || shard < 1 || n > SHARDS_MAX || shard > n)
        return usage_error(o->command,
                           "--shard takes K/N, such as 3/16, K from 1 to N and N at most "
                           "%d, not '%s'",
                           SHARDS_MAX, text);
    o->shard = (uint32_t)shard;
    return set_number_of_shards(o, (uint32_t)n);
}

bool set_shards(const char *text, Options *o)
{
    uint32_t n;
    return value_count(o->command, "--shards", text, 1, SHARDS_MAX, &n) &&
           set_number_of_shards(o, n);
}

bool set_pages(const char *text, Options *o)
{
    ImgstatError error;
    o->pages = text;
    return imgstat_pages_check(text, &error) == IMGSTAT_OK ||
           usage_error(o->command, "--page: %s", error.message);
}

static bool add_glob(const char *command, const char *option, const char *text, GlobList *list)
{
    if (*text == '\0')
        return usage_error(command, "%s takes a pattern such as '*.svs', not an empty text",
                           option);
    const char **const items = text_alloc((list->n + 1) * sizeof *items);
    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof *items);
    items[list->n++] = text;
    free(list->items);
    list->items = items;
    return true;
}

bool set_include(const char *text, Options *o)
{
    return add_glob(o->command, "--include", text, &o->include);
}

bool set_exclude(const char *text, Options *o)
{
    return add_glob(o->command, "--exclude", text, &o->exclude);
}

bool set_region(const char *text, Options *o)
{
    ImgstatRegion *const region = &o->region;
    if (value_region(text, region) && region->width > 0 && region->height > 0)
        return true;
    return usage_error(o->command,
                       "--region takes X,Y,W,H, the left and upper edge, width and height in "
                       "pixels, not '%s'",
                       text);
}

/* ---- Methods ----------------------------------------------------------------------------------
 */

static bool set_transform(Options *o, ImgstatTransform transform)
{
    TransformOptions *const t = &o->transform;
    if (t->has_method && t->method.transform != transform)
        return usage_error(o->command, "two methods exclude each other");
    t->has_method = true;
    t->method.transform = transform;
    return true;
}

bool set_gamma(const char *text, Options *o)
{
    TransformOptions *const t = &o->transform;
    t->has_gamma = true;
    if (!value_real(text, &t->method.gamma) || !(t->method.gamma > 0))
        return usage_error(o->command, "--gamma takes a number above 0, such as 2.2, not '%s'",
                           text);
    return set_transform(o, IMGSTAT_GAMMA);
}

bool set_clip(const char *text, Options *o)
{
    ImgstatMethod *const method = &o->transform.method;
    method->has_clip = true;
    if (!value_pair(text, &method->clip_lo, &method->clip_hi) || method->clip_lo < 0 ||
        method->clip_hi < 0 || /* nine decimals count */
        rint(1e9 * method->clip_lo) + rint(1e9 * method->clip_hi) >= 100e9)
        return usage_error(o->command,
                           "--clip takes two percentages that leave something, such as 0.5,0.5, "
                           "not '%s'",
                           text);
    return set_transform(o, IMGSTAT_PERCENTILE);
}

bool set_mean(const char *text, Options *o)
{
    o->transform.has_mean = true;
    if (!value_scaled(text, &o->transform.mean))
        return usage_error(o->command, "--mean takes a number, such as 128, not '%s'", text);
    return set_transform(o, IMGSTAT_MEANSTD);
}

bool set_stddev(const char *text, Options *o)
{
    ScaledValue *const stddev = &o->transform.stddev;
    o->transform.has_stddev = true;
    if (!value_scaled(text, stddev) || stddev->value < 0)
        return usage_error(o->command, "--stddev takes a number not below 0, such as 40, not '%s'",
                           text);
    return set_transform(o, IMGSTAT_MEANSTD);
}

static bool set_mean_stddev(const char *text, Options *o)
{
    TransformOptions *const t = &o->transform;
    t->has_mean = t->has_stddev = true;
    if (!value_scaled_pair(text, &t->mean, &t->stddev) || t->stddev.value < 0)
        return usage_error(o->command, "meanstd takes M,S, a mean and a deviation, not '%s'", text);
    return set_transform(o, IMGSTAT_MEANSTD);
}

static bool set_scaled_range(const char *command, const char *option, const char *text,
                             ScaledValue *lo, ScaledValue *hi)
{
    if (value_scaled_pair(text, lo, hi) && (lo->percent != hi->percent || lo->value < hi->value))
        return true;
    return usage_error(command,
                       "%s takes LO,HI with LO below HI, such as 0,255 or 0%%,100%%, not '%s'",
                       option, text);
}

bool set_out_range(const char *text, Options *o)
{
    TransformOptions *const t = &o->transform;
    t->method.has_range = true;
    return set_scaled_range(o->command, "--out-range", text, &t->out_lo, &t->out_hi);
}

bool set_in_range(const char *text, Options *o)
{
    TransformOptions *const t = &o->transform;
    t->method.has_in_range = true;
    return set_scaled_range(o->command, "--in-range", text, &t->in_lo, &t->in_hi);
}

bool set_match(const char *text, Options *o)
{
    o->transform.reference = text;
    return set_transform(o, IMGSTAT_MATCH);
}

bool set_clahe(const char *text, Options *o)
{
    (void)text;
    return set_transform(o, IMGSTAT_CLAHE);
}

/* "gamma", "gamma=2.2"; a colon or a blank separates as well. */
bool set_method(const char *text, Options *o)
{
    static const struct {
        const char *name;
        ImgstatTransform transform;
        bool (*set)(const char *text, Options *o);
    } methods[] = {{"stretch", IMGSTAT_STRETCH, NULL},
                   {"percentile", IMGSTAT_PERCENTILE, set_clip},
                   {"meanstd", IMGSTAT_MEANSTD, set_mean_stddev},
                   {"gamma", IMGSTAT_GAMMA, set_gamma},
                   {"match", IMGSTAT_MATCH, set_match}};
    const size_t length = strcspn(text, "=: ");
    const char *const value = text[length] != '\0' ? text + length + 1 : NULL;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strlen(methods[i].name) != length || memcmp(methods[i].name, text, length) != 0)
            continue;
        if (value == NULL)
            return set_transform(o, methods[i].transform);
        if (methods[i].set != NULL)
            return methods[i].set(value, o);
    }
    return usage_error(o->command,
                       "--method is stretch, percentile, meanstd, gamma or match, not '%s'", text);
}

bool set_grid(const char *text, Options *o)
{
    double x = 0, y = 0;
    o->transform.has_grid = true;
    const bool one = value_real(text, &x);
    if (one)
        y = x;
    if ((!one && !value_pair(text, &x, &y)) || !(x >= 1 && x <= 65536 && y >= 1 && y <= 65536) ||
        x != (uint32_t)x || y != (uint32_t)y)
        return usage_error(o->command,
                           "--grid takes X,Y, two whole numbers from 1 to 65536, not '%s'", text);
    o->transform.method.tiles_x = (uint32_t)x;
    o->transform.method.tiles_y = (uint32_t)y;
    return true;
}

bool set_clip_limit(const char *text, Options *o)
{
    double *const limit = &o->transform.method.clip_limit;
    o->transform.has_grid = true;
    if (!value_real(text, limit) || !(*limit > 0))
        return usage_error(o->command, "--clip-limit takes a number above 0, not '%s'", text);
    return true;
}

/* ---- Groups -----------------------------------------------------------------------------------
 */

/* "page", "channel", "file", "all", or "group=REGEX", which is all of each group. */
static bool set_grouping(const char *option, const char *text, Options *o, ImgstatGrouping *by)
{
    static const char group[] = "group=";
    unsigned place;
    group_name_release(&o->group);
    *by = IMGSTAT_BY_ALL;
    if (strncmp(text, group, strlen(group)) == 0)
        return group_name_read(o->command, option, text + strlen(group), &o->group);
    if (!value_word(o->command, option, text, "page channel file all group=REGEX", &place))
        return false;
    *by = (ImgstatGrouping)(IMGSTAT_BY_PAGE + place);
    return true;
}

bool set_by(const char *text, Options *o)
{
    return set_grouping("--by", text, o, &o->by);
}

bool set_together(const char *text, Options *o)
{
    return set_grouping("--together", text, o, &o->transform.together);
}

/* ---- Pixels that do not count ------------------------------------------------------------------
 */

bool set_mask(const char *text, Options *o)
{
    if (*text == '\0' || strcmp(text, "-") == 0)
        return usage_error(o->command, "--mask takes a file or none, not '%s'", text);
    free(o->mask);
    free(o->mask_page);
    o->mask = o->mask_page = NULL;
    o->ignore_masks = strcmp(text, "none") == 0;
    if (!o->ignore_masks && !input_names_pages(text, &o->mask, &o->mask_page))
        o->mask = text_copy(text);
    return true;
}

bool set_nodata(const char *text, Options *o)
{
    o->has_nodata = true;
    return value_sample(text, &o->nodata) ||
           usage_error(o->command, "--nodata takes a number or nan, not '%s'", text);
}

bool set_out_nodata(const char *text, Options *o)
{
    o->transform.write.has_nodata = true;
    return value_sample(text, &o->transform.write.nodata) ||
           usage_error(o->command, "--out-nodata takes a number or nan, not '%s'", text);
}

/* ---- Outputs ----------------------------------------------------------------------------------
 */

/* Under its own name a file that standard output leads to would be refused, as it exists. */
static const char *output_name(const char *name)
{
    return strcmp(name, "/dev/stdout") == 0 ? "-" : name;
}

bool set_save_transfer(const char *text, Options *o)
{
    o->transform.save_transfer = output_name(text);
    return true;
}

bool set_output(const char *text, Options *o)
{
    o->transform.output = output_name(text);
    return true;
}

bool set_save_record(const char *text, Options *o)
{
    o->save_record = output_name(text);
    return *text != '\0' ||
           usage_error(o->command, "--save-record names a file: an empty name is none");
}

bool set_format(const char *text, Options *o)
{
    unsigned place;
    if (!value_word(o->command, "--format", strcmp(text, "tif") == 0 ? "tiff" : text, "png tiff",
                    &place))
        return false;
    o->transform.write.format = place == 0 ? "png" : "tiff";
    return true;
}

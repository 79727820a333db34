/* SPDX-License-Identifier: MIT */
/* set.h: options whose value sets more than one member of Options. Each function returns
 * false after a usage error. */
#ifndef IMGSTAT_TOOLS_OPTIONS_SET_H
#define IMGSTAT_TOOLS_OPTIONS_SET_H

#include "options/options.h"

bool set_json(const char *text, Options *options);
bool set_csv(const char *text, Options *options);
bool set_fields(const char *text, Options *options);
bool set_help(const char *text, Options *options);
bool set_help_all(const char *text, Options *options);

bool set_files0_from(const char *text, Options *options);
bool set_shard(const char *text, Options *options);
bool set_shards(const char *text, Options *options);
bool set_pages(const char *text, Options *options);
bool set_include(const char *text, Options *options);
bool set_region(const char *text, Options *options);
bool set_exclude(const char *text, Options *options);

bool set_by(const char *text, Options *options);
bool set_save_record(const char *text, Options *options);
bool set_together(const char *text, Options *options);

bool set_mask(const char *text, Options *options);
bool set_nodata(const char *text, Options *options);
bool set_out_nodata(const char *text, Options *options);

bool set_method(const char *text, Options *options);
bool set_clip(const char *text, Options *options);
bool set_mean(const char *text, Options *options);
bool set_stddev(const char *text, Options *options);
bool set_gamma(const char *text, Options *options);
bool set_out_range(const char *text, Options *options);
bool set_in_range(const char *text, Options *options);
bool set_match(const char *text, Options *options);
bool set_clahe(const char *text, Options *options);
bool set_grid(const char *text, Options *options);
bool set_clip_limit(const char *text, Options *options);

bool set_save_transfer(const char *text, Options *options);
bool set_output(const char *text, Options *options);
bool set_format(const char *text, Options *options);

#endif

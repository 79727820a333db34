/* SPDX-License-Identifier: MIT */
/* option_set.h: options whose value sets more than one member of Options. Each function returns
 * false after a usage error. */
#ifndef IMGSTAT_TOOLS_OPTION_SET_H
#define IMGSTAT_TOOLS_OPTION_SET_H

#include "options.h"

bool set_json(const char *command, const char *text, Options *options);
bool set_csv(const char *command, const char *text, Options *options);
bool set_fields(const char *command, const char *text, Options *options);
bool set_help(const char *command, const char *text, Options *options);
bool set_help_all(const char *command, const char *text, Options *options);

bool set_files0_from(const char *command, const char *text, Options *options);
bool set_shard(const char *command, const char *text, Options *options);
bool set_shards(const char *command, const char *text, Options *options);
bool set_pages(const char *command, const char *text, Options *options);
bool set_include(const char *command, const char *text, Options *options);
bool set_region(const char *command, const char *text, Options *options);
bool set_exclude(const char *command, const char *text, Options *options);

bool set_by(const char *command, const char *text, Options *options);
bool set_save_record(const char *command, const char *text, Options *options);
bool set_together(const char *command, const char *text, Options *options);

bool set_mask(const char *command, const char *text, Options *options);
bool set_nodata(const char *command, const char *text, Options *options);
bool set_out_nodata(const char *command, const char *text, Options *options);

bool set_method(const char *command, const char *text, Options *options);
bool set_clip(const char *command, const char *text, Options *options);
bool set_mean(const char *command, const char *text, Options *options);
bool set_stddev(const char *command, const char *text, Options *options);
bool set_gamma(const char *command, const char *text, Options *options);
bool set_out_range(const char *command, const char *text, Options *options);
bool set_in_range(const char *command, const char *text, Options *options);
bool set_match(const char *command, const char *text, Options *options);
bool set_clahe(const char *command, const char *text, Options *options);
bool set_grid(const char *command, const char *text, Options *options);
bool set_clip_limit(const char *command, const char *text, Options *options);

bool set_save_transfer(const char *command, const char *text, Options *options);
bool set_output(const char *command, const char *text, Options *options);
bool set_format(const char *command, const char *text, Options *options);

#endif

/* SPDX-License-Identifier: MIT */
/* transform_options.h: what normalize, equalize and apply were asked to do. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_OPTIONS_H
#define IMGSTAT_TOOLS_TRANSFORM_OPTIONS_H

#include "imgstat.h"

#include <argp.h>

typedef struct TransformOptions {
    ImgstatMethod method;
    bool has_method, has_mean, has_stddev, has_gamma, has_grid;
    const char *reference;     /* of match */
    const char *transfer;      /* of apply: the saved one */
    const char *save_transfer; /* NULL for none */
    const char *output;        /* file, folder or "-" */
    ImgstatWrite write;
    bool together, skip_existing, dry_run;
    uint64_t memory;
} TransformOptions;

/* Tables of options.c, by group. */
extern const struct argp_option normalize_table[], equalize_table[], map_table[], write_table[],
    transform_input_table[], transform_run_table[];

/* One option of those tables; ARGP_ERR_UNKNOWN for others. */
error_t transform_parse(int key, char *arg, const struct argp_state *state, TransformOptions *t);
/* What no single option can see. name: of the command. */
error_t transform_check(const char *name, bool apply, TransformOptions *t);

#endif

/* SPDX-License-Identifier: MIT */
/* transform_together.h: transfers of all inputs, or of groups of them, where these are transformed
 * in shards: they are measured before the first shard. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_TOGETHER_H
#define IMGSTAT_TOOLS_TRANSFORM_TOGETHER_H

#include "outputs.h"

typedef struct Together Together;

/* NULL: nothing is measured before shards. The options outlive it. */
Together *together_create(const Options *options);
void together_destroy(Together *together); /* accepts NULL */

/* Measures all inputs, each member of a team a part of them, and saves the transfer that
 * --save-transfer names. Without outputs the inputs are reported. False: nothing is left to do.
 * context: a Together. */
bool together_measure(void *context);

/* The options by which a shard is transformed, and the transfer; NULL: no input was measured. */
const Options *together_options(const Together *together);
const ImgstatTransfer *together_transfer(const Together *together);

/* Jobs of files that could not be measured fail for that reason. */
void together_mark_failed(Together *together, Outputs *outputs);

#endif

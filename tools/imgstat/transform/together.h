/* SPDX-License-Identifier: MIT */
/* together.h: transfers of all inputs, or of groups, for transforms in shards: they are
 * measured before the first shard. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_TOGETHER_H
#define IMGSTAT_TOOLS_TRANSFORM_TOGETHER_H

#include "transform/outputs.h"

typedef struct Together Together;

/* Creates the transfers. Returns NULL if nothing is measured before shards. The options must
 * outlive it. */
Together *together_create(const Options *options);
void together_destroy(Together *together); /* accepts NULL */

/* Measures all inputs, each member of a team a part of them, and saves the transfer for
 * --save-transfer. Without outputs, reports the inputs. Returns false if nothing is left to do.
 * context: a Together. */
bool together_measure(void *context);

/* Returns the options for transforming a shard. */
const Options *together_options(const Together *together);

/* Returns the transfer of all inputs; NULL if none was measured. */
const ImgstatTransfer *together_transfer(const Together *together);

/* Makes the jobs of files that could not be measured fail for that reason. */
void together_mark_failed(Together *together, Outputs *outputs);

#endif

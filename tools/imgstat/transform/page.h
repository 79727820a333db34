/* SPDX-License-Identifier: MIT */
/* page.h: a page about inputs and what normalize, equalize and apply made of them. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_PAGE_H
#define IMGSTAT_TOOLS_TRANSFORM_PAGE_H

#include "transform/outputs.h"

typedef struct TransformPage TransformPage;

/* Measures the inputs, before any of them is replaced. Returns NULL after a sentence and a raised
 * status. */
TransformPage *transform_page_begin(const Options *options, const Outputs *outputs);
/* The transform of a job is done or failed. */
void transform_page_note(TransformPage *page, size_t job, bool failed);
/* Measures the outputs that exist, writes the page that --report names, and ends it. Says which
 * inputs and outputs could not be measured for it. */
void transform_page_end(TransformPage *page, const Outputs *outputs);

#endif

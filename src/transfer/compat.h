/* SPDX-License-Identifier: MIT */
/* compat.h: the formulas of other programs for narrow unsigned samples, their rounding included. */
#ifndef IMGSTAT_TRANSFER_COMPAT_H
#define IMGSTAT_TRANSFER_COMPAT_H

#include "transfer/map.h"

/* Checks that the program method->like has a formula for the method. */
ImgstatResult compat_check(const ImgstatMethod *method, ImgstatError *err);

/* Checks that this formula takes samples of type `sample` and makes those of type `to`. */
ImgstatResult compat_check_samples(const ImgstatMethod *method, ImgstatSample sample,
                                   ImgstatSample to, ImgstatError *err);

/* Fills `table`, one output key for each of `bins` keys, by the formula of method->like. cdf:
 * inclusive counts by key, the last one above 0. full: what each key is in the full scale of the
 * type, to which other programs bring samples of fewer bits before they count them. */
ImgstatResult compat_table(const ImgstatMethod *method, const MapRange *to, const uint64_t *cdf,
                           const uint32_t *full, uint32_t bins, uint32_t *table, ImgstatError *err);

#endif

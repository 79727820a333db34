/* SPDX-License-Identifier: MIT */
/* json_numbers.h: whole numbers in JSON text that its parser cannot hold. */
#ifndef IMGSTAT_TRANSFER_JSON_NUMBERS_H
#define IMGSTAT_TRANSFER_JSON_NUMBERS_H

/* Finds a whole number that neither an int64_t nor a uint64_t holds: json-c would make the nearest
 * of them out of it. Returns NULL if there is none. */
const char *json_find_too_long(const char *at, const char *end);

#endif

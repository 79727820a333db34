/* SPDX-License-Identifier: MIT */
/* lut8.h: bytes through tables, one for each of a few interleaved channels. */
#ifndef IMGSTAT_CPU_LUT8_H
#define IMGSTAT_CPU_LUT8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOKUP_CHANNELS = 4 };

/* n bytes, of which the first is of channel 0; tables: 256 bytes a channel. `to` may be `from`. */
typedef void (*LookupBytes)(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables,
                            uint8_t *to);

void lookup_bytes_portable(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables,
                           uint8_t *to);
#if defined(__x86_64__)
/* AVX-512 VBMI: 64 bytes at a time. */
void lookup_bytes_vbmi(const uint8_t *from, size_t n, unsigned channels, const uint8_t *tables,
                       uint8_t *to);
bool lookup_has_vbmi(void);
#endif

/* The one for cpu_features_level(). */
LookupBytes lookup_bytes(void);

#endif

/* SPDX-License-Identifier: MIT */
/* maps.h: how transfer_create completes each map of a transfer. */
#ifndef IMGSTAT_TRANSFER_MAPS_H
#define IMGSTAT_TRANSFER_MAPS_H

#include "transfer/transfer.h"

/* What one map is matched to. */
typedef struct MapReference {
    const MapSource *source; /* NULL: the map matches nothing */
    bool as_is;              /* the reference has the type and the full scale of the output */
} MapReference;

/* Returns the value of the reference at or below which count / of of its samples lie, as a key of
 * the output type. */
uint64_t reference_quantile(const Map *map, const MapReference *reference, uint64_t count,
                            uint64_t of);

/* Sets the kind and the parameters of a map, for every kind but MAP_KNOTS. */
void map_set_parameters(Map *map, const ImgstatMethod *method, const TransferShape *shape,
                        const MapSource *source);

/* Narrow types: fills `table`, one output sample for each key, from a map with its parameters. The
 * map's pointers to counts become NULL. rescaled: what each key is in the scale of the output. */
ImgstatResult map_make_table(Map *map, const ImgstatMethod *method, const MapSource *source,
                             const MapReference *reference, const uint32_t *rescaled,
                             uint32_t *table, ImgstatError *err);

/* Narrow types: fills the table of Transfer.rescale. */
void rescale_make_table(const Map *rescale, uint32_t *table);

/* Wide types, IMGSTAT_EQUALIZE and IMGSTAT_MATCH: completes a map. knots: room for as many as
 * source->ranks has; the map points to them. */
void map_make_knots(Map *map, const ImgstatMethod *method, const MapSource *source,
                    const MapReference *reference, MapKnot *knots);

#endif

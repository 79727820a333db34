/* SPDX-License-Identifier: MIT */
/* json_maps.h: the maps of a transfer from JSON text: tables, knots and parameters. */
#ifndef IMGSTAT_TRANSFER_JSON_MAPS_H
#define IMGSTAT_TRANSFER_JSON_MAPS_H

#include "transfer/json_value.h"

/* Reads as many maps as the transfer has. Clears transfer->has_parameters where a map has a table
 * alone. */
ImgstatResult json_read_maps(const JsonReader *reader, json_object *maps, Transfer *transfer);

#endif

/* SPDX-License-Identifier: MIT */
/* format_name.c: formats by the endings of names. */
#include "codec/table.h"

const char *imgstat_format_of_name(const char *path)
{
    const EncodeFormat *const format = encode_format_of_path(path);
    return format ? format->name : NULL;
}

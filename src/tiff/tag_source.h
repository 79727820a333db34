/* SPDX-License-Identifier: MIT */
/* tag_source.h: TIFF structures whose fields are loaded or copied. */
#ifndef IMGSTAT_TIFF_TAG_SOURCE_H
#define IMGSTAT_TIFF_TAG_SOURCE_H

#include "tiff/directory.h"

enum { TIFF_MEMORY_BYTES = 16 << 20 }; /* of a structure in memory, or of a field, at most */

/* Returns the bytes of a value of that type; 0 for unknown types. */
unsigned tiff_value_bytes(uint16_t type);

/* Reverses the bytes of each number in n bytes of values. */
void tiff_swap_values(uint8_t *bytes, size_t n, uint16_t type);

/* A TIFF structure that is read: a file, or EXIF data in memory. */
typedef struct TiffTagSource {
    const Source *source;  /* NULL: in memory */
    const uint8_t *memory; /* NULL: in a file */
    uint64_t bytes;
    TiffKind kind;
    uint64_t first; /* offset of the first directory */
} TiffTagSource;

/* Reads bytes. Returns false if they are not all there. */
bool tiff_source_read(const TiffTagSource *from, uint64_t at, void *to, size_t bytes);

/* Reads the header of a file. Returns false if it is no TIFF. */
bool tiff_tag_source(const Source *source, TiffTagSource *out);

/* Reads the header of a structure in memory. Returns false if it is no TIFF. */
bool tiff_tag_memory(const uint8_t *memory, size_t bytes, TiffTagSource *out);

/* A field as it is loaded. */
typedef struct TiffLoaded {
    uint8_t *data; /* in host order, a NUL follows; malloc's; NULL: there is no such field */
    size_t bytes;
    uint16_t type;
    size_t count;
} TiffLoaded;

/* Loads a field of the directory at `offset`. One that is damaged, or of more than
 * TIFF_MEMORY_BYTES bytes, is as none. */
ImgstatResult tiff_tag_load(const TiffTagSource *from, uint64_t offset, uint16_t tag,
                            TiffLoaded *out, ImgstatError *err);

#endif

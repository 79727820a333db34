/* SPDX-License-Identifier: MIT */
/* digest.c: hashes of names and bytes, by xxHash. */
#include "record/digest.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void digest_add(Digest *into, const Digest *from)
{
    const Digest added = *from; /* which may be `into` */
    into->low += added.low;
    into->high += added.high + (into->low < added.low);
}

void digest_add_text(Digest *digest, const char *text)
{
    const XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
    digest_add(digest, &(Digest){.low = hash.low64, .high = hash.high64});
}

uint64_t digest_checksum(const void *bytes, size_t n)
{
    return XXH3_64bits(bytes, n);
}

/* SPDX-License-Identifier: MIT */
/* any_resources: EXIF's thumbnail, IPTC's data sets and Photoshop's image resources in any bytes.
 */
#include "any.h"

#include "codec/exif.c"
#include "codec/photoshop.c"

/* CBMC: -DPROOF=exif_fields -DBYTES=20 --unwind 5 */
/* CBMC: -DPROOF=exif_erase -DBYTES=8 --unwind 5 */
/* CBMC: -DPROOF=iptc -DBYTES=8 --unwind 7 */
/* CBMC: -DPROOF=resources -DBYTES=12 --unwind 9 */
/* CBMC, full: -DPROOF=exif_fields -DBYTES=32 --unwind 5 */
/* CBMC, full: -DPROOF=exif_erase -DBYTES=8 --unwind 5 */
/* CBMC, full: -DPROOF=iptc -DBYTES=13 --unwind 9 */
/* CBMC, full: -DPROOF=resources -DBYTES=13 --unwind 9 */

/* A directory anywhere. */
static void exif_fields(uint8_t *data, size_t n)
{
    const Exif exif = {.data = data, .bytes = n, .big_endian = any(2)};
    const size_t at = any(UINT32_MAX);
    Exif found;
    size_t link, second;
    if (find_second(data, n, &found, &link, &second))
        demand(link + 4 <= n, "beside the data");
    if (directory_bytes(&exif, at) > 0)
        (void)value_of(&exif, at, any(UINT16_MAX));
}

static void exif_erase(uint8_t *data, size_t n)
{
    size_t bytes = n;
    erase(data, &bytes, any(UINT32_MAX), any(UINT32_MAX), any(UINT32_MAX));
    demand(bytes <= n, "more bytes");
}

static void iptc(uint8_t *data, size_t n)
{
    const uint8_t *found;
    size_t bytes;
    if (iptc_find(data, n, &found, &bytes))
        demand(found >= data && bytes > 0 && bytes <= n - (size_t)(found - data),
               "beside the data");
}

static void resources(uint8_t *data, size_t n)
{
    demand(photoshop_remove_thumbnails(data, n) <= n, "more bytes");
}

void prove(void)
{
    static uint8_t data[BYTES];
    const size_t n = any(BYTES + 1);
    PROOF(any_bytes(data, BYTES, n), n);
}

/* SPDX-License-Identifier: MIT */
/* page.h: the rows of a page, from the memory of a device to the output of an encoder. */
#ifndef IMGSTAT_ENCODE_PAGE_H
#define IMGSTAT_ENCODE_PAGE_H

#include "codec/encoder.h"
#include "device/device.h"

/* Memory for pages of one device, from one to the next. */
typedef struct PageRows PageRows;

/* Accepts NULL. */
void page_rows_destroy(PageRows *rows);

/* Returns how many of the next `rows` rows of the page that was begun encode_page can write: to PNG
 * or deflated TIFF, in the default setting or the fast one; 0: none. */
uint32_t encode_page_rows(Encoder *encoder, uint32_t rows);

/* Writes so many rows of that page: the bytes that encoder_write_rows writes. image: the rows, in
 * the device's own memory, in the order of its own stream, or in host memory. *rows: NULL at first,
 * then what the call before left; destroyed before the device is closed. */
ImgstatResult encode_page(Device *device, PageRows **rows, Encoder *encoder, const ImagePro *image,
                          ImgstatError *err);

#endif

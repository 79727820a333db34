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

/* Returns whether encode_page can write the rows of the page that was begun, of which none has been
 * written: to PNG or deflated TIFF, in the default setting or the fast one. */
bool encode_page_possible(Encoder *encoder);

/* Writes all rows of that page: the bytes that encoder_write_rows writes. image: the page, in the
 * device's own memory, in the order of its own stream, or in host memory. *rows: NULL at first,
 * then what the call before left; destroyed before the device is closed. */
ImgstatResult encode_page(Device *device, PageRows **rows, Encoder *encoder, const ImagePro *image,
                          ImgstatError *err);

#endif

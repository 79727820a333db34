/* SPDX-License-Identifier: MIT */
/* helper_measure.h: arrays measured as images, from end to end. */
#ifndef HELPER_MEASURE_H
#define HELPER_MEASURE_H

#include "base/image.h"

enum { MEASURE_PERCENTILES = 10 };
extern const double measure_percentiles[MEASURE_PERCENTILES];

ImgstatMeasure measure_everything(void); /* that can be asked for */
ImgstatDevice *measure_device(unsigned threads);
ImgstatRecord *measure_image(const ImagePro *image, const ImgstatMeasure *how);
/* Of channel 0. */
ImgstatStats measure_stats(const ImagePro *image, const ImgstatMeasure *how);
/* An image of the array at pixels, rows without gaps. */
ImagePro measure_wrap(const void *pixels, uint32_t width, uint32_t height, uint16_t channels,
                      ImgstatSample sample);
/* Everything that two records of the same question say, bit for bit; returns how many channels with
 * samples. */
size_t measure_compare(const ImgstatRecord *a, const ImgstatRecord *b);
/* Adds a record without a group to a group of a data set, which owns it then. NULL: "". */
void measure_add(ImgstatDataset *dataset, const char *group, ImgstatRecord *record);
bool is_near(double got, long double expected, double relative);

#endif

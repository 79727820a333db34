/* SPDX-License-Identifier: MIT */
/* A program of somebody who has installed imgstat; also compiled as C++. Measures four pixels. */
#include <imgstat.h>

#include <stdio.h>

int main(void)
{
    static const uint8_t pixels[4] = {1, 2, 3, 10};
    ImgstatError err;
    ImgstatMeasure how = {};
    ImgstatStats stats;
    ImgstatDevice *device = NULL;
    ImgstatRecord *record = NULL;
    ImagePro image;

    ImgstatResult res = imgstat_device_open("cpu", 1, &device, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, 2, 2, 1, IMGSTAT_U8, 0, NULL, NULL,
                                 &image, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_measure_image(device, &image, &how, &record, &err);
    if (res != IMGSTAT_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    imgstat_record_stats(record, 0, &stats);
    printf("imgstat %s: mean %g, max %llu\n", imgstat_version(), stats.mean,
           (unsigned long long)stats.max.as.u);
    imgstat_record_destroy(record);
    imgstat_image_release(&image);
    imgstat_device_close(device);
    return stats.mean == 4.0 && stats.max.as.u == 10 ? 0 : 1;
}

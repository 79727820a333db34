/* SPDX-License-Identifier: MIT */
/* read_request.c: a further read for devices that look at an image as a whole. */
#include "device/read_request.h"

ImgstatResult read_in_turn(Device *device, const ImagePro *image, const ReadRequest *pass,
                           ImgstatError *err)
{
    const DeviceOps *const ops = device->ops;
    if (pass->n_digits)
        IMGSTAT_TRY(ops->count_digits(device, image, pass->digits, pass->n_digits, err));
    if (pass->n_ranges)
        IMGSTAT_TRY(ops->count_range(device, image, pass->ranges, pass->n_ranges, err));
    if (pass->n_gathers)
        IMGSTAT_TRY(ops->gather(device, image, pass->gathers, pass->n_gathers, err));
    if (pass->sort)
        IMGSTAT_TRY(ops->sort_add(device, image, *pass->sort, err));
    if (pass->central)
        IMGSTAT_TRY(ops->central(device, image, pass->center, pass->central, err));
    return IMGSTAT_OK;
}

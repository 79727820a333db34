/* SPDX-License-Identifier: MIT */
/* test_apply.c: the CPU device applies a transfer by several threads as one call does. */
#include "cpu/map_rows.h"
#include "device/device.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { WIDTH = 61, GAP = 5 };

static ImagePro wrap(void *memory, uint32_t height, ImgstatSample sample)
{
    ImagePro image;
    ImgstatError err;
    const size_t pitch = (size_t)WIDTH * 3 * imgstat_sample_bytes(sample) + GAP;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, memory, pitch, WIDTH, height, 3, sample, 0,
                                    NULL, NULL, &image, &err),
                 IMGSTAT_OK);
    return image;
}

/* Heights around the rows that a thread takes at least; gaps between rows stay. */
Test(cpu_apply, by_slices)
{
    static const uint32_t heights[] = {1, 17, 179, 180, 181, 513};
    ImgstatError err;
    Device *device;
    cr_assert_eq(cpu_device_ops.open(0, 3, &device, &err), IMGSTAT_OK);
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        const size_t in_bytes = ((size_t)WIDTH * 3 + GAP) * heights[i];
        const size_t out_bytes = ((size_t)WIDTH * 3 * 2 + GAP) * heights[i];
        unsigned char *const in = malloc(in_bytes), *const one = malloc(out_bytes),
                             *const several = malloc(out_bytes);
        cr_assert(in && one && several);
        for (size_t k = 0; k < in_bytes; k++)
            in[k] = (unsigned char)(k * k % 251);
        memset(one, 0xA5, out_bytes);
        memset(several, 0xA5, out_bytes);
        const ImagePro from = wrap(in, heights[i], IMGSTAT_U8);
        ImagePro to_one = wrap(one, heights[i], IMGSTAT_U16);
        ImagePro to_several = wrap(several, heights[i], IMGSTAT_U16);
        const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE, .depth = IMGSTAT_DEPTH_16};
        ImgstatTransfer *transfer;
        cr_assert_eq(imgstat_transfer_create(device, &method, &from, -1, NULL, &transfer, &err),
                     IMGSTAT_OK, "%s", err.message);
        cr_assert_eq(transfer_apply(transfer, &from, -1, &to_one, &err), IMGSTAT_OK);
        cr_assert_eq(device->ops->apply(device, transfer, &from, -1, &to_several, &err),
                     IMGSTAT_OK);
        cr_assert_eq(memcmp(one, several, out_bytes), 0, "%u rows", heights[i]);

        ImagePro narrow = to_several; /* a type that the transfer does not make */
        narrow.sample = IMGSTAT_U8;
        cr_assert_eq(device->ops->apply(device, transfer, &from, -1, &narrow, &err),
                     IMGSTAT_ERR_ARG);
        imgstat_transfer_destroy(transfer);
        free(in);
        free(one);
        free(several);
    }
    cpu_device_ops.close(device);
}

/* SPDX-License-Identifier: MIT */
/* equalize_image.c: load, measure, transform and save one image that the program holds itself.
 * usage: equalize_image INPUT OUTPUT */
#include <imgstat.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: equalize_image INPUT OUTPUT\n");
        return 2;
    }
    const ImgstatMethod method = {.transform = IMGSTAT_EQUALIZE};
    ImgstatDevice *device = NULL;
    ImgstatTransfer *transfer = NULL;
    ImgstatFile *like = NULL; /* where the output takes profiles, tags and layout from */
    ImagePro from = {.channels = 0}, to = {.channels = 0};
    ImgstatPage page;
    ImgstatError err;
    uint8_t bits = 0;

    ImgstatResult res = imgstat_device_open("cpu", 0, &device, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_load(argv[1], NULL, 0, &from, &page, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_transfer_create(device, &method, &from, page.alpha, NULL, &transfer, &err);
    if (res == IMGSTAT_OK) {
        const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
        res = imgstat_image_create(from.width, from.height, from.channels, sample, bits, &to, &err);
    }
    if (res == IMGSTAT_OK)
        res = imgstat_transfer_apply(device, transfer, &from, page.alpha, &to, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_open(argv[1], NULL, &like, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_file_page(like, 0, NULL, &err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_save(&to, page.alpha, argv[2], like, NULL, &err);
    if (res != IMGSTAT_OK)
        fprintf(stderr, "%s\n", err.message);

    imgstat_file_close(like);
    imgstat_image_release(&to);
    imgstat_image_release(&from);
    imgstat_transfer_destroy(transfer);
    imgstat_device_close(device);
    return res == IMGSTAT_OK ? 0 : 1;
}

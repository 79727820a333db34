/* SPDX-License-Identifier: MIT */
/* devices.c: what --device can name here. */
#include "commands/commands.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices that could be opened; then, if no GPU is among them, why. */
void cmd_devices(Options *options)
{
    (void)options;
    const size_t n = imgstat_device_list(NULL, 0);
    ImgstatDeviceInfo *const devices = text_alloc(n * sizeof *devices);
    const size_t listed = imgstat_device_list(devices, n);
    bool gpu = false;
    for (size_t i = 0; i < listed && i < n; i++) {
        printf("%-8s  %s, %.1f GiB memory\n", devices[i].name, devices[i].description,
               (double)devices[i].memory_bytes / 0x1p30);
        gpu = gpu || strcmp(devices[i].name, "cpu") != 0;
    }
    free(devices);
    ImgstatDevice *device = NULL;
    ImgstatError error;
    if (gpu || imgstat_device_open("cuda", 1, &device, &error) == IMGSTAT_OK) {
        imgstat_device_close(device);
        return;
    }
    static const char absent[] = "no CUDA device: ";
    const bool known = strncmp(error.message, absent, strlen(absent)) == 0;
    printf("%-8s  absent: %s\n", "cuda", error.message + (known ? strlen(absent) : 0));
}

/* SPDX-License-Identifier: MIT */
/* cmd_devices.c: what --device can name here. */
#include "commands.h"
#include "options.h"
#include "status.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

void cmd_devices(int argc, char **argv)
{
    Options options;
    const ParseResult parsed = options_parse(COMMAND_DEVICES, argc, argv, &options);
    if (parsed == PARSE_RUN) {
        const size_t n = imgstat_device_list(NULL, 0);
        ImgstatDeviceInfo *const devices = text_alloc(n * sizeof *devices);
        const size_t listed = imgstat_device_list(devices, n);
        for (size_t i = 0; i < listed && i < n; i++)
            printf("%-8s  %s, %.1f GiB memory\n", devices[i].name, devices[i].description,
                   (double)devices[i].memory_bytes / 0x1p30);
        free(devices);
    } else if (parsed == PARSE_ERROR) {
        status_raise(STATUS_USAGE);
    }
    options_release(&options);
}

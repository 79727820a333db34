/* SPDX-License-Identifier: MIT */
/* test_tile_bands.c: a page of tiles is left to the processor where the device lacks the memory. */
#include "decode/tile_bands.h"

#include "helper_plain_device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static int allocations, lists; /* memory of the host that is held */
static bool is_full;

static ImgstatResult alloc(Device *device, size_t bytes, DevMem *out, ImgstatError *err)
{
    allocations++;
    if (is_full)
        return error_memory(err, bytes, "the device's memory");
    return cpu_device_ops.alloc(device, bytes, out, err);
}

static ImgstatResult host_alloc(Device *device, size_t bytes, void **out, ImgstatError *err)
{
    lists++;
    return cpu_device_ops.host_alloc(device, bytes, out, err);
}

static void host_release(Device *device, void *memory)
{
    lists--;
    cpu_device_ops.host_release(device, memory);
}

/* Such a page could not be measured by a GPU that was named, though its bands alone have room. */
Test(tile_bands, a_full_device_leaves_the_page_to_the_processor)
{
    char path[1024];
    ImgstatError err = {.message = ""};
    ImgstatDevice *device = NULL;
    ImgstatFile *file = NULL;
    ImgstatPage page;
    TileBands *bands = NULL;
    DeviceOps ops = plain_device_ops();
    ops.alloc = alloc;
    ops.host_alloc = host_alloc;
    ops.host_release = host_release;
    snprintf(path, sizeof path, "%s/good-tiled.tif", getenv("IMGSTAT_TESTDATA"));
    setenv("IMGSTAT_DECODE", "threads", 1); /* small pages as well */
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_open(path, NULL, &file, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(file, 0, &page, &err), IMGSTAT_OK);
    device->ops = &ops;
    for (int full = 0; full < 2; full++) {
        is_full = full;
        cr_expect_eq(tile_bands_open(device, file->decoder, page.height, &bands, &err), IMGSTAT_OK,
                     "%s", err.message);
        cr_expect_eq(allocations, 1 + full);
        cr_expect_eq(bands == NULL, is_full);
        tile_bands_close(bands);
        cr_expect_eq(lists, 0);
    }
    device->ops = &cpu_device_ops;
    imgstat_file_close(file);
    imgstat_device_close(device);
}

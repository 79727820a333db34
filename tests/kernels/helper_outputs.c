/* SPDX-License-Identifier: MIT */
#include "helper_outputs.h"

#include "cpu/map_rows.h"
#include "transform/transfer_source.h"

#include <stdlib.h>
#include <string.h>

void must_cuda(cudaError_t status)
{
    if (status != cudaSuccess)
        fail(cudaGetErrorString(status));
}

Output output_create(const ImagePro *from, ImgstatSample sample)
{
    Output o = {.cpu = *from};
    const size_t row = image_samples_per_row(from) * imgstat_sample_bytes(sample);
    o.bytes = row * from->height;
    o.expected = malloc(o.bytes);
    o.got = malloc(o.bytes);
    if (!o.expected || !o.got)
        fail("out of memory");
    o.cpu.host = o.expected;
    o.cpu.mask = NULL;
    o.cpu.pitch = row;
    o.cpu.sample = sample;
    must(ops.cuda->ops->alloc(ops.cuda, o.bytes, &o.memory, &ops.error));
    o.cuda = o.cpu;
    o.cuda.memory = IMGSTAT_CUDA;
    o.cuda.host = NULL;
    o.cuda.device.address = o.memory.address;
    return o;
}

void output_destroy(Output *o)
{
    ops.cuda->ops->release(ops.cuda, &o->memory);
    free(o->expected);
    free(o->got);
}

void poison(Output *o)
{
    memset(o->got, 0xA5, o->bytes);
    must(ops.cuda->ops->upload(ops.cuda, o->memory, 0, o->got, o->bytes, &ops.error));
}

void compare(Output *o, const char *what, const char *text)
{
    must(ops.cuda->ops->download(ops.cuda, o->got, o->memory, 0, o->bytes, &ops.error));
    ops.cases++;
    ops.compared += o->bytes;
    for (size_t i = 0; i < o->bytes; i++) {
        if (o->expected[i] == o->got[i])
            continue;
        complain("%s: %s: byte %zu of %zu is %02x, expected %02x", text, what, i, o->bytes,
                 o->got[i], o->expected[i]);
        return;
    }
}

void map_on_cpu(const ImgstatMethod *method, const ImagePro *from, int16_t alpha, ImagePro *to)
{
    ImgstatTransfer *transfer;
    must(imgstat_transfer_create(ops.cpu, method, from, alpha, NULL, &transfer, &ops.error));
    const TransferShape of = shape_of_input(method, from, alpha);
    transfer->holes = transfer_holes_in_memory(transfer, &of);
    must(transfer_apply(transfer, from, alpha, to, &ops.error));
    imgstat_transfer_destroy(transfer);
}

void check_outputs(void)
{
    const Shape shape = {.sample = IMGSTAT_U8, .channels = 1, .width = 5, .height = 3};
    TestImage image = test_image_create(&shape, false);
    Output o = output_create(&image.cpu, IMGSTAT_U8);
    poison(&o);
    memset(o.expected, 0xA5, o.bytes);
    o.expected[7] ^= 1;
    const size_t before = ops.failures;
    ops.quiet = true;
    compare(&o, "self-test", "");
    ops.quiet = false;
    if (ops.failures != before + 1)
        fail("the comparison does not see a wrong byte");
    ops.failures = before;
    output_destroy(&o);
    test_image_destroy(&image);
}

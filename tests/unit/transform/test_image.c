/* SPDX-License-Identifier: MIT */
/* test_image.c: the transformed copy of an image does not depend on what was in its memory. */
#include "base/image.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

enum { WIDTH = 333, HEIGHT = 101, CHANNELS = 4 };

/* False where malloc is another one, which has no such setting. */
static bool fill_with(int byte)
{
    if (!mallopt(M_PERTURB, ~byte & 0xFF))
        return false;
    ImagePro probe;
    cr_assert_eq(image_create_unset(WIDTH, HEIGHT, 1, IMGSTAT_U8, 0, &probe, NULL), IMGSTAT_OK);
    const bool filled = *image_row(&probe, 0) == byte && *image_row(&probe, HEIGHT - 1) == byte;
    imgstat_image_release(&probe);
    return filled;
}

static void fill(ImagePro *image)
{
    unsigned char *const bytes = (unsigned char *)image->host;
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t i = 0; i < WIDTH * image->channels; i++) {
            const uint32_t value = (y * 2654435761u + i * 40503u) >> 7 & 0xFFFF;
            const float real = (float)value / 65535.0f;
            if (image->sample == IMGSTAT_F32)
                memcpy(bytes + y * image->pitch + i * sizeof real, &real, sizeof real);
            else if (image->sample == IMGSTAT_U16)
                memcpy(bytes + y * image->pitch + i * 2, &value, 2);
            else
                bytes[y * image->pitch + i] = (unsigned char)value;
        }
}

static size_t check(ImgstatDevice *device, const ImgstatMethod *method, ImgstatSample sample,
                    int16_t alpha, const uint8_t *mask)
{
    ImagePro image, to[2];
    cr_assert_eq(imgstat_image_create(WIDTH, HEIGHT, CHANNELS, sample, 0, &image, NULL),
                 IMGSTAT_OK);
    fill(&image);
    image.mask = mask;
    image.mask_pitch = WIDTH;
    for (int i = 0; i < 2; i++) {
        cr_assert(fill_with(i ? 0x5A : 0xA5));
        cr_assert_eq(imgstat_image_transform(device, method, &image, alpha, NULL, &to[i], NULL),
                     IMGSTAT_OK);
    }
    const size_t bytes = to[0].pitch * HEIGHT;
    cr_assert_eq(memcmp(to[0].host, to[1].host, bytes), 0, "method %d, samples of type %d",
                 (int)method->transform, (int)sample);

    /* An image of the caller becomes the same; here one in which the pixels are already. */
    if (to[0].sample == sample) {
        cr_assert_eq(imgstat_image_transform_to(device, method, &image, alpha, NULL, &image, NULL),
                     IMGSTAT_OK);
        for (uint32_t y = 0; y < HEIGHT; y++)
            cr_assert_eq(memcmp(image_row(&image, y), image_row(&to[0], y),
                                (size_t)WIDTH * CHANNELS * imgstat_sample_bytes(sample)),
                         0, "method %d, samples of type %d", (int)method->transform, (int)sample);
    }
    imgstat_image_release(&to[0]);
    imgstat_image_release(&to[1]);
    imgstat_image_release(&image);
    return bytes;
}

Test(transform, writes_all_of_the_output)
{
    static const ImgstatMethod methods[] = {
        {.transform = IMGSTAT_STRETCH},
        {.transform = IMGSTAT_GAMMA, .gamma = 2.2},
        {.transform = IMGSTAT_EQUALIZE},
        {.transform = IMGSTAT_EQUALIZE, .channels = IMGSTAT_EACH},
        {.transform = IMGSTAT_CLAHE}};
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_U16, IMGSTAT_F32};
    static uint8_t mask[WIDTH * HEIGHT];
    size_t compared = 0;
    ImgstatDevice *device;
    if (!fill_with(0xA5))
        cr_skip_test("this malloc does not fill its memory");
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = i % 3 != 0;
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, NULL), IMGSTAT_OK);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
            for (int way = 0; way < 4; way++) {
                if (methods[m].transform == IMGSTAT_CLAHE && samples[s] == IMGSTAT_F32)
                    continue; /* integers only */
                compared +=
                    check(device, &methods[m], samples[s], way % 2 ? 3 : -1, way / 2 ? mask : NULL);
            }
    imgstat_device_close(device);
    fprintf(stderr, "transform: %zu bytes compared\n", compared);
    cr_assert_gt(compared, 0);
}

#else
Test(transform, writes_all_of_the_output)
{
    cr_skip_test("needs the GNU C library");
}
#endif

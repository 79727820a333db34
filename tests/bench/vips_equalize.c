/* SPDX-License-Identifier: MIT */
/* vips_equalize.c: a 16-bit image equalized by libvips and saved with 16 bits. `vips hist_equal`
 * saves a PNG of 8 bits, nearly all white: the image is then taken for a histogram. */
#include <stdio.h>
#include <vips/vips.h>

int main(int argc, char **argv)
{
    if (argc != 3 || VIPS_INIT(argv[0])) {
        fprintf(stderr, "usage: vips_equalize IN OUT\n");
        return 2;
    }
    VipsImage *image = vips_image_new_from_file(argv[1], NULL);
    VipsImage *equal = NULL, *named = NULL;
    if (!image || vips_hist_equal(image, &equal, NULL) ||
        vips_copy(equal, &named, "interpretation", image->Type, NULL) ||
        vips_image_write_to_file(named, argv[2], NULL)) {
        fprintf(stderr, "%s", vips_error_buffer());
        return 1;
    }
    g_object_unref(named);
    g_object_unref(equal);
    g_object_unref(image);
    vips_shutdown();
    return 0;
}

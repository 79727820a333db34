/* SPDX-License-Identifier: MIT */
/* vips_stats.c: the statistics of many files by libvips in one process: the hardest comparison for
 * folders. */
#include <stdio.h>
#include <vips/vips.h>

int main(int argc, char **argv)
{
    if (argc < 2 || VIPS_INIT(argv[0])) {
        fprintf(stderr, "usage: vips_stats FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        VipsImage *image =
            vips_image_new_from_file(argv[i], "access", VIPS_ACCESS_SEQUENTIAL, NULL);
        VipsImage *stats = NULL;
        if (!image || vips_stats(image, &stats, NULL)) {
            fprintf(stderr, "%s", vips_error_buffer());
            return 1;
        }
        size_t bytes; /* a row of 10 numbers for all bands, then one for each */
        double *row = vips_image_write_to_memory(stats, &bytes);
        if (!row) {
            fprintf(stderr, "%s", vips_error_buffer());
            return 1;
        }
        printf("%s min %g max %g mean %g deviation %g\n", argv[i], row[0], row[1], row[4], row[5]);
        g_free(row);
        g_object_unref(stats);
        g_object_unref(image);
    }
    vips_shutdown();
    return 0;
}

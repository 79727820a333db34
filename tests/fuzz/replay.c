/* SPDX-License-Identifier: MIT */
/* replay.c: gives files to a fuzz target without libFuzzer, so that seeds and past findings are
 * tested in every build. */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_files; /* nftw takes no context */

static int replay(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)place;
    if (kind != FTW_F)
        return 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    const size_t bytes = (size_t)about->st_size;
    /* Exactly as large as the input, so that a sanitizer sees the first byte read past its end. */
    uint8_t *data = malloc(bytes ? bytes : 1);
    const size_t got = data ? fread(data, 1, bytes, file) : 0;
    fclose(file);
    if (data && got == bytes) {
        LLVMFuzzerTestOneInput(data, bytes);
        n_files++;
    } else {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(data);
    return got != bytes;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (nftw(argv[i], replay, 16, FTW_PHYS) != 0) {
            fprintf(stderr, "%s: stopped\n", argv[i]);
            return 1;
        }
    }
    printf("%zu inputs replayed\n", n_files);
    return n_files ? 0 : 1;
}

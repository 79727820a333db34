/* SPDX-License-Identifier: MIT */
/* prove_changes: a fuzz target on every file that differs from PROOF_FILE in one byte, and on every
 * beginning of it. With PROOF_BITS a byte is changed in each of its bits alone, but for the larger
 * bounds; else to every other one. */
#include "any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef PROOF_BITS
enum { USUAL = 8 };
#else
enum { USUAL = 255 };
#endif

static uint8_t *whole;
static size_t whole_size;

static void read_file(void)
{
    FILE *const file = fopen(PROOF_FILE, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        abort();
    whole_size = (size_t)ftell(file);
    whole = malloc(whole_size);
    rewind(file);
    if (!whole || fread(whole, 1, whole_size, file) != whole_size)
        abort();
    fclose(file);
}

void prove(void)
{
    if (!whole)
        read_file();
    const size_t at = any((unsigned)whole_size);
    const unsigned how = any(1 + bound(USUAL, 255));
    const size_t size = how == 0 ? at : whole_size;
    uint8_t *const changed = malloc(size + !size);
    memcpy(changed, whole, size);
    if (how > 0)
        changed[at] ^= (uint8_t)(bound(USUAL, 255) == 8 ? 1u << (how - 1) : how);
    LLVMFuzzerTestOneInput(changed, size);
    free(changed);
}

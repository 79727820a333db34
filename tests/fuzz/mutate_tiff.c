/* SPDX-License-Identifier: MIT */
/* mutate_tiff.c: for libFuzzer: changes the directories of a TIFF file as directories, in half of
 * all cases; in the others bytes anywhere. A change of one byte seldom leaves a tag that says
 * something else, and never a directory more. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* A file, and one of its directories. */
typedef struct File {
    uint8_t *data;
    size_t size;
    bool big_endian, big; /* big: BigTIFF */
    size_t at;            /* of the directory: the number of its entries */
    size_t n;
} File;

static const uint16_t tags[] = {254, 255, 256,   257,   258,   259,   262,   266,   273,   274,
                                277, 278, 279,   280,   281,   284,   317,   320,   322,   323,
                                324, 325, 330,   338,   339,   347,   512,   513,   514,   530,
                                532, 270, 34665, 34675, 42112, 42113, 50838, 50839, 65000, 33432};
static const uint64_t values[] = {
    0,     1,     2,     3,     4,     5,        7,          8,           12,
    16,    24,    32,    64,    255,   256,      257,        32773,       32946,
    34661, 34892, 50001, 65535, 65536, 1u << 24, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu};

static uint64_t get(const File *file, size_t at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)file->data[at + i] << 8 * (file->big_endian ? bytes - 1 - i : i);
    return value;
}

static void put(const File *file, size_t at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        file->data[at + i] = (uint8_t)(value >> 8 * (file->big_endian ? bytes - 1 - i : i));
}

static unsigned word(const File *file) /* of places and counts */
{
    return file->big ? 8 : 4;
}

static size_t entry(const File *file, size_t i)
{
    return file->at + (file->big ? 8 : 2) + i * (file->big ? 20 : 12);
}

/* Finds the directory at a place. Returns false if it is not all there. */
static bool open_directory(File *file, uint64_t at)
{
    const unsigned head = file->big ? 8 : 2;
    if (at > file->size || file->size - at < head)
        return false;
    file->at = (size_t)at;
    file->n = (size_t)get(file, file->at, head);
    return file->n > 0 && file->n < 512 && entry(file, file->n) + word(file) <= file->size;
}

/* Finds the directory number `wanted` of the chain, or the last. */
static bool find_directory(File *file, unsigned wanted)
{
    if (file->size < 16 || (memcmp(file->data, "II", 2) != 0 && memcmp(file->data, "MM", 2) != 0))
        return false;
    file->big_endian = file->data[0] == 'M';
    file->big = get(file, 2, 2) == 43;
    if (!open_directory(file, get(file, file->big ? 8 : 4, word(file))))
        return false;
    for (; wanted > 0; wanted--) {
        File next = *file;
        if (!open_directory(&next, get(file, entry(file, file->n), word(file))))
            break;
        *file = next;
    }
    return true;
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* Appends a copy of the directory, and lets it follow in the chain. Returns the new size. */
static size_t append_directory(File *file, size_t most)
{
    const size_t end = entry(file, file->n), bytes = end + word(file) - file->at;
    const size_t to = file->size + file->size % 2;
    if (to + bytes > most)
        return file->size;
    file->data[file->size] = 0;
    memmove(file->data + to, file->data + file->at, bytes);
    put(file, end, word(file), to);
    return to + bytes;
}

static void remove_entry(File *file, size_t i)
{
    const size_t at = entry(file, i), next = entry(file, i + 1);
    memmove(file->data + at, file->data + next, entry(file, file->n) + word(file) - next);
    put(file, file->at, file->big ? 8 : 2, file->n - 1);
}

static size_t change(File *file, uint64_t *state, size_t most)
{
    const size_t i = (size_t)draw(state, file->n), at = entry(file, i);
    const size_t other = entry(file, (size_t)draw(state, file->n)), bytes = file->big ? 20 : 12;
    const uint64_t value = draw(state, 2) ? values[draw(state, sizeof values / sizeof *values)]
                                          : draw(state, file->size + 1);
    switch (draw(state, 9)) {
    case 0:
        put(file, at, 2, tags[draw(state, sizeof tags / sizeof *tags)]);
        break;
    case 1:
        put(file, at + 2, 2, draw(state, 20));
        break;
    case 2:
        put(file, at + 4, word(file), value);
        break;
    case 3: /* a value of two bytes, or a longer one */
        put(file, at + 4 + word(file), 2, value);
        break;
    case 4:
        put(file, at + 4 + word(file), word(file), value);
        break;
    case 5:
        memmove(file->data + at, file->data + other, bytes);
        break;
    case 6:
        remove_entry(file, i);
        break;
    case 7:
        put(file, entry(file, file->n), word(file), draw(state, 2) ? file->at : value);
        break;
    default:
        return append_directory(file, most);
    }
    return file->size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t state = seed;
    File file = {.data = data, .size = size};
    if (draw(&state, 2) == 0 || !find_directory(&file, (unsigned)draw(&state, 4)))
        return LLVMFuzzerMutate(data, size, most);
    return change(&file, &state, most);
}

/* SPDX-License-Identifier: MIT */
/* test_inflate.c: bytes behind a stream, in whatever pieces they come. Versions of ISA-L differ in
 * what they do with those that they have read; the newer way is played here beside the installed.
 */
#include "codec/inflate.h"
#include "support.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

TestSuite(inflate);

enum { PLAIN = 300, MOST_SURPLUS = 9 };

#ifdef IMGSTAT_WITH_ISAL
#include <isa-l/igzip_lib.h>

static bool gives_back;

int __real_isal_inflate(struct inflate_state *state);
int __wrap_isal_inflate(struct inflate_state *state);

/* At the end of a stream 2.32.1 returns the whole bytes that it has read beyond. */
int __wrap_isal_inflate(struct inflate_state *state)
{
    const int result = __real_isal_inflate(state);
    if (gives_back && state->block_state == ISAL_BLOCK_FINISH) {
        state->next_in -= state->read_in_length / 8;
        state->avail_in += (uint32_t)state->read_in_length / 8;
        state->read_in_length = 0;
    }
    return result;
}
#endif

/* The compressed bytes, in two pieces. */
typedef struct Pieces {
    const uint8_t *stream;
    size_t at, split, bytes;
} Pieces;

static size_t read_piece(void *context, uint8_t *to, size_t room)
{
    Pieces *const pieces = context;
    const size_t end = pieces->at < pieces->split ? pieces->split : pieces->bytes;
    const size_t left = end - pieces->at, n = left < room ? left : room;
    memcpy(to, pieces->stream + pieces->at, n);
    pieces->at += n;
    return n;
}

/* The stream in two pieces, read `step` bytes at a time: what there is no room for waits, and the
 * end may come after its bytes. */
static void check_split(const uint8_t *stream, size_t bytes, size_t surplus, size_t split,
                        size_t step, const uint8_t *plain)
{
    Pieces pieces = {.stream = stream, .split = split, .bytes = bytes + surplus};
    const InflateSource source = {.read = read_piece,
                                  .context = &pieces,
                                  .total = PLAIN,
                                  .compressed = bytes,
                                  .read_bytes = 2 * PLAIN + MOST_SURPLUS,
                                  .threads = 1};
    InflateStream *const inflate = inflate_stream_create(&source, NULL);
    cr_assert_not_null(inflate);
    uint8_t got[PLAIN];
    bool good = true, more = false;
    for (size_t at = 0; good && at < PLAIN; at += step)
        good = inflate_stream_read(inflate, got + at, step);
    good = good && inflate_stream_end(inflate, &more);
    if (good) {
        cr_assert_eq(more, surplus > 0, "split %zu, surplus %zu, step %zu", split, surplus, step);
        cr_assert(memcmp(got, plain, PLAIN) == 0);
    }
    cr_assert(good || surplus > 0, "split %zu, step %zu", split, step);
    inflate_stream_destroy(inflate);
}

static void check_all_splits(void)
{
    uint8_t plain[PLAIN], stream[2 * PLAIN + MOST_SURPLUS];
    uint64_t seed = 1;
    for (size_t i = 0; i < PLAIN; i++)
        plain[i] = (uint8_t)(splitmix64(&seed) % 5);
    uLongf bytes = sizeof stream - MOST_SURPLUS;
    cr_assert_eq(compress2(stream, &bytes, plain, PLAIN, 9), Z_OK);
    memset(stream + bytes, 0x5a, MOST_SURPLUS);
    for (size_t surplus = 0; surplus <= MOST_SURPLUS; surplus++)
        for (size_t split = 1; split <= bytes + surplus; split++) {
            check_split(stream, bytes, surplus, split, 1, plain);
            check_split(stream, bytes, surplus, split, PLAIN, plain);
        }
}

Test(inflate, bytes_behind_a_stream)
{
    check_all_splits();
}

#ifdef IMGSTAT_WITH_ISAL
Test(inflate, bytes_behind_a_stream_that_are_given_back)
{
    gives_back = true;
    check_all_splits();
}
#endif

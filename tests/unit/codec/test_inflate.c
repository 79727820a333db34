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

/* Runs on to the end of the piece or of the stream. Returns the state; *at: bytes taken. */
static InflateState run_piece(Inflater *inflater, const uint8_t *piece, size_t n, uint8_t **out,
                              size_t *room, size_t *at)
{
    const uint8_t *in = piece;
    const InflateState state = inflater_run(inflater, &in, &n, out, room);
    if (state != INFLATE_DAMAGED)
        *at += (size_t)(in - piece);
    return state;
}

/* The stream in two pieces; what the first one gives waits for room until the second comes. */
static void check_split(const uint8_t *stream, size_t bytes, size_t surplus, size_t split,
                        const uint8_t *plain)
{
    Inflater *const inflater = inflater_create(PLAIN, NULL);
    cr_assert_not_null(inflater);
    uint8_t got[PLAIN], *out = got;
    size_t none = 0, room = PLAIN, at = 0;
    InflateState state = run_piece(inflater, stream, split, &out, &none, &at);
    for (int i = 0; i < 3 && state == INFLATE_MORE; i++)
        state = run_piece(inflater, stream + at, bytes + surplus - at, &out, &room, &at);
    if (surplus == 0 || state == INFLATE_END) {
        cr_assert_eq(state, INFLATE_END, "split %zu, surplus %zu", split, surplus);
        cr_assert_eq(at, bytes, "split %zu, surplus %zu: %zu", split, surplus, at);
        cr_assert_eq(room, 0);
        cr_assert(memcmp(got, plain, PLAIN) == 0);
    } else {
        cr_assert_eq(state, INFLATE_DAMAGED, "split %zu, surplus %zu", split, surplus);
    }
    inflater_destroy(inflater);
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
        for (size_t split = 0; split <= bytes + surplus; split++)
            check_split(stream, bytes, surplus, split, plain);
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

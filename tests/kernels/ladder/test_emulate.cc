/* SPDX-License-Identifier: MIT */
/* test_emulate.cc: the emulator itself: what must be found is found, and where. */
#include "ladder/ladder.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 64 };

static unsigned failures;

static void check(bool good, const char *what)
{
    if (!good)
        fprintf(stderr, "FAIL %s\n", what);
    failures += !good;
}

/* ---- Results */

/* The reduction of rung 2, with its barrier or without. */
template <bool BARRIER> static __global__ void add_up(const unsigned *in, unsigned *out)
{
    __shared__ unsigned tile[BLOCK];
    const unsigned t = threadIdx.x;
    tile[t] = in[blockIdx.x * BLOCK + t];
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        if (BARRIER)
            __syncthreads();
        if (t < half)
            tile[t] += tile[t + half];
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

/* The scan of rung 1 with one buffer instead of two: wrong unless threads run backward. */
static __global__ void scan_in_place(const unsigned *in, unsigned *out)
{
    __shared__ unsigned buffer[BLOCK];
    const unsigned t = threadIdx.x;
    buffer[t] = in[t];
    for (unsigned distance = 1; distance < BLOCK; distance *= 2) {
        __syncthreads();
        if (t >= distance)
            buffer[t] += buffer[t - distance];
    }
    out[t] = buffer[t];
}

static __global__ void exchange(unsigned *out)
{
    const unsigned t = threadIdx.x, all = 0xFFFFFFFFu;
    const unsigned down = __shfl_down_sync(all, t, 5), up = __shfl_up_sync(all, t, 3);
    const unsigned other = __shfl_xor_sync(all, t, 16), votes = __ballot_sync(all, t % 3 == 0);
    const unsigned lane = t % 32, first = t - lane;
    unsigned expected = 0;
    for (unsigned l = 0; l < 32; l++)
        expected |= (unsigned)((first + l) % 3 == 0) << l;
    atomicAdd(out, (unsigned)(down == (lane + 5 < 32 ? t + 5 : t) && up == (lane < 3 ? t : t - 3) &&
                              other == (t ^ 16) && votes == expected));
}

static __global__ void count_after_some_ended(unsigned *out)
{
    if (threadIdx.x >= BLOCK / 2)
        return;
    __syncthreads(); /* of those that have not ended */
    atomicAdd(out, 1u);
}

static unsigned wrong_orders(void (*kernel)(const unsigned *, unsigned *), bool scan)
{
    static const int steps[] = {1, -1, 37};
    unsigned in[2 * BLOCK], out[2 * BLOCK], wrong = 0;
    for (unsigned i = 0; i < 2 * BLOCK; i++)
        in[i] = i * i + 1;
    for (const int step : steps) {
        emulate_order = {step, 1};
        ladder_launch(kernel, scan ? 1 : 2, BLOCK, in, out);
        unsigned sum = 0, differ = 0;
        for (unsigned i = 0; i < (scan ? 1 : 2) * BLOCK; i++) {
            sum = i % BLOCK == 0 ? in[i] : sum + in[i];
            differ += scan ? out[i] != sum : i % BLOCK == BLOCK - 1 && out[i / BLOCK] != sum;
        }
        wrong += differ > 0;
    }
    emulate_order = {1, 1};
    return wrong;
}

/* ---- What ends the program */

static __global__ void barrier_for_some(unsigned *out)
{
    if (threadIdx.x < 40)
        __syncthreads();
    else
        __shfl_down_sync(0xFFFFFFFFu, out[0], 1);
}

static __global__ void two_barriers(unsigned *out)
{
    if (threadIdx.x == 7)
        __syncthreads();
    else
        __syncthreads();
    out[0] = 1;
}

static __global__ void exchange_of_some(unsigned *out)
{
    out[threadIdx.x] = __shfl_down_sync(0xFFFFu, threadIdx.x, 1);
}

/* The kernel in a process of its own: whether it ended with 1, having said `text`. */
static bool ends_with(void (*kernel)(unsigned *), const char *text)
{
    int ends[2], status = 0;
    char said[4096] = "";
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        unsigned out[BLOCK] = {0};
        dup2(ends[1], STDERR_FILENO);
        ladder_launch(kernel, 1, BLOCK, out);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t more; (more = read(ends[0], said + length, sizeof said - 1 - length)) > 0;)
        length += (size_t)more;
    close(ends[0]);
    const bool good = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                      WEXITSTATUS(status) == 1 && strstr(said, text);
    if (!good)
        fprintf(stderr, "said: %s\n", said);
    return good;
}

int main(void)
{
    check(wrong_orders(add_up<true>, false) == 0, "a reduction is right in every order");
    check(wrong_orders(add_up<false>, false) > 0, "a missing barrier is found");
    check(wrong_orders(scan_in_place, true) > 0, "a missing second buffer is found");

    unsigned out = 0;
    ladder_launch(exchange, 1, BLOCK, &out);
    check(out == BLOCK, "exchanges and votes");
    out = 0;
    emulate_counts = {};
    ladder_launch(count_after_some_ended, 2, BLOCK, &out);
    check(out == BLOCK, "threads that have ended are not waited for");
    check(emulate_counts.launches == 1 && emulate_counts.blocks == 2 &&
              emulate_counts.threads == 2 * BLOCK && emulate_counts.barriers == 2 &&
              emulate_counts.atomics == BLOCK,
          "counts");

    check(ends_with(barrier_for_some, "some threads wait for others that do not come"),
          "a barrier that some threads miss ends the program");
    check(ends_with(two_barriers, "threads wait at different places"),
          "two barriers instead of one end the program");
    check(ends_with(two_barriers, "threads 7 to 7"), "and the message says who stands where");
    check(ends_with(exchange_of_some, "an exchange of some lanes only"),
          "an exchange of some lanes ends the program");
    printf("test_emulate: 10 checks, %u failures\n", failures);
    return failures == 0 ? 0 : 1;
}

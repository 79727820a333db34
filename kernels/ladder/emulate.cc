/* SPDX-License-Identifier: MIT */
/* emulate.cc: blocks one after the other, their threads as fibres (ucontext). */
#include "ladder/emulate.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdio.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

enum { WARP = 32, MAX_BLOCK = 1024, STACK = 64 << 10, POISONED = 0xA5 };

thread_local EmulateIndex threadIdx, blockIdx, blockDim, gridDim;
EmulateOrder emulate_order = {1, 1};
EmulateCounts emulate_counts;

namespace
{
/* Where threads wait for each other: those of a block, or those of a warp. */
struct Meeting {
    unsigned members, arrived;
    unsigned generation; /* how often all have arrived */
    const char *where;
};

/* A block while it runs. */
struct Block {
    void (*thread)(void *);
    const void *arguments;
    ucontext_t caller;
    ucontext_t fibre[MAX_BLOCK];
    std::unique_ptr<char[]> stacks;
    const char *waits_at[MAX_BLOCK]; /* NULL: runs */
    bool ended[MAX_BLOCK];
    unsigned alive;
    unsigned idle; /* threads resumed in vain since one came on */
    Meeting all, warp[MAX_BLOCK / WARP];
    uint64_t lanes[2][MAX_BLOCK]; /* of an exchange, and of the one before that some still read */
    std::vector<char> shared;
    EmulateCounts counts;
};

thread_local std::unique_ptr<Block> running;

const char *place_of(unsigned t)
{
    if (running->ended[t])
        return "at the end";
    return running->waits_at[t] ? running->waits_at[t] : "on their way";
}

[[noreturn]] void fail(const char *what)
{
    fprintf(stderr, "emulated block %u: %s\n", blockIdx.x, what);
    for (unsigned t = 0, first = 0; t < blockDim.x; t++) {
        if (t + 1 < blockDim.x && place_of(t) == place_of(t + 1))
            continue;
        fprintf(stderr, "  threads %u to %u: %s\n", first, t, place_of(t));
        first = t + 1;
    }
    fflush(NULL);
    _exit(1); /* no destructors: this may be the stack of a fibre */
}

/* Lets the next thread that has not ended run. */
void resume_next()
{
    Block *const b = running.get();
    const unsigned from = threadIdx.x;
    unsigned t = from;
    do
        t = (t + blockDim.x + (unsigned)emulate_order.step) % blockDim.x;
    while (b->ended[t]);
    if (t == from)
        return;
    threadIdx.x = t;
    swapcontext(&b->fibre[from], &b->fibre[t]);
    threadIdx.x = from;
}

void release_if_all(Meeting *m)
{
    if (m->members == 0 || m->arrived < m->members)
        return;
    m->arrived = 0;
    m->generation++;
    (m == &running->all ? running->counts.barriers : running->counts.exchanges)++;
}

void meet(Meeting *m, const char *where)
{
    Block *const b = running.get();
    const unsigned t = threadIdx.x, generation = m->generation;
    b->waits_at[t] = where;
    if (m->arrived > 0 && m->where != where && strcmp(m->where, where) != 0)
        fail("threads wait at different places");
    m->where = where;
    m->arrived++;
    b->idle = 0;
    release_if_all(m);
    while (m->generation == generation) {
        if (b->idle++ > b->alive)
            fail("some threads wait for others that do not come");
        resume_next();
    }
    b->idle = 0;
    b->waits_at[t] = NULL;
}

/* A thread from its beginning to its end. The last one returns to the caller of run_block. */
void fibre_main()
{
    Block *const b = running.get();
    b->thread((void *)b->arguments);
    const unsigned t = threadIdx.x;
    Meeting *const warp = &b->warp[t / WARP];
    b->ended[t] = true;
    b->idle = 0;
    b->alive--;
    warp->members--;
    b->all.members--;
    release_if_all(warp);
    release_if_all(&b->all);
    if (b->alive > 0)
        resume_next();
    else
        setcontext(&b->caller);
}

void run_block(Block *b, unsigned block)
{
    memset(b->waits_at, 0, sizeof b->waits_at);
    memset(b->ended, 0, sizeof b->ended);
    b->alive = block;
    b->all = {block, 0, 0, NULL};
    for (unsigned w = 0; w < block / WARP; w++)
        b->warp[w] = {WARP, 0, 0, NULL};
    std::fill(b->shared.begin(), b->shared.end(), (char)POISONED);
    for (unsigned t = 0; t < block; t++) {
        getcontext(&b->fibre[t]);
        b->fibre[t].uc_stack.ss_sp = b->stacks.get() + (size_t)t * STACK;
        b->fibre[t].uc_stack.ss_size = STACK;
        makecontext(&b->fibre[t], fibre_main, 0);
    }
    threadIdx.x = emulate_order.step > 0 ? 0 : block - 1;
    swapcontext(&b->caller, &b->fibre[threadIdx.x]);
}
} // namespace

void emulate_launch(unsigned grid, unsigned block, size_t shared_bytes, void (*thread)(void *),
                    const void *arguments)
{
    std::atomic<unsigned> next{0};
    std::mutex counting;
    if (block == 0 || block > MAX_BLOCK || block % WARP != 0) {
        fprintf(stderr, "emulated launch: blocks of %u threads: 32 to 1024, whole warps\n", block);
        exit(1);
    }
    emulate_counts.launches++;
    const auto work = [&] {
        if (!running) {
            running.reset(new Block());
            running->stacks.reset(new char[(size_t)MAX_BLOCK * STACK]);
        }
        Block *const b = running.get();
        b->thread = thread;
        b->arguments = arguments;
        b->shared.resize(shared_bytes);
        b->counts = {};
        blockDim.x = block;
        gridDim.x = grid;
        while ((blockIdx.x = next++) < grid) {
            run_block(b, block);
            b->counts.blocks++;
            b->counts.threads += block;
        }
        const std::lock_guard<std::mutex> lock(counting);
        emulate_counts.blocks += b->counts.blocks;
        emulate_counts.threads += b->counts.threads;
        emulate_counts.barriers += b->counts.barriers;
        emulate_counts.exchanges += b->counts.exchanges;
        emulate_counts.atomics += b->counts.atomics;
    };
    std::vector<std::thread> others;
    for (unsigned w = 1; w < emulate_order.workers && w < grid; w++)
        others.emplace_back(work);
    work();
    for (std::thread &other : others)
        other.join();
}

void *emulate_shared_memory(void)
{
    return running->shared.data();
}

void emulate_yield(void)
{
    running->idle = 0;
    resume_next();
}

void emulate_count_atomic(void)
{
    running->counts.atomics++;
}

void emulate_barrier(const char *where)
{
    meet(&running->all, where);
}

const uint64_t *emulate_exchange(const char *where, unsigned mask, uint64_t bits)
{
    Block *const b = running.get();
    Meeting *const warp = &b->warp[threadIdx.x / WARP];
    if (mask != 0xFFFFFFFFu)
        fail("an exchange of some lanes only");
    uint64_t *const lanes = b->lanes[warp->generation % 2];
    lanes[threadIdx.x] = bits;
    meet(warp, where);
    return lanes + threadIdx.x / WARP * WARP;
}

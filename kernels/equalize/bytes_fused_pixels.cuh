/* SPDX-License-Identifier: MIT */
/* equalize/bytes_fused_pixels.cuh: what a block does with the vectors of its item: counts them and
 * maps them by tables of columns, in registers and in shared memory. */
#ifndef IMGSTAT_KERNELS_EQUALIZE_BYTES_FUSED_PIXELS_CUH
#define IMGSTAT_KERNELS_EQUALIZE_BYTES_FUSED_PIXELS_CUH

#include "common/lane_table.cuh"
#include "common/sm90.cuh"
#include "equalize/bytes_fused.cuh"

/* Where the vectors of a thread stay. */
enum Residency {
    IN_REGISTERS,
    SHARED, /* the rest in shared memory */
    LARGE,  /* SHARED, of an image that does not fit the second-level cache with its result */
    TWICE   /* what there is no room for is read twice */
};

DEVICE void count_vector(uint32_t *table, uint4 v, uint32_t column)
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int p = 0; p < 16; p++)
        atomicAdd(row_of<WIDE_ROW>(table, word[p / 4], p % 4, column), 1u);
}

/* Counts a sample in the lane's column. */
DEVICE void count_one(uint32_t *table, uint32_t sample)
{
    atomicAdd(&table[sample * (WIDE_ROW / 4) + threadIdx.x % 32], 1u);
}

/* Bytes of a and b (4 to 7) that a selector names by its digits, or the sign of them (8 more). */
DEVICE uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(a), "r"(b), "r"(selector));
    return picked;
}

/* By a table a lane, of words that have four entries each, in every fourth row. */
DEVICE uint4 map_vector(const uint32_t *table, uint4 v)
{
    const unsigned char *const bytes = (const unsigned char *)table;
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
    uint32_t made[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        /* Upper and lower bytes of four addresses; the lower ones are below 128. */
        const uint32_t upper = word[w] & 0xFCFCFCFCu;
        const uint32_t lower = (word[w] & 0x03030303u) | own_column() * 0x01010101u;
        made[w] = 0;
#pragma unroll
        for (int b = 0; b < 4; b++)
            made[w] = multiply_add(bytes[pick_bytes(lower, upper, 0x8840u + b * 0x1111u)],
                                   1u << (b * 8), made[w]);
    }
    return make_uint4(made[0], made[1], made[2], made[3]);
}

/* Many threads have a large image: what stays of it in the cache is rather its input. */
template <unsigned THREADS> DEVICE void store_vector(uint4 *to, uint4 v)
{
    if (THREADS > FEW_THREADS)
        __stcs(to, v);
    else
        *to = v;
}

/* A warp fills the columns of 32 entries. */
DEVICE void fill_columns(uint4 *table, const uint32_t *entry)
{
    enum { QUADS = COLUMNS / 4, WORDS = 32 / 4 };
    const uint32_t lane = threadIdx.x % 32, first = threadIdx.x / 32 * WORDS + lane / QUADS;
#pragma unroll
    for (uint32_t i = first; i < first + WORDS; i += 32 / QUADS) {
        const uint32_t e = entry[i];
        table[i * (4 * WIDE_ROW / 16) + lane % QUADS] = make_uint4(e, e, e, e);
    }
}

/* ---- Vectors in registers -------------------------------------------------------------------- */

/* Vectors a thread loads before it counts the first: as was fastest. */
template <unsigned KEPT, Residency RESIDENCY> struct Prefetch {
    enum {
        VECTORS = RESIDENCY >= LARGE || KEPT <= KEPT_FEW ? KEPT
                  : KEPT == KEPT_MORE                    ? 5
                  : RESIDENCY == SHARED                  ? 3
                                                         : 2
    };
};

/* ONCE: it is not read again, so it leaves the second-level cache first. */
template <unsigned THREADS, bool ONCE> DEVICE uint4 load_vector(const Item &p, unsigned k)
{
    const uint32_t i = threadIdx.x + k * THREADS;
    if (i >= p.vectors)
        return make_uint4(0, 0, 0, 0);
    return ONCE ? __ldcs(&p.from[i]) : p.from[i];
}

/* Which of a thread's vectors a register holds in a round, counted from 1: those that it
 * reads twice come behind all that it keeps. */
template <unsigned KEPT> DEVICE unsigned vector_of(const Small &s, uint32_t round, unsigned k)
{
    return KEPT + s.shared + (round - 1) * ROUND_VECTORS + k;
}

/* What a thread counts first. */
template <unsigned THREADS, unsigned KEPT, Residency RESIDENCY>
DEVICE uint4 load_first(const Small &s, const Item &p, unsigned k)
{
    if (RESIDENCY == TWICE && k < ROUND_VECTORS)
        return load_vector<THREADS, false>(p, vector_of<KEPT>(s, s.rounds, k));
    return load_vector<THREADS, RESIDENCY >= LARGE>(p, k);
}

/* Counts what a thread reads twice, the last round first, and loads what it keeps meanwhile. */
template <unsigned THREADS, unsigned KEPT>
DEVICE void count_rounds(const Small &s, const Item &p, uint32_t *table, uint4 v[KEPT])
{
#pragma unroll 1
    for (uint32_t round = s.rounds; round > 0; round--) {
#pragma unroll
        for (unsigned k = 0; k < ROUND_VECTORS; k++) {
            const uint32_t i = threadIdx.x + vector_of<KEPT>(s, round, k) * THREADS;
            count_vector(table, v[k], own_column() + (i < p.vectors ? 0 : NARROW_ROW));
            __syncwarp(); /* else the load is moved behind other counts */
            v[k] = round > 1 ? load_vector<THREADS, false>(p, vector_of<KEPT>(s, round - 1, k))
                             : load_vector<THREADS, true>(p, k);
        }
    }
}

/* Counts what a thread keeps, and loads the rest of it meanwhile. The only branches are those
 * that a block takes together, behind the SURE vectors that every image of the kernel has: what
 * lies beyond the item is counted beside the columns. A load that a branch follows shares a
 * scoreboard with others, so that a warp waits for all of them. */
template <unsigned THREADS, unsigned KEPT, unsigned SURE, unsigned AHEAD>
DEVICE void count_kept(const Item &p, uint32_t *table, uint4 v[KEPT])
{
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        const bool within = threadIdx.x + k * THREADS < p.vectors;
        if (k >= SURE && k * THREADS >= p.vectors)
            break;
        count_vector(table, v[k], own_column() + (within ? 0 : NARROW_ROW));
        if (k + AHEAD < KEPT) {
            __syncwarp(); /* else the load is moved ahead of the counts */
            v[k + AHEAD] = load_vector<THREADS, false>(p, k + AHEAD);
        }
    }
}

/* ---- Vectors in shared memory: each thread's, THREADS apart ---------------------------------- */

/* A barrier for each, to mark it done. */
DEVICE void prepare_copies(const Small &s, uint64_t *arrived)
{
#if __CUDA_ARCH__ >= 900
    for (uint32_t k = 0; k < s.shared; k++)
        barrier_init(&arrived[k], 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); /* copies see the barriers */
#endif
}

/* One thread starts them. */
template <unsigned THREADS>
DEVICE void start_copies(const Small &s, const Item &p, uint32_t first, uint4 *kept,
                         uint64_t *arrived)
{
#if __CUDA_ARCH__ >= 900
#pragma unroll 1
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t at = first + k * THREADS;
        if (at >= p.vectors)
            break;
        const uint32_t bytes = min(THREADS, p.vectors - at) * 16;
        load_bulk(kept + k * THREADS, p.from + at, bytes, &arrived[k]);
    }
#endif
}

DEVICE void await_copy(uint4 *to, const uint4 *from, uint64_t *arrived)
{
#if __CUDA_ARCH__ >= 900
    (void)to, (void)from;
    barrier_wait(arrived, 0);
#else
    (void)arrived;
    *to = *from;
#endif
}

template <unsigned THREADS, unsigned KEPT>
DEVICE void count_copies(const Small &s, const Item &p, uint32_t *table, uint4 *kept,
                         uint64_t *arrived)
{
#pragma unroll 1
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t i = threadIdx.x + (KEPT + k) * THREADS;
        if (i < p.vectors) {
            await_copy(&kept[k * THREADS], &p.from[i], &arrived[k]);
            count_vector(table, kept[k * THREADS], own_column());
        }
    }
}

/* ---- A whole item ---------------------------------------------------------------------------- */

/* Counts an item while it arrives, and keeps what there is room for. Returns the thread's sample of
 * the tail. */
template <unsigned THREADS, unsigned KEPT, unsigned SURE, Residency RESIDENCY>
DEVICE uint32_t count_item(const Small &s, const Item &p, uint32_t *table, uint4 v[KEPT],
                           uint4 *kept, uint64_t *arrived)
{
    enum { SHARES = RESIDENCY != IN_REGISTERS, AHEAD = Prefetch<KEPT, RESIDENCY>::VECTORS };
    uint32_t last = 0;
#pragma unroll
    for (unsigned k = 0; k < AHEAD; k++)
        v[k] = load_first<THREADS, KEPT, RESIDENCY>(s, p, k);
    __syncwarp(); /* else the later loads are moved behind counts of the first vector */
    if (threadIdx.x < p.tail)
        last = ((const unsigned char *)(p.from + p.vectors))[threadIdx.x];
    if (SHARES && threadIdx.x == 0)
        start_copies<THREADS>(s, p, KEPT * THREADS, kept, arrived);
    if (RESIDENCY == TWICE) {
        count_rounds<THREADS, KEPT>(s, p, table, v);
        count_copies<THREADS, KEPT>(s, p, table, kept, arrived);
    }
    count_kept<THREADS, KEPT, SURE, AHEAD>(p, table, v);
    if (SHARES && RESIDENCY != TWICE)
        count_copies<THREADS, KEPT>(s, p, table, kept, arrived);
    if (threadIdx.x < p.tail)
        count_one(table, last);
    return last;
}

/* Maps it by a finished table. */
template <unsigned THREADS, unsigned KEPT, Residency RESIDENCY>
DEVICE void map_item(const Small &s, const Item &p, const uint32_t *table,
                     const unsigned char *entry, uint4 v[KEPT], const uint4 *kept, uint32_t last)
{
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++) {
        const uint32_t i = threadIdx.x + k * THREADS;
        if (i < p.vectors)
            store_vector<THREADS>(p.to + i, map_vector(table, v[k]));
        if (RESIDENCY == TWICE && k < ROUND_VECTORS)
            v[k] = load_vector<THREADS, true>(p, vector_of<KEPT>(s, 1, k));
    }
#pragma unroll 1
    for (uint32_t round = 1; RESIDENCY == TWICE && round <= s.rounds; round++) {
#pragma unroll
        for (unsigned k = 0; k < ROUND_VECTORS; k++) {
            const uint32_t i = threadIdx.x + vector_of<KEPT>(s, round, k) * THREADS;
            if (i < p.vectors)
                store_vector<THREADS>(p.to + i, map_vector(table, v[k]));
            if (round < s.rounds)
                v[k] = load_vector<THREADS, true>(p, vector_of<KEPT>(s, round + 1, k));
        }
    }
#pragma unroll 2
    for (uint32_t k = 0; RESIDENCY != IN_REGISTERS && k < s.shared; k++) {
        const uint32_t i = threadIdx.x + (KEPT + k) * THREADS;
        if (i < p.vectors)
            store_vector<THREADS>(p.to + i, map_vector(table, kept[k * THREADS]));
    }
    if (threadIdx.x < p.tail)
        ((unsigned char *)(p.to + p.vectors))[threadIdx.x] = entry[last];
}

/* All threads: a map of the counts, in a byte each and then in columns. */
DEVICE void make_table(const SmallMap &m, const Cdf &cdf, uint32_t sum, unsigned char *entry,
                       uint4 *memory)
{
    const Ramp ramp = find_ramp(m, cdf, sum);
    if (threadIdx.x < BINS)
        entry[threadIdx.x ^ m.from_flip] = (unsigned char)ramp_entry(m, ramp, sum, threadIdx.x);
    __syncthreads(); /* the entries are whole */
    if (threadIdx.x < BINS)
        fill_columns(memory, (const uint32_t *)entry);
    __syncthreads(); /* the table is whole */
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* Shared memory beside table and pixels. */
enum { OTHER_BYTES = 2048 };

/* Vectors that a thread of a full block can keep in shared memory, beside the table. */
static inline uint32_t shared_room(const CudaDevice *device)
{
    const int room = (device->max_shared - BINS * WIDE_ROW - OTHER_BYTES) / (16 * MANY_THREADS);
    return room < 0 ? 0 : room < SHARED_VECTORS ? (uint32_t)room : SHARED_VECTORS;
}

/* Says what threads keep of `each` vectors, of which `kept` lie in registers. Returns the shared
 * memory of a block. */
static inline size_t plan_vectors(const CudaDevice *device, Small *s, uint32_t each, uint32_t kept,
                                  uint32_t threads)
{
    const uint32_t more = each > kept ? each - kept : 0, room = shared_room(device);
    s->shared = more < room ? more : room;
    s->rounds = (more - s->shared + ROUND_VECTORS - 1) / ROUND_VECTORS;
    return BINS * WIDE_ROW + (size_t)s->shared * 16 * threads;
}

#endif

/* SPDX-License-Identifier: MIT */
/* maps/knots.cu: samples of 32 bits by maps of many knots, which lie in groups of two intervals. */
#include "maps/apply.cuh"

/* Two neighbouring stretches between knots, in one sector of memory: `before` and `at` of a
 * knot are what comes from the left and from the right. Where there are no more knots, the last is
 * repeated. */
struct alignas(32) KnotGroup {
    static const int STRETCHES = 2;
    uint32_t key[STRETCHES + 1], at[STRETCHES + 1], before[STRETCHES];
};

IMGSTAT_INLINE uint32_t groups_of(uint32_t knots)
{
    return knots > 1 ? (knots + KnotGroup::STRETCHES - 2) / KnotGroup::STRETCHES : 1;
}

/*
 * group_knots: groups from the knots of maps.
 *
 *   Idea      A group a thread.
 *   Work      some copies.
 *   Memory    reads each knot once or twice, through the cache, and writes each group.
 *   Launch    <<<(any, maps), MAP_THREADS>>>, a thread a group or more.
 *   Requires  keys and outputs of 32 bits.
 *   Result    the groups of every map that has knots.
 */
static __global__ void __launch_bounds__(MAP_THREADS)
    group_knots(const Map *maps, unsigned char *groups, size_t pitch)
{
    const Map *const map = &maps[blockIdx.y];
    const uint32_t g = blockIdx.x * MAP_THREADS + threadIdx.x;
    if (map->kind != MAP_KNOTS || g >= groups_of(map->n_knots))
        return;
    KnotGroup made;
    for (int i = 0; i <= KnotGroup::STRETCHES; i++) {
        const MapKnot *const knot =
            &map->knots[min(g * KnotGroup::STRETCHES + i, map->n_knots - 1)];
        made.key[i] = (uint32_t)knot->key;
        made.at[i] = (uint32_t)knot->at;
        if (i > 0)
            made.before[i - 1] = (uint32_t)knot->before;
    }
    ((KnotGroup *)(groups + blockIdx.y * pitch))[g] = made;
}

/* Samples of one channel, or of all of them. */
struct KnotSamples {
    uint64_t row, n;      /* samples in a row, and in all */
    uint32_t first, step; /* of a row's samples, every step-th from the first on */
};

/* The first keys of all groups but the first, as a tree: those below node i have nodes 2 i + 1 and
 * 2 i + 2. So the keys that samples are compared with at a time lie in all banks of shared memory.
 */
DEVICE void build_tree(const KnotGroup *groups, uint32_t n, uint32_t levels, uint32_t *tree)
{
    const uint32_t nodes = (1u << levels) - 1;
    for (uint32_t i = threadIdx.x; i < nodes; i += KNOT_THREADS) {
        const uint32_t level = 31 - __clz(i + 1), place = i + 1 - (1u << level);
        const uint32_t g = (2 * place + 1) << (levels - 1 - level);
        tree[i] = g < n ? groups[g].key[0] : ~(uint32_t)0;
    }
    __syncthreads();
}

/* The group of each key: the last that begins at or below it, or the first. */
DEVICE void find_groups(const uint32_t *tree, uint32_t n, uint32_t levels,
                        const uint32_t (&key)[KNOT_SAMPLES], uint32_t (&found)[KNOT_SAMPLES])
{
#pragma unroll
    for (int k = 0; k < KNOT_SAMPLES; k++)
        found[k] = 0;
    for (uint32_t level = 0; level < levels; level++)
#pragma unroll
        for (int k = 0; k < KNOT_SAMPLES; k++)
            found[k] = 2 * found[k] + (tree[found[k]] <= key[k] ? 2 : 1);
#pragma unroll
    for (int k = 0; k < KNOT_SAMPLES; k++)
        found[k] = min(found[k] - ((1u << levels) - 1), n - 1);
}

/* The knots on both sides of a key whose group it is; the group is loaded as a whole. */
DEVICE void knots_beside(const KnotGroup *group, uint32_t key, MapKnot *left, MapKnot *right)
{
    const KnotGroup g = *group;
    const bool second = g.key[1] <= key, beyond = g.key[2] <= key;
    left->key = beyond ? g.key[2] : second ? g.key[1] : g.key[0];
    left->at = beyond ? g.at[2] : second ? g.at[1] : g.at[0];
    right->key = second ? g.key[2] : g.key[1];
    right->before = second ? g.before[1] : g.before[0];
}

/*
 * apply_knots: samples whose map has knots.
 *
 *   Idea      The first keys of all groups of knots are in shared memory, where a thread looks for
 *             the groups of several samples at once. A group is all that is read of the cache.
 *   Work      a step in shared memory for every bit of the number of groups (15 of 65,537 knots),
 *             a group and a division a sample.
 *   Memory    reads and writes each sample once, and a sector or some of the second-level cache.
 *   Launch    <<<blocks, KNOT_THREADS, 4 << levels>>>, any number of blocks.
 *   Requires  neither mask nor alpha; map m has knots, of 2^levels groups at most. FROM: the sample
 *             type of the transfer and of what it makes, or -1 for whatever these are. In place: a
 *             thread reads what it overwrites.
 *   Result    the bits of cpu/map_rows.c.
 */
template <int FROM>
static __global__ void __launch_bounds__(KNOT_THREADS)
    apply_knots(ApplyTransfer t, ApplyPixels p, uint32_t m, uint32_t levels, KnotSamples samples)
{
    extern __shared__ uint32_t knot_memory[];
    uint32_t *const tree = knot_memory;
    const KnotGroup *const groups =
        (const KnotGroup *)((const unsigned char *)t.groups + m * t.group_pitch);
    Map map = t.maps[m];
    if (FROM >= 0)
        map.from = map.to.sample = (ImgstatSample)FROM;
    const ImgstatSample from = map.from, to = map.to.sample;
    const uint32_t in = sizeof(uint32_t), out = sample_bits(to) / 8;
    const uint32_t n_groups = groups_of(map.n_knots);
    build_tree(groups, n_groups, levels, tree);
    const uint64_t round = (uint64_t)KNOT_THREADS * KNOT_SAMPLES;
    for (uint64_t base = blockIdx.x * round; base < samples.n; base += gridDim.x * round) {
        uint32_t key[KNOT_SAMPLES], raw[KNOT_SAMPLES];
        uint32_t found[KNOT_SAMPLES];
        uint64_t to_at[KNOT_SAMPLES];
#pragma unroll
        for (int k = 0; k < KNOT_SAMPLES; k++) {
            const uint64_t i = base + k * KNOT_THREADS + threadIdx.x;
            const uint64_t row = p.rows == 1 ? 0 : i / samples.row;
            const uint64_t s = samples.first + (i - row * samples.row) * samples.step;
            to_at[k] = row * p.to_pitch + s * out;
            raw[k] = i < samples.n ? (uint32_t)load_sample(p.from + row * p.from_pitch + s * in, in,
                                                           p.aligned)
                                   : 0;
            key[k] = (uint32_t)sample_key(from, raw[k]);
        }
        find_groups(tree, n_groups, levels, key, found);
        /* The arithmetic of any types is long: it is there once. */
#pragma unroll(FROM < 0 ? 1 : KNOT_SAMPLES)
        for (int k = 0; k < KNOT_SAMPLES; k++) {
            MapKnot left, right;
            knots_beside(&groups[found[k]], key[k], &left, &right);
            if (base + k * KNOT_THREADS + threadIdx.x < samples.n)
                store_sample(p.to + to_at[k], out,
                             map_raw_between_knots(&map, from, to, &left, &right, raw[k]),
                             p.aligned);
        }
    }
}

/* ---- Host side ------------------------------------------------------------------------------- */

template <int FROM>
static ImgstatResult launch_knots(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                  const ApplyPixels *p, ImgstatError *err)
{
    const uint64_t round = (uint64_t)KNOT_THREADS * KNOT_SAMPLES;
    const unsigned most = (unsigned)device->properties.multiProcessorCount;
    KnotSamples samples;
    samples.step = t->n_maps > 1 ? p->channels : 1;
    samples.row = p->width * (p->channels / samples.step);
    samples.n = samples.row * p->rows;
    const uint64_t wanted = (samples.n + round - 1) / round;
    for (uint32_t m = 0; m < t->n_maps; m++) {
        uint32_t levels = 1;
        while ((1u << levels) < groups_of(t->host_maps[m].n_knots))
            levels++;
        assert(t->host_maps[m].n_knots > 0 && !p->mask && p->alpha < 0);
        samples.first = m;
        IMGSTAT_TRY(cuda_launch(device, stream, "apply_knots", apply_knots<FROM>,
                                wanted < most ? (unsigned)wanted : most, KNOT_THREADS,
                                sizeof(uint32_t) << levels, err, *t, *p, m, levels, samples));
    }
    return IMGSTAT_OK;
}

bool knots_fit(const CudaDevice *device, const ApplyTransfer *t, const ApplyPixels *p)
{
    bool all = t->group_pitch > 0 && p->alpha < 0 && !p->mask && device->max_shared >= 128 << 10;
    for (uint32_t m = 0; all && m < t->n_maps; m++)
        all = t->host_maps[m].kind == MAP_KNOTS && t->host_maps[m].n_knots <= RANK_STEPS + 1;
    return all;
}

ImgstatResult launch_apply_knots(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                 const ApplyPixels *p, ImgstatError *err)
{
    assert(knots_fit(device, t, p) && sample_bits(t->from) == 32);
    return t->from == IMGSTAT_F32 && t->to == IMGSTAT_F32
               ? launch_knots<IMGSTAT_F32>(device, stream, t, p, err)
               : launch_knots<-1>(device, stream, t, p, err);
}

/* A group holds keys and outputs of 32 bits; 0: others are searched for by apply_maps. */
size_t knot_group_bytes(ImgstatSample from, ImgstatSample to, uint32_t n_knots)
{
    const bool fit = sample_bits(from) == 32 && sample_bits(to) <= 32;
    return n_knots > 0 && fit ? groups_of(n_knots) * sizeof(KnotGroup) : 0;
}

ImgstatResult launch_knot_groups(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                 ImgstatError *err)
{
    const size_t most = t->group_pitch / sizeof(KnotGroup);
    const dim3 blocks((unsigned)(most / MAP_THREADS) + 1, t->n_maps);
    assert(t->groups && t->n_maps > 0 && sample_bits(t->from) == 32);
    group_knots<<<blocks, MAP_THREADS, 0, stream>>>(t->maps, (unsigned char *)t->groups,
                                                    t->group_pitch);
    return cuda_launched(device, stream, "group_knots", err);
}

/* SPDX-License-Identifier: MIT */
/* apply_maps.cu: samples of more than 16 bits, each by the map of its channel. */
#include "apply.cuh"
#include <stdlib.h>

/* ---- Any samples ----------------------------------------------------------------------------- */

/*
 * apply_maps: every sample by the arithmetic of transfer_math.h.
 *
 *   Idea      A sample a thread: loads and stores of a warp are together; a map is read through
 *             the cache, the same one by all threads.
 *   Work      the map of a sample: a division or two, or a search among knots.
 *   Memory    reads and writes each sample once.
 *   Launch    <<<blocks, MAP_THREADS>>>, any number of blocks.
 *   Requires  in place: a thread reads what it overwrites.
 *   Result    the bits of apply.c.
 */
static __global__ void __launch_bounds__(MAP_THREADS) apply_maps(ApplyTransfer t, ApplyPixels p)
{
    const ImgstatSample from = (ImgstatSample)t.from, to = (ImgstatSample)t.to;
    const uint32_t in = sample_bits(from) / 8, out = sample_bits(to) / 8;
    const uint64_t samples = p.width * p.channels, n = samples * p.rows;
    const uint64_t stride = (uint64_t)gridDim.x * MAP_THREADS;
    const bool flat = t.n_maps == 1 && p.alpha < 0 && !p.mask;
    for (uint64_t i = (uint64_t)blockIdx.x * MAP_THREADS + threadIdx.x; i < n; i += stride) {
        const uint64_t row = p.rows == 1 ? 0 : i / samples, s = i - row * samples;
        uint32_t m = 0;
        if (!flat) {
            const uint64_t x = s / p.channels;
            m = map_of_channel((uint32_t)(s - x * p.channels), p.alpha, t.n_maps);
            if (p.mask && !p.mask[row * p.mask_pitch + x])
                m = t.n_maps;
        }
        const uint64_t raw = load_sample(p.from + row * p.from_pitch + s * in, in, p.aligned);
        store_sample(p.to + row * p.to_pitch + s * out, out, map_raw(&t.maps[m], from, to, raw),
                     p.aligned);
    }
}

/* ---- Rows of one map ------------------------------------------------------------------------- */

/* Samples that are loaded and stored together. */
template <ImgstatSample SAMPLE> struct SampleVector {
    static const unsigned BYTES = SAMPLE == IMGSTAT_F64 ? 8 : 4, N = 16 / BYTES;
    uint32_t word[4];

    __device__ __forceinline__ uint64_t get(unsigned i) const
    {
        return BYTES == 4 ? word[i] : word[2 * i] | (uint64_t)word[2 * i + 1] << 32;
    }
    __device__ __forceinline__ void set(unsigned i, uint64_t raw)
    {
        if (BYTES == 4) {
            word[i] = (uint32_t)raw;
        } else {
            word[2 * i] = (uint32_t)raw;
            word[2 * i + 1] = (uint32_t)(raw >> 32);
        }
    }
};

/*
 * apply_row: the same of one long row whose samples have one map and keep their type.
 *
 *   Idea      A vector a thread and turn. Kind and types of the map are constants, and it is
 * copied: stores do not make it be read again. Work      the map of a sample: of floats a division
 * of doubles, of integers one of 64 bits. Memory    reads and writes each sample once, by vectors.
 *   Launch    <<<blocks, MAP_THREADS>>>, any number of blocks.
 *   Requires  from and to on boundaries of 16 bytes; SAMPLE and KIND are those of the map. In
 * place: a thread reads what it overwrites. Result    the bits of apply.c.
 */
template <ImgstatSample SAMPLE, MapKind KIND>
static __global__ void __launch_bounds__(MAP_THREADS)
    apply_row(const Map *of, const uint4 *from, uint4 *to, uint64_t n)
{
    typedef SampleVector<SAMPLE> Vector;
    const uint64_t vectors = n / Vector::N, stride = (uint64_t)gridDim.x * MAP_THREADS;
    const uint64_t first = (uint64_t)blockIdx.x * MAP_THREADS + threadIdx.x;
    Map map = *of;
    map.kind = KIND;
    map.from = map.to.sample = SAMPLE;
    for (uint64_t i = first; i < vectors; i += stride) {
        const uint4 loaded = from[i];
        Vector v = {{loaded.x, loaded.y, loaded.z, loaded.w}};
#pragma unroll
        for (unsigned k = 0; k < Vector::N; k++)
            v.set(k, map_raw(&map, SAMPLE, SAMPLE, v.get(k)));
        to[i] = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
    }
    const uint64_t s = vectors * Vector::N + first;
    if (s < n)
        store_sample((unsigned char *)to + s * Vector::BYTES, Vector::BYTES,
                     map_raw(&map, SAMPLE, SAMPLE,
                             load_sample((const unsigned char *)from + s * Vector::BYTES,
                                         Vector::BYTES, true)),
                     true);
}

/* ---- Knots ----------------------------------------------------------------------------------- */

/* Neighbouring knots and the key of the next: what a sample between them needs, in one sector of
 * memory or a few. `before` belongs to the knot behind. Where there are no more knots, the last is
 * repeated. */
template <typename Key, int KNOTS> struct alignas(16 * sizeof(Key) * KNOTS / 4) KnotGroup {
    Key key[KNOTS + 1], at[KNOTS], before[KNOTS];
};
typedef KnotGroup<uint32_t, 2> KnotGroup32;
typedef KnotGroup<uint64_t, 4> KnotGroup64;

enum { KNOT_THREADS = 1024, KNOT_SAMPLES = 4 /* a thread looks for at once */ };

template <typename Key, int KNOTS>
static __host__ __device__ __forceinline__ uint32_t groups_of(const KnotGroup<Key, KNOTS> *,
                                                              uint32_t n_knots)
{
    return (n_knots + KNOTS - 1) / KNOTS;
}

/*
 * group_knots: groups from the knots of a map.
 *
 *   Idea      A group a thread.
 *   Work      some copies.
 *   Memory    reads each knot once or twice, through the cache, and writes each group.
 *   Launch    <<<(any, maps), MAP_THREADS>>>, a thread a group or more.
 *   Requires  keys and outputs that Key holds.
 *   Result    the groups of every map that has knots.
 */
template <typename Group>
static __global__ void __launch_bounds__(MAP_THREADS)
    group_knots(const Map *maps, unsigned char *groups, size_t pitch)
{
    const Map *const map = &maps[blockIdx.y];
    const uint32_t n = map->kind == MAP_KNOTS ? map->n_knots : 0;
    const uint32_t g = blockIdx.x * MAP_THREADS + threadIdx.x;
    const uint32_t knots = sizeof(Group::at) / sizeof(Group::at[0]);
    if ((uint64_t)g * knots >= n)
        return;
    Group made;
    for (uint32_t i = 0; i <= knots; i++) {
        const MapKnot *const knot = &map->knots[min(g * knots + i, n - 1)];
        made.key[i] = knot->key;
        if (i < knots)
            made.at[i] = knot->at;
        if (i > 0)
            made.before[i - 1] = knot->before;
    }
    ((Group *)(groups + blockIdx.y * pitch))[g] = made;
}

/* Samples of one channel, or of all of them. */
struct KnotSamples {
    uint64_t row, n;      /* samples in a row, and in all */
    uint32_t first, step; /* of a row's samples, every step-th from the first on */
};

/* The last of n ascending keys that is not above each of `key`, or the first. top: the largest
 * power of two below n, or 0. */
template <typename Key>
static __device__ __forceinline__ void find_groups(const Key *keys, uint32_t n, uint32_t top,
                                                   const Key (&key)[KNOT_SAMPLES],
                                                   uint32_t (&found)[KNOT_SAMPLES])
{
#pragma unroll
    for (int k = 0; k < KNOT_SAMPLES; k++)
        found[k] = 0;
    for (uint32_t half = top; half > 0; half /= 2)
#pragma unroll
        for (int k = 0; k < KNOT_SAMPLES; k++)
            if (found[k] + half < n && keys[found[k] + half] <= key[k])
                found[k] += half;
}

/* The knots on both sides of a key whose group it is. */
template <typename Key, int KNOTS>
static __device__ __forceinline__ void knots_of(const KnotGroup<Key, KNOTS> &group, Key key,
                                                MapKnot *left, MapKnot *right)
{
    left->key = group.key[0];
    left->at = group.at[0];
    right->key = group.key[1];
    right->before = group.before[0];
#pragma unroll
    for (int i = 1; i < KNOTS; i++)
        if (group.key[i] <= key) {
            left->key = group.key[i];
            left->at = group.at[i];
            right->key = group.key[i + 1];
            right->before = group.before[i];
        }
}

/*
 * apply_knots: the same of samples whose map has knots.
 *
 *   Idea      The first key of every group of knots is in shared memory, where a thread looks for
 *             the groups of several samples at once. A group is all that a sample needs of memory.
 *   Work      15 steps of halving in shared memory, a group of knots and a division a sample.
 *   Memory    reads and writes each sample once, and a sector or three of the second-level cache.
 *   Launch    <<<blocks, KNOT_THREADS, groups * sizeof(Key)>>>, any number of blocks.
 *   Requires  t.kind is MAP_KNOTS; neither mask nor alpha. FROM: the sample type of the transfer
 * and of what it makes, or -1 for whatever these are. In place: a thread reads what it overwrites.
 *   Result    the bits of apply.c.
 */
template <typename Group, typename Key, int FROM>
static __global__ void __launch_bounds__(KNOT_THREADS)
    apply_knots(ApplyTransfer t, ApplyPixels p, uint32_t m, KnotSamples samples)
{
    extern __shared__ uint64_t knot_memory[];
    Key *const keys = (Key *)knot_memory;
    const Group *const groups =
        (const Group *)((const unsigned char *)t.groups + m * t.group_pitch);
    Map map = t.maps[m];
    if (FROM >= 0)
        map.from = map.to.sample = (ImgstatSample)FROM;
    const ImgstatSample from = map.from, to = map.to.sample;
    const uint32_t in = sample_bits(from) / 8, out = sample_bits(to) / 8;
    const uint32_t n_groups = groups_of(groups, map.n_knots);
    const uint32_t top = n_groups > 1 ? 0x80000000u >> __clz(n_groups - 1) : 0;
    for (uint32_t g = threadIdx.x; g < n_groups; g += KNOT_THREADS)
        keys[g] = groups[g].key[0];
    __syncthreads();
    const uint64_t turn = (uint64_t)KNOT_THREADS * KNOT_SAMPLES;
    for (uint64_t base = blockIdx.x * turn; base < samples.n; base += gridDim.x * turn) {
        Key key[KNOT_SAMPLES], raw[KNOT_SAMPLES];
        uint32_t found[KNOT_SAMPLES];
        uint64_t to_at[KNOT_SAMPLES];
#pragma unroll
        for (int k = 0; k < KNOT_SAMPLES; k++) {
            const uint64_t i = base + k * KNOT_THREADS + threadIdx.x;
            const uint64_t row = p.rows == 1 ? 0 : i / samples.row;
            const uint64_t s = samples.first + (i - row * samples.row) * samples.step;
            to_at[k] = row * p.to_pitch + s * out;
            raw[k] = i < samples.n
                         ? (Key)load_sample(p.from + row * p.from_pitch + s * in, in, p.aligned)
                         : 0;
            key[k] = (Key)sample_key(from, raw[k]);
        }
        find_groups(keys, n_groups, top, key, found);
#pragma unroll
        for (int k = 0; k < KNOT_SAMPLES; k++) {
            MapKnot left, right;
            knots_of(groups[found[k]], key[k], &left, &right);
            if (base + k * KNOT_THREADS + threadIdx.x < samples.n)
                store_sample(p.to + to_at[k], out,
                             map_raw_between_knots(&map, from, to, &left, &right, raw[k]),
                             p.aligned);
        }
    }
}

/* ---- Host side ------------------------------------------------------------------------------- */

template <ImgstatSample SAMPLE, MapKind KIND>
static void launch_row(unsigned blocks, cudaStream_t stream, const ApplyTransfer *t,
                       const ApplyPixels *p)
{
    apply_row<SAMPLE, KIND><<<blocks, MAP_THREADS, 0, stream>>>(
        t->maps, (const uint4 *)p->from, (uint4 *)p->to, p->width * p->channels);
}

/* False: there is none for these samples. */
static bool launch_rows(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                        const ApplyPixels *p)
{
    const uint32_t bytes = sample_bits((ImgstatSample)t->from) / 8;
    if (t->from != t->to || t->n_maps != 1 || p->alpha >= 0 || p->mask || p->rows != 1 ||
        ((uintptr_t)p->from | (uintptr_t)p->to) % 16 != 0)
        return false;
    const unsigned blocks = map_blocks(device, p->width * p->channels * bytes / 16 + 1);
    if (t->from == IMGSTAT_F32 && t->kind == MAP_AFFINE)
        launch_row<IMGSTAT_F32, MAP_AFFINE>(blocks, stream, t, p);
    else if (t->from == IMGSTAT_F32 && t->kind == MAP_LINEAR)
        launch_row<IMGSTAT_F32, MAP_LINEAR>(blocks, stream, t, p);
    else if (t->from == IMGSTAT_F32 && t->kind == MAP_POWER)
        launch_row<IMGSTAT_F32, MAP_POWER>(blocks, stream, t, p);
    else if (t->from == IMGSTAT_F64 && t->kind == MAP_AFFINE)
        launch_row<IMGSTAT_F64, MAP_AFFINE>(blocks, stream, t, p);
    else if (t->from == IMGSTAT_U32 && t->kind == MAP_AFFINE)
        launch_row<IMGSTAT_U32, MAP_AFFINE>(blocks, stream, t, p);
    else if (t->from == IMGSTAT_I32 && t->kind == MAP_AFFINE)
        launch_row<IMGSTAT_I32, MAP_AFFINE>(blocks, stream, t, p);
    else
        return false;
    return true;
}

template <typename Group, typename Key, int FROM>
static ImgstatResult launch_knots(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                  const ApplyPixels *p, ImgstatError *err)
{
    const uint32_t step = t->n_maps > 1 ? p->channels : 1;
    KnotSamples samples;
    samples.step = step;
    samples.row = p->width * (p->channels / step);
    samples.n = samples.row * p->rows;
    const uint64_t turn = (uint64_t)KNOT_THREADS * KNOT_SAMPLES;
    const uint64_t wanted = (samples.n + turn - 1) / turn;
    const unsigned most = (unsigned)device->properties.multiProcessorCount;
    const unsigned blocks = wanted < most ? (unsigned)wanted : most;
    const size_t shared = groups_of((const Group *)NULL, t->most_knots) * sizeof(Key);
    for (uint32_t m = 0; m < t->n_maps; m++) {
        samples.first = m;
        IMGSTAT_TRY(cuda_launch(device, stream, "apply_knots", apply_knots<Group, Key, FROM>,
                                blocks, KNOT_THREADS, shared, err, *t, *p, m, samples));
    }
    return IMGSTAT_OK;
}

static bool knots_fit(const CudaDevice *device, const ApplyTransfer *t, const ApplyPixels *p)
{
    const bool is_long = sample_bits((ImgstatSample)t->from) == 64;
    const size_t shared = is_long ? groups_of((const KnotGroup64 *)NULL, t->most_knots) * 8
                                  : groups_of((const KnotGroup32 *)NULL, t->most_knots) * 4;
    return t->kind == MAP_KNOTS && t->group_pitch > 0 && p->alpha < 0 && !p->mask &&
           (size_t)device->max_shared >= shared;
}

ImgstatResult launch_apply_wide(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                const ApplyPixels *p, ImgstatError *err)
{
    const bool old = getenv("OLD") != NULL; /* XXX */
    if (!old && knots_fit(device, t, p)) {
        if (sample_bits((ImgstatSample)t->from) == 64)
            return launch_knots<KnotGroup64, uint64_t, -1>(device, stream, t, p, err);
        if (t->from == IMGSTAT_F32 && t->to == IMGSTAT_F32)
            return launch_knots<KnotGroup32, uint32_t, IMGSTAT_F32>(device, stream, t, p, err);
        return launch_knots<KnotGroup32, uint32_t, -1>(device, stream, t, p, err);
    }
    if (old || !launch_rows(device, stream, t, p))
        apply_maps<<<map_blocks(device, p->width * p->channels * p->rows), MAP_THREADS, 0,
                     stream>>>(*t, *p);
    return cuda_launched(device, stream, "apply_maps", err);
}

/* Outputs of 64 bits have no place in groups of 32. */
size_t knot_group_bytes(ImgstatSample from, ImgstatSample to, uint32_t n_knots)
{
    if (sample_bits(from) == 64)
        return groups_of((const KnotGroup64 *)NULL, n_knots) * sizeof(KnotGroup64);
    return sample_bits(to) == 64
               ? 0
               : groups_of((const KnotGroup32 *)NULL, n_knots) * sizeof(KnotGroup32);
}

ImgstatResult launch_knot_groups(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                 ImgstatError *err)
{
    const dim3 blocks(t->most_knots / MAP_THREADS + 1, t->n_maps);
    unsigned char *const groups = (unsigned char *)t->groups;
    if (sample_bits((ImgstatSample)t->from) == 64)
        group_knots<KnotGroup64>
            <<<blocks, MAP_THREADS, 0, stream>>>(t->maps, groups, t->group_pitch);
    else
        group_knots<KnotGroup32>
            <<<blocks, MAP_THREADS, 0, stream>>>(t->maps, groups, t->group_pitch);
    return cuda_launched(device, stream, "group_knots", err);
}

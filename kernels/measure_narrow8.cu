/* SPDX-License-Identifier: MIT */
/* measure_narrow8.cu: records of 8-bit samples in one read: exact bins, and where the extrema are.
 */
#include "narrow.cuh"

/* 32 warps a block; two blocks an SM hide each other's barriers (measured: PERFORMANCE in
 * docs/kernels.md). */
enum { THREADS = 1024, WARPS = THREADS / 32 };
/* A lane's vectors in a unit, and how many are loaded before the first is counted. Three channels:
 * multiples of three, so that the channel of a byte in a vector is known at compile time. */
template <int C> struct Shape {
    enum { STEPS = C == 3 ? 9 : 8, AHEAD = C == 3 ? 3 : C == 4 ? 8 : 4, UNIT = STEPS * 512 };
};
static_assert((int)Shape<1>::UNIT == (int)NARROW8_UNIT && (int)Shape<3>::UNIT == (int)NARROW8_UNIT3,
              "the host cuts images");

/* A lane's column of a channel's table: counter of sample v at byte (v << SHIFT | column). */
enum { TABLE_BINS = 256 };

/* Blocks an SM that registers are shared out for: not all processors hold two of 1,024 threads. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900))
static constexpr int resident(int)
{
    return 1;
}
#else
static constexpr int resident(int blocks)
{
    return blocks;
}
#endif

extern __shared__ __align__(128) unsigned char table[];

template <int C> struct Block8 {
    NarrowBlock narrow;
    uint64_t sum[C * TABLE_BINS]; /* of the columns of each bin, in a flush */
    unsigned jobs;                /* of find_extrema */
    unsigned char job[2 * NARROW_CHANNELS];
};

/* Samples of a table that is not flushed: a column gets at most a 32nd of them, and a few more
 * from row ends; so 32-bit counters do not overflow. */
static const uint64_t TABLE_SAMPLES = 1ull << 35;

static __device__ __forceinline__ void count(uint32_t offset)
{
    atomicAdd((unsigned *)(table + offset), 1u);
}

/* Counts 16 bytes. Byte p is of channel column j = (p + ROTATE) % C of this lane. */
template <int C, int SHIFT, int ROTATE>
static __device__ __forceinline__ void count_vector(uint4 v, const uint32_t (&column)[C])
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int p = 0; p < 16; p++) {
        const int bit = p % 4 * 8 - SHIFT;
        const uint32_t w = word[p / 4];
        const uint32_t bin = (bit < 0 ? w << -bit : w >> (bit < 0 ? 0 : bit)) & (0xFFu << SHIFT);
        count(bin | column[(p + ROTATE) % C]);
    }
}

template <int C, int SHIFT>
static __device__ __forceinline__ void count_rotated(uint4 v, int rotate,
                                                     const uint32_t (&column)[C])
{
    switch (C == 3 ? rotate % 3 : 0) {
    case 0:
        count_vector<C, SHIFT, 0>(v, column);
        break;
    case 1:
        count_vector<C, SHIFT, 1>(v, column);
        break;
    default:
        count_vector<C, SHIFT, 2>(v, column);
    }
}

/* Where a plain unit lies in its row: bytes [address, address + UNIT) cut to [row, end), and the
 * channel of the byte at address + lane * 16. */
struct Place {
    const unsigned char *row, *end, *address;
    uint64_t number; /* of the row */
    unsigned phase;
};

template <int C>
static __device__ __forceinline__ Place plain_place(const WorkImage &image, uint64_t unit)
{
    uint64_t place;
    Place p;
    unit_place(image, unit, &p.number, &place);
    p.row = image.pixels + p.number * image.pitch;
    p.end = p.row + image.row_pixels * C;
    const unsigned early = (unsigned)((uintptr_t)p.row % 16);
    p.address = p.row - early + place * Shape<C>::UNIT;
    p.phase = (48 - early + threadIdx.x % 32 * 16) % C; /* UNIT is a multiple of C */
    return p;
}

/* Counts one unit of a plain image with one warp. */
template <int C, int SHIFT>
static __device__ __forceinline__ void count_plain(const WorkImage &image, uint64_t unit)
{
    const unsigned lane = threadIdx.x % 32;
    const Place place = plain_place<C>(image, unit);
    const unsigned char *at = place.address + lane * 16;
    uint32_t column[C];
#pragma unroll
    for (int j = 0; j < C; j++)
        column[j] =
            ((place.phase + j) % C * (TABLE_BINS << SHIFT)) | (lane * 4 & ((1u << SHIFT) - 1));

    if (place.address >= place.row && place.address + Shape<C>::UNIT <= place.end) {
#pragma unroll 1
        for (int k = 0; k < Shape<C>::STEPS; k += Shape<C>::AHEAD, at += Shape<C>::AHEAD * 512) {
            uint4 v[Shape<C>::AHEAD];
#pragma unroll
            for (int i = 0; i < Shape<C>::AHEAD; i++)
                v[i] = __ldcs((const uint4 *)(at + i * 512));
#pragma unroll
            for (int i = 0; i < Shape<C>::AHEAD; i++)
                count_rotated<C, SHIFT>(v[i], i * 512 % C, column);
        }
        return;
    }
#pragma unroll 1
    for (int k = 0; k < Shape<C>::STEPS; k++, at += 512) {
        if (at >= place.row && at + 16 <= place.end) {
            const uint4 v = __ldcs((const uint4 *)at);
            if (C == 3 && k % 3 == 1)
                count_vector<C, SHIFT, 512 % C>(v, column);
            else if (C == 3 && k % 3 == 2)
                count_vector<C, SHIFT, 1024 % C>(v, column);
            else
                count_vector<C, SHIFT, 0>(v, column);
        } else {
            for (int p = 0; p < 16; p++) {
                if (at + p >= place.row && at + p < place.end) {
                    const unsigned c = (unsigned)((uint64_t)(at + p - place.row) % C);
                    count((c * TABLE_BINS + at[p]) << SHIFT | (lane * 4 & ((1u << SHIFT) - 1)));
                }
            }
        }
    }
}

/* Counts one unit of an image with a mask, or some channels of one with more. */
template <int C, int SHIFT>
static __device__ __forceinline__ unsigned count_general(const WorkImage &image, uint64_t unit,
                                                         unsigned channel0)
{
    const unsigned lane = threadIdx.x % 32;
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const unsigned char *samples = image.pixels + row * image.pitch + channel0;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min((place + 1) * NARROW8_PIXELS, image.row_pixels);
    unsigned masked = 0;
#pragma unroll 4
    for (uint64_t x = place * NARROW8_PIXELS + lane; x < end; x += 32) {
        if (mask && !mask[x]) {
            masked++;
            continue;
        }
#pragma unroll
        for (int c = 0; c < C; c++)
            count((c * TABLE_BINS + samples[x * image.channels + c]) << SHIFT |
                  (lane * 4 & ((1u << SHIFT) - 1)));
    }
    return masked;
}

/* All units of an item: a unit a warp at a time. A function of its own, so that what is kept
 * meanwhile does not take registers from the loop: one spilled there costs five percent. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __noinline__ void count_units(NarrowBlock *block, uint64_t unit, uint64_t end,
                                                unsigned channel0)
{
    unsigned masked = 0;
    for (unit += threadIdx.x / 32; unit < end; unit += WARPS) {
        if (PLAIN)
            count_plain<C, SHIFT>(block->image, unit);
        else
            masked += count_general<C, SHIFT>(block->image, unit, channel0);
    }
    if (!PLAIN && masked)
        atomicAdd(&block->masked, (unsigned long long)masked);
}

/* Samples that are looked for in one pass over a step: one, or both extrema of a channel. */
struct Wanted {
    unsigned channel;  /* of those measured */
    unsigned value[2]; /* raw; equal if there is just one */
    unsigned which[2]; /* extrema, as narrow_found numbers them */
};

static __device__ __forceinline__ bool found_before(const NarrowBlock *block, const Wanted &wanted,
                                                    uint64_t flat)
{
    return narrow_settled(block, wanted.which[0], flat) &&
           narrow_settled(block, wanted.which[1], flat);
}

/* Not 0 if a byte of the word may be 0: surely if one is. */
static __device__ __forceinline__ uint32_t may_hold_zero(uint32_t x)
{
    return (x - 0x01010101u) & ~x & 0x80808080u;
}

/* Looks at 16 bytes that are not all of the row. */
template <int C>
static __device__ __forceinline__ void find_in_vector(NarrowBlock *block, const Wanted &wanted,
                                                      const Place &place, const unsigned char *from)
{
    const uint64_t row = place.number * block->image.row_pixels * C;
    for (int e = 0; e < 2; e++) {
        for (int p = 0; p < 16; p++) {
            const unsigned char *at = from + p;
            if (at < place.row || at >= place.end || *at != wanted.value[e])
                continue;
            const uint64_t flat = (uint64_t)(at - place.row);
            if (flat % C != wanted.channel)
                continue;
            narrow_found(block, wanted.which[e], row + flat);
            break;
        }
    }
}

/* Looks for the wanted samples in one unit of a plain image. */
template <int C>
static __device__ __forceinline__ void find_plain(NarrowBlock *block, const Wanted &wanted,
                                                  uint64_t unit)
{
    const WorkImage &image = block->image;
    enum { AHEAD = Shape<C>::AHEAD < 4 ? Shape<C>::AHEAD : 4 };
    const Place place = plain_place<C>(image, unit);
    const unsigned char *at = place.address + threadIdx.x % 32 * 16;
    const uint64_t row = place.number * image.row_pixels * C;
    const uint32_t four[2] = {wanted.value[0] * 0x01010101u, wanted.value[1] * 0x01010101u};
    uint32_t own[C]; /* the channel's bytes of a word whose first byte is of channel phase + j */
#pragma unroll
    for (int j = 0; j < C; j++) {
        own[j] = C == 1 ? NONE : 0;
#pragma unroll
        for (int p = 0; p < 4 && C > 1; p++)
            own[j] |= (place.phase + j + p) % C == wanted.channel ? 0xFFu << 8 * p : 0;
    }
#pragma unroll 1
    for (int k = 0; k < Shape<C>::STEPS; k += AHEAD, at += AHEAD * 512) {
        const uint64_t flat = row + (uint64_t)(at - place.row); /* wraps below the row's begin */
        if (__all_sync(NONE, at > place.row && found_before(block, wanted, flat)))
            return;
        uint4 v[AHEAD];
        bool whole[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned char *from = at + i * 512;
            whole[i] = from >= place.row && from + 16 <= place.end;
            v[i] = make_uint4(0, 0, 0, 0);
            if (whole[i])
                v[i] = __ldcg((const uint4 *)from);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const uint32_t word[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
            uint32_t may = 0;
#pragma unroll
            for (int w = 0; w < 4; w++) {
                /* Bytes of other channels become 0xFF: never 0. */
                const uint32_t others = ~own[(i * 512 + 4 * w) % C];
                may |= may_hold_zero((word[w] ^ four[0]) | others) |
                       may_hold_zero((word[w] ^ four[1]) | others);
            }
            if (!whole[i]) {
                find_in_vector<C>(block, wanted, place, at + i * 512);
                continue;
            }
            for (int e = 0; e < 2 && may; e++) {
                int first = 16;
#pragma unroll
                for (int w = 3; w >= 0; w--) {
                    const uint32_t equal = __vcmpeq4(word[w], four[e]) & own[(i * 512 + 4 * w) % C];
                    first = equal ? 4 * w + (__ffs((int)equal) - 1) / 8 : first;
                }
                if (first < 16)
                    narrow_found(block, wanted.which[e], flat + i * 512 + first);
            }
        }
    }
}

template <int C>
static __device__ __forceinline__ void find_general(NarrowBlock *block, const Wanted &wanted,
                                                    uint64_t unit, unsigned channel0)
{
    const WorkImage &image = block->image;
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const unsigned char *samples = image.pixels + row * image.pitch + channel0 + wanted.channel;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min((place + 1) * NARROW8_PIXELS, image.row_pixels);
    for (uint64_t x = place * NARROW8_PIXELS + threadIdx.x % 32; x < end; x += 32) {
        const uint64_t flat = (row * image.row_pixels + x) * C + wanted.channel;
        const unsigned sample = samples[x * image.channels];
        if (mask && !mask[x])
            continue;
        if (sample == wanted.value[0])
            narrow_found(block, wanted.which[0], flat);
        if (sample == wanted.value[1])
            narrow_found(block, wanted.which[1], flat);
    }
}

/* Finds the first place of each extremum that may be the image's, in the item where this block met
 * it first. The warps are shared out among what is wanted, so that waits overlap; a warp skips what
 * lies behind places that have been found. */
template <int C, bool PLAIN>
static __device__ __noinline__ void find_extrema(Block8<C> *shared, unsigned channel0,
                                                 unsigned flip)
{
    NarrowBlock *block = &shared->narrow;
    const WorkImage &image = block->image;
    const unsigned warp = threadIdx.x / 32;
    if (threadIdx.x == 0) { /* a job an extremum, or both of a channel that came in one item */
        unsigned jobs = 0;
        for (unsigned i = 0; i < 2 * C; i++) {
            const unsigned c = i / 2;
            const bool both = i % 2 == 0 && (block->needs >> i & 3) == 3 &&
                              block->low_step[c] == block->high_step[c];
            if (block->needs >> i & 1)
                shared->job[jobs++] = (unsigned char)(i | (both ? 16 : 0));
            i += both;
        }
        shared->jobs = jobs;
    }
    __syncthreads();
    const unsigned jobs = shared->jobs, mine = warp % jobs, stride = (WARPS - 1 - mine) / jobs + 1;
    const unsigned i = shared->job[mine] & 15, c = i / 2;
    const bool both = shared->job[mine] & 16;
    Wanted wanted;
    wanted.channel = c;
    wanted.value[0] = (unsigned)(i % 2 ? block->high[c] : block->low[c]) ^ flip;
    wanted.value[1] = both ? (unsigned)block->high[c] ^ flip : wanted.value[0];
    wanted.which[0] = i;
    wanted.which[1] = i + both;
    const uint64_t begin = i % 2 ? block->high_step[c] : block->low_step[c];
    const uint64_t end = min(begin + image.units_per_item, image.units);
    for (uint64_t unit = begin + warp / jobs; unit < end; unit += stride) {
        if (PLAIN)
            find_plain<C>(block, wanted, unit);
        else
            find_general<C>(block, wanted, unit, channel0);
    }
    __syncthreads();
}

/* Adds the table to the bins of the record, empties it, and settles where the extrema are. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __noinline__ void flush(const Work &work, Block8<C> *shared)
{
    NarrowBlock *block = &shared->narrow;
    const WorkImage &image = block->image;
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    const unsigned vectors = 1u << (SHIFT - 4); /* of 16 bytes a bin */
    NarrowState *state = (NarrowState *)work.state + block->number;

    __syncthreads(); /* nobody looks at the table any more */
    for (unsigned i = threadIdx.x; i < C * TABLE_BINS * vectors; i += THREADS) {
        uint4 *words = (uint4 *)table + i;
        const uint4 v = *words;
        uint64_t sum = (uint64_t)v.x + v.y + v.z + v.w;
        *words = make_uint4(0, 0, 0, 0);
        for (unsigned h = vectors / 2; h > 0; h /= 2)
            sum += __shfl_xor_sync(NONE, sum, h);
        if (i % vectors == 0)
            shared->sum[i / vectors] = sum;
    }
    __syncthreads(); /* sum is complete */
    /* Whole warps, and each block begins elsewhere: otherwise all meet at the same bins. */
    for (unsigned i = threadIdx.x; i < C * TABLE_BINS; i += THREADS) {
        const unsigned bin = (i + blockIdx.x * 32) % (C * TABLE_BINS);
        if (shared->sum[bin])
            bin_add(&image.bins[(work.channel0 + bin / TABLE_BINS) * TABLE_BINS +
                                (bin % TABLE_BINS ^ flip)],
                    shared->sum[bin]);
    }
    const uint64_t pixels = PLAIN ? Shape<C>::UNIT / C : NARROW8_PIXELS;
    narrow_ask(block, state, C, pixels, PLAIN ? 16 : 0);
    if (block->needs)
        find_extrema<C, PLAIN>(shared, work.channel0, flip);
    narrow_finish(work, block, state, C);
}

/* After an item: which keys beyond the extrema so far does the table hold? True if there are. */
template <int C, int SHIFT> static __device__ __forceinline__ bool check_extrema(NarrowBlock *block)
{
    enum { VECTORS = 1 << (SHIFT - 4), BINS = THREADS / VECTORS }; /* a bin, a round */
    const unsigned flip = block->image.sample == IMGSTAT_I8 ? 0x80 : 0;
    bool found = false;
#pragma unroll
    for (int round = 0; round < (C * TABLE_BINS + BINS - 1) / BINS; round++) {
        const unsigned bin = round * BINS + threadIdx.x / VECTORS, c = bin / TABLE_BINS;
        const int key = (int)(bin % TABLE_BINS ^ flip);
        if (C * TABLE_BINS % BINS != 0 && bin >= C * TABLE_BINS)
            break;
        if (key >= block->low[c] && key <= block->high[c])
            continue;
        const uint4 v = ((const uint4 *)table)[round * THREADS + threadIdx.x];
        if (!(v.x | v.y | v.z | v.w) || !narrow_valid(block->image, (uint64_t)key))
            continue;
        found = true;
        if (key < block->new_low[c])
            atomicMin(&block->new_low[c], key);
        if (key > block->new_high[c])
            atomicMax(&block->new_high[c], key);
    }
    return found;
}

/*
 * measure_narrow8: the record of 8-bit samples, C interleaved channels at once.
 *
 *   Idea      Lane-private columns of counters: lane l of every warp counts value v at word
 *             32 v + l, so no two lanes of a warp ever meet in a bank, whatever the image. An
 *             increment of exactly 1 whose result is unused needs no return trip. Extrema, sums and
 *             moments follow from the bins. A block looks into its table after each item, so it
 *             knows in which item a new extremum came; only blocks whose extremum may be the
 *             image's read that item again (it is in the L2 cache) to find the position.
 *   Work      3 instructions a sample: shift, mask, count.
 *   Memory    reads n bytes once, and less than one item a block and extremum again; adds up to
 *             256 C bins a block and image. Shared: C << (8 + SHIFT) bytes.
 *   Launch    persistent blocks of 1,024; items of 32 units from a queue, in order.
 *   Requires  C <= 4; PLAIN: the image has C channels and no mask. Queue and states zero.
 *   Result    bins, n, masked, extrema added to the record; queue and states zero again. Integers:
 *             every order of blocks gives the same.
 */
template <int C, int SHIFT, bool PLAIN, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, resident(BLOCKS))
    measure_narrow8(const __grid_constant__ Work work)
{
    __shared__ Block8<C> shared;
    NarrowBlock &block = shared.narrow;
    for (unsigned i = threadIdx.x; i < (C * TABLE_BINS << SHIFT) / 16; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    narrow_begin(work, &block);

    uint32_t item = block.next[0];
    uint32_t number = NONE; /* of the image in the table */
    for (unsigned turn = 1; item < work.n_items; turn ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        if (wanted != number || block.full[turn ^ 1]) {
            if (number != NONE)
                flush<C, SHIFT, PLAIN>(work, &shared);
            narrow_adopt(work, &block, wanted);
            number = wanted;
        }
        uint64_t unit, end;
        item_units(block.image, item, &unit, &end);
        unsigned next = 0; /* on its way while the item is counted */
        if (threadIdx.x == 0) {
            next = atomicAdd(&work.shared->queue.next, 1u);
            block.items++;
            block.samples += (end - unit) * (PLAIN ? Shape<C>::UNIT / C : NARROW8_PIXELS);
            block.step = unit;
        }
        count_units<C, SHIFT, PLAIN>(&block, unit, end, work.channel0);
        if (threadIdx.x == 0) {
            block.next[turn] = next;
            block.full[turn] = block.samples > TABLE_SAMPLES;
        }
        __syncthreads(); /* the table holds the whole item; next[turn] is there */
        bool settled = true;
        for (int c = 0; c < C; c++)
            settled &= block.low[c] == 0 && block.high[c] == TABLE_BINS - 1;
        if (!settled && __syncthreads_or(check_extrema<C, SHIFT>(&block))) {
            narrow_improve(&block, C); /* new_low and new_high are complete */
            __syncthreads();           /* before the next check reads them */
        }
        item = block.next[turn];
    }
    if (number != NONE)
        flush<C, SHIFT, PLAIN>(work, &shared);
    if (threadIdx.x == 0)
        queue_leave(work);
}

/* Columns as the device's shared memory allows: 32, or fewer, which share. */
template <int C, int SHIFT, bool PLAIN, int BLOCKS>
static ImgstatResult launch_shape(const Launch *launch, ImgstatError *err)
{
    CudaDevice *device = launch->device;
    const int bytes = C * TABLE_BINS << SHIFT;
    const auto kernel = measure_narrow8<C, SHIFT, PLAIN, BLOCKS>;
    IMGSTAT_TRY(cuda_allow_shared(device, (const void *)kernel, bytes, err));
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * BLOCKS;
    const unsigned grid = (unsigned)(launch->work.n_items < most ? launch->work.n_items : most);
    kernel<<<grid, THREADS, (size_t)bytes, launch->stream>>>(launch->work);
    return cuda_launched(device, launch->stream, "measure_narrow8", err);
}

template <int C> static ImgstatResult launch_plain(const Launch *launch, ImgstatError *err)
{
    enum { RESERVE = 1024 + sizeof(Block8<C>) }; /* and what the driver keeps a block */
    const int room = launch->device->max_shared - RESERVE;
    [[maybe_unused]] const int threads = launch->device->properties.maxThreadsPerMultiProcessor;
    [[maybe_unused]] const int total = (int)launch->device->properties.sharedMemPerMultiprocessor;
    const int full = C * TABLE_BINS << 7, half = full / 2;
    if constexpr (C < 4) { /* no processor holds two blocks of four channels */
        if (threads >= 2 * THREADS && 2 * (full + RESERVE) <= total)
            return launch_shape<C, 7, true, 2>(launch, err);
    }
    if (full <= room)
        return launch_shape<C, 7, true, 1>(launch, err);
    if (half <= room)
        return launch_shape<C, 6, true, 1>(launch, err);
    return launch_shape<C, 5, true, 1>(launch, err);
}

size_t narrow_state_bytes(void)
{
    return sizeof(NarrowState);
}

ImgstatResult launch_narrow8(const Launch *launch, unsigned channels, bool plain, ImgstatError *err)
{
    switch (channels) {
    case 1:
        return plain ? launch_plain<1>(launch, err) : launch_shape<1, 5, false, 1>(launch, err);
    case 2:
        return plain ? launch_plain<2>(launch, err) : launch_shape<2, 5, false, 1>(launch, err);
    case 3:
        return plain ? launch_plain<3>(launch, err) : launch_shape<3, 5, false, 1>(launch, err);
    default:
        return plain ? launch_plain<4>(launch, err) : launch_shape<4, 5, false, 1>(launch, err);
    }
}

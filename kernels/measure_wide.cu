/* SPDX-License-Identifier: MIT */
/* measure_wide.cu: tallies of 32- and 64-bit samples in one read: counts, extrema, exact sums. */
#include "wide.cuh"

/* Four warps, a piece each at a time: small blocks end together. Blocks an SM: as registers allow
 * (docs/kernels.md). */
enum { THREADS = 128, WARPS = THREADS / 32 };
template <int C> struct Blocks {
    enum { PER_SM = C == 1 ? 8 : 4 };
};
/* Pieces that a block adds up before it reports: 2^17 * 4096 * 2^32 < 2^63. */
static const uint64_t BLOCK_PIECES = 1ull << 17;

/* Extrema of the pieces that one warp has done, and the pieces that brought them. */
struct WarpExtrema {
    uint64_t low, low_unit, high, high_unit; /* low > high: none */
};

enum Counter { N, NAN_, PINF, NINF, NODATA, OVERFLOW, OVERFLOW2, COUNTERS };

template <int C> struct WideBlock {
    WorkImage image;
    uint32_t next[2]; /* items, by turns, and whether sums are to be flushed before */
    bool full[2];
    uint64_t pieces; /* since the last flush; only thread 0 looks */
    uint32_t number, items;
    unsigned needs, last;
    unsigned long long masked;
    unsigned long long count[C][COUNTERS];
    unsigned long long limb[C][2][EXACT_LIMBS]; /* floats: ExactSum; integers: sums of digits */
    WarpExtrema warp[WARPS][C];
    uint64_t key[2 * C], unit[2 * C]; /* the block's extrema */
    unsigned found[2 * C];            /* pixels from the piece's first */
};

/* Of one image in one launch, followed by C channels; all zero between launches. */
struct WideChannel {
    Extreme low, high;
    unsigned long long count[COUNTERS];
    unsigned long long limb[2][EXACT_LIMBS];
};

struct WideState {
    unsigned long long masked;
    unsigned items_done, reserved;
};

size_t wide_state_bytes(unsigned channels)
{
    return sizeof(WideState) + channels * sizeof(WideChannel);
}

static __device__ __forceinline__ WideState *state_of(const Work &work, uint32_t number,
                                                      int channels)
{
    return (WideState *)((char *)work.state +
                         number * (sizeof(WideState) + channels * sizeof(WideChannel)));
}

/* ---- Adding up a piece ----------------------------------------------------------------------- */

/* Adds the terms of a float piece: 10 lanes, a term each. d, q: of lane 0. n > 0, the same in all
 * lanes, as is pivot. */
template <int C>
static __device__ __forceinline__ void add_terms(WideBlock<C> *block, int c, unsigned n,
                                                 double pivot, double d, double q)
{
    const unsigned lane = threadIdx.x % 32;
    double term[PIECE_TERMS], mine = 0;
    d = __shfl_sync(ALL_LANES, d, 0);
    q = __shfl_sync(ALL_LANES, q, 0);
    piece_terms((double)n, pivot, d, q, term);
#pragma unroll
    for (int i = 0; i < PIECE_TERMS; i++)
        mine = lane == i ? term[i] : mine;
    const unsigned bad = __ballot_sync(ALL_LANES, !isfinite(mine));
    const unsigned sum_terms = (1u << PIECE_SUM_TERMS) - 1;
    const bool first = lane < PIECE_SUM_TERMS;
    const unsigned group = first ? sum_terms : ((1u << PIECE_TERMS) - 1) & ~sum_terms;
    if (lane < PIECE_TERMS && !(bad & group) && mine != 0) {
        uint32_t limb;
        int64_t part[3];
        exact_split(mine, &limb, part);
        unsigned long long *to = block->limb[c][first ? 0 : 1] + limb;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            if (part[i])
                atomicAdd(&to[i], (unsigned long long)part[i]);
        }
    }
    if (lane == 0) {
        atomicAdd(&block->count[c][N], (unsigned long long)n);
        if (bad & sum_terms)
            atomicAdd(&block->count[c][OVERFLOW], 1ull);
        if (bad & ~sum_terms)
            atomicAdd(&block->count[c][OVERFLOW2], 1ull);
    }
}

/* Adds the sums of a warp's lanes over an integer piece to the digits of the block. */
template <int C, int SAMPLE>
static __device__ __forceinline__ void add_sums(WideBlock<C> *block, int c, unsigned n,
                                                const IntegerSums<SAMPLE> &sums)
{
    enum { DIGITS = IntegerSums<SAMPLE>::DIGITS, DIGITS2 = IntegerSums<SAMPLE>::DIGITS2 };
    uint64_t digit[DIGITS], digit2[DIGITS2];
    sums.digits(digit, digit2);
#pragma unroll
    for (int i = 0; i < DIGITS; i++) {
        digit[i] = warp_sum(digit[i]);
        if (threadIdx.x % 32 == 0)
            atomicAdd(&block->limb[c][0][i], (unsigned long long)digit[i]);
    }
#pragma unroll
    for (int i = 0; i < DIGITS2; i++) {
        digit2[i] = warp_sum(digit2[i]);
        if (threadIdx.x % 32 == 0)
            atomicAdd(&block->limb[c][1][i], (unsigned long long)digit2[i]);
    }
    if (threadIdx.x % 32 == 0)
        atomicAdd(&block->count[c][N], (unsigned long long)n);
}

template <int C>
static __device__ __forceinline__ void note_extrema(WideBlock<C> *block, int c, uint64_t unit,
                                                    uint64_t low, uint64_t high)
{
    WarpExtrema *best = &block->warp[threadIdx.x / 32][c];
    if (threadIdx.x % 32 != 0)
        return;
    if (low < best->low) {
        best->low = low;
        best->low_unit = unit;
    }
    if (high > best->high || best->high_unit == ~0ull) {
        best->high = high;
        best->high_unit = unit;
    }
}

/* Where a piece lies. */
struct PlacedPiece {
    const unsigned char *samples; /* of its first pixel */
    const uint8_t *mask;          /* of its first pixel, or NULL */
    uint64_t at;                  /* raster index of its first pixel */
    unsigned n;                   /* pixels */
};

static __device__ __forceinline__ PlacedPiece piece_place(const WorkImage &image, uint64_t unit,
                                                          unsigned bytes)
{
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const uint64_t x = place * PIECE;
    PlacedPiece piece;
    piece.samples = image.pixels + row * image.pitch + x * image.channels * bytes;
    piece.mask = image.mask ? image.mask + row * image.mask_pitch + x : NULL;
    piece.at = image.first_at + row * image.row_pixels + x;
    piece.n = (unsigned)min((uint64_t)PIECE, image.row_pixels - x);
    return piece;
}

/* The first valid sample of a channel in a piece, as a double; false if there is none. */
template <int SAMPLE>
static __device__ __forceinline__ bool find_pivot(const WorkImage &image, const PlacedPiece &piece,
                                                  unsigned channel, double *pivot)
{
    typedef typename WideType<SAMPLE>::Raw Raw;
    const Raw *samples = (const Raw *)piece.samples + channel;
    for (unsigned x0 = 0; x0 < piece.n; x0 += 32) {
        const unsigned x = x0 + threadIdx.x % 32;
        Raw raw = 0;
        bool valid = false;
        if (x < piece.n && (!piece.mask || piece.mask[x])) {
            raw = samples[(size_t)x * image.channels];
            valid = wide_valid<SAMPLE>(image, sample_key((ImgstatSample)SAMPLE, raw));
        }
        const unsigned valids = __ballot_sync(ALL_LANES, valid);
        if (valids) {
            raw = __shfl_sync(ALL_LANES, raw, __ffs((int)valids) - 1);
            *pivot = wide_double<SAMPLE>(raw) + 0.0; /* +0 for -0 */
            return true;
        }
    }
    return false;
}

/* A channel of a piece sample by sample, whatever the samples are. One warp. */
template <int C, int SAMPLE>
static __device__ __noinline__ void measure_careful(WideBlock<C> *block, uint64_t unit,
                                                    unsigned channel0, int c, bool count_masked)
{
    typedef typename WideType<SAMPLE>::Raw Raw;
    const WorkImage &image = block->image;
    const PlacedPiece piece = piece_place(image, unit, sizeof(Raw));
    const Raw *samples = (const Raw *)piece.samples + channel0 + c;
    const ImgstatSample type = (ImgstatSample)SAMPLE;
    unsigned count[COUNTERS] = {0}, masked = 0;
    uint64_t low = ~0ull, high = 0;
    double d[4] = {0}, q[4] = {0}, pivot = 0;
    IntegerSums<SAMPLE> sums = {};
    if constexpr (WideType<SAMPLE>::FLOAT)
        find_pivot<SAMPLE>(image, piece, channel0 + c, &pivot);

    for (unsigned x0 = threadIdx.x % 32; x0 < piece.n; x0 += PIECE_LANES) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const unsigned x = x0 + 32 * i;
            if (x >= piece.n)
                continue;
            if (piece.mask && !piece.mask[x]) {
                masked++;
                continue;
            }
            const Raw raw = samples[(size_t)x * image.channels];
            const uint64_t key = sample_key(type, raw);
            if (wide_valid<SAMPLE>(image, key)) {
                count[N]++;
                low = min(low, key);
                high = max(high, key);
                if constexpr (WideType<SAMPLE>::FLOAT) {
                    const double distance = wide_double<SAMPLE>(raw) - pivot;
                    d[i] += distance;
                    q[i] += distance * distance;
                } else {
                    sums.add(raw);
                }
            } else if (image.has_nodata && key == image.nodata_key) {
                count[NODATA]++;
            } else if (key == sample_key_infinity(type, false)) {
                count[PINF]++;
            } else if (key == sample_key_infinity(type, true)) {
                count[NINF]++;
            } else {
                count[NAN_]++;
            }
        }
    }
    for (int i = NAN_; i <= NODATA; i++) {
        const uint64_t sum = warp_sum((uint64_t)count[i]);
        if (threadIdx.x % 32 == 0 && sum)
            atomicAdd(&block->count[c][i], (unsigned long long)sum);
    }
    if (count_masked && masked)
        atomicAdd(&block->masked, (unsigned long long)masked);
    const unsigned n = (unsigned)warp_sum((uint64_t)count[N]);
    if (n == 0)
        return;
    note_extrema(block, c, unit, warp_min(low), warp_max(high));
    if constexpr (WideType<SAMPLE>::FLOAT)
        add_terms(block, c, n, pivot, lanes_fold(d[0], d[1], d[2], d[3]),
                  lanes_fold(q[0], q[1], q[2], q[3]));
    else
        add_sums<C, SAMPLE>(block, c, n, sums);
}

/* Of the C values of a thread, one a class of samples, the one whose channel is c: class j of lane
 * t has channel (j + VECTOR t) % C. */
template <int C, typename T>
static __device__ __forceinline__ T of_channel(const T (&value)[C], int c, unsigned turn)
{
    T chosen = value[0];
#pragma unroll
    for (int j = 1; j < C; j++)
        chosen = (j + turn) % C == (unsigned)c ? value[j] : chosen;
    return chosen;
}

/* A piece of an image without nodata, mask and gaps, 16 bytes at a time, all channels at once;
 * false if a sample is not finite or its distance overflows: then nothing was added. lanes:
 * 128 C doubles of shared memory of this warp. */
template <int C, int SAMPLE>
static __device__ __forceinline__ bool measure_plain_float(WideBlock<C> *block, uint64_t unit,
                                                           double *lanes)
{
    typedef typename WideType<SAMPLE>::Value Value;
    enum { VECTOR = 16 / sizeof(Value), STEPS = C * (int)sizeof(Value) / 4 }; /* a 128 pixels */
    enum { SLOTS = VECTOR * STEPS, AHEAD = STEPS >= 8 ? 1 : 8 / STEPS };
    typedef typename WideType<SAMPLE>::Vector Vector;
    const PlacedPiece piece = piece_place(block->image, unit, sizeof(Value));
    const unsigned lane = threadIdx.x % 32, turn = VECTOR * lane % C;
    const Value *samples = (const Value *)piece.samples;
    const Vector *vectors = (const Vector *)piece.samples + lane;
    double d[SLOTS] = {0}, q[SLOTS] = {0}, pivot[C];
    Value low[C], high[C];
#pragma unroll
    for (int j = 0; j < C; j++) {
        pivot[j] = (double)samples[(j + turn) % C] + 0.0; /* +0 for -0 */
        low[j] = (Value)INFINITY;
        high[j] = -(Value)INFINITY;
    }
    unsigned x = 0;
    for (; x + AHEAD * PIECE_LANES <= piece.n; x += AHEAD * PIECE_LANES) {
        Vector v[AHEAD * STEPS];
#pragma unroll
        for (int i = 0; i < AHEAD * STEPS; i++)
            v[i] = __ldcs(vectors + i * 32);
        vectors += AHEAD * STEPS * 32;
#pragma unroll
        for (int i = 0; i < AHEAD * STEPS; i++) {
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                const int slot = i % STEPS * VECTOR + e, j = (VECTOR * 32 * (i % STEPS) + e) % C;
                const Value value = vector_item(v[i], e);
                const double distance = (double)value - pivot[j];
                d[slot] += distance;
                q[slot] += distance * distance;
                low[j] = value_min(low[j], value);
                high[j] = value_max(high[j], value);
            }
        }
    }
    for (; x < piece.n; x += PIECE_LANES) {
#pragma unroll
        for (int slot = 0; slot < SLOTS; slot++) {
            const int j = (VECTOR * 32 * (slot / VECTOR) + slot % VECTOR) % C;
            const unsigned flat = slot / VECTOR * VECTOR * 32 + lane * VECTOR + slot % VECTOR;
            if (x * C + flat < piece.n * C) {
                const Value value = samples[(size_t)x * C + flat];
                const double distance = (double)value - pivot[j];
                d[slot] += distance;
                q[slot] += distance * distance;
                low[j] = value_min(low[j], value);
                high[j] = value_max(high[j], value);
            }
        }
    }
    bool finite = true;
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
        finite &= isfinite(q[slot]);
    if (!__all_sync(ALL_LANES, finite))
        return false;

    double sum[C];
#pragma unroll
    for (int pass = 0; pass < 2; pass++) {
        const double *mine = pass ? q : d;
        __syncwarp(); /* the lanes of the pass before are read */
#pragma unroll
        for (int slot = 0; slot < SLOTS; slot++) {
            const unsigned flat = slot / VECTOR * VECTOR * 32 + lane * VECTOR + slot % VECTOR;
            lanes[flat % C * PIECE_LANES + flat / C] = pass ? q[slot] : d[slot];
        }
        (void)mine;
        __syncwarp(); /* all lanes are written */
#pragma unroll
        for (int c = 0; c < C; c++) {
            const double *of = lanes + c * PIECE_LANES + lane;
            const double folded = lanes_fold(of[0], of[32], of[64], of[96]);
            if (pass == 0)
                sum[c] = folded;
            else
                add_terms(block, c, piece.n, (double)samples[c] + 0.0, sum[c], folded);
        }
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        const uint64_t least = value_key<SAMPLE>(of_channel<C>(low, c, turn));
        const uint64_t most = value_key<SAMPLE>(of_channel<C>(high, c, turn));
        note_extrema(block, c, unit, warp_min_key<SAMPLE>(least), warp_max_key<SAMPLE>(most));
    }
    return true;
}

/* The same for integers, which are all valid. */
template <int C, int SAMPLE>
static __device__ __forceinline__ void measure_plain_integer(WideBlock<C> *block, uint64_t unit)
{
    typedef typename WideType<SAMPLE>::Value Value;
    enum { VECTOR = 16 / sizeof(Value), STEPS = C * (int)sizeof(Value) / 4 };
    enum { AHEAD = STEPS >= 8 ? 1 : 8 / STEPS };
    typedef typename WideType<SAMPLE>::Vector Vector;
    const PlacedPiece piece = piece_place(block->image, unit, sizeof(Value));
    const unsigned lane = threadIdx.x % 32, turn = VECTOR * lane % C;
    const Value *samples = (const Value *)piece.samples;
    const Vector *vectors = (const Vector *)piece.samples + lane;
    IntegerSums<SAMPLE> sums[C] = {};
    Value low[C], high[C];
#pragma unroll
    for (int j = 0; j < C; j++) {
        low[j] = WideType<SAMPLE>::LARGEST;
        high[j] = WideType<SAMPLE>::SMALLEST;
    }
    unsigned x = 0;
    for (; x + AHEAD * PIECE_LANES <= piece.n; x += AHEAD * PIECE_LANES) {
        Vector v[AHEAD * STEPS];
#pragma unroll
        for (int i = 0; i < AHEAD * STEPS; i++)
            v[i] = __ldcs(vectors + i * 32);
        vectors += AHEAD * STEPS * 32;
#pragma unroll
        for (int i = 0; i < AHEAD * STEPS; i++) {
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                const int j = (VECTOR * 32 * (i % STEPS) + e) % C;
                const Value value = vector_item(v[i], e);
                sums[j].add((typename WideType<SAMPLE>::Raw)value);
                low[j] = min(low[j], value);
                high[j] = max(high[j], value);
            }
        }
    }
    for (; x < piece.n; x += PIECE_LANES) {
#pragma unroll 1
        for (int step = 0; step < STEPS; step++) {
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                const unsigned flat = (step * 32 + lane) * VECTOR + e;
                if (x * C + flat < piece.n * C) {
                    const Value value = samples[(size_t)x * C + flat];
                    const unsigned mine = (VECTOR * 32 * step + e) % C;
#pragma unroll
                    for (int j = 0; j < C; j++) {
                        if (mine == j) {
                            sums[j].add((typename WideType<SAMPLE>::Raw)value);
                            low[j] = min(low[j], value);
                            high[j] = max(high[j], value);
                        }
                    }
                }
            }
        }
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        add_sums<C, SAMPLE>(block, c, piece.n, of_channel<C>(sums, c, turn));
        const uint64_t least = value_key<SAMPLE>(of_channel<C>(low, c, turn));
        const uint64_t most = value_key<SAMPLE>(of_channel<C>(high, c, turn));
        note_extrema(block, c, unit, warp_min_key<SAMPLE>(least), warp_max_key<SAMPLE>(most));
    }
}

/* ---- What a block reports -------------------------------------------------------------------- */

template <int C> static __device__ __forceinline__ void begin_sums(WideBlock<C> *block)
{
    for (unsigned i = threadIdx.x; i < C * 2 * EXACT_LIMBS; i += THREADS)
        (&block->limb[0][0][0])[i] = 0;
    for (unsigned i = threadIdx.x; i < C * COUNTERS; i += THREADS)
        (&block->count[0][0])[i] = 0;
    for (unsigned i = threadIdx.x; i < WARPS * C; i += THREADS)
        (&block->warp[0][0])[i] = WarpExtrema{~0ull, ~0ull, 0, ~0ull};
    if (threadIdx.x == 0) {
        block->pieces = 0;
        block->items = 0;
        block->masked = 0;
    }
}

template <int C>
static __device__ __forceinline__ void adopt(const Work &work, WideBlock<C> *block, uint32_t number)
{
    const uint32_t *from = (const uint32_t *)&work_image(work, number);
    uint32_t *to = (uint32_t *)&block->image;
    for (unsigned i = threadIdx.x; i < sizeof(WorkImage) / 4; i += THREADS)
        to[i] = from[i];
    if (threadIdx.x == 0)
        block->number = number;
    begin_sums(block);
    __syncthreads();
}

/* The block's extrema, from its warps', and whether they may be the image's. One thread each. */
template <int C>
static __device__ __forceinline__ void ask(WideBlock<C> *block, WideChannel *channel)
{
    const unsigned i = threadIdx.x, c = i / 2;
    const bool largest = i % 2;
    if (i >= 2 * C)
        return;
    uint64_t key = 0, unit = ~0ull;
    for (int w = 0; w < WARPS; w++) {
        const WarpExtrema &best = block->warp[w][c];
        const uint64_t k = largest ? best.high : best.low;
        const uint64_t u = largest ? best.high_unit : best.low_unit;
        if (best.high_unit == ~0ull)
            continue;
        if (unit == ~0ull || (largest ? k > key : k < key) || (k == key && u < unit)) {
            key = k;
            unit = u;
        }
    }
    block->key[i] = key;
    block->unit[i] = unit;
    block->found[i] = ~0u;
    if (unit == ~0ull)
        return;
    uint64_t row, place;
    unit_place(block->image, unit, &row, &place);
    const uint64_t at = block->image.first_at + row * block->image.row_pixels + place * PIECE;
    if (extreme_needs(largest ? &channel[c].high : &channel[c].low, key, at, largest))
        atomicOr(&block->needs, 1u << i);
}

template <int C, int SAMPLE>
static __device__ __forceinline__ void find_extrema(WideBlock<C> *block, unsigned channel0)
{
    typedef typename WideType<SAMPLE>::Raw Raw;
    for (unsigned i = 0; i < 2 * C; i++) {
        if (!(block->needs >> i & 1))
            continue;
        const PlacedPiece piece = piece_place(block->image, block->unit[i], sizeof(Raw));
        const Raw *samples = (const Raw *)piece.samples + channel0 + i / 2;
        unsigned first = ~0u;
#pragma unroll 16
        for (unsigned x = threadIdx.x; x < piece.n; x += THREADS) {
            const Raw raw = samples[(size_t)x * block->image.channels];
            if (sample_key((ImgstatSample)SAMPLE, raw) == block->key[i] &&
                (!piece.mask || piece.mask[x]))
                first = min(first, x);
        }
        if (first != ~0u)
            atomicMin(&block->found[i], first);
    }
}

/* Adds the block's sums to the state; integers as digits of 32 bits, so that they cannot overflow.
 */
template <int C, int SAMPLE>
static __device__ __forceinline__ void report_sums(WideBlock<C> *block, WideChannel *channel)
{
    for (unsigned i = threadIdx.x; i < C * COUNTERS; i += THREADS) {
        const unsigned long long n = (&block->count[0][0])[i];
        if (n)
            atomicAdd(&channel[i / COUNTERS].count[i % COUNTERS], n);
    }
    if (!WideType<SAMPLE>::FLOAT && threadIdx.x < 2 * C)
        digits_normalize<SAMPLE>(block->limb[threadIdx.x / 2][threadIdx.x % 2], threadIdx.x % 2);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < C * 2 * EXACT_LIMBS; i += THREADS) {
        const unsigned long long limb = (&block->limb[0][0][0])[i];
        if (limb)
            atomicAdd(&channel[i / (2 * EXACT_LIMBS)].limb[i / EXACT_LIMBS % 2][i % EXACT_LIMBS],
                      limb);
    }
}

/* Merges the finished image into its record and leaves the state zero. All threads of one block. */
template <int C, int SAMPLE>
static __device__ __forceinline__ void merge_record(const Work &work, WideBlock<C> *block,
                                                    WideState *state, WideChannel *channel)
{
    unsigned *lock = record_lock(work, block->image.tally);
    Tally *tally = block->image.tally + work.channel0;
    const uint64_t masked = __ldcg(&state->masked);
    if (threadIdx.x == 0 && work.images) /* a launch of one image needs no lock */
        lock_take(lock);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < C * 2 * EXACT_LIMBS; i += THREADS) {
        const unsigned c = i / (2 * EXACT_LIMBS), which = i / EXACT_LIMBS % 2, k = i % EXACT_LIMBS;
        const int64_t *limb = which ? tally[c].fsum2.limb : tally[c].fsum.limb;
        unsigned long long sum = __ldcg(&channel[c].limb[which][k]);
        channel[c].limb[which][k] = 0;
        if (WideType<SAMPLE>::FLOAT)
            sum += (unsigned long long)__ldcg((const long long *)&limb[k]);
        block->limb[c][which][k] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 2 * C) {
        const unsigned c = threadIdx.x / 2, which = threadIdx.x % 2;
        if (WideType<SAMPLE>::FLOAT)
            exact_normalize((ExactSum *)block->limb[c][which]);
        else
            digits_merge(block->limb[c][which], which ? tally[c].sum2 : tally[c].sum,
                         which ? 3 : 2);
    }
    if (threadIdx.x < C) {
        WideChannel *from = &channel[threadIdx.x];
        Tally *into = &tally[threadIdx.x];
        uint64_t count[COUNTERS];
        for (int i = 0; i < COUNTERS; i++) {
            count[i] = __ldcg(&from->count[i]);
            from->count[i] = 0;
        }
        tally_merge_extrema(into, count[N], extrema_take(&from->low, &from->high));
        tally_add(&into->n, count[N]);
        tally_add(&into->nan, count[NAN_]);
        tally_add(&into->pinf, count[PINF]);
        tally_add(&into->ninf, count[NINF]);
        tally_add(&into->nodata, count[NODATA]);
        tally_add(&into->masked, masked);
        tally_add(&into->sum_overflow, count[OVERFLOW]);
        tally_add(&into->sum2_overflow, count[OVERFLOW2]);
    }
    __syncthreads(); /* normalized; every thread has read masked */
    if (WideType<SAMPLE>::FLOAT) {
        for (unsigned i = threadIdx.x; i < C * 2 * EXACT_LIMBS; i += THREADS) {
            const unsigned c = i / (2 * EXACT_LIMBS), which = i / EXACT_LIMBS % 2;
            int64_t *limb = which ? tally[c].fsum2.limb : tally[c].fsum.limb;
            limb[i % EXACT_LIMBS] = (int64_t)block->limb[c][which][i % EXACT_LIMBS];
        }
    }
    if (threadIdx.x == 0) {
        state->masked = 0;
        state->items_done = 0;
    }
    __threadfence();
    __syncthreads(); /* all is written */
    if (threadIdx.x == 0 && work.images)
        lock_release(lock);
}

template <int C, int SAMPLE>
static __device__ __noinline__ void flush(const Work &work, WideBlock<C> *block)
{
    WideState *state = state_of(work, block->number, C);
    WideChannel *channel = (WideChannel *)(state + 1);
    if (threadIdx.x == 0)
        block->needs = 0;
    __syncthreads(); /* the warps' pieces are complete, too */
    ask(block, channel);
    __syncthreads();
    find_extrema<C, SAMPLE>(block, work.channel0);
    report_sums<C, SAMPLE>(block, channel);
    __syncthreads(); /* positions are found */
    if (threadIdx.x < 2 * C && (block->needs >> threadIdx.x & 1)) {
        WideChannel *to = &channel[threadIdx.x / 2];
        const bool largest = threadIdx.x % 2;
        const PlacedPiece piece = piece_place(block->image, block->unit[threadIdx.x],
                                              sizeof(typename WideType<SAMPLE>::Raw));
        extreme_offer(largest ? &to->high : &to->low, block->key[threadIdx.x],
                      piece.at + block->found[threadIdx.x], largest);
    }
    __threadfence();
    __syncthreads(); /* everything is reported before the items are */
    if (threadIdx.x == 0) {
        if (block->masked)
            atomicAdd(&state->masked, block->masked);
        __threadfence();
        const unsigned before = atomicAdd(&state->items_done, block->items);
        block->last = before + block->items == block->image.items;
        __threadfence();
    }
    __syncthreads();
    if (block->last)
        merge_record<C, SAMPLE>(work, block, state, channel);
    __syncthreads();
}

/*
 * measure_wide: tallies of 32- and 64-bit samples, C channels at once.
 *
 *   Idea      A warp takes a piece (docs/float-sums.md) and holds its 128 lanes in registers. It
 *             assumes that every sample is finite; if a sum shows otherwise it does the piece
 *             again, sample by sample. The terms of a piece are split into limbs and added in
 * shared memory as integers, so the order of pieces cannot be seen. Extrema are kept a piece; only
 * blocks whose extremum may be the image's look into that piece for the position. Work      f32: 4
 * double operations and 3 others a sample; u32: about 8 instructions. Memory    reads n samples
 * once. Launch    persistent blocks of 256; items of some pieces from a queue, in order. Requires
 * C <= 4, samples aligned; PLAIN: the image has C channels, no mask and no nodata, and its rows
 * begin on 16-byte boundaries. Queue and states zero. Result    all of the tally but bins added to
 * the record; queue and states zero again.
 */
template <int C, int SAMPLE, bool PLAIN>
static __global__ void __launch_bounds__(THREADS, Blocks<C>::PER_SM)
    measure_wide(const __grid_constant__ Work work)
{
    __shared__ WideBlock<C> block;
    __shared__ double lanes[PLAIN && WideType<SAMPLE>::FLOAT ? WARPS : 1][C * PIECE_LANES];
    if (threadIdx.x == 0) {
        block.next[0] = atomicAdd(&work.shared->queue.next, 1u);
        block.full[0] = false;
    }
    __syncthreads();

    uint32_t item = block.next[0];
    uint32_t number = ~0u; /* of the image that is added up */
    for (unsigned turn = 1; item < work.n_items; turn ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        if (wanted != number || block.full[turn ^ 1]) {
            if (number != ~0u)
                flush<C, SAMPLE>(work, &block);
            adopt(work, &block, wanted);
            number = wanted;
        }
        unsigned next = 0; /* on its way while the item is measured */
        if (threadIdx.x == 0) {
            next = atomicAdd(&work.shared->queue.next, 1u);
            block.items++;
            block.pieces += block.image.units_per_item;
        }
        uint64_t first, end;
        item_units(block.image, item, &first, &end);
        for (uint64_t unit = first + threadIdx.x / 32; unit < end; unit += WARPS) {
            if constexpr (PLAIN && WideType<SAMPLE>::FLOAT) {
                if (measure_plain_float<C, SAMPLE>(&block, unit, lanes[threadIdx.x / 32]))
                    continue;
            }
            if constexpr (PLAIN && !WideType<SAMPLE>::FLOAT) {
                measure_plain_integer<C, SAMPLE>(&block, unit);
            } else {
                for (int c = 0; c < C; c++)
                    measure_careful<C, SAMPLE>(&block, unit, work.channel0, c, c == 0);
            }
        }
        if (threadIdx.x == 0) {
            block.next[turn] = next;
            block.full[turn] = block.pieces > BLOCK_PIECES;
        }
        __syncthreads(); /* next[turn] is there; items and pieces may change */
        item = block.next[turn];
    }
    if (number != ~0u)
        flush<C, SAMPLE>(work, &block);
    if (threadIdx.x == 0)
        queue_leave(work);
}

template <int C, int SAMPLE, bool PLAIN>
static ImgstatResult launch_kernel(const Launch *launch, ImgstatError *err)
{
    CudaDevice *device = launch->device;
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount * Blocks<C>::PER_SM;
    const uint64_t items = launch->work.n_items;
    measure_wide<C, SAMPLE, PLAIN>
        <<<(unsigned)(items < most ? items : most), THREADS, 0, launch->stream>>>(launch->work);
    return cuda_launched(device, launch->stream, "measure_wide", err);
}

template <int SAMPLE>
static ImgstatResult launch_channels(const Launch *launch, unsigned channels, bool plain,
                                     ImgstatError *err)
{
    switch (channels) {
    case 1:
        return plain ? launch_kernel<1, SAMPLE, true>(launch, err)
                     : launch_kernel<1, SAMPLE, false>(launch, err);
    case 2:
        return plain ? launch_kernel<2, SAMPLE, true>(launch, err)
                     : launch_kernel<2, SAMPLE, false>(launch, err);
    case 3:
        return plain ? launch_kernel<3, SAMPLE, true>(launch, err)
                     : launch_kernel<3, SAMPLE, false>(launch, err);
    default:
        return plain ? launch_kernel<4, SAMPLE, true>(launch, err)
                     : launch_kernel<4, SAMPLE, false>(launch, err);
    }
}

ImgstatResult launch_wide(const Launch *launch, ImgstatSample sample, unsigned channels, bool plain,
                          ImgstatError *err)
{
    switch (sample) {
    case IMGSTAT_U32:
        return launch_channels<IMGSTAT_U32>(launch, channels, plain, err);
    case IMGSTAT_I32:
        return launch_channels<IMGSTAT_I32>(launch, channels, plain, err);
    case IMGSTAT_F32:
        return launch_channels<IMGSTAT_F32>(launch, channels, plain, err);
    case IMGSTAT_U64:
        return launch_channels<IMGSTAT_U64>(launch, channels, plain, err);
    case IMGSTAT_I64:
        return launch_channels<IMGSTAT_I64>(launch, channels, plain, err);
    default:
        return launch_channels<IMGSTAT_F64>(launch, channels, plain, err);
    }
}

/* SPDX-License-Identifier: MIT */
/* maps/wide.cu: samples of more than 16 bits, each by the map of its channel. */
#include "maps/apply.cuh"
#include "transfer/map_values.h"

/* ---- Any samples ----------------------------------------------------------------------------- */

/*
 * apply_maps: every sample by the arithmetic of transfer/map.h.
 *
 *   Idea      A sample a thread: loads and stores of a warp are together; a map is read through
 *             the cache, the same one by all threads.
 *   Work      the map of a sample: a division or two, or a search among knots.
 *   Memory    reads and writes each sample once.
 *   Launch    <<<blocks, MAP_THREADS>>>, any number of blocks.
 *   Requires  in place: a thread reads what it overwrites.
 *   Result    the bits of cpu/map_rows.c.
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

/* ---- Values of one map ----------------------------------------------------------------------- */

/* Rows, or one long row. */
struct ValueRows {
    const unsigned char *from;
    unsigned char *to;
    uint64_t from_pitch, to_pitch, n; /* n: samples of a row */
    uint32_t rows;
};

/* What a map does to a value, and its nodata. */
struct LineMapping {
    Line line;

    template <ImgstatSample SAMPLE> __device__ __forceinline__ double at(double x) const
    {
        return line_value(&line, SAMPLE, line.inverse != 0.0, x);
    }
    __host__ __device__ double passthrough() const
    {
        return line.passthrough;
    }
};

struct RatioMapping {
    Ratio ratio;

    template <ImgstatSample SAMPLE> __device__ __forceinline__ double at(double x) const
    {
        return ratio_value(&ratio, x);
    }
    __host__ __device__ double passthrough() const
    {
        return ratio.passthrough;
    }
};

struct PowerMapping {
    double black, span, exponent, lo, hi, width, nodata;

    template <ImgstatSample SAMPLE> __device__ __forceinline__ double at(double x) const
    {
        const double power = map_power(map_sub(x, black) / span, exponent);
        double y = map_add(map_mul(power, width), lo);
        y = y > lo ? y : lo;
        y = power < 1.0 && y < hi ? y : hi;
        return power > 0.0 ? y : lo;
    }
    __host__ __device__ double passthrough() const
    {
        return nodata;
    }
};

/* Bits and values of samples. kept: what a value becomes that stays as it is, but in this type. */
template <ImgstatSample SAMPLE> struct SampleBits;
template <> struct SampleBits<IMGSTAT_F32> {
    typedef uint32_t Raw;
    static __device__ __forceinline__ double value(Raw raw)
    {
        return __uint_as_float(raw);
    }
    static __device__ __forceinline__ Raw raw(double y)
    {
        return __float_as_uint(__double2float_rn(y) + 0.0f); /* never -0 */
    }
    static __device__ __forceinline__ Raw kept(double x, double)
    {
        return x == x ? raw(x) : 0x7FC00000u;
    }
};
template <> struct SampleBits<IMGSTAT_F64> {
    typedef uint64_t Raw;
    static __device__ __forceinline__ double value(Raw raw)
    {
        return __longlong_as_double((long long)raw);
    }
    static __device__ __forceinline__ Raw raw(double y)
    {
        return (Raw)__double_as_longlong(__dadd_rn(y, 0.0));
    }
    static __device__ __forceinline__ Raw kept(double x, double)
    {
        return x == x ? raw(x) : 0x7FF8000000000000u;
    }
};
/* Conversions saturate. */
template <> struct SampleBits<IMGSTAT_U32> {
    typedef uint32_t Raw;
    static __device__ __forceinline__ double value(Raw raw)
    {
        return __uint2double_rn(raw);
    }
    static __device__ __forceinline__ Raw raw(double y)
    {
        return __double2uint_rn(y);
    }
    static __device__ __forceinline__ Raw kept(double x, double lo)
    {
        return raw(x == x ? x : lo);
    }
};
template <> struct SampleBits<IMGSTAT_I32> {
    typedef uint32_t Raw;
    static __device__ __forceinline__ double value(Raw raw)
    {
        return __int2double_rn((int)raw);
    }
    static __device__ __forceinline__ Raw raw(double y)
    {
        return (Raw)__double2int_rn(y);
    }
    static __device__ __forceinline__ Raw kept(double x, double lo)
    {
        return raw(x == x ? x : lo);
    }
};
template <typename Unsigned> struct NarrowBits {
    typedef Unsigned Raw;
    static __device__ __forceinline__ Raw raw(double y)
    {
        return (Raw)__double2uint_rn(y);
    }
    static __device__ __forceinline__ Raw kept(double x, double lo)
    {
        return (Raw)min(__double2uint_rn(x == x ? x : lo), (uint32_t)(Raw) ~(Raw)0);
    }
};
template <> struct SampleBits<IMGSTAT_U16> : NarrowBits<uint16_t> {
};
template <> struct SampleBits<IMGSTAT_U8> : NarrowBits<uint8_t> {
};

template <typename Raw, unsigned N> struct alignas(sizeof(Raw) * N) RawVector {
    Raw v[N];
};

/* Outputs of N samples that are beside each other. */
template <ImgstatSample FROM, ImgstatSample TO, unsigned N>
static __device__ __forceinline__ void
store_vector(const OutputType &output, const RawVector<typename SampleBits<FROM>::Raw, N> &in,
             const double (&y)[N], const bool (&passthrough)[N], unsigned char *to)
{
    typedef typename SampleBits<TO>::Raw Raw;
    RawVector<Raw, N> made;
#pragma unroll
    for (unsigned k = 0; k < N; k++) {
        made.v[k] = SampleBits<TO>::raw(y[k]);
        if (made.v[k] == (Raw)output.avoided)
            made.v[k] = (Raw)output.instead;
        if (passthrough[k])
            made.v[k] = FROM == TO
                            ? (Raw)in.v[k]
                            : SampleBits<TO>::kept(SampleBits<FROM>::value(in.v[k]), output.lo);
    }
    *(RawVector<Raw, N> *)to = made;
}

template <ImgstatSample FROM, unsigned N, typename Mapping>
static __device__ __forceinline__ void map_vector(const Mapping &mapping, const OutputType &output,
                                                  const unsigned char *from, unsigned char *to)
{
    typedef RawVector<typename SampleBits<FROM>::Raw, N> Vector;
    const Vector in = *(const Vector *)from;
    double y[N];
    bool passthrough[N];
#pragma unroll
    for (unsigned k = 0; k < N; k++) {
        const double x = SampleBits<FROM>::value(in.v[k]);
        y[k] = mapping.template at<FROM>(x);
        passthrough[k] = value_is_passthrough(x, mapping.passthrough());
    }
    switch (output.sample) {
    case IMGSTAT_F32:
        store_vector<FROM, IMGSTAT_F32, N>(output, in, y, passthrough, to);
        break;
    case IMGSTAT_F64:
        store_vector<FROM, IMGSTAT_F64, N>(output, in, y, passthrough, to);
        break;
    case IMGSTAT_U32:
        store_vector<FROM, IMGSTAT_U32, N>(output, in, y, passthrough, to);
        break;
    case IMGSTAT_I32:
        store_vector<FROM, IMGSTAT_I32, N>(output, in, y, passthrough, to);
        break;
    default:
        if (sample_bits(output.sample) == 8)
            store_vector<FROM, IMGSTAT_U8, N>(output, in, y, passthrough, to);
        else
            store_vector<FROM, IMGSTAT_U16, N>(output, in, y, passthrough, to);
    }
}

/*
 * apply_values: rows whose samples have one map, a line, a ratio or a power, in doubles.
 *
 *   Idea      A vector of 16 bytes a thread and round; the map is a launch argument.
 *   Work      a dozen operations of doubles a sample; of 64-bit floats a division; of a power law
 *             some 130.
 *   Memory    reads and writes each sample once, by vectors.
 *   Launch    <<<(any, any), MAP_THREADS>>>; rows are dealt to blocks by y.
 *   Requires  rows of from on boundaries of 16 bytes, rows of to on those of as many samples.
 *             FROM: the sample type of the map; it and the output's are types whose values doubles
 *             hold, and not halves. In place: a thread reads what it overwrites.
 *   Result    the bits of cpu/map_rows.c.
 */
template <ImgstatSample FROM, typename Mapping>
static __global__ void __launch_bounds__(MAP_THREADS)
    apply_values(Mapping mapping, OutputType output, ValueRows rows)
{
    const unsigned bytes = sizeof(typename SampleBits<FROM>::Raw), n = 16 / bytes;
    const unsigned out = sample_bits(output.sample) / 8;
    const uint64_t vectors = rows.n / n, stride = (uint64_t)gridDim.x * MAP_THREADS;
    const uint64_t first = (uint64_t)blockIdx.x * MAP_THREADS + threadIdx.x;
    for (uint32_t row = blockIdx.y; row < rows.rows; row += gridDim.y) {
        const unsigned char *const from = rows.from + row * rows.from_pitch;
        unsigned char *const to = rows.to + row * rows.to_pitch;
        for (uint64_t i = first; i < vectors; i += stride)
            map_vector<FROM, n>(mapping, output, from + i * 16, to + i * n * out);
        const uint64_t s = vectors * n + first;
        if (s < rows.n)
            map_vector<FROM, 1>(mapping, output, from + s * bytes, to + s * out);
    }
}

/* ---- Host side ------------------------------------------------------------------------------- */

template <ImgstatSample FROM, typename Mapping>
static void launch_mapping(const CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                           const Mapping &mapping, const ValueRows &rows)
{
    const unsigned most = map_blocks(device, UINT64_MAX / 2);
    const unsigned x = map_blocks(device, rows.n * sample_bits(FROM) / 8 / 16 + 1);
    const unsigned y = rows.rows < most / x + 1 ? rows.rows : most / x + 1;
    assert(t->host_maps[0].from == FROM && rows.n > 0 && rows.rows > 0);
    apply_values<FROM><<<dim3(x, y), MAP_THREADS, 0, stream>>>(
        mapping, output_type_of(&t->host_maps[0].to), rows);
}

template <ImgstatSample FROM>
static bool launch_values_of(const CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                             const ValueRows &rows)
{
    const Map *const map = &t->host_maps[0];
    LineMapping line;
    if (line_of(map, &line.line)) {
        launch_mapping<FROM>(device, stream, t, line, rows);
        return true;
    }
    if constexpr (FROM == IMGSTAT_U32 || FROM == IMGSTAT_I32) {
        RatioMapping ratio;
        if (ratio_of(map, &ratio.ratio)) {
            launch_mapping<FROM>(device, stream, t, ratio, rows);
            return true;
        }
    }
    if (map->kind != MAP_POWER || map->to.sample == IMGSTAT_F16 ||
        sample_exceeds_double(map->to.sample) || map_is_identity(map))
        return false;
    PowerMapping power;
    power.black = map_value(map->from, map->black);
    power.span = map_sub(map_value(map->from, map->white), power.black);
    power.exponent = map->factor;
    power.lo = map->to.lo;
    power.hi = map->to.hi;
    power.width = map_sub(power.hi, power.lo);
    power.nodata = nodata_of(map);
    launch_mapping<FROM>(device, stream, t, power, rows);
    return true;
}

/* False: there is no kernel for values of these. */
static bool launch_values(const CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                          const ApplyPixels *p)
{
    const unsigned in = sample_bits((ImgstatSample)t->from) / 8;
    const unsigned out = sample_bits((ImgstatSample)t->to) / 8, vector = 16 / in * out;
    const uint64_t gaps = p->rows > 1;
    if (t->n_maps != 1 || t->to == IMGSTAT_I8 || t->to == IMGSTAT_I16 || p->alpha >= 0 || p->mask ||
        p->rows > UINT32_MAX || ((uintptr_t)p->from | p->from_pitch * gaps) % 16 != 0 ||
        ((uintptr_t)p->to | p->to_pitch * gaps) % vector != 0)
        return false;
    ValueRows rows;
    rows.from = p->from;
    rows.to = p->to;
    rows.from_pitch = p->from_pitch;
    rows.to_pitch = p->to_pitch;
    rows.n = p->width * p->channels;
    rows.rows = (uint32_t)p->rows;
    switch ((ImgstatSample)t->from) {
    case IMGSTAT_F32:
        return launch_values_of<IMGSTAT_F32>(device, stream, t, rows);
    case IMGSTAT_F64:
        return launch_values_of<IMGSTAT_F64>(device, stream, t, rows);
    case IMGSTAT_U32:
        return launch_values_of<IMGSTAT_U32>(device, stream, t, rows);
    case IMGSTAT_I32:
        return launch_values_of<IMGSTAT_I32>(device, stream, t, rows);
    default:
        return false;
    }
}

ImgstatResult launch_apply_wide(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                const ApplyPixels *p, ImgstatError *err)
{
    if (knots_fit(device, t, p))
        return launch_apply_knots(device, stream, t, p, err);
    if (launch_values(device, stream, t, p))
        return cuda_launched(device, stream, "apply_values", err);
    apply_maps<<<map_blocks(device, p->width * p->channels * p->rows), MAP_THREADS, 0, stream>>>(
        *t, *p);
    return cuda_launched(device, stream, "apply_maps", err);
}

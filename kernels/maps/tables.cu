/* SPDX-License-Identifier: MIT */
/* maps/tables.cu: samples of at most 16 bits through tables. */
#include "common/sm90.cuh"
#include "maps/apply.cuh"

/*
 * tables_raw: tables by raw bits, in the output's own size.
 *
 *   Idea      Signed and floating samples are looked up without making their key first; entries as
 *             small as an output sample let a table of words fit shared memory.
 *   Work      one entry a thread.
 *   Memory    reads 4 bytes an entry, scattered within a table; writes an entry once.
 *   Launch    <<<ceil(entries / 256), 256>>>; entries: those of all tables.
 *   Requires  by_key and by_raw hold (n_maps + 1) * sample_record_bins entries.
 *   Result    the bits of cpu/map_rows.c: -0 stays where zero does, in its own type.
 */
static __global__ void tables_raw(ApplyTransfer t, unsigned char *by_raw, uint32_t bytes)
{
    const ImgstatSample from = t.from;
    const uint32_t entries = sample_record_bins(from);
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t m = i / entries, raw = i % entries;
    if (m > t.n_maps)
        return;
    uint32_t value = t.by_key[m * entries + (uint32_t)sample_key(from, raw)];
    if (from == IMGSTAT_F16 && t.to == IMGSTAT_F16 && raw == 0x8000u && value == 0 &&
        (m == t.n_maps || t.maps[m].passthrough))
        value = raw;
    store_sample(by_raw + (size_t)i * bytes, bytes, value, true);
}

ImgstatResult launch_tables_by_raw(CudaDevice *device, cudaStream_t stream,
                                   const ApplyTransfer *transfer, ImgstatError *err)
{
    enum { THREADS = 256 };
    const uint32_t n = (transfer->n_maps + 1) * sample_record_bins(transfer->from);
    assert(transfer->by_key && transfer->by_raw && sample_is_narrow(transfer->from));
    tables_raw<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
        *transfer, (unsigned char *)transfer->by_raw, sample_bits(transfer->to) / 8);
    return cuda_launched(device, stream, "tables_raw", err);
}

/* As many samples as make 16 bytes of the larger type, loaded and stored at once. */
template <typename In, typename Out> struct Vector {
    static const unsigned N = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
    template <typename T> struct __align__(sizeof(T) * N) Of
    {
        T item[N];
    };
};

/* The rows of two images cut into work items, which blocks do in a fixed order. */
struct RowItems {
    uint64_t samples; /* a row */
    uint64_t per_row, n;
    uint32_t size;
};

template <typename Out, bool SHARED, bool FLAT>
DEVICE Out table_entry(const Out *table, uint32_t entries, uint32_t n_maps, int alpha,
                       uint32_t channel, uint32_t raw)
{
    const uint32_t at = FLAT ? raw : map_of_channel(channel, alpha, n_maps) * entries + raw;
    return SHARED ? table[at] : __ldg(&table[at]);
}

/*
 * apply_table: samples through tables, 16 bytes at a time.
 *
 *   Idea      Four vectors in flight a thread; the table lies in shared memory where it fits, where
 *             32 lookups take two cycles (256 entries of one byte) to four (65,536 entries).
 *   Work      a lookup a sample; a division a vector if channels have tables of their own.
 *   Memory    reads and writes each sample once, and the tables once a block.
 *   Launch    <<<blocks, THREADS, bytes of the tables or 0>>>, any number of blocks; it may begin
 *             before the launch before has ended.
 *   Requires  samples on their boundaries, no mask. Rows whose two addresses are not on 16-byte
 *             boundaries together go sample by sample. In place: a thread reads what it overwrites.
 *   Result    every sample's table entry.
 */
template <typename In, typename Out, unsigned THREADS, bool SHARED, bool FLAT>
static __global__ void __launch_bounds__(THREADS)
    apply_table(ApplyTransfer t, ApplyPixels p, RowItems items)
{
    typedef Vector<In, Out> V;
    typedef typename V::template Of<In> InVector;
    typedef typename V::template Of<Out> OutVector;
    extern __shared__ uint4 shared[];
    const uint32_t entries = 1u << (8 * sizeof(In));
    const Out *table = (const Out *)t.by_raw;
    after_launches_before();
    if (SHARED) {
        const uint32_t words = (FLAT ? 1 : t.n_maps + 1) * entries * sizeof(Out) / 16;
        for (uint32_t i = threadIdx.x; i < words; i += THREADS)
            shared[i] = ((const uint4 *)t.by_raw)[i];
        table = (const Out *)shared;
        __syncthreads(); /* the tables are whole */
    }
    for (uint64_t item = blockIdx.x; item < items.n; item += gridDim.x) {
        const uint64_t row = items.per_row == 1 ? item : item / items.per_row;
        const uint64_t first = (item - row * items.per_row) * items.size;
        const uint32_t n = (uint32_t)min((uint64_t)items.size, items.samples - first);
        const In *from = (const In *)(p.from + row * p.from_pitch) + first;
        Out *to = (Out *)(p.to + row * p.to_pitch) + first;
        const uint32_t phase = FLAT ? 0 : (uint32_t)(first % p.channels);

        /* Samples before the first boundary of the output, if it is a boundary of the input. */
        const uint32_t off = (uint32_t)((uintptr_t)to % sizeof(OutVector));
        uint32_t head = off ? (uint32_t)(sizeof(OutVector) - off) / (uint32_t)sizeof(Out) : 0;
        const bool whole = (uintptr_t)(from + head) % sizeof(InVector) == 0 && head <= n;
        if (!whole)
            head = n;
        const uint32_t vectors = (n - head) / V::N;
        for (uint32_t i = threadIdx.x; i < head; i += THREADS)
            to[i] = table_entry<Out, SHARED, FLAT>(table, entries, t.n_maps, p.alpha,
                                                   FLAT ? 0 : (phase + i) % p.channels, from[i]);
        const InVector *in = (const InVector *)(from + head);
        OutVector *out = (OutVector *)(to + head);
        for (uint32_t base = threadIdx.x; base < vectors; base += THREADS * TABLE_VECTORS) {
            InVector v[TABLE_VECTORS];
#pragma unroll
            for (int k = 0; k < TABLE_VECTORS; k++)
                if (base + k * THREADS < vectors)
                    v[k] = in[base + k * THREADS];
#pragma unroll
            for (int k = 0; k < TABLE_VECTORS; k++) {
                const uint32_t at = base + k * THREADS;
                if (at >= vectors)
                    break;
                uint32_t channel = FLAT ? 0 : (phase + head + at * V::N) % p.channels;
                OutVector w;
#pragma unroll
                for (unsigned e = 0; e < V::N; e++) {
                    w.item[e] = table_entry<Out, SHARED, FLAT>(table, entries, t.n_maps, p.alpha,
                                                               channel, v[k].item[e]);
                    if (!FLAT)
                        channel = channel + 1 == p.channels ? 0 : channel + 1;
                }
                out[at] = w;
            }
        }
        for (uint32_t i = head + vectors * V::N + threadIdx.x; i < n; i += THREADS)
            to[i] = table_entry<Out, SHARED, FLAT>(table, entries, t.n_maps, p.alpha,
                                                   FLAT ? 0 : (phase + i) % p.channels, from[i]);
    }
}

/*
 * apply_masked: samples through tables, of images with a mask or whose samples lie anywhere.
 *
 *   Idea      A sample a thread, bytes put together where they must be.
 *   Work      two divisions and a lookup a sample.
 *   Memory    reads and writes each sample once; tables through the cache.
 *   Launch    <<<blocks, GENERAL_THREADS>>>, any number of blocks.
 *   Requires  in place: a thread reads what it overwrites.
 *   Result    every sample's table entry; of rescale where the mask is 0.
 */
static __global__ void __launch_bounds__(GENERAL_THREADS)
    apply_masked(ApplyTransfer t, ApplyPixels p)
{
    const ImgstatSample from = t.from;
    const uint32_t in = sample_bits(from) / 8, out = sample_bits(t.to) / 8;
    const uint32_t entries = sample_record_bins(from);
    const uint64_t samples = p.width * p.channels, n = samples * p.rows;
    const uint64_t stride = (uint64_t)gridDim.x * GENERAL_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * GENERAL_THREADS + threadIdx.x; i < n; i += stride) {
        const uint64_t row = i / samples, s = i - row * samples;
        const uint64_t x = s / p.channels;
        uint32_t map = map_of_channel((uint32_t)(s - x * p.channels), p.alpha, t.n_maps);
        if (p.mask && !p.mask[row * p.mask_pitch + x])
            map = t.n_maps;
        const uint64_t raw = load_sample(p.from + row * p.from_pitch + s * in, in, p.aligned);
        const uint64_t value = load_sample(
            (const unsigned char *)t.by_raw + ((size_t)map * entries + raw) * out, out, true);
        store_sample(p.to + row * p.to_pitch + s * out, out, value, p.aligned);
    }
}

static ImgstatResult launch_masked(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                   const ApplyPixels *p, ImgstatError *err)
{
    const uint64_t n = p->width * p->channels * p->rows;
    const unsigned blocks = cuda_blocks(device, (n + GENERAL_THREADS - 1) / GENERAL_THREADS, 16);
    apply_masked<<<blocks, GENERAL_THREADS, 0, stream>>>(*t, *p);
    return cuda_launched(device, stream, "apply_masked", err);
}

template <typename In, typename Out, unsigned THREADS, bool SHARED, bool FLAT>
static ImgstatResult launch_table(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                  const ApplyPixels *p, int shared, ImgstatError *err)
{
    const auto kernel = apply_table<In, Out, THREADS, SHARED, FLAT>;
    RowItems items;
    items.samples = p->width * p->channels;
    const uint64_t blocks = (uint64_t)device->properties.multiProcessorCount;
    /* Images that are small get smaller items, so that every multiprocessor has one. */
    for (uint32_t vectors = TABLE_VECTORS;; vectors /= 2) {
        items.size = THREADS * vectors * Vector<In, Out>::N;
        items.per_row = (items.samples + items.size - 1) / items.size;
        items.n = items.per_row * p->rows;
        if (vectors == 1 || items.n >= 2 * blocks)
            break;
    }
    /* A large table leaves room for one block a multiprocessor; of small ones as many as run. */
    const unsigned each = shared > BYTE_TABLE_BYTES ? 1 : 8;
    assert(!p->mask && p->aligned && shared <= device->max_shared);
    return cuda_launch_early(device, stream, "apply_table", kernel,
                             cuda_blocks(device, items.n, each), THREADS, SHARED ? shared : 0, err,
                             *t, *p, items);
}

template <typename Out>
static ImgstatResult launch_bytes(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                  const ApplyPixels *p, bool flat, ImgstatError *err)
{
    const int one = 256 * sizeof(Out);
    if (flat)
        return launch_table<uint8_t, Out, TABLE_THREADS, true, true>(device, stream, t, p, one,
                                                                     err);
    if ((t->n_maps + 1) * one > BYTE_TABLE_BYTES)
        return launch_masked(device, stream, t, p, err);
    return launch_table<uint8_t, Out, TABLE_THREADS, true, false>(device, stream, t, p,
                                                                  (int)(t->n_maps + 1) * one, err);
}

template <typename Out>
static ImgstatResult launch_words(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                  const ApplyPixels *p, bool flat, ImgstatError *err)
{
    const int one = 65536 * sizeof(Out);
    const uint64_t bytes = p->width * p->channels * p->rows * 2;
    if (!flat)
        return launch_table<uint16_t, Out, TABLE_THREADS, false, false>(device, stream, t, p, 0,
                                                                        err);
    const Tuning *tuning = device->tuning;
    const uint64_t least = p->rows == 1 ? tuning->word_table_bytes : tuning->word_table_rows_bytes;
    if (one <= device->max_shared && bytes >= least)
        return launch_table<uint16_t, Out, WORD_THREADS, true, true>(device, stream, t, p, one,
                                                                     err);
    return launch_table<uint16_t, Out, TABLE_THREADS, false, true>(device, stream, t, p, 0, err);
}

ImgstatResult launch_apply_narrow(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                  const ApplyPixels *p, ImgstatError *err)
{
    const bool bytes = sample_bits(t->from) == 8;
    const uint32_t out = sample_bits(t->to);
    const bool flat = t->n_maps == 1 && p->alpha < 0;
    if (p->mask || !p->aligned || out > 32)
        return launch_masked(device, stream, t, p, err);
    if (bytes)
        return out == 8    ? launch_bytes<uint8_t>(device, stream, t, p, flat, err)
               : out == 16 ? launch_bytes<uint16_t>(device, stream, t, p, flat, err)
                           : launch_bytes<uint32_t>(device, stream, t, p, flat, err);
    return out == 8    ? launch_words<uint8_t>(device, stream, t, p, flat, err)
           : out == 16 ? launch_words<uint16_t>(device, stream, t, p, flat, err)
                       : launch_words<uint32_t>(device, stream, t, p, flat, err);
}

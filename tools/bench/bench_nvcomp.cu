/* SPDX-License-Identifier: MIT */
/* bench_nvcomp.cu: NVIDIA's inflate beside ours. It checks neither sums nor bounds of corrupt
 * streams, and is never linked into the library. */
#include "bench_nvcomp.h"

#ifdef IMGSTAT_WITH_NVCOMP

#include <nvcomp/deflate.h>
#include <stdio.h>
#include <vector>

struct NvcompStreams {
    size_t n, temporary_bytes;
    const void **in;
    void **out, *temporary;
    size_t *in_bytes, *out_bytes, *made;
};

static_assert(sizeof(nvcompStatus_t) == sizeof(uint32_t) && nvcompSuccess == 0,
              "its statuses serve as verdicts");

template <typename T> static bool upload(Bench *bench, const std::vector<T> &from, T **to)
{
    const size_t bytes = from.size() * sizeof(T);
    return bench_ok(bench, cudaMalloc((void **)to, bytes), "cudaMalloc") &&
           bench_ok(bench, cudaMemcpy((void *)*to, from.data(), bytes, cudaMemcpyHostToDevice),
                    "upload");
}

void nvcomp_streams_destroy(NvcompStreams *s)
{
    if (!s)
        return;
    for (void *memory : {(void *)s->in, (void *)s->out, s->temporary, (void *)s->in_bytes,
                         (void *)s->out_bytes, (void *)s->made})
        cudaFree(memory);
    delete s;
}

NvcompStreams *nvcomp_streams_create(Bench *bench, const DeflatedStream *streams, size_t n)
{
    NvcompStreams *const s = new NvcompStreams();
    std::vector<const void *> in(n);
    std::vector<void *> out(n);
    std::vector<size_t> in_bytes(n), out_bytes(n);
    size_t most = 0, all = 0;
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        in[i] = streams[i].in;
        out[i] = streams[i].out;
        in_bytes[i] = streams[i].n_in;
        out_bytes[i] = streams[i].n_out;
        most = streams[i].n_out > most ? streams[i].n_out : most;
        all += streams[i].n_out;
    }
    if (upload(bench, in, &s->in) && upload(bench, out, &s->out) &&
        upload(bench, in_bytes, &s->in_bytes) && upload(bench, out_bytes, &s->out_bytes) &&
        upload(bench, out_bytes, &s->made) &&
        nvcompBatchedDeflateDecompressGetTempSize(
            n, most, nvcompBatchedDeflateDecompressDefaultOpts, &s->temporary_bytes, all,
            bench->stream) == nvcompSuccess &&
        bench_ok(bench, cudaMalloc(&s->temporary, s->temporary_bytes + 1), "cudaMalloc"))
        return s;
    nvcomp_streams_destroy(s);
    return NULL;
}

cudaError_t nvcomp_inflate(Bench *bench, const NvcompStreams *s, uint32_t *verdicts)
{
    const nvcompStatus_t status = nvcompBatchedDeflateDecompressAsync(
        s->in, s->in_bytes, s->out_bytes, s->made, s->n, s->temporary, s->temporary_bytes, s->out,
        nvcompBatchedDeflateDecompressDefaultOpts, (nvcompStatus_t *)verdicts, bench->stream);
    if (status != nvcompSuccess)
        fprintf(stderr, "imgstat-bench: nvCOMP status %d\n", (int)status);
    return status == nvcompSuccess ? cudaSuccess : cudaErrorUnknown;
}

#else

NvcompStreams *nvcomp_streams_create(Bench *bench, const DeflatedStream *streams, size_t n)
{
    (void)bench;
    (void)streams;
    (void)n;
    return NULL;
}

void nvcomp_streams_destroy(NvcompStreams *streams)
{
    (void)streams;
}

cudaError_t nvcomp_inflate(Bench *bench, const NvcompStreams *streams, uint32_t *verdicts)
{
    (void)bench;
    (void)streams;
    (void)verdicts;
    return cudaErrorNotSupported;
}

#endif

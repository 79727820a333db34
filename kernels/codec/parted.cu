/* SPDX-License-Identifier: MIT */
/* codec/parted.cu: decompresses long deflate streams in parts. src/codec/part_lanes.h has the
 * algorithm, which C compiles as well. */
#include "codec/part_lanes.h"

#include "codec/load_kernel.cuh"
#include "codec/parted.cuh"

enum {
    REPLACE_THREADS = 256,
    REPLACE_BLOCKS = 2048,
    MOST_AT_ONCE = 65535 /* streams: a grid has so many blocks in its second direction */
};

/*
 * find_parts: finds where a block begins in each part of streams.
 *
 *   Idea      A part a warp; see block_lanes.h.
 *   Work      about 9 instructions a place, and 20,000 cycles for each part in which any passes the
 *             first tests.
 *   Memory    reads the stream 1.6 times; 7 KiB of shared memory.
 *   Launch    <<<dim3(most parts, streams), 32>>>.
 *   Requires  what PartedStream says; any bytes may be in the stream.
 *   Result    the start of each part.
 */
static __global__ void __launch_bounds__(LANES) find_parts(const PartedStream *streams)
{
    __shared__ BlockSearch search;
    const PartedStream &p = streams[blockIdx.y];
    if (blockIdx.x < p.n_parts)
        part_find(&search, &p, blockIdx.x);
}

/*
 * measure_parts: counts what parts decode to.
 *
 *   Idea      A part a warp, as inflate_streams; nothing is written.
 *   Work      about half of inflate_streams.
 *   Memory    reads the stream once; 15 KiB of shared memory.
 *   Launch    <<<dim3(most parts, streams), 32>>>.
 *   Requires  the starts of parts.
 *   Result    their bytes and what follows them.
 */
static __global__ void __launch_bounds__(LANES) measure_parts(const PartedStream *streams)
{
    __shared__ InflateLanes lanes;
    const PartedStream &p = streams[blockIdx.y];
    if (blockIdx.x < p.n_parts)
        part_measure(&lanes, &p, blockIdx.x);
}

/*
 * join_parts: follows the parts of streams.
 *
 *   Idea      A stream a warp; lanes load 1,024 parts at a time, and pass those that are used.
 *   Work      60 cycles a part that is used.
 *   Memory    reads the list of parts once.
 *   Launch    <<<streams, 32>>>.
 *   Requires  measured parts.
 *   Result    the places of parts, and the verdict so far.
 */
static __global__ void __launch_bounds__(LANES) join_parts(const PartedStream *streams)
{
    __shared__ PartList list;
    const PartedStream &p = streams[blockIdx.x];
    const InflateVerdict verdict = parts_join(&list, &p);
    if (lanes_leader())
        *(uint32_t *)p.verdict = verdict;
}

/*
 * write_parts: decompresses parts to words.
 *
 *   Idea      A part a warp, as inflate_streams; what lies before the part stays unknown.
 *   Work      that of inflate_streams.
 *   Memory    reads the stream once, writes two bytes for one of output, reads the sources of
 *             matches; 15 KiB of shared memory.
 *   Launch    <<<dim3(most parts, streams), 32>>>.
 *   Requires  joined parts.
 *   Result    words; or a verdict.
 */
static __global__ void __launch_bounds__(LANES) write_parts(const PartedStream *streams)
{
    __shared__ InflateLanes lanes;
    const PartedStream &p = streams[blockIdx.y];
    const bool joined = *(volatile uint32_t *)p.verdict == INFLATE_RIGHT; /* so far */
    if (blockIdx.x >= 2 * p.n_parts || !__all_sync(0xFFFFFFFFu, joined))
        return;
    const InflateVerdict verdict = part_write(&lanes, &p, blockIdx.x / 2, blockIdx.x % 2);
    if (lanes_leader() && verdict != INFLATE_RIGHT)
        *(volatile uint32_t *)p.verdict = verdict;
}

/*
 * replace_words: makes bytes of words.
 *
 *   Idea      A thread follows a word that names another. What is found replaces the word, so that
 *             others need not follow it as far: blocks begin in the order of the output, mostly.
 *   Work      some 20 instructions a vector of 8 words without names.
 *   Memory    reads the words once and what they name, writes a byte for each.
 *   Launch    <<<dim3(REPLACE_BLOCKS, streams), REPLACE_THREADS>>>.
 *   Requires  all words; room for 16 bytes more behind words and output, up to their boundaries.
 *   Result    the output.
 */
static __global__ void __launch_bounds__(REPLACE_THREADS) replace_words(const PartedStream *streams)
{
    const PartedStream &p = streams[blockIdx.y];
    if (*(const uint32_t *)p.verdict != INFLATE_RIGHT)
        return;
    const uint32_t vectors = p.n_out / REPLACED + 1;
    for (uint32_t i = blockIdx.x * REPLACE_THREADS + threadIdx.x; i < vectors;
         i += REPLACE_THREADS * REPLACE_BLOCKS) {
        const uint4 all = ((const uint4 *)p.words)[i];
        uint2 bytes = {__byte_perm(all.x, all.y, 0x6420), __byte_perm(all.z, all.w, 0x6420)};
        if ((all.x | all.y | all.z | all.w) & (WORD_BEFORE | (uint32_t)WORD_BEFORE << 16)) {
            uint32_t word[REPLACED] = {all.x & 0xFFFF, all.x >> 16, all.y & 0xFFFF, all.y >> 16,
                                       all.z & 0xFFFF, all.z >> 16, all.w & 0xFFFF, all.w >> 16};
            parts_bytes(&p, REPLACED * i, p.n_out - REPLACED * i, word);
            bytes.x = __byte_perm(word[0] | word[1] << 8, word[2] | word[3] << 8, 0x5410);
            bytes.y = __byte_perm(word[4] | word[5] << 8, word[6] | word[7] << 8, 0x5410);
        }
        ((uint2 *)p.out)[i] = bytes;
    }
}

/*
 * finish_streams: decompresses streams whose parts do not follow each other.
 *
 *   Idea      inflate_streams.
 *   Launch    <<<streams, 32>>>.
 *   Requires  the verdict so far; checks: NULL, or of images.
 *   Result    the output and the verdict of zlib on the stream; a doubt.
 */
static __global__ void __launch_bounds__(LANES)
    finish_streams(const PartedStream *streams, DeflatedCheck *checks)
{
    __shared__ InflateLanes lanes;
    const PartedStream &p = streams[blockIdx.x];
    uint32_t *const verdict = (uint32_t *)p.verdict;
    InflateVerdict found = (InflateVerdict)*verdict;
    __syncwarp(); /* all lanes have read it */
    if (found == INFLATE_IN_ORDER) {
        const InflateCall call = inflate_call((const uint8_t *)p.in, p.n_in, p.before,
                                              (uint8_t *)p.out, p.n_out, p.window);
        found = inflate_by_lanes(&lanes, &call);
    }
    if (lanes_leader()) {
        *verdict = found;
        if (checks && found != INFLATE_RIGHT)
            atomicOr(&checks[p.check].doubt, (unsigned)DOUBT_STREAM);
    }
}

static cudaError_t launch_round(const PartedStream *there, size_t n, uint32_t most_parts,
                                DeflatedCheck *checks, cudaStream_t stream)
{
    const dim3 each(most_parts, (unsigned)n), twice(2 * most_parts, (unsigned)n),
        replacing(REPLACE_BLOCKS, (unsigned)n);
    find_parts<<<each, LANES, 0, stream>>>(there);
    measure_parts<<<each, LANES, 0, stream>>>(there);
    join_parts<<<(unsigned)n, LANES, 0, stream>>>(there);
    write_parts<<<twice, LANES, 0, stream>>>(there);
    replace_words<<<replacing, REPLACE_THREADS, 0, stream>>>(there);
    finish_streams<<<(unsigned)n, LANES, 0, stream>>>(there, checks);
    return cudaGetLastError();
}

static cudaError_t load_kernels(void)
{
    const void *const kernels[] = {(const void *)find_parts,    (const void *)measure_parts,
                                   (const void *)join_parts,    (const void *)write_parts,
                                   (const void *)replace_words, (const void *)finish_streams};
    for (const void *kernel : kernels) {
        const cudaError_t status = load_kernel(kernel);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}

cudaError_t launch_inflate_parted(const PartedStream *streams, const PartedStream *there, size_t n,
                                  DeflatedCheck *checks, cudaStream_t stream)
{
    if (n == 0)
        return load_kernels();
    for (size_t i = 0, k; i < n; i = k) {
        uint32_t most = streams[i].n_parts;
        for (k = i + 1; k < n && k - i < MOST_AT_ONCE && streams[k].words != streams[0].words; k++)
            most = streams[k].n_parts > most ? streams[k].n_parts : most;
        const cudaError_t status = launch_round(there + i, k - i, most, checks, stream);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}

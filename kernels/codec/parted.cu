/* SPDX-License-Identifier: MIT */
/* codec/parted.cu: decompresses long deflate streams in parts. src/codec/part_lanes.h has the
 * algorithm, which C compiles as well. */
#include "codec/part_lanes.h"

#include "codec/load_kernel.cuh"
#include "codec/parted.cuh"

enum {
    WRITERS = 1024,            /* blocks a stream that make bytes */
    MOST_AT_ONCE = GRID_Y_MOST /* streams: blocks in the second direction of a grid */
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
 *   Idea      A start or mark a warp, as inflate_streams; what lies before stays unknown.
 *   Work      that of inflate_streams.
 *   Memory    reads the stream once, writes two bytes for one of output, reads the sources of
 *             matches; 15 KiB of shared memory.
 *   Launch    <<<dim3(2 * most parts, streams), 32>>>.
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
 * relate_words: makes the words of groups of pieces name what lies before the group.
 *
 *   Idea      A group a block, one piece after the other: so what a word names, if it lies in the
 *             group, is a byte or names what lies before the group, and is followed once.
 *   Work      some 15 instructions a word; a barrier a piece.
 *   Memory    reads the words once and what they name, writes those that are replaced.
 *   Launch    <<<dim3(most groups, streams), BLOCK_STEP>>>.
 *   Requires  all words.
 *   Result    words.
 */
static __global__ void __launch_bounds__(BLOCK_STEP) relate_words(const PartedStream *streams)
{
    const PartedStream &p = streams[blockIdx.y];
    if (*(const uint32_t *)p.verdict == INFLATE_RIGHT && blockIdx.x < p.n_groups)
        parts_relate(&p, blockIdx.x);
}

/*
 * find_windows: finds the bytes before each group.
 *
 *   Idea      A stream a block, one group after the other; the window before is in shared memory.
 *   Work      2 to 3 us a group.
 *   Memory    reads 64 KiB a group and writes 32; 32 KiB of shared memory.
 *   Launch    <<<streams, BLOCK_STEP>>>.
 *   Requires  words that name what lies before their group.
 *   Result    the windows.
 */
static __global__ void __launch_bounds__(BLOCK_STEP) find_windows(const PartedStream *streams)
{
    __shared__ uint8_t window[PART_WINDOW];
    const PartedStream &p = streams[blockIdx.x];
    if (*(const uint32_t *)p.verdict == INFLATE_RIGHT)
        parts_windows(window, &p);
}

/*
 * write_bytes: makes bytes of words.
 *
 *   Memory    reads the words once, and windows from the cache; writes the output once.
 *   Launch    <<<dim3(any, streams), BLOCK_STEP>>>.
 *   Requires  words that name what lies before their group, and the windows.
 *   Result    the output.
 */
static __global__ void __launch_bounds__(BLOCK_STEP) write_bytes(const PartedStream *streams)
{
    const PartedStream &p = streams[blockIdx.y];
    if (*(const uint32_t *)p.verdict != INFLATE_RIGHT)
        return;
    for (uint32_t i = blockIdx.x; i * PART_OUTPUT_LEAST < p.n_out; i += gridDim.x)
        parts_bytes(&p, i);
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

/* Launches all kernels for n streams, the largest of which has so many parts and groups. */
static cudaError_t launch_round(const PartedStream *there, size_t n, uint32_t parts,
                                uint32_t groups, DeflatedCheck *checks, cudaStream_t stream)
{
    const unsigned streams = (unsigned)n;
    find_parts<<<dim3(parts, streams), LANES, 0, stream>>>(there);
    measure_parts<<<dim3(parts, streams), LANES, 0, stream>>>(there);
    join_parts<<<streams, LANES, 0, stream>>>(there);
    write_parts<<<dim3(2 * parts, streams), LANES, 0, stream>>>(there);
    relate_words<<<dim3(groups, streams), BLOCK_STEP, 0, stream>>>(there);
    find_windows<<<streams, BLOCK_STEP, 0, stream>>>(there);
    write_bytes<<<dim3(WRITERS, streams), BLOCK_STEP, 0, stream>>>(there);
    finish_streams<<<streams, LANES, 0, stream>>>(there, checks);
    return cudaGetLastError();
}

static cudaError_t load_kernels(void)
{
    const void *const kernels[] = {(const void *)find_parts,   (const void *)measure_parts,
                                   (const void *)join_parts,   (const void *)write_parts,
                                   (const void *)relate_words, (const void *)find_windows,
                                   (const void *)write_bytes,  (const void *)finish_streams};
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
        uint32_t parts = 0, groups = 0;
        for (k = i;
             k < n && k - i < MOST_AT_ONCE && (k == i || streams[k].words != streams[0].words);
             k++) {
            parts = streams[k].n_parts > parts ? streams[k].n_parts : parts;
            groups = streams[k].n_groups > groups ? streams[k].n_groups : groups;
        }
        const cudaError_t status = launch_round(there + i, k - i, parts, groups, checks, stream);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}

/* SPDX-License-Identifier: MIT */
/* codec/adler.cu: the sums of Adler-32. */
#include "codec/adler.cuh"
#include "codec/png.cuh"
#include "codec/tiles.cuh"
#include "common/tuning.cuh"
#include "common/warp.cuh"

enum { THREADS = ADLER_THREADS, MODULUS = 65521 };

/* The two sums of Adler-32, modulo 65,521. */
struct Sums {
    uint64_t plain, weighted;
};

/* The word whose first byte is number `at`, without its bytes from number n on. */
DEVICE uint32_t first_bytes(uint32_t word, uint64_t n, unsigned at)
{
    return n >= at + 4 ? word : n <= at ? 0 : word & ((1u << 8 * (unsigned)(n - at)) - 1);
}

/* Adds vectors number `first`, first + step, ... of n bytes; all threads of a block, which meet.
 * The sums of all of them are those of the first thread. */
DEVICE Sums block_sums(const uint8_t *bytes, uint64_t n, uint64_t first, uint64_t step)
{
    __shared__ uint64_t sums[2][THREADS / 32];
    uint64_t sum = 0, weighted = 0;
    for (uint64_t at = 16 * first; at < n; at += 16 * step) {
        const uint4 raw = *(const uint4 *)(bytes + at);
        unsigned inside;
        const unsigned plain =
            byte_sums({first_bytes(raw.x, n - at, 0), first_bytes(raw.y, n - at, 4),
                       first_bytes(raw.z, n - at, 8), first_bytes(raw.w, n - at, 12)},
                      &inside);
        sum += plain;
        weighted += (n - at) % MODULUS * plain + MODULUS - inside % MODULUS;
    }
    const uint64_t of_warp[2] = {warp_sum(sum % MODULUS), warp_sum(weighted % MODULUS)};
    if (threadIdx.x % 32 == 0)
        for (int i = 0; i < 2; i++)
            sums[i][threadIdx.x / 32] = of_warp[i];
    __syncthreads(); /* the sums of warps are there */
    Sums all = {0, 0};
    for (int w = 0; w < THREADS / 32 && threadIdx.x == 0; w++) {
        all.plain += sums[0][w];
        all.weighted += sums[1][w];
    }
    return {all.plain % MODULUS, all.weighted % MODULUS};
}

/*
 * add_bytes: the two sums of Adler-32 over the filtered rows of images.
 *
 *   Idea      Byte i of n counts once in the first sum and n - i times in the second, so any thread
 *             can add any vector, and sums of blocks are added modulo 65,521.
 *   Work      about 40 instructions a vector of 16 bytes.
 *   Memory    reads n bytes once; two atomic additions a block.
 *   Launch    <<<dim3(images, ADLER_BLOCKS), ADLER_THREADS>>>.
 *   Requires  rows on a boundary of 16, DEFLATED_BEHIND bytes behind them; sums are 0. A thread adds
 *             fewer than 2^27 vectors, whose sums are below 2^29.
 *   Result    the sums modulo 65,521, each less than ADLER_BLOCKS times that; nothing is told of
 *             bands.
 */
static __global__ void __launch_bounds__(THREADS)
    add_bytes(const DeflatedRows *images, DeflatedCheck *checks)
{
    const DeflatedRows &image = images[blockIdx.x];
    DeflatedCheck &check = checks[blockIdx.x];
    if (check.doubt)
        return;
    if (blockIdx.y == 0)
        for (uint32_t i = threadIdx.x; i < image.bands; i += THREADS)
            ((uint32_t *)image.told)[i] = 0;
    const Sums sums =
        block_sums((const uint8_t *)image.filtered, image.n_out,
                   (uint64_t)blockIdx.y * THREADS + threadIdx.x, (uint64_t)THREADS * ADLER_BLOCKS);
    if (threadIdx.x == 0) {
        atomicAdd((unsigned long long *)&check.sum, (unsigned long long)sums.plain);
        atomicAdd((unsigned long long *)&check.weighted, (unsigned long long)sums.weighted);
    }
}

/*
 * check_tiles: compares the Adler-32 of deflated tiles.
 *
 *   Idea      That of add_bytes, a block a tile.
 *   Memory    reads the output of tiles once.
 *   Launch    <<<tiles, ADLER_THREADS>>>.
 *   Requires  tiles that are inflated or doubted; a tile has fewer than 2^31 bytes.
 *   Result    a doubt where a sum is not that of the file.
 */
static __global__ void __launch_bounds__(THREADS)
    check_tiles(const TiledPage *pages, const CodedTile *tiles, DeflatedCheck *checks)
{
    const CodedTile &tile = tiles[blockIdx.x];
    const bool doubted = checks[tile.page].doubt != 0; /* which other blocks may set now */
    if (pages[tile.page].coding != TILE_DEFLATED || __syncthreads_or(doubted))
        return;
    const Sums sums = block_sums((const uint8_t *)tile.out, tile.n_out, threadIdx.x, THREADS);
    const uint32_t low = (uint32_t)((1 + sums.plain) % MODULUS);
    const uint32_t high = (uint32_t)((tile.n_out + sums.weighted) % MODULUS);
    if (threadIdx.x == 0 && (high << 16 | low) != tile.adler)
        atomicOr(&checks[tile.page].doubt, (unsigned)DOUBT_ADLER);
}

cudaError_t launch_add_bytes(const DeflatedRows *images, size_t n, DeflatedCheck *checks,
                             cudaStream_t stream)
{
    if (n == 0)
        return load_kernel((const void *)add_bytes);
    add_bytes<<<dim3((unsigned)n, ADLER_BLOCKS), THREADS, 0, stream>>>(images, checks);
    return cudaGetLastError();
}

cudaError_t launch_check_tiles(const DecodeWork *there, DeflatedCheck *checks, cudaStream_t stream)
{
    if (there->n_tiles == 0)
        return load_kernel((const void *)check_tiles);
    check_tiles<<<(unsigned)there->n_tiles, THREADS, 0, stream>>>(there->pages, there->tiles,
                                                                  checks);
    return cudaGetLastError();
}

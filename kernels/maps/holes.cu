/* SPDX-License-Identifier: MIT */
/* maps/holes.cu: what undefined samples become, written over what a map made of them. */
#include "maps/apply.cuh"

/*
 * fill_holes: masked samples, nodata that the output cannot hold, and NaN get the value of a hole.
 *
 *   Idea      A pixel a thread, after the map, whatever that was.
 *   Work      a comparison or two a sample.
 *   Memory    reads the mask; with `fills` both images once, and writes what changes.
 *   Launch    <<<blocks, MAP_THREADS>>>, any number of blocks.
 *   Requires  `to` is mapped. With `fills`, `to` is not `from`. masked: p has a mask that counts.
 *   Result    the bytes of holes_fill (transfer/holes.c).
 */
static __global__ void __launch_bounds__(MAP_THREADS)
    fill_holes(Holes holes, ApplyPixels p, ImgstatSample in, ImgstatSample out, uint32_t masked)
{
    const uint32_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    const uint64_t hole = sample_raw(out, holes.hole), mask_hole = sample_raw(out, holes.mask_hole);
    const uint64_t n = p.width * p.rows, stride = (uint64_t)gridDim.x * MAP_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * MAP_THREADS + threadIdx.x; i < n; i += stride) {
        const uint64_t row = p.rows == 1 ? 0 : i / p.width, x = i - row * p.width;
        const bool left_out = masked && !p.mask[row * p.mask_pitch + x];
        if (!left_out && !holes.fills)
            continue;
        const unsigned char *source = p.from + row * p.from_pitch + x * p.channels * in_bytes;
        unsigned char *target = p.to + row * p.to_pitch + x * p.channels * out_bytes;
        bool any = false;
        for (uint32_t c = 0; !left_out && c < p.channels; c++) {
            if ((int)c == p.alpha)
                continue;
            const uint64_t key =
                sample_key(in, load_sample(source + c * in_bytes, in_bytes, p.aligned));
            unsigned char *at = target + c * out_bytes;
            if (holes_take(&holes, in, out, p.has_nodata, p.nodata_key, key)) {
                store_sample(at, out_bytes, hole, p.aligned);
                any = any || c < HOLES_COLOURS;
                continue;
            }
            const uint64_t made = sample_key(out, load_sample(at, out_bytes, p.aligned));
            const uint64_t other = range_avoid(&holes.range, made);
            if (other != made)
                store_sample(at, out_bytes, sample_raw(out, other), p.aligned);
        }
        if (!left_out && !(any && holes.whole))
            continue;
        for (uint32_t c = 0; c < p.channels; c++)
            if ((int)c != p.alpha && (left_out || c < HOLES_COLOURS))
                store_sample(target + c * out_bytes, out_bytes, left_out ? mask_hole : hole,
                             p.aligned);
    }
}

ImgstatResult launch_holes(CudaDevice *device, cudaStream_t stream, const Holes *holes,
                           ImgstatSample from, ImgstatSample to, const ApplyPixels *p,
                           ImgstatError *err)
{
    const bool masked = holes->masked && p->mask;
    if (!holes->fills && !masked)
        return IMGSTAT_OK;
    assert(p->width > 0 && p->rows > 0 && (!holes->fills || p->from != p->to));
    fill_holes<<<map_blocks(device, p->width * p->rows), MAP_THREADS, 0, stream>>>(*holes, *p, from,
                                                                                   to, masked);
    return cuda_launched(device, stream, "fill_holes", err);
}

/* SPDX-License-Identifier: MIT */
/* luma/general.cu: colours that get a new luma; planes of luma, which are measured or read, in
 * bands where the images are on the host. */
#include "luma/luma.cuh"
#include "luma/tile.cuh"
#include "maps/apply.cuh"

/* ---- Luma ------------------------------------------------------------------------------------ */

/* Called: the arithmetic of any map is long, and two places need it. */
static __device__ __noinline__ uint64_t map_any(const Map *map, ImgstatSample in, ImgstatSample out,
                                                uint64_t raw)
{
    return map_raw(map, in, out, raw);
}

/*
 * apply_luma: colours get the luma that the transfer maps theirs to.
 *
 *   Idea      A pixel a thread.
 *   Work      three products and three divisions a pixel, and a table entry or a map.
 *   Memory    reads and writes each sample once; neighbours share the cache lines.
 *   Launch    <<<blocks, MAP_THREADS>>>, any number of blocks.
 *   Requires  at least three channels, the first three not alpha. FROM, TO: sample types, which are
 *             one and whose transfer `copies`; or -1 for those of the transfer. In place: a thread
 *             reads what it overwrites.
 *   Result    the bits of cpu/luma.c.
 *
 * Maps take registers: 103 a thread, and for three blocks a multiprocessor 80; without, 32.
 */
template <int FROM, int TO>
static __global__ void __launch_bounds__(MAP_THREADS, FROM < 0 ? 3 : 1)
    apply_luma(ApplyTransfer t, ApplyPixels p)
{
    const ImgstatSample in = FROM < 0 ? t.from : (ImgstatSample)FROM;
    const ImgstatSample out = TO < 0 ? t.to : (ImgstatSample)TO;
    const uint32_t in_bytes = sample_bits(in) / 8, out_bytes = sample_bits(out) / 8;
    const uint64_t n = p.width * p.rows, stride = (uint64_t)gridDim.x * MAP_THREADS;
    const bool unchanged = t.maps[0].passthrough;
    const Map *const rescale = &t.maps[t.n_maps], *const passthrough = rescale + 1;
    for (uint64_t i = (uint64_t)blockIdx.x * MAP_THREADS + threadIdx.x; i < n; i += stride) {
        const uint64_t row = p.rows == 1 ? 0 : i / p.width, x = i - row * p.width;
        const unsigned char *at = p.from + row * p.from_pitch + x * p.channels * in_bytes;
        unsigned char *to = p.to + row * p.to_pitch + x * p.channels * out_bytes;
        uint64_t key[3], luma;
        for (int c = 0; c < 3; c++)
            key[c] = sample_key(in, load_sample(at + c * in_bytes, in_bytes, p.aligned));
        const bool masked = p.mask && !p.mask[row * p.mask_pitch + x];
        uint32_t first = 0;
        if (!unchanged && !masked && luma_of(in, p, key, &luma)) {
            const uint64_t bits = sample_is_narrow(in)
                                      ? t.by_key[luma]
                                      : map_any(&t.maps[0], in, out, sample_raw(in, luma));
            const uint64_t mapped = sample_key(out, bits);
            rescale_luma(in, out, t.range, mapped, key);
            for (int c = 0; c < 3; c++)
                store_sample(to + c * out_bytes, out_bytes, sample_raw(out, key[c]), p.aligned);
            first = 3;
        }
#pragma unroll 1
        for (uint32_t c = first; c < p.channels; c++) {
            uint64_t raw = load_sample(at + c * in_bytes, in_bytes, p.aligned);
            if (FROM < 0 && !t.copies)
                raw = map_any(masked || (int)c == p.alpha ? rescale : passthrough, in, out, raw);
            store_sample(to + c * out_bytes, out_bytes, raw, p.aligned);
        }
    }
}

ImgstatResult launch_apply_luma(CudaDevice *device, cudaStream_t stream, const ApplyTransfer *t,
                                const ApplyPixels *p, ImgstatError *err)
{
    if (luma_bytes_fit(device, t, p))
        return launch_apply_luma_bytes(device, stream, t, p, err);
    if (luma_words_fit(device, t, p))
        return launch_apply_luma_words(device, stream, t, p, err);
    const unsigned blocks = map_blocks(device, p->width * p->rows);
    assert(blocks > 0 && p->channels >= 3 && (p->alpha < 0 || p->alpha >= 3));
    if (!t->copies)
        apply_luma<-1, -1><<<blocks, MAP_THREADS, 0, stream>>>(*t, *p);
    else if (t->from == IMGSTAT_U8 && t->to == IMGSTAT_U8)
        apply_luma<IMGSTAT_U8, IMGSTAT_U8><<<blocks, MAP_THREADS, 0, stream>>>(*t, *p);
    else if (t->from == IMGSTAT_U16 && t->to == IMGSTAT_U16)
        apply_luma<IMGSTAT_U16, IMGSTAT_U16><<<blocks, MAP_THREADS, 0, stream>>>(*t, *p);
    else
        apply_luma<-1, -1><<<blocks, MAP_THREADS, 0, stream>>>(*t, *p);
    return cuda_launched(device, stream, "apply_luma", err);
}

/*
 * luma_plane_of: the luma of every pixel, to be measured.
 *
 *   Idea      A pixel a thread.
 *   Work      three products a pixel.
 *   Memory    reads the colours once; writes a sample, and a byte if pixels may lack one.
 *   Launch    <<<blocks, MAP_THREADS>>>, any number of blocks.
 *   Requires  as apply_luma. FROM: the sample type, or -1 for `sample`.
 *   Result    luma_plane of cpu/luma.c.
 */
template <int FROM>
static __global__ void __launch_bounds__(MAP_THREADS)
    luma_plane_of(ImgstatSample sample, ApplyPixels p, unsigned char *luma, unsigned char *valid)
{
    const ImgstatSample in = FROM < 0 ? sample : (ImgstatSample)FROM;
    const uint32_t bytes = sample_bits(in) / 8;
    const uint64_t n = p.width * p.rows, stride = (uint64_t)gridDim.x * MAP_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * MAP_THREADS + threadIdx.x; i < n; i += stride) {
        const uint64_t row = p.rows == 1 ? 0 : i / p.width, x = i - row * p.width;
        const unsigned char *at = p.from + row * p.from_pitch + x * p.channels * bytes;
        uint64_t key[3], found = sample_key(in, 0);
        for (int c = 0; c < 3; c++)
            key[c] = sample_key(in, load_sample(at + c * bytes, bytes, p.aligned));
        const bool has = (!p.mask || p.mask[row * p.mask_pitch + x]) && luma_of(in, p, key, &found);
        store_sample(luma + i * bytes, bytes, sample_raw(in, found), true);
        if (valid)
            valid[i] = has;
    }
}

ImgstatResult launch_luma_plane(CudaDevice *device, cudaStream_t stream, ImgstatSample sample,
                                const ApplyPixels *p, unsigned char *luma, unsigned char *valid,
                                ImgstatError *err)
{
    const unsigned blocks = map_blocks(device, p->width * p->rows);
    assert(blocks > 0 && p->channels >= 3);
    if (sample == IMGSTAT_U8)
        luma_plane_of<IMGSTAT_U8><<<blocks, MAP_THREADS, 0, stream>>>(sample, *p, luma, valid);
    else if (sample == IMGSTAT_U16)
        luma_plane_of<IMGSTAT_U16><<<blocks, MAP_THREADS, 0, stream>>>(sample, *p, luma, valid);
    else
        luma_plane_of<-1><<<blocks, MAP_THREADS, 0, stream>>>(sample, *p, luma, valid);
    return cuda_launched(device, stream, "luma_plane_of", err);
}

ImagePro luma_plane_image(const ImagePro *image, const unsigned char *luma,
                          const unsigned char *valid)
{
    ImagePro plane = *image;
    plane.channels = 1;
    plane.device.address = (uint64_t)(uintptr_t)luma;
    plane.pitch = image->width * (size_t)(sample_bits(image->sample) / 8);
    plane.has_nodata = false;
    plane.mask = valid;
    plane.mask_pitch = valid ? image->width : 0;
    return plane;
}

ImgstatResult cuda_luma_bands(CudaDevice *device, const ImagePro *image, CudaRead read,
                              void *context, ImgstatError *err)
{
    CUDA_ENTER(device, err);
    if (image->channels < 3)
        return error_set(err, IMGSTAT_ERR_ARG, "luma needs red, green and blue channels");
    const auto make = [&](const ImagePro &band) {
        if (band.width == 0 || band.height == 0)
            return IMGSTAT_OK;
        const bool masked = band.mask || band.has_nodata || sample_is_float(band.sample);
        const size_t pixels = (size_t)band.width * band.height;
        const size_t bytes = sample_bits(band.sample) / 8;
        IMGSTAT_TRY(cuda_reserve(device, &device->luma, pixels * (bytes + masked), false, err));
        unsigned char *const luma = (unsigned char *)device->luma.memory;
        unsigned char *const valid = masked ? luma + pixels * bytes : NULL;
        const ApplyPixels from = apply_pixels(&band, -1, &band);
        IMGSTAT_TRY(
            launch_luma_plane(device, device->stream, band.sample, &from, luma, valid, err));
        const ImagePro plane = luma_plane_image(&band, luma, valid);
        const uint32_t origin = 0;
        return read(context, device, &plane, &origin, 1, err);
    };
    return cuda_stage_bands(device, image, make, err);
}

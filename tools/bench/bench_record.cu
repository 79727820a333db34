/* SPDX-License-Identifier: MIT */
/* bench_record.cu: full records of images, and of many small images in one call. */
#include "bench_device.h"

#include <stdio.h>

typedef struct Layout {
    ImgstatSample sample;
    uint16_t channels;
} Layout;

static void record_of(Bench *bench, Layout layout, BenchPattern pattern, size_t bytes, bool cached)
{
    BenchCase c = bench_case("record", layout.sample, layout.channels, pattern, bytes);
    Truth truth;
    c.cached = cached;
    if (!bench_input(bench, &c) || !truth_create(bench, &c, &truth))
        return;
    BenchCase serial = c;
    serial.bytes = truth.serial_bytes;
    if (!cached && bench_wanted(bench, &serial, "serial CPU"))
        bench_host_row(bench, &serial, "serial CPU", truth.serial_ms, true);
    bench_device_record(bench, &c, &truth);
    bench_cub_record(bench, &c, &truth);
    bench_npp_record(bench, &c, &truth);
    truth_release(&truth);
}

void bench_records(Bench *bench)
{
    static const Layout layouts[] = {
        {IMGSTAT_U8, 1}, {IMGSTAT_U8, 3}, {IMGSTAT_U8, 4}, {IMGSTAT_U16, 1}, {IMGSTAT_F32, 1}};
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        const size_t bytes = bench->options.sizes[s];
        for (const Layout layout : layouts)
            for (int p = 0; p < BENCH_PATTERNS; p++) {
                const BenchPattern pattern = (BenchPattern)p;
                if (bench->options.quick && pattern != BENCH_RANDOM && pattern != BENCH_CONSTANT)
                    continue;
                record_of(bench, layout, pattern, bytes, false);
            }
        if (bytes <= (size_t)bench->device.l2CacheSize / 4)
            record_of(bench, layouts[0], BENCH_RANDOM, bytes, true);
    }
}

/* Records of wide samples, which have no bins unless they are asked for. */
void bench_wide(Bench *bench)
{
    static const ImgstatSample samples[] = {IMGSTAT_F32, IMGSTAT_F64, IMGSTAT_U32, IMGSTAT_U64};
    static const BenchPattern patterns[] = {BENCH_RANDOM, BENCH_CONSTANT};
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        for (const ImgstatSample sample : samples) {
            for (unsigned channels = 1; channels <= BENCH_MAX_CHANNELS; channels++) {
                for (const BenchPattern pattern : patterns) {
                    const BenchCase c = bench_case("wide", sample, (uint16_t)channels, pattern,
                                                   bench->options.sizes[s]);
                    Truth truth;
                    if (!bench_wanted(bench, &c, "imgstat") &&
                        !bench_wanted(bench, &c, "imgstat with bins"))
                        continue;
                    if (!bench_input(bench, &c) || !truth_create(bench, &c, &truth))
                        return;
                    bench_device_record(bench, &c, &truth);
                    truth_release(&truth);
                }
            }
        }
    }
}

static void batch_of(Bench *bench, ImgstatSample sample, size_t images, bool rivals)
{
    enum { SIDE = 512 };
    const size_t bytes = (size_t)SIDE * SIDE * imgstat_sample_bytes(sample);
    BenchCase c = bench_case("batch", sample, 1, BENCH_SMOOTH, bytes);
    Truth truth;
    c.width = c.height = SIDE;
    c.images = bench->options.quick ? images / 10 : images;
    c.samples = c.images * SIDE * SIDE;
    c.bytes = c.images * bytes;
    if (!bench_input(bench, &c) || !truth_create(bench, &c, &truth))
        return;
    bench_device_record(bench, &c, &truth);
    if (rivals) {
        bench_cub_record(bench, &c, &truth);
        bench_npp_record(bench, &c, &truth);
    }
    truth_release(&truth);
}

void bench_batch(Bench *bench)
{
    batch_of(bench, IMGSTAT_U8, 10000, true);
    batch_of(bench, IMGSTAT_U16, 1000, false);
}

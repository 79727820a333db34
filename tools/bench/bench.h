/* SPDX-License-Identifier: MIT */
/* bench.h: what the parts of imgstat-bench share: a case, its input in rotating buffers, a row of
 * the result. */
#ifndef IMGSTAT_BENCH_H
#define IMGSTAT_BENCH_H

#include "imgstat.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_MAX_SIZES = 16, BENCH_NAME = 48 };

typedef enum BenchPattern {
    BENCH_RANDOM,
    BENCH_SMOOTH,
    BENCH_TWELVE_BIT, /* the range of a 12-bit sensor in 16 bits, of a 4-bit one in 8 */
    BENCH_SKEWED,
    BENCH_CONSTANT,
    BENCH_CHECKERBOARD,
    BENCH_PATTERNS,
    BENCH_NOISE = BENCH_PATTERNS /* for maps of wide samples: hardly a value twice */
} BenchPattern;

typedef struct BenchOptions {
    size_t sizes[BENCH_MAX_SIZES]; /* bytes of one input */
    size_t n_sizes;
    const char *only; /* of row labels, as fnmatch; NULL for all */
    bool json, quick;
    unsigned runs; /* timed; the median counts */
    uint64_t seed;
    int device;
    char command[256]; /* as it was called, for the report */
} BenchOptions;

/* One input and the work on it. */
typedef struct BenchCase {
    const char *group; /* "ceiling", "scan", "record", "wide", "apply", "batch",
                        * "inflate": bytes are those of the output, "deflate", "encode" */
    ImgstatSample sample;
    uint16_t channels;
    BenchPattern pattern;
    uint32_t width, height; /* of one image; packed rows */
    size_t images;          /* one after the other in one buffer */
    size_t samples, bytes;  /* of one buffer */
    bool writes;            /* as many bytes are written as are read */
    unsigned reads_again;   /* how often the input must be read beyond the first time */
    bool cached;            /* one small buffer again and again: what the L2 cache yields */
} BenchCase;

typedef struct BenchRow {
    BenchCase of;
    char what[BENCH_NAME];
    char label[128];
    bool right;            /* checked before it was timed; a wrong one is not timed */
    unsigned runs, calls;  /* medians over runs of so many calls */
    double ms, fastest_ms; /* of one call */
    double gb_s;           /* bytes that the work must move, each once */
    double of_ceiling;     /* gb_s over the read or copy ceiling of this run */
} BenchRow;

typedef struct Bench {
    BenchOptions options;
    struct cudaDeviceProp device;
    int driver, runtime;
    void *cuda;          /* the library's own device, or NULL */
    cudaStream_t stream; /* that of the library's device, if there is one */
    cudaEvent_t begin, end;
    unsigned char *pool; /* inputs */
    size_t pool_bytes, slot_bytes, slots;
    void *scratch, *out;
    size_t scratch_bytes, out_bytes;
    double read_ceiling, copy_ceiling; /* GB/s */
    BenchRow *rows;
    size_t n_rows, row_capacity;
    unsigned failures;
} Bench;

/* One call of what is timed: enqueues on bench->stream, or returns when done. */
typedef cudaError_t (*BenchCall)(Bench *bench, const BenchCase *c, void *work, const void *in);

/* ---- bench_time.cu */
bool bench_ok(Bench *bench, cudaError_t status, const char *what); /* false: reported and counted */
/* Grown as needed, contents lost; NULL after a reported failure. */
void *bench_scratch(Bench *bench, size_t bytes);
void *bench_out(Bench *bench, size_t bytes);
bool bench_wanted(const Bench *bench, const BenchCase *c, const char *what);
/* Times call, unless `right` is false, and adds a row. Returns its GB/s, 0 if none. */
double bench_row(Bench *bench, const BenchCase *c, const char *what, BenchCall call, void *work,
                 bool right);
/* A row of what the host did in `ms`. */
void bench_host_row(Bench *bench, const BenchCase *c, const char *what, double ms, bool right);

/* ---- bench_input.cu: fills the pool with as many different inputs as rotate. */
bool bench_input(Bench *bench, const BenchCase *c);
BenchCase bench_case(const char *group, ImgstatSample sample, uint16_t channels,
                     BenchPattern pattern, size_t bytes);
const char *bench_pattern_name(BenchPattern pattern);
const void *bench_slot(const Bench *bench, const BenchCase *c, size_t turn);

/* ---- The groups */
/* bench_ceiling.cu: a BenchCall, to bench->out. */
cudaError_t bench_copy(Bench *bench, const BenchCase *c, void *work, const void *in);
void bench_ceilings(Bench *bench);
void bench_scans(Bench *bench);
void bench_records(Bench *bench);
void bench_wide(Bench *bench);
void bench_transfers(Bench *bench);
void bench_batch(Bench *bench);
void bench_deflate(Bench *bench);
void bench_encode(Bench *bench);
void bench_inflate(Bench *bench);
void bench_tiles(Bench *bench);

/* ---- bench_report.c */
void bench_report_row(const Bench *bench, const BenchRow *row); /* as it comes, unless --json */
void bench_report_end(const Bench *bench);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/* bench_main.c: imgstat-bench: times every rung and every production kernel, after checking its
 * results. */
#include "bench.h"
#include "bench_device.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "imgstat-bench " IMGSTAT_VERSION;

static const size_t default_sizes[] = {(size_t)64 << 10,  (size_t)1 << 20, (size_t)16 << 20,
                                       (size_t)256 << 20, (size_t)1 << 30, (size_t)4 << 30};
static const size_t quick_sizes[] = {(size_t)1 << 20, (size_t)64 << 20};

enum { OPT_SIZES = 256, OPT_JSON, OPT_ONLY, OPT_QUICK, OPT_RUNS, OPT_SEED, OPT_DEVICE };

static const struct argp_option options[] = {
    {"sizes", OPT_SIZES, "LIST", 0,
     "bytes of an input, with K, M or G (default: 64K,1M,16M,256M,1G,4G)", 0},
    {"only", OPT_ONLY, "PATTERN", 0,
     "only rows whose GROUP/TYPExCHANNELS/INPUT/SIZE/NAME matches, as in 'record/u8x1/*'", 0},
    {"quick", OPT_QUICK, 0, 0, "two sizes, two inputs: a minute", 0},
    {"runs", OPT_RUNS, "N", 0, "timed runs, of which the median counts (default: 15)", 0},
    {"seed", OPT_SEED, "N", 0, "of the inputs (default: 1)", 0},
    {"device", OPT_DEVICE, "N", 0, "CUDA device (default: 0)", 0},
    {"json", OPT_JSON, 0, 0, "one JSON document instead of a table", 0},
    {0, 0, 0, 0, 0, 0},
};

static const char doc[] =
    "Checks, then times: the kernels of the CUDA device, "
    "CUB, "
    "NPP where the build found it, and serial loops, on the same buffers, beside the read and copy "
    "ceilings of the same run. Medians by device events; inputs rotate, so that caches do not "
    "count, except in rows marked cached."
    "\vExamples:\n"
    "  imgstat-bench --quick\n"
    "  imgstat-bench --sizes=1G --only='record/*'\n"
    "  imgstat-bench --json >bench.json && tools/bench/tables.py bench.json NOTEBOOK.md\n\n"
    "Exit status: 0 all right; 1 a result was wrong or a call failed; 2 usage; 77 no CUDA device.";

static bool parse_sizes(const char *text, BenchOptions *o)
{
    o->n_sizes = 0;
    while (*text && o->n_sizes < BENCH_MAX_SIZES) {
        char *end;
        errno = 0;
        const unsigned long long n = strtoull(text, &end, 10);
        const char *const unit = *end ? strchr("KMG", *end) : NULL;
        const unsigned shift = unit ? 10 * (unsigned)(unit - "KMG" + 1) : 0;
        if (end == text || errno || n == 0 || n > ((unsigned long long)64 << 30) >> shift)
            return false;
        o->sizes[o->n_sizes++] = (size_t)n << shift;
        text = end + (unit != NULL);
        if (*text == ',')
            text++;
        else if (*text)
            return false;
    }
    return o->n_sizes > 0 && !*text;
}

static unsigned long long parse_number(struct argp_state *state, const char *text,
                                       unsigned long long low, unsigned long long high)
{
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end || errno || text[0] == '-' || n < low || n > high)
        argp_error(state, "'%s' should be a whole number from %llu to %llu", text, low, high);
    return n;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    BenchOptions *const o = state->input;
    switch (key) {
    case OPT_SIZES:
        if (!parse_sizes(argument, o))
            argp_error(state, "sizes '%s': should be like 64K,16M,1G, at most 64G each, %d of them",
                       argument, BENCH_MAX_SIZES);
        break;
    case OPT_JSON:
        o->json = true;
        break;
    case OPT_ONLY:
        o->only = argument;
        break;
    case OPT_QUICK:
        o->quick = true;
        break;
    case OPT_RUNS:
        o->runs = (unsigned)parse_number(state, argument, 1, 255);
        break;
    case OPT_SEED:
        o->seed = parse_number(state, argument, 0, UINT64_MAX);
        break;
    case OPT_DEVICE:
        o->device = (int)parse_number(state, argument, 0, 1023);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': no arguments are taken", argument);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void note_command(BenchOptions *o, int argc, char **argv)
{
    size_t used = (size_t)snprintf(o->command, sizeof o->command, "imgstat-bench");
    for (int i = 1; i < argc && used < sizeof o->command; i++)
        used += (size_t)snprintf(o->command + used, sizeof o->command - used, " %s", argv[i]);
}

static void choose_sizes(BenchOptions *o)
{
    const size_t *const from = o->quick ? quick_sizes : default_sizes;
    const size_t n = o->quick ? sizeof quick_sizes / sizeof quick_sizes[0]
                              : sizeof default_sizes / sizeof default_sizes[0];
    if (o->n_sizes == 0) {
        memcpy(o->sizes, from, n * sizeof *from);
        o->n_sizes = n;
    }
}

static bool bench_open(Bench *bench)
{
    bench_device_open(bench);
    return (bench->cuda ||
            bench_ok(bench, cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking),
                     "cudaStreamCreate")) &&
           bench_ok(bench, cudaEventCreate(&bench->begin), "cudaEventCreate") &&
           bench_ok(bench, cudaEventCreate(&bench->end), "cudaEventCreate") &&
           bench_ok(bench, cudaGetDeviceProperties(&bench->device, bench->options.device),
                    "cudaGetDeviceProperties") &&
           bench_ok(bench, cudaDriverGetVersion(&bench->driver), "cudaDriverGetVersion") &&
           bench_ok(bench, cudaRuntimeGetVersion(&bench->runtime), "cudaRuntimeGetVersion");
}

static void bench_close(Bench *bench)
{
    cudaFree(bench->pool);
    cudaFree(bench->scratch);
    cudaFree(bench->out);
    cudaEventDestroy(bench->begin);
    cudaEventDestroy(bench->end);
    if (!bench->cuda)
        cudaStreamDestroy(bench->stream);
    bench_device_close(bench);
    free(bench->rows);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
    Bench bench;
    memset(&bench, 0, sizeof bench);
    bench.options.runs = 15;
    bench.options.seed = 1;
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &bench.options);
    note_command(&bench.options, argc, argv);
    choose_sizes(&bench.options);

    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || bench.options.device >= devices) {
        fprintf(stderr, "imgstat-bench: no CUDA device %d: %s\n", bench.options.device,
                cudaGetErrorString(found));
        return 77;
    }
    if (bench_ok(&bench, cudaSetDevice(bench.options.device), "cudaSetDevice") &&
        bench_open(&bench)) {
        bench_ceilings(&bench);
        bench_scans(&bench);
        bench_records(&bench);
        bench_wide(&bench);
        bench_transfers(&bench);
        bench_batch(&bench);
        bench_deflate(&bench);
        bench_encode(&bench);
        bench_inflate(&bench);
        bench_tiles(&bench);
        bench_report_end(&bench);
    }
    const int status = bench.failures > 0 || bench.n_rows == 0 ? 1 : 0;
    bench_close(&bench);
    return status;
}

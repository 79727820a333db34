/* SPDX-License-Identifier: MIT */
/* bench_time.cu: medians of many runs by device events; buffers that grow; which rows are wanted.
 */
#include "bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, MAX_CALLS = 64 };
static const double RUN_MS = 2.0; /* events resolve half a microsecond; short calls share a run */

bool bench_ok(Bench *bench, cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return true;
    fprintf(stderr, "imgstat-bench: %s: %s\n", what, cudaGetErrorString(status));
    bench->failures++;
    cudaGetLastError(); /* clears what can be cleared: out of memory, a refused launch */
    const cudaError_t lasting = cudaDeviceSynchronize();
    if (lasting != cudaSuccess) {
        fprintf(stderr, "imgstat-bench: the device is lost: %s\n", cudaGetErrorString(lasting));
        bench_report_end(bench); /* the rows so far */
        exit(1);
    }
    return false;
}

static void *grow(Bench *bench, void **memory, size_t *have, size_t bytes)
{
    if (*memory && bytes <= *have)
        return *memory;
    cudaFree(*memory);
    *memory = NULL;
    *have = bytes > 0 ? bytes : 1;
    if (!bench_ok(bench, cudaMalloc(memory, *have), "cudaMalloc"))
        *have = 0;
    return *memory;
}

void *bench_scratch(Bench *bench, size_t bytes)
{
    return grow(bench, &bench->scratch, &bench->scratch_bytes, bytes);
}

void *bench_out(Bench *bench, size_t bytes)
{
    return grow(bench, &bench->out, &bench->out_bytes, bytes);
}

static void size_text(size_t bytes, char text[16])
{
    static const char units[] = "BKMG";
    unsigned u = 0;
    while (u < 3 && bytes >= 1024 && (double)bytes / 1024 >= 1) {
        if (bytes < 1024 * 1000 && u > 0 && bytes % 1024)
            break;
        bytes = (bytes + 512) / 1024;
        u++;
    }
    snprintf(text, 16, "%zu%c", bytes, units[u]);
}

/* group/sample x channels/pattern/size/what */
static void make_label(const BenchCase *c, const char *what, char *label, size_t bytes)
{
    char size[16], images[24] = "";
    size_text(c->bytes, size);
    if (c->images > 1)
        snprintf(images, sizeof images, "%zux", c->images);
    snprintf(label, bytes, "%s/%sx%u/%s/%s%s%s/%s", c->group, imgstat_sample_name(c->sample),
             c->channels, bench_pattern_name(c->pattern), images, size, c->cached ? "-cached" : "",
             what);
}

bool bench_wanted(const Bench *bench, const BenchCase *c, const char *what)
{
    char label[128];
    if (!bench->options.only)
        return true;
    make_label(c, what, label, sizeof label);
    return fnmatch(bench->options.only, label, 0) == 0;
}

static BenchRow *add_row(Bench *bench, const BenchCase *c, const char *what)
{
    if (bench->n_rows == bench->row_capacity) {
        const size_t capacity = bench->row_capacity ? 2 * bench->row_capacity : 256;
        BenchRow *const rows = (BenchRow *)realloc(bench->rows, capacity * sizeof *rows);
        if (!rows) {
            fprintf(stderr, "imgstat-bench: out of memory for rows\n");
            exit(1);
        }
        bench->rows = rows;
        bench->row_capacity = capacity;
    }
    BenchRow *const row = &bench->rows[bench->n_rows++];
    memset(row, 0, sizeof *row);
    row->of = *c;
    snprintf(row->what, sizeof row->what, "%s", what);
    make_label(c, what, row->label, sizeof row->label);
    return row;
}

static void finish_row(Bench *bench, BenchRow *row)
{
    const double bytes = (double)row->of.bytes, again = bytes * row->of.reads_again;
    const double once = row->of.writes ? 2 * bytes : bytes;
    const double ceiling = row->of.writes ? bench->copy_ceiling : bench->read_ceiling;
    const bool theirs = strncmp(row->what, "CUB", 3) == 0 || strncmp(row->what, "NPP", 3) == 0;
    if (!row->right && !theirs) /* others may be wrong: the row says so, and that is all */
        bench->failures++;
    if (row->ms > 0)
        row->gb_s = (once + again) / row->ms * 1e-6;
    if (row->ms > 0 && ceiling > 0) /* reads alone are faster than reads and writes by turns */
        row->of_ceiling = (once / ceiling + again / bench->read_ceiling) * 1e-6 / row->ms;
    bench_report_row(bench, row);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Milliseconds of one call, over `calls` of them in a row; negative after a reported failure. */
static double time_run(Bench *bench, const BenchCase *c, const char *what, BenchCall call,
                       void *work, unsigned calls, size_t *turn)
{
    float ms = 0;
    cudaError_t status = cudaEventRecord(bench->begin, bench->stream);
    for (unsigned k = 0; k < calls && status == cudaSuccess; k++)
        status = call(bench, c, work, bench_slot(bench, c, (*turn)++));
    if (status == cudaSuccess)
        status = cudaEventRecord(bench->end, bench->stream);
    if (status == cudaSuccess)
        status = cudaEventSynchronize(bench->end);
    if (status == cudaSuccess)
        status = cudaEventElapsedTime(&ms, bench->begin, bench->end);
    return bench_ok(bench, status, what) ? (double)ms / calls : -1;
}

double bench_row(Bench *bench, const BenchCase *c, const char *what, BenchCall call, void *work,
                 bool right)
{
    BenchRow *const row = add_row(bench, c, what);
    double ms[256];
    size_t turn = 0;
    unsigned calls = 1;
    for (unsigned k = 0; right && k < WARM_UP; k++) {
        const double once = time_run(bench, c, what, call, work, 1, &turn);
        calls = once < RUN_MS / MAX_CALLS ? (unsigned)MAX_CALLS : (unsigned)(RUN_MS / once);
        calls = calls > 0 ? calls : 1;
        right = once >= 0;
    }
    for (unsigned r = 0; right && r < bench->options.runs; r++) {
        ms[r] = time_run(bench, c, what, call, work, calls, &turn);
        right = ms[r] >= 0;
    }
    if (right) {
        qsort(ms, bench->options.runs, sizeof ms[0], by_value);
        row->runs = bench->options.runs;
        row->calls = calls;
        row->ms = ms[bench->options.runs / 2];
        row->fastest_ms = ms[0];
    }
    row->right = right;
    finish_row(bench, row);
    return row->gb_s;
}

void bench_host_row(Bench *bench, const BenchCase *c, const char *what, double ms, bool right)
{
    BenchRow *const row = add_row(bench, c, what);
    row->right = right;
    row->runs = row->calls = 1;
    row->ms = row->fastest_ms = right ? ms : 0;
    finish_row(bench, row);
}

/* SPDX-License-Identifier: MIT */
/* bench_report.c: the rows as a table for people, or as one JSON document. */
#include "bench.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void bench_report_row(const Bench *bench, const BenchRow *row)
{
    if (bench->options.json)
        return;
    if (bench->n_rows == 1) {
        printf("%s, driver %d.%d, runtime %d.%d\n", bench->device.name, bench->driver / 1000,
               bench->driver % 1000 / 10, bench->runtime / 1000, bench->runtime % 1000 / 10);
        printf("%-78s %12s %10s %8s\n", "row", "ms", "GB/s", "ceiling");
    }
    if (!row->right)
        printf("%-78s %12s\n", row->label, "WRONG");
    else if (row->of_ceiling > 0)
        printf("%-78s %12.5f %10.1f %7.1f%%\n", row->label, row->ms, row->gb_s,
               100 * row->of_ceiling);
    else
        printf("%-78s %12.5f %10.1f\n", row->label, row->ms, row->gb_s);
    fflush(stdout);
}

/* The row of another name for the same case, or NULL. */
static const BenchRow *find(const Bench *bench, const BenchCase *of, const char *what)
{
    for (size_t i = 0; i < bench->n_rows; i++) {
        const BenchRow *const r = &bench->rows[i];
        const bool same_size = r->of.bytes == of->bytes || of->images > 1;
        if (strcmp(r->of.group, of->group) == 0 && r->of.sample == of->sample &&
            r->of.channels == of->channels && r->of.pattern == of->pattern && same_size &&
            r->of.cached == of->cached && strcmp(r->what, what) == 0 && r->right)
            return r;
    }
    return NULL;
}

/* What the others' rows of the same case are called. */
static const char *const rivals[][2] = {
    {"CUB", "CUB calls"},
    {"CUB", "CUB InclusiveSum"},
    {"CUB_histogram", "CUB HistogramEven"},
    {"CUB_histogram", "CUB MultiHistogramEven"},
    {"NPP", "NPP calls"},
};

static bool is_ours(const BenchRow *row)
{
    return strncmp(row->what, "imgstat", 7) == 0 && row->right && row->gb_s > 0;
}

static void print_ratios(const Bench *bench)
{
    bool any = false;
    for (size_t i = 0; i < bench->n_rows; i++) {
        const BenchRow *const r = &bench->rows[i];
        if (!is_ours(r))
            continue;
        if (!any)
            printf("\ntimes as fast as\n");
        any = true;
        printf("%-66s %6.1f%%", r->label, 100 * r->of_ceiling);
        for (size_t k = 0; k < sizeof rivals / sizeof rivals[0]; k++) {
            const BenchRow *const other = find(bench, &r->of, rivals[k][1]);
            if (other && other->gb_s > 0)
                printf("  %s %.2f", rivals[k][1], r->gb_s / other->gb_s);
        }
        printf("\n");
    }
}

static void add_text(struct json_object *o, const char *key, const char *text)
{
    json_object_object_add(o, key, json_object_new_string(text));
}

/* The model of the host's processor: what follows the colon in the first line that starts so. */
static void add_cpu(struct json_object *o)
{
    char line[512];
    const char *found = NULL;
    FILE *const file = fopen("/proc/cpuinfo", "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *const colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        found = colon + 1 + strspn(colon + 1, " \t");
    }
    if (file)
        fclose(file);
    add_text(o, "cpu", found ? found : "unknown");
}

/* The driver's version: the first word with digits and dots in the first line that it shows. */
static void add_driver(struct json_object *o)
{
    char line[512] = "", *rest = line;
    const char *found = NULL;
    FILE *const file = fopen("/proc/driver/nvidia/version", "r");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    for (char *word = strtok_r(rest, " \t\n", &rest); word && !found;
         word = strtok_r(NULL, " \t\n", &rest))
        if (strchr(word, '.') && strspn(word, "0123456789.") == strlen(word))
            found = word;
    add_text(o, "driver", found ? found : "unknown");
}

static void add_count(struct json_object *o, const char *key, size_t n)
{
    json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

static void add_real(struct json_object *o, const char *key, double x)
{
    char text[40];
    snprintf(text, sizeof text, "%.6g", x);
    json_object_object_add(o, key, json_object_new_double_s(x, text));
}

static struct json_object *row_json(const Bench *bench, const BenchRow *row)
{
    struct json_object *const o = json_object_new_object();
    add_text(o, "group", row->of.group);
    add_text(o, "name", row->what);
    add_text(o, "sample", imgstat_sample_name(row->of.sample));
    add_count(o, "channels", row->of.channels);
    add_text(o, "input", bench_pattern_name(row->of.pattern));
    add_count(o, "images", row->of.images);
    add_count(o, "bytes", row->of.bytes);
    json_object_object_add(o, "writes", json_object_new_boolean(row->of.writes));
    json_object_object_add(o, "cached", json_object_new_boolean(row->of.cached));
    json_object_object_add(o, "right", json_object_new_boolean(row->right));
    add_count(o, "runs", row->runs);
    add_count(o, "calls", row->calls);
    add_real(o, "ms", row->ms);
    add_real(o, "fastest_ms", row->fastest_ms);
    add_real(o, "gb_s", row->gb_s);
    add_real(o, "of_ceiling", row->of_ceiling);
    for (size_t k = 0; is_ours(row) && k < sizeof rivals / sizeof rivals[0]; k++) {
        const BenchRow *const other = find(bench, &row->of, rivals[k][1]);
        char key[32];
        snprintf(key, sizeof key, "times_%s", rivals[k][0]);
        if (other && other->gb_s > 0)
            add_real(o, key, row->gb_s / other->gb_s);
    }
    return o;
}

static void print_json(const Bench *bench)
{
    struct json_object *const all = json_object_new_object();
    struct json_object *const rows = json_object_new_array();
    char text[64];
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%d", &utc);
    add_text(all, "date", text);
    add_text(all, "version", IMGSTAT_VERSION);
    add_text(all, "command", bench->options.command);
    add_cpu(all);
    add_driver(all);
    add_text(all, "device", bench->device.name);
    add_count(all, "multiprocessors", (size_t)bench->device.multiProcessorCount);
    add_count(all, "l2_bytes", (size_t)bench->device.l2CacheSize);
    add_count(all, "memory_bytes", bench->device.totalGlobalMem);
    snprintf(text, sizeof text, "%d.%d", bench->driver / 1000, bench->driver % 1000 / 10);
    add_text(all, "driver_cuda", text);
    snprintf(text, sizeof text, "%d.%d", bench->runtime / 1000, bench->runtime % 1000 / 10);
    add_text(all, "runtime_cuda", text);
    add_count(all, "seed", (size_t)bench->options.seed);
    add_real(all, "read_ceiling_gb_s", bench->read_ceiling);
    add_real(all, "copy_ceiling_gb_s", bench->copy_ceiling);
    for (size_t i = 0; i < bench->n_rows; i++)
        json_object_array_add(rows, row_json(bench, &bench->rows[i]));
    json_object_object_add(all, "rows", rows);
    puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
    json_object_put(all);
}

void bench_report_end(const Bench *bench)
{
    if (bench->options.json) {
        print_json(bench);
        return;
    }
    print_ratios(bench);
    printf("%zu rows, %u failures\n", bench->n_rows, bench->failures);
}

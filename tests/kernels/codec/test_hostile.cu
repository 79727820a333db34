/* SPDX-License-Identifier: MIT */
/* test_hostile.cu: damaged streams of deflate, LZW and PackBits, many in a launch, against the same
 * source compiled as C, and that against zlib and the processor's LZW: the same verdicts and bytes,
 * nothing written beside the outputs, and no launch that takes long. Every thread makes, sends and
 * checks batches of its own, which depend on nothing but the seed and their number. Where
 * IMGSTAT_TEST_SMALL is set, each input and output has an allocation that a sanitizer watches.
 * usage: gpu_hostile [SEED [STREAMS]] */
#include "codec/tiles.cuh"

extern "C" {
#include "codec/deflate.h"
#include "helper_lanes.h"
}
#include "deflate_streams.h"
#include "lzw_streams.h"

#include <atomic>
#include <chrono>
#include <cuda_runtime.h>
#include <mutex>
#include <stdio.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum {
    SKIPPED = 77,
    BATCH = 4000, /* streams of a launch */
    EACH = 50,    /* made of one that is right */
    GUARD = 16,
    STREAM_MOST = 600, /* bytes compressed, but of one stream in LARGE */
    LARGE = 64,
    DEFLATERS = 4
};

/* Seconds for a launch of a batch, while others run, and under a sanitizer. */
static const double limit_s = 10, slow_limit_s = 200;

typedef std::vector<uint8_t> Bytes;
typedef std::chrono::steady_clock Clock;

static struct {
    uint64_t seed, batches;
    bool alone; /* each stream has allocations of its own */
    std::atomic<uint64_t> next, streams[TILE_CODINGS], right[TILE_CODINGS], failures;
    std::mutex lock; /* guards what follows, and lines of output */
    double slowest_s;
    uint64_t slowest;
} test;

static void fatal(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "test_hostile: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

/* Streams and what the device makes of them. */
struct Batch {
    uint64_t number;
    std::vector<TiledPage> pages; /* one a stream */
    std::vector<CodedTile> tiles; /* places count from the start of in and out */
    std::vector<DeflatedCheck> checks;
    Bytes in, out;
};

struct Worker {
    Deflater *deflaters[DEFLATERS];
    Lzw *lzw;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static void fail(const Batch &batch, size_t i, const char *what)
{
    static const char *const codings[TILE_CODINGS] = {"plain", "deflate", "LZW", "PackBits"};
    const CodedTile &tile = batch.tiles[i];
    const std::lock_guard<std::mutex> hold(test.lock);
    if (test.failures++ >= 20)
        return;
    printf("batch %llu, stream %zu, %s, %u bytes for %u, rows of %u: %s\n",
           (unsigned long long)batch.number, i, codings[batch.pages[i].coding], tile.n_in,
           tile.n_out, batch.pages[i].row_bytes, what);
    for (uint32_t k = 0; k < tile.n_in && tile.n_in <= STREAM_MOST; k++)
        printf("%02x%s", batch.in[tile.in + k], k + 1 == tile.n_in ? "\n" : "");
}

/* Compresses n bytes with one of several compressors. */
static Bytes make_stream(Worker *w, const TiledPage &page, unsigned kind, Bytes *content,
                         uint64_t *state)
{
    const size_t n = content->size();
    Bytes stream;
    size_t bytes;
    stream_content(content->data(), n, kind, state);
    if (page.coding == TILE_DEFLATED && splitmix64(state) % 2) {
        uint8_t *of_zlib;
        bytes = stream_deflate(content->data(), n, stream_kind(state), &of_zlib);
        stream.assign(of_zlib, of_zlib + bytes);
        free(of_zlib);
    } else if (page.coding == TILE_DEFLATED) {
        stream.resize(deflate_bound(n));
        bytes = deflate_block(w->deflaters[splitmix64(state) % DEFLATERS], content->data(), n, true,
                              stream.data());
    } else if (page.coding == TILE_LZW) {
        stream.resize(lzw_room(n, LZW_SHORTEST));
        bytes = lzw_stream(kind, content->data(), n, state, stream.data());
    } else {
        stream.resize(2 * n);
        bytes = packbits(content->data(), n, page.row_bytes, stream.data());
    }
    stream.resize(bytes);
    return stream;
}

/* Appends damaged versions of a stream for about n bytes. */
static void add_damaged(Batch *batch, const TiledPage &page, uint32_t window, const Bytes &stream,
                        size_t n, uint64_t *state)
{
    for (unsigned j = 0; j < EACH; j++) {
        Bytes damaged = stream;
        size_t left = stream_damage(damaged.data(), damaged.size(), state);
        if (j % 4 == 3)
            left = stream_damage(damaged.data(), left, state);
        CodedTile tile = {};
        tile.in = batch->in.size() + splitmix64(state) % 4;
        tile.out = batch->out.size();
        tile.n_in = (uint32_t)left;
        tile.n_out = (uint32_t)(j % 5 == 4 && n > 1 ? n + j % 3 - 1 : n);
        tile.window = window;
        tile.page = (uint32_t)batch->pages.size();
        batch->in.resize(tile.in);
        batch->in.insert(batch->in.end(), damaged.begin(), damaged.begin() + (long)left);
        batch->out.resize(padded(tile.out + tile.n_out + GUARD, TILE_ALIGN));
        batch->tiles.push_back(tile);
        batch->pages.push_back(page);
    }
}

/* Half of the streams are deflate; of the others three in four LZW. */
static void make_batch(Worker *w, Batch *batch)
{
    uint64_t state = mix64(test.seed + mix64(batch->number + 1));
    batch->in.clear();
    batch->out.clear();
    batch->tiles.clear();
    batch->pages.clear();
    for (unsigned i = 0; i < BATCH / EACH; i++) {
        const uint64_t r = splitmix64(&state);
        const bool large = r % LARGE == 0;
        TiledPage page = {};
        page.coding = i % 2 ? TILE_DEFLATED : i % 8 ? TILE_LZW : TILE_PACKBITS;
        page.row_bytes = 1 + (uint32_t)(r / LARGE % 300);
        size_t n = 1 + (size_t)(r >> 32) % (large ? 20000 : r / 8 % 2 ? 200 : 2000);
        Bytes content, stream;
        do {
            content.resize(page.coding == TILE_PACKBITS ? padded(n, page.row_bytes) : n);
            stream = make_stream(w, page, (unsigned)(r >> 16), &content, &state);
            n = n / 2 + 1;
        } while (stream.size() > STREAM_MOST && !large);
        const uint32_t window = r >> 24 & 7 ? 1u << 15 : 512u << (r >> 27 & 3);
        add_damaged(batch, page, window, stream, content.size(), &state);
    }
    batch->in.resize(batch->in.size() + LZW_SPARE);
}

/* Waits for the launches of a batch, but not for ever. */
static void wait(const Worker &w, uint64_t number)
{
    const Clock::time_point began = Clock::now();
    const double limit = test.alone ? slow_limit_s : limit_s;
    for (cudaError_t status; (status = cudaEventQuery(w.end)) != cudaSuccess;) {
        if (status != cudaErrorNotReady)
            fatal(status, "the kernels");
        if (std::chrono::duration<double>(Clock::now() - began).count() > limit) {
            printf("seed %llu, batch %llu takes longer than %g s\n", (unsigned long long)test.seed,
                   (unsigned long long)number, limit);
            fflush(stdout);
            _exit(1);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    float ms;
    fatal(cudaEventElapsedTime(&ms, w.begin, w.end), "cudaEventElapsedTime");
    const std::lock_guard<std::mutex> hold(test.lock);
    if (ms / 1000 > test.slowest_s) {
        test.slowest_s = ms / 1000;
        test.slowest = number;
    }
}

/* Memory of the device, filled in the order of a stream, and freed at the end. */
struct There {
    cudaStream_t stream;
    std::vector<void *> memory;

    template <typename T> T *take(const T *from, size_t n)
    {
        T *to = NULL;
        fatal(cudaMalloc(&to, (n + !n) * sizeof(T)), "cudaMalloc");
        fatal(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyHostToDevice, stream), "upload");
        memory.push_back(to);
        return to;
    }
    ~There()
    {
        for (void *const m : memory)
            fatal(cudaFree(m), "cudaFree");
    }
};

/* Decompresses a batch on the device. */
static void run_there(const Worker &w, Batch *batch)
{
    const size_t n = batch->tiles.size();
    There there = {w.stream, {}};
    std::vector<CodedTile> tiles = batch->tiles;
    guard_fill(batch->out.data(), batch->out.size());
    const uint8_t *const in = test.alone ? NULL : there.take(batch->in.data(), batch->in.size());
    uint8_t *const out = test.alone ? NULL : there.take(batch->out.data(), batch->out.size());
    for (CodedTile &tile : tiles) {
        const uint32_t before = (uint32_t)(tile.in % 4);
        tile.in =
            test.alone
                ? (uintptr_t)there.take(&batch->in[tile.in - before], before + tile.n_in) + before
                : (uintptr_t)in + tile.in;
        tile.out = test.alone ? (uintptr_t)there.take(&batch->out[tile.out], tile.n_out)
                              : (uintptr_t)out + tile.out;
    }
    batch->checks.assign(n, DeflatedCheck{});
    DecodeWork work = {};
    work.pages = there.take(batch->pages.data(), n);
    work.tiles = there.take(tiles.data(), n);
    work.n_pages = work.n_tiles = n;
    DeflatedCheck *const checks = there.take(batch->checks.data(), n);
    fatal(cudaEventRecord(w.begin, w.stream), "cudaEventRecord");
    fatal(launch_inflate_tiles(&work, checks, w.stream), "inflate_tiles");
    fatal(launch_lzw_tiles(&work, checks, w.stream), "lzw_tiles");
    fatal(launch_packbits_tiles(&work, checks, w.stream), "packbits_tiles");
    fatal(cudaEventRecord(w.end, w.stream), "cudaEventRecord");
    wait(w, batch->number);
    fatal(cudaMemcpy(batch->checks.data(), checks, n * sizeof *checks, cudaMemcpyDeviceToHost),
          "download");
    for (size_t i = 0; i < n && test.alone; i++)
        fatal(cudaMemcpy(&batch->out[batch->tiles[i].out], (const void *)tiles[i].out,
                         tiles[i].n_out, cudaMemcpyDeviceToHost),
              "download");
    if (!test.alone)
        fatal(cudaMemcpy(batch->out.data(), out, batch->out.size(), cudaMemcpyDeviceToHost),
              "download");
}

static void check(const Worker &w, const Batch &batch)
{
    Bytes expected;
    for (size_t i = 0; i < batch.tiles.size(); i++) {
        const TiledPage &page = batch.pages[i];
        CodedTile here = batch.tiles[i];
        const uint8_t *const out = &batch.out[here.out];
        const size_t end = i + 1 < batch.tiles.size() ? batch.tiles[i + 1].out : batch.out.size();
        if (!guard_holds(out + here.n_out, end - here.out - here.n_out))
            fail(batch, i, "written behind the output");
        expected.resize(here.n_out + 1);
        here.in = (uintptr_t)&batch.in[here.in];
        here.out = (uintptr_t)expected.data();
        const bool right = lanes_decode(&page, &here);
        if (right != (batch.checks[i].doubt == 0))
            fail(batch, i, right ? "refused" : "accepted");
        else if (right && memcmp(out, expected.data(), here.n_out) != 0)
            fail(batch, i, "other bytes");
        if (!lanes_agree(&page, &here, right, w.lzw))
            fail(batch, i, "C against the processor's decoder");
        test.streams[page.coding]++;
        test.right[page.coding] += right;
    }
}

static void work(void)
{
    static const int levels[DEFLATERS] = {-1, -1, 6, 12};
    Worker w = {};
    Batch batch;
    for (unsigned i = 0; i < DEFLATERS; i++)
        w.deflaters[i] = deflater_create(levels[i], i == 1);
    w.lzw = lzw_create();
    fatal(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking), "a stream");
    fatal(cudaEventCreate(&w.begin), "an event");
    fatal(cudaEventCreate(&w.end), "an event");
    while ((batch.number = test.next++) < test.batches) {
        make_batch(&w, &batch);
        run_there(w, &batch);
        check(w, batch);
    }
    fatal(cudaEventDestroy(w.begin), "an event");
    fatal(cudaEventDestroy(w.end), "an event");
    fatal(cudaStreamDestroy(w.stream), "a stream");
    lzw_destroy(w.lzw);
    for (Deflater *const deflater : w.deflaters)
        deflater_destroy(deflater);
}

static void load_kernels(void)
{
    const DecodeWork none = {};
    fatal(launch_inflate_tiles(&none, NULL, 0), "inflate_tiles");
    fatal(launch_lzw_tiles(&none, NULL, 0), "lzw_tiles");
    fatal(launch_packbits_tiles(&none, NULL, 0), "packbits_tiles");
}

int main(int argc, char **argv)
{
    const char *required = getenv("IMGSTAT_REQUIRE_CUDA");
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        return required && *required == '1' ? 1 : SKIPPED;
    }
    const uint64_t streams = argc > 2 ? strtoull(argv[2], NULL, 10) : is_run(1, 2) ? 800000 : BATCH;
    test.alone = !is_run(1, 2);
    test.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    test.batches = (streams + BATCH - 1) / BATCH;
    load_kernels();
    const Clock::time_point began = Clock::now();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); i++)
        threads.emplace_back(work);
    for (std::thread &thread : threads)
        thread.join();
    uint64_t right = 0;
    for (unsigned k = TILE_DEFLATED; k < TILE_CODINGS; k++) {
        static const char *const codings[] = {"", "deflate", "LZW", "PackBits"};
        printf("%s: %llu streams, %llu right\n", codings[k], (unsigned long long)test.streams[k],
               (unsigned long long)test.right[k]);
        right += test.right[k];
    }
    printf("seed %llu, %zu threads, %.1f s; slowest batch %llu, %.1f ms: %llu failures\n",
           (unsigned long long)test.seed, threads.size(),
           std::chrono::duration<double>(Clock::now() - began).count(),
           (unsigned long long)test.slowest, 1000 * test.slowest_s,
           (unsigned long long)test.failures);
    return test.failures > 0 || right < streams / 20;
}

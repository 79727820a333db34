/* SPDX-License-Identifier: MIT */
/* test_faults.cu: a GPU that lacks memory at each allocation in turn, whose kernel traps, whose
 * context the program destroys, that other processes use as well. Batches end as on the processor
 * where it may take over, and with one sentence a file where not. The device is linked into this
 * program, whose linker hands it the calls below. */
#include "imgstat.h"

extern "C" {
#include "device/device.h"
}
#include "device/cuda_device.h"

#include <atomic>
#include <cuda_runtime.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" char **environ;

/* ---- Faults ---------------------------------------------------------------------------------- */

static struct Fault {
    unsigned allocation; /* the one that fails, counted from 1; 0: none */
    bool more;           /* and all that follow */
    unsigned launch;     /* the one in whose place a kernel traps; 0: none */
} fault;
static std::atomic<unsigned> allocations, launches;
static std::atomic<long> held; /* allocations that have not been freed */

static bool lacks_memory()
{
    const unsigned n = ++allocations;
    return fault.allocation > 0 && (fault.more ? n >= fault.allocation : n == fault.allocation);
}

static cudaError_t hold(cudaError_t status)
{
    held += status == cudaSuccess;
    return status;
}

static __global__ void trap_kernel()
{
    asm volatile("trap;");
}

extern "C" {
cudaError_t __real_cudaMalloc(void **memory, size_t bytes);
cudaError_t __real_cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream);
cudaError_t __real_cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
cudaError_t __real_cudaFree(void *memory);
cudaError_t __real_cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t __real_cudaFreeHost(void *memory);
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **arguments);
ImgstatResult __real_imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                         ImgstatError *err);

cudaError_t __wrap_cudaMalloc(void **memory, size_t bytes)
{
    return lacks_memory() ? cudaErrorMemoryAllocation : hold(__real_cudaMalloc(memory, bytes));
}

cudaError_t __wrap_cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
    return lacks_memory() ? cudaErrorMemoryAllocation
                          : hold(__real_cudaMallocAsync(memory, bytes, stream));
}

cudaError_t __wrap_cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    return lacks_memory() ? cudaErrorMemoryAllocation
                          : hold(__real_cudaHostAlloc(memory, bytes, flags));
}

cudaError_t __wrap_cudaFree(void *memory)
{
    held -= memory != NULL;
    return __real_cudaFree(memory);
}

cudaError_t __wrap_cudaFreeAsync(void *memory, cudaStream_t stream)
{
    held -= memory != NULL;
    return __real_cudaFreeAsync(memory, stream);
}

cudaError_t __wrap_cudaFreeHost(void *memory)
{
    held -= memory != NULL;
    return __real_cudaFreeHost(memory);
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **arguments)
{
    if (++launches != fault.launch)
        return __real_cudaLaunchKernelExC(config, kernel, arguments);
    trap_kernel<<<1, 1, 0, config->stream>>>();
    return cudaGetLastError();
}

/* The device of this program, not that of the module. */
ImgstatResult __wrap_imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                         ImgstatError *err)
{
    if (strncmp(name, "cuda", 4) != 0)
        return __real_imgstat_device_open(name, threads, out, err);
    IMGSTAT_TRY(cuda_device_ops.open(0, threads, out, err));
    (*out)->index = 0;
    (*out)->threads = threads ? threads : 1;
    return IMGSTAT_OK;
}
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static size_t checks, failures;

static void check(bool good, const std::string &what)
{
    checks++;
    if (good)
        return;
    if (failures++ < 20)
        printf("WRONG: %s\n", what.c_str());
}

static void must(ImgstatResult result, const ImgstatError &error)
{
    if (result != IMGSTAT_OK) {
        printf("%s\n", error.message);
        exit(1);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Samples of a sort and of several launches; 65,536 floats are sorted on the device. */
struct Input {
    const char *name;
    uint32_t width, height;
    uint16_t channels;
    ImgstatSample sample;
};
static const Input inputs[] = {{"a.png", 300, 200, 3, IMGSTAT_U8},
                               {"b.png", 301, 150, 1, IMGSTAT_U16},
                               {"c.tif", 256, 256, 1, IMGSTAT_F32}};
enum { FILES = sizeof inputs / sizeof inputs[0] };

static std::string folder;

static std::string place(const char *kind, size_t i)
{
    return folder + "/" + kind + inputs[i].name;
}

static void make_files()
{
    for (size_t i = 0; i < FILES; i++) {
        const Input &in = inputs[i];
        ImgstatError error;
        ImagePro image;
        must(imgstat_image_create(in.width, in.height, in.channels, in.sample, 0, &image, &error),
             error);
        uint32_t state = 3;
        for (size_t y = 0; y < in.height; y++)
            for (size_t k = 0; k < (size_t)in.width * in.channels; k++) {
                char *const row = (char *)image.host + y * image.pitch;
                state = state * 1664525u + 1013904223u;
                const uint16_t word = (uint16_t)(state >> 18);
                const float value = (float)state / 3;
                if (in.sample == IMGSTAT_U8)
                    row[k] = (char)(word >> 6);
                else if (in.sample == IMGSTAT_U16)
                    memcpy(row + 2 * k, &word, 2);
                else
                    memcpy(row + 4 * k, &value, 4);
            }
        must(imgstat_image_save(&image, -1, place("", i).c_str(), NULL, NULL, &error), error);
        imgstat_image_release(&image);
    }
}

/* What a file holds; "" if there is none. */
static std::string contents(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/* ---- Batches --------------------------------------------------------------------------------- */

struct Way {
    const char *name;
    bool fed, measures; /* the device decodes as well; nothing is written */
    ImgstatTransform transform;
    size_t files; /* the first of them */
};
static const Way ways[] = {
    {"stats", false, true, IMGSTAT_STRETCH, FILES},
    {"fed stats", true, true, IMGSTAT_STRETCH, FILES},
    {"fed normalize", true, false, IMGSTAT_STRETCH, FILES},
    {"equalize", false, false, IMGSTAT_EQUALIZE, FILES},
    {"clahe", false, false, IMGSTAT_CLAHE, 2},
};

/* What became of a batch: of each file its sentence, and the text of its statistics or the bytes
 * that were written. */
struct Outcome {
    ImgstatResult result;
    std::vector<std::string> said, got;
    std::vector<std::string> fallen;
};

static bool on_done(void *context, const ImgstatDone *done)
{
    ((Outcome *)context)->said.push_back(done->message);
    return true;
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    if (!measured->record)
        return true;
    std::string &text = ((Outcome *)context)->got[measured->job];
    text.clear();
    for (uint16_t c = 0; c < measured->page->channels; c++) {
        ImgstatStats s;
        char line[400];
        imgstat_record_stats(measured->record, c, &s);
        snprintf(line, sizeof line, "%llu %a %a %a %a %llx %llx\n", (unsigned long long)s.count,
                 s.mean, s.stddev, s.skewness, s.kurtosis, (unsigned long long)s.min.as.u,
                 (unsigned long long)s.max.as.u);
        text += line;
    }
    return true;
}

static void on_fallen(void *context, const char *why)
{
    ((Outcome *)context)->fallen.push_back(why);
}

static Outcome run(const Way &way, const char *device, bool falls_back)
{
    Outcome out;
    ImgstatJob jobs[FILES] = {};
    std::string from[FILES], to[FILES];
    ImgstatError error = {};
    setenv("IMGSTAT_DECODE", way.fed ? "threads" : "", 1);
    out.got.resize(way.files);
    for (size_t i = 0; i < way.files; i++) {
        from[i] = place("", i);
        to[i] = place("out-", i);
        jobs[i].input = from[i].c_str();
        jobs[i].output = way.measures ? NULL : to[i].c_str();
        (void)unlink(to[i].c_str());
    }
    allocations = launches = 0;
    if (way.measures) {
        ImgstatMeasure how = {};
        how.median = how.shape = true;
        ImgstatMeasureBatch batch = {};
        batch.how = &how;
        batch.device = device;
        batch.threads = 1;
        batch.fallen_back = falls_back ? on_fallen : NULL;
        batch.page = on_page;
        batch.progress = on_done;
        batch.context = &out;
        out.result = imgstat_batch_measure(&batch, jobs, way.files, &error);
    } else {
        ImgstatBatch batch = {};
        batch.method.transform = way.transform;
        batch.device = device;
        batch.threads = 1;
        batch.fallen_back = falls_back ? on_fallen : NULL;
        batch.progress = on_done;
        batch.context = &out;
        out.result = imgstat_batch_run(&batch, jobs, way.files, &error);
        for (size_t i = 0; i < way.files; i++)
            out.got[i] = contents(to[i]);
    }
    if (out.result != IMGSTAT_OK)
        out.said.assign(way.files, error.message);
    return out;
}

static bool is_sentence(const std::string &text)
{
    return text.find('\n') == std::string::npos &&
           (text.find("cuda:0: ") != std::string::npos ||
            text.find("out of memory for ") != std::string::npos);
}

/* Whether each file is as expected, or failed with a sentence and was not written. If the call has
 * failed, the processor may have done some files before. */
static void check_outcome(const std::string &what, const Outcome &expected, const Outcome &got,
                          bool falls_back)
{
    check(got.said.size() == expected.said.size(), what + ": files are missing");
    for (size_t i = 0; i < got.said.size() && i < expected.got.size(); i++) {
        const bool good = got.said[i].empty(), left = got.result != IMGSTAT_OK;
        check(good || (!falls_back && is_sentence(got.said[i])), what + " says: " + got.said[i]);
        check(((good || left) && got.got[i] == expected.got[i]) || (!good && got.got[i].empty()),
              what + ": other results");
    }
    for (const std::string &why : got.fallen)
        check(is_sentence(why), what + " reports: " + why);
}

/* ---- Out of memory ----------------------------------------------------------------------------
 */

static void test_memory()
{
    for (const Way &way : ways) {
        fault = Fault{};
        const Outcome expected = run(way, "cpu", false);
        check_outcome(way.name, expected, run(way, "cuda", false), true);
        const unsigned all = allocations;
        check(all > 5 && held == 0, std::string(way.name) + ": " + std::to_string(all) +
                                        " allocations, " + std::to_string(held) + " held");
        for (unsigned n = 1; n <= all; n++)
            for (int more = 0; more < 2; more++) {
                const bool falls_back = (n + (unsigned)more) % 2;
                const std::string what = std::string(way.name) + ", allocation " +
                                         std::to_string(n) + (more ? " and later" : "") +
                                         (falls_back ? ", auto" : "");
                fault = Fault{n, more > 0, 0};
                check_outcome(what, expected, run(way, "cuda", falls_back), falls_back);
                check(held == 0, what + ": memory is lost");
            }
        printf("%-14s %3u allocations, each failed twice\n", way.name, all);
    }
    fault = Fault{};
}

/* ---- In processes of their own: they lose the context ------------------------------------------
 */

/* A kernel traps in the place of launch n: the processor takes over, or the sentence is right. */
static void trap(unsigned n)
{
    for (const Way &way : ways) {
        fault = Fault{};
        const Outcome expected = run(way, "cpu", false);
        fault.launch = n;
        const bool falls_back = n % 2;
        const Outcome got = run(way, "cuda", falls_back);
        check_outcome(std::string(way.name) + ": trap " + std::to_string(n), expected, got,
                      falls_back);
        if (&way == ways) /* the context is lost thereafter */
            check(!falls_back || got.fallen.size() == 1, "a trap is reported");
    }
}

/* The program resets the GPU while the module's device is open, and works on with it. */
static void reset(bool goes_on)
{
    enum { BYTES = 1 << 20 };
    ImgstatError error = {};
    ImgstatDevice *device = NULL;
    ImgstatRecord *record = NULL;
    static uint8_t pixels[BYTES];
    std::vector<void *> own(goes_on ? 50 : 0);
    ImagePro image;
    void *pinned = NULL;
    DevMem memory;
    must(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, 1024, 1024, 1, IMGSTAT_U8, 0, NULL, NULL,
                            &image, &error),
         error);
    must(__real_imgstat_device_open("cuda", 1, &device, &error), error);
    must(imgstat_measure_image(device, &image, NULL, &record, &error), error);
    imgstat_record_destroy(record);
    must(device->ops->alloc(device, BYTES, &memory, &error), error);
    must(device->ops->host_alloc(device, BYTES, &pinned, &error), error);
    check(__real_cudaFree(NULL) == cudaSuccess && cudaDeviceReset() == cudaSuccess, "reset");
    for (void *&at : own)
        check(__real_cudaMalloc(&at, BYTES) == cudaSuccess &&
                  cudaMemset(at, 0x5A, BYTES) == cudaSuccess,
              "the program's own memory");
    for (int i = 0; i < 2; i++)
        check(imgstat_measure_image(device, &image, NULL, &record, &error) == IMGSTAT_ERR_DEVICE &&
                  is_sentence(error.message),
              std::string("a context that is gone: ") + error.message);
    device->ops->release(device, &memory);
    device->ops->host_release(device, pinned);
    imgstat_device_close(device);
    for (void *at : own) { /* nobody else has freed it */
        std::vector<unsigned char> bytes(BYTES);
        check(cudaMemcpy(bytes.data(), at, BYTES, cudaMemcpyDeviceToHost) == cudaSuccess &&
                  bytes[0] == 0x5A && bytes[BYTES - 1] == 0x5A &&
                  __real_cudaFree(at) == cudaSuccess,
              "the program's memory is changed");
    }
    /* Whether the driver gives the module another context is not ours to say. */
    ImgstatResult again = __real_imgstat_device_open("cuda", 1, &device, &error);
    if (again == IMGSTAT_OK) {
        again = imgstat_measure_image(device, &image, NULL, &record, &error);
        imgstat_device_close(device);
    }
    if (again == IMGSTAT_OK)
        imgstat_record_destroy(record);
    check(again == IMGSTAT_OK || is_sentence(error.message), error.message);
    printf("opened again after a reset: %s\n", again == IMGSTAT_OK ? "yes" : error.message);
}

/* Works while others do. */
static void beside_others()
{
    for (int round = 0; round < 3; round++)
        for (const Way &way : ways)
            check_outcome(way.name, run(way, "cpu", false), run(way, "cuda", false), true);
}

static pid_t start(const char *program, const char *what)
{
    pid_t child;
    char *const arguments[] = {(char *)program, (char *)what, NULL};
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0)
        return child;
    printf("no process\n");
    exit(1);
}

static void finish(pid_t child, const char *what)
{
    int status = -1;
    (void)waitpid(child, &status, 0);
    check(status == 0, std::string(what) + " ends with " + std::to_string(status));
}

static void test_in_processes(const char *program)
{
    static const char *const others[] = {"trap1", "trap2", "trap5", "trap8", "reset", "resetmore"};
    pid_t child[4];
    for (const char *what : others)
        finish(start(program, what), what);
    for (pid_t &each : child)
        each = start(program, "beside");
    for (pid_t each : child)
        finish(each, "one of four processes");
}

static void in_process(const char *what)
{
    if (strncmp(what, "trap", 4) == 0)
        trap((unsigned)atoi(what + 4));
    else if (strncmp(what, "reset", 5) == 0)
        reset(what[5] != '\0');
    else
        beside_others();
}

static void remove_files()
{
    for (size_t i = 0; i < FILES; i++) {
        (void)unlink(place("", i).c_str());
        (void)unlink(place("out-", i).c_str());
    }
    check(rmdir(folder.c_str()) == 0, "something is left in the folder");
}

int main(int argc, char **argv)
{
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    char name[] = "/tmp/imgstat-faults-XXXXXX";
    if (imgstat_device_list(NULL, 0) == 1) {
        printf("no CUDA device\n");
        return required && *required == '1' ? 1 : 77;
    }
    if (!mkdtemp(name))
        return 1;
    folder = name;
    make_files();
    if (argc > 1) {
        in_process(argv[1]);
    } else {
        test_in_processes(argv[0]);
        if (!getenv("IMGSTAT_TEST_SMALL")) /* a memory checker counts allocations of its own */
            test_memory();
    }
    remove_files();
    printf("%s: %zu checks, %zu failures\n", argc > 1 ? argv[1] : "faults", checks, failures);
    return checks == 0 || failures > 0;
}

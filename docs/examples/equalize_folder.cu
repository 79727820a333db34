/* SPDX-License-Identifier: MIT */
/* equalize_folder.cu: loads the PNG files of a folder into device memory, equalizes them there, and
 * writes them. The compressed bytes go to the GPU, which decodes them; what it does not decode, the
 * processor does. Without an output folder nothing is written.
 * usage: equalize_folder [FOLDER [OUTPUT_FOLDER]] */
#include <imgstat_async.h>

#include <cuda_runtime.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

#define MUST(call)                                    \
    do {                                              \
        if ((call) != IMGSTAT_OK) {                   \
            printf("%s: %s\n", #call, error.message); \
            exit(1);                                  \
        }                                             \
    } while (0)

#define MUST_CUDA(call)                                            \
    do {                                                           \
        const cudaError_t status = (call);                         \
        if (status != cudaSuccess) {                               \
            printf("%s: %s\n", #call, cudaGetErrorString(status)); \
            exit(1);                                               \
        }                                                          \
    } while (0)

typedef std::vector<unsigned char> Bytes;

static std::vector<std::string> png_files(const char *folder)
{
    std::vector<std::string> names;
    DIR *const open = opendir(folder);
    while (const struct dirent *const entry = open ? readdir(open) : NULL) {
        const char *const format = imgstat_format_of_name(entry->d_name);
        if (format && std::string(format) == "png")
            names.push_back(std::string(folder) + "/" + entry->d_name);
    }
    if (open)
        closedir(open);
    return names;
}

static Bytes read_file(const std::string &name)
{
    Bytes bytes;
    unsigned char part[1 << 16];
    FILE *const file = fopen(name.c_str(), "rb");
    for (size_t n; file && (n = fread(part, 1, sizeof part, file)) > 0;)
        bytes.insert(bytes.end(), part, part + n);
    if (file)
        fclose(file);
    return bytes;
}

/* Equalizes an image in its place and, if `to` is not empty, writes it. */
static void equalize(ImgstatDevice *device, ImagePro *image, int16_t alpha, cudaStream_t stream,
                     const std::string &to)
{
    const ImgstatMethod method = {IMGSTAT_EQUALIZE};
    ImgstatError error;
    ImgstatChain *chain = NULL;
    ImagePro host;
    MUST(imgstat_chain_create(device, &method, image, alpha, &chain, &error));
    MUST(imgstat_transform_async(chain, image, image, stream, &error));
    MUST(imgstat_image_create(image->width, image->height, image->channels, image->sample,
                              image->bits, &host, &error));
    MUST_CUDA(cudaMemcpy2DAsync(host.host, host.pitch, (void *)image->device.address, image->pitch,
                                image->pitch, host.height, cudaMemcpyDeviceToHost, stream));
    MUST_CUDA(cudaStreamSynchronize(stream));
    if (!to.empty())
        MUST(imgstat_image_save(&host, alpha, to.c_str(), NULL, NULL, &error));
    imgstat_image_release(&host);
    imgstat_chain_destroy(chain);
}

int main(int argc, char **argv)
{
    const char *const required = getenv("IMGSTAT_REQUIRE_CUDA");
    const char *const folder = argc > 1 ? argv[1] : getenv("IMGSTAT_TESTDATA");
    ImgstatError error;
    ImgstatDevice *device = NULL;
    if (imgstat_device_open("cuda:0", 0, &device, &error) != IMGSTAT_OK) {
        printf("%s\n", error.message);
        return required && *required == '1' ? 1 : 77;
    }
    const std::vector<std::string> names = png_files(folder ? folder : ".");
    const size_t n = names.size();
    std::vector<Bytes> bytes;
    std::vector<ImgstatEncoded> files(n);
    for (size_t i = 0; i < n; i++) {
        bytes.push_back(read_file(names[i]));
        files[i] = {names[i].c_str(), bytes[i].empty() ? "" : (void *)bytes[i].data(),
                    bytes[i].size()};
    }

    ImgstatDecode *decode = NULL;
    cudaStream_t stream;
    MUST_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(imgstat_decode_create(device, files.data(), n, NULL, &decode, &error));
    std::vector<ImagePro> images(n);
    std::vector<ImgstatPage> pages(n);
    std::vector<ImgstatError> results(n);
    for (size_t i = 0; i < n; i++) {
        ImgstatPage *const page = &pages[i];
        void *pixels;
        if (imgstat_decode_page(decode, i, page, &error) != IMGSTAT_OK)
            continue;
        MUST_CUDA(cudaMalloc(&pixels, (size_t)page->width * page->height * page->channels *
                                          imgstat_sample_bytes(page->sample)));
        MUST(imgstat_image_wrap(IMGSTAT_CUDA, 0, pixels, 0, page->width, page->height,
                                page->channels, page->sample, page->bits, NULL, NULL, &images[i],
                                &error));
    }
    MUST(imgstat_decode_async(decode, images.data(), stream, &error));
    MUST(imgstat_decode_finish(decode, stream, results.data(), &error));

    size_t equalized = 0, by_device = 0;
    for (size_t i = 0; i < n; i++) {
        if (results[i].code != IMGSTAT_OK) {
            printf("%s\n", results[i].message);
            continue;
        }
        const std::string name = names[i].substr(names[i].rfind('/'));
        equalize(device, &images[i], pages[i].alpha, stream, argc > 2 ? argv[2] + name : "");
        by_device += imgstat_decode_on_device(decode, i);
        equalized++;
    }
    printf("%zu of %zu files equalized, %zu decoded by the GPU\n", equalized, n, by_device);

    for (size_t i = 0; i < n; i++)
        MUST_CUDA(cudaFree((void *)images[i].device.address));
    imgstat_decode_destroy(decode);
    imgstat_device_close(device);
    MUST_CUDA(cudaStreamDestroy(stream));
    return equalized > 0 && by_device > 0 ? 0 : 1;
}

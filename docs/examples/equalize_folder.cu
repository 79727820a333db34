/* SPDX-License-Identifier: MIT */
/* equalize_folder.cu: loads the PNG files of a folder into device memory, equalizes them there, and
 * writes them as PNG, or in the format that is named. Only compressed bytes go to the GPU and come
 * back: it decodes and encodes; what it does not do, the processor does. Without an output folder
 * nothing is written.
 * usage: equalize_folder [FOLDER [OUTPUT_FOLDER [FORMAT]]] */
#include <imgstat_async.h>

#include <cuda_runtime.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Equalizes an image in its place. */
static void equalize(ImgstatDevice *device, ImagePro *image, int16_t alpha, cudaStream_t stream)
{
    const ImgstatMethod method = {IMGSTAT_EQUALIZE};
    ImgstatError error;
    ImgstatChain *chain = NULL;
    MUST(imgstat_chain_create(device, &method, image, alpha, &chain, &error));
    MUST(imgstat_transform_async(chain, image, image, stream, &error));
    MUST_CUDA(cudaStreamSynchronize(stream));
    imgstat_chain_destroy(chain);
}

static void write_file(const std::string &name, const ImgstatEncoded &from)
{
    FILE *const file = fopen(name.c_str(), "wb");
    const bool ok = file && fwrite(from.bytes, 1, from.n_bytes, file) == from.n_bytes;
    if (!file || fclose(file) != 0 || !ok) {
        printf("%s: cannot be written\n", name.c_str());
        exit(1);
    }
}

/* Encodes images and, if there is a folder, writes them. Returns how many the GPU has compressed.
 */
static size_t encode(ImgstatDevice *device, const std::vector<const char *> &names,
                     const std::vector<ImagePro> &images, cudaStream_t stream, const char *folder,
                     const char *format)
{
    ImgstatWrite how = {format};
    const size_t n = images.size();
    std::vector<ImgstatEncoded> files(n);
    std::vector<ImgstatError> results(n);
    ImgstatError error;
    ImgstatEncode *encode = NULL;
    size_t by_device = 0;
    MUST(imgstat_encode_create(device, images.data(), n, &how, 0, &encode, &error));
    MUST(imgstat_encode_async(encode, names.data(), images.data(), n, stream, &error));
    MUST(imgstat_encode_finish(encode, stream, files.data(), results.data(), &error));
    for (size_t i = 0; i < n; i++) {
        by_device += imgstat_encode_on_device(encode, i);
        if (results[i].code != IMGSTAT_OK)
            printf("%s\n", results[i].message);
        else if (folder)
            write_file(folder + std::string(strrchr(names[i], '/')) +
                           (format ? "." + std::string(format) : ""),
                       files[i]);
    }
    imgstat_encode_destroy(encode);
    return by_device;
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

    size_t by_device = 0;
    std::vector<const char *> equalized;
    std::vector<ImagePro> pixels;
    for (size_t i = 0; i < n; i++) {
        if (results[i].code != IMGSTAT_OK) {
            printf("%s\n", results[i].message);
            continue;
        }
        equalize(device, &images[i], pages[i].alpha, stream);
        by_device += imgstat_decode_on_device(decode, i);
        equalized.push_back(names[i].c_str());
        pixels.push_back(images[i]);
    }
    const size_t encoded = encode(device, equalized, pixels, stream, argc > 2 ? argv[2] : NULL,
                                  argc > 3 ? argv[3] : NULL);
    printf("%zu of %zu files equalized, %zu decoded by the GPU, %zu encoded\n", equalized.size(), n,
           by_device, encoded);

    for (size_t i = 0; i < n; i++)
        MUST_CUDA(cudaFree((void *)images[i].device.address));
    imgstat_decode_destroy(decode);
    imgstat_device_close(device);
    MUST_CUDA(cudaStreamDestroy(stream));
    return by_device > 0 && encoded > 0 ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/* imgstat_async.h: for programs whose pixels are already on the GPU: work in the order of a stream,
 * without waiting or allocating where nothing else is said. Includes imgstat.h. */
#ifndef IMGSTAT_ASYNC_H
#define IMGSTAT_ASYNC_H

#include "imgstat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream is a cudaStream_t, or 1 or 2 for the legacy and the per-thread default stream, as in the
 * CUDA array interface. Images are wrapped by imgstat_image_wrap with IMGSTAT_CUDA; their samples
 * lie on their boundaries, and a mask lies in the same memory. An object serves one stream at a
 * time. A CUDA graph can record an enqueued call once the same call has run before. The CPU device
 * takes host images and is done on return. */

/* ---- Measuring ---------------------------------------------------------------------------- */

/* Device memory for the statistics of one image, and for measuring it. */
typedef struct ImgstatPending ImgstatPending;

/* Creates an object for images of this type. Allocates and waits, so do not call it while a graph
 * is recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_create(ImgstatDevice *device,
                                                                    ImgstatSample sample,
                                                                    uint16_t channels,
                                                                    ImgstatPending **out,
                                                                    ImgstatError *err);

/* Creates an object for n images at a time, as imgstat_pending_create does for one. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_pending_create_series(ImgstatDevice *device, ImgstatSample sample, uint16_t channels,
                              size_t n, ImgstatPending **out, ImgstatError *err);

/* Destroys the object, after its stream is done with it and before its device is closed. Accepts
 * NULL. */
IMGSTAT_API void imgstat_pending_destroy(ImgstatPending *pending);

/* Enqueues the measurement of an image. It replaces the last measurement. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_async(ImgstatPending *pending,
                                                                   const ImagePro *image,
                                                                   void *stream, ImgstatError *err);

/* Enqueues the measurement of a series, such as a batch in an array: n images like the first one,
 * at most as many as the object was made for, each `step` bytes after the one before. Images of a
 * series have no mask. One launch measures all images if `step` is a multiple of 16. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_series_async(ImgstatPending *pending,
                                                                          const ImagePro *first,
                                                                          size_t n, int64_t step,
                                                                          void *stream,
                                                                          ImgstatError *err);

/* Returns the address of a channel's counts, of the first image, for kernels that follow on the
 * stream: 256 or 65,536 counts of 64 bits in ascending order of values. They include NaN,
 * infinities and nodata samples, but no masked ones. Returns 0 for samples of more than 16 bits,
 * which have none. */
IMGSTAT_API ImgstatDevPtr imgstat_pending_counts(const ImgstatPending *pending, uint16_t channel);

/* Waits for the stream and creates a record of the last measurement; for a series that of its first
 * image. how: NULL, or what a first read can answer; anything that needs another read of the pixels
 * is IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_record(ImgstatPending *pending,
                                                                    void *stream,
                                                                    const ImgstatMeasure *how,
                                                                    ImgstatRecord **out,
                                                                    ImgstatError *err);

/* Creates a record of image i of the last series. The first such call waits for the stream and
 * copies the results of all images. After a graph has measured again, call imgstat_pending_record
 * first. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_record_of(ImgstatPending *pending,
                                                                       size_t i, void *stream,
                                                                       const ImgstatMeasure *how,
                                                                       ImgstatRecord **out,
                                                                       ImgstatError *err);

/* ---- Transforming ------------------------------------------------------------------------- */

/* A method for images of one kind, with all the memory that it needs. */
typedef struct ImgstatChain ImgstatChain;

/* Creates a chain. like: an image of that kind (type, bits, channels, nodata), as large as the
 * largest that will come; its pixels are not read. alpha: index of the channel to leave alone, or
 * -1. A chain takes samples of at most 16 bits, and IMGSTAT_STRETCH, IMGSTAT_PERCENTILE and
 * IMGSTAT_EQUALIZE by imgstat's own formulas, to any depth. Anything else is
 * IMGSTAT_ERR_UNSUPPORTED, also an input range and a region, which the calls that wait take
 * (imgstat_transfer_create, imgstat_transfer_apply). Allocates and waits, so do not call it while a
 * graph is recorded. Samples of 16 bits take about 2 MiB a channel, and up to 256 KiB a
 * multiprocessor. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_chain_create(ImgstatDevice *device,
                                                                  const ImgstatMethod *method,
                                                                  const ImagePro *like,
                                                                  int16_t alpha, ImgstatChain **out,
                                                                  ImgstatError *err);

/* Destroys a chain, after its stream is done with it and before its device is closed. Accepts
 * NULL. */
IMGSTAT_API void imgstat_chain_destroy(ImgstatChain *chain);

/* Returns the sample type of the output of a chain, and its significant bits; bits may be NULL. */
IMGSTAT_API ImgstatSample imgstat_chain_output(const ImgstatChain *chain, uint8_t *bits);

/* Enqueues a transform: measures the image, makes its transfer and applies it. `to` has the
 * geometry of `from` and the output type of the chain; it may be `from` if the types are equal. The
 * bytes are those of imgstat_image_transform. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transform_async(ImgstatChain *chain,
                                                                     const ImagePro *from,
                                                                     ImagePro *to, void *stream,
                                                                     ImgstatError *err);

/* Enqueues the transform of a series, such as a batch in an array: n images like `from`, each
 * from_step bytes after the one before, to as many like `to`, which do not overlap. Images of a
 * series have no mask. One launch transforms all images of 8 bits, and on GPUs of 9.0 and newer of
 * 16 bits, of at most 2^20 samples, if there is one map for all channels, no gap between rows, and
 * both steps are multiples of 16; other images have launches of their own. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transform_series_async(
    ImgstatChain *chain, const ImagePro *from, int64_t from_step, ImagePro *to, int64_t to_step,
    size_t n, void *stream, ImgstatError *err);

/* ---- Decoding ----------------------------------------------------------------------------- */

/* A PNG or TIFF file in host memory. */
typedef struct ImgstatEncoded {
    const char *name; /* begins messages */
    const void *bytes;
    size_t n_bytes;
} ImgstatEncoded;

/* Files that are decoded to pixels, with all the memory that this needs. */
typedef struct ImgstatDecode ImgstatDecode;

/* Reads the headers of n files, and copies compressed pixels to the device, but those of strips and
 * tiles in files of 256 KiB and more. how: NULL for defaults; its salvage and masks are not used.
 * Names and bytes must stay until the object is destroyed. A file that cannot be read is no
 * failure: imgstat_decode_page and imgstat_decode_finish report it. Allocates and waits, so do not
 * call it while a graph is recorded. If nothing about a file is unusual, the device decodes PNG,
 * except how->indices, and strips and tiles of TIFF that are uncompressed or compressed by deflate,
 * LZW or PackBits, except palettes, predictor 2 of 64 bits and more than 4 GiB of pixels. The
 * processor decodes the first page of every other file in imgstat_decode_finish. Device memory: the
 * pixels and the compressed bytes; for few long deflate streams also twice the pixels, up to 2 GiB.
 */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_create(ImgstatDevice *device,
                                                                   const ImgstatEncoded *files,
                                                                   size_t n, const ImgstatOpen *how,
                                                                   ImgstatDecode **out,
                                                                   ImgstatError *err);

/* Destroys the object, after its stream is done with it and before its device is closed. Accepts
 * NULL. */
IMGSTAT_API void imgstat_decode_destroy(ImgstatDecode *decode);

/* Describes the first page of file i: its size, channels and sample type. Texts are constants;
 * axis_name is NULL. Fails if the file cannot be read. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_page(const ImgstatDecode *decode,
                                                                 size_t i, ImgstatPage *out,
                                                                 ImgstatError *err);

/* Enqueues copies of the other compressed pixels and the decoding of all files, once. A graph
 * cannot record these copies. Allocates buffers for bytes that are not page-locked, and waits for
 * copies of them. images: n of them, each with the width, height, channels and type of its page, in
 * memory of the caller; images of files that cannot be read are not used. The pixels that the
 * device decodes are complete in the order of the stream, all others after imgstat_decode_finish.
 */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_async(ImgstatDecode *decode,
                                                                  const ImagePro *images,
                                                                  void *stream, ImgstatError *err);

/* Waits for the stream, and decodes on the processor what the device did not decode or doubts: a
 * wrong checksum, an invalid code, pixels that end early. results: n of them; results[i].code
 * becomes IMGSTAT_OK if image i is complete, else results[i] says why not. Once. Fails if the
 * device fails. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_finish(ImgstatDecode *decode,
                                                                   void *stream,
                                                                   ImgstatError *results,
                                                                   ImgstatError *err);

/* Whether the device decodes file i; after imgstat_decode_finish, whether it did. */
IMGSTAT_API bool imgstat_decode_on_device(const ImgstatDecode *decode, size_t i);

/* ---- Encoding ----------------------------------------------------------------------------- */

/* Images that are encoded to PNG or TIFF files, with all the memory that this needs. */
typedef struct ImgstatEncode ImgstatEncode;

/* Creates an object for n images at a time. like: n images as large as those that will come; their
 * pixels are not read. Other images may come that take no more memory in all. how: NULL, or the
 * format, NULL for PNG, and `fast`; a level, or a compression other than deflate, is
 * IMGSTAT_ERR_UNSUPPORTED, and its other members are not used. file_bytes: bytes for all files of a
 * call; 0: as many as they can become, a little more than the pixels. Takes file_bytes and up to 64
 * MiB of pinned memory, and twice the bytes of the pixels of device memory. Allocates and waits, so
 * do not call it while a graph is recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_encode_create(
    ImgstatDevice *device, const ImagePro *like, size_t n, const ImgstatWrite *how,
    size_t file_bytes, ImgstatEncode **out, ImgstatError *err);

/* Destroys the object, after its stream is done with it and before its device is closed. Accepts
 * NULL. */
IMGSTAT_API void imgstat_encode_destroy(ImgstatEncode *encode);

/* Enqueues the encoding of n images: to PNG those of 8 or 16 bits (U8, U16) with 1 to 4 channels,
 * to TIFF those of any type and number of channels, but of 1, 2 and 4 bits, and up to a gigabyte.
 * Two channels are gray and alpha, four RGBA. Masks and nodata are not used. names: NULL, or n
 * texts that begin messages. Names and pixels must stay until imgstat_encode_finish. Call that
 * before the next imgstat_encode_async, which makes the files of the last call invalid. An image
 * that the format cannot hold is no failure: imgstat_encode_finish reports it. Images that need
 * more memory than the object has are IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_encode_async(ImgstatEncode *encode,
                                                                  const char *const *names,
                                                                  const ImagePro *images, size_t n,
                                                                  void *stream, ImgstatError *err);

/* Waits for the stream, copies the files to pinned memory, and compresses on the processor the
 * images that the device does not encode: in PNG, samples with other significant bits than 8 or 16.
 * files: n of them, each the bytes that imgstat_image_save writes, valid until the next
 * imgstat_encode_async. results: n of them; results[i].code becomes IMGSTAT_OK if file i is
 * complete. Else results[i] says why not (IMGSTAT_ERR_LIMIT: it does not fit into the rest of
 * file_bytes), and the file has no bytes. Fails if the device fails. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_encode_finish(ImgstatEncode *encode,
                                                                   void *stream,
                                                                   ImgstatEncoded *files,
                                                                   ImgstatError *results,
                                                                   ImgstatError *err);

/* Whether the device filters and compresses image i of the last call. */
IMGSTAT_API bool imgstat_encode_on_device(const ImgstatEncode *encode, size_t i);

#ifdef __cplusplus
}
#endif
#endif

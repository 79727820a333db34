/* SPDX-License-Identifier: MIT */
/* imgstat_async.h: for programs whose pixels are on the GPU already: work in the order of a stream,
 * which neither waits nor allocates. Includes imgstat.h. */
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

/* Makes an object for images of this type. Allocates and waits: not while a graph is recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_create(ImgstatDevice *device,
                                                                    ImgstatSample sample,
                                                                    uint16_t channels,
                                                                    ImgstatPending **out,
                                                                    ImgstatError *err);

/* The same for n images at a time. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult
imgstat_pending_create_series(ImgstatDevice *device, ImgstatSample sample, uint16_t channels,
                              size_t n, ImgstatPending **out, ImgstatError *err);
IMGSTAT_API void imgstat_pending_destroy(ImgstatPending *pending); /* accepts NULL */

/* Enqueues the measurement of an image. It replaces what was measured before. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_async(ImgstatPending *pending,
                                                                   const ImagePro *image,
                                                                   void *stream, ImgstatError *err);

/* The same of a series, as batches in an array are: n images like the first one, no more than the
 * object was made for, each `step` bytes behind the one before. Images of a series have no mask.
 * One launch measures all whose samples have 8 bits, if `step` is a multiple of 16. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_measure_series_async(ImgstatPending *pending,
                                                                          const ImagePro *first,
                                                                          size_t n, int64_t step,
                                                                          void *stream,
                                                                          ImgstatError *err);

/* Returns the address of a channel's counts, of the first image, for kernels that follow on the
 * stream: 256 or 65,536 counts of 64 bits in ascending order of values. They include NaN, infinite
 * and nodata samples, but no masked ones. Samples of more than 16 bits have none: 0. */
IMGSTAT_API ImgstatDevPtr imgstat_pending_counts(const ImgstatPending *pending, uint16_t channel);

/* Waits for the stream and makes a record of the last measurement, of a series that of its first
 * image. how: NULL, or what a first read can answer; anything that would read the pixels again is
 * an IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_record(ImgstatPending *pending,
                                                                    void *stream,
                                                                    const ImgstatMeasure *how,
                                                                    ImgstatRecord **out,
                                                                    ImgstatError *err);

/* Makes a record of image i of the last series. The first such call waits for the stream and copies
 * what was measured of all of them. After a graph has measured again, imgstat_pending_record comes
 * first. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_pending_record_of(ImgstatPending *pending,
                                                                       size_t i, void *stream,
                                                                       const ImgstatMeasure *how,
                                                                       ImgstatRecord **out,
                                                                       ImgstatError *err);

/* ---- Transforming ------------------------------------------------------------------------- */

/* A method for images of one kind, with all the memory that it takes. */
typedef struct ImgstatChain ImgstatChain;

/* Makes a chain. like: an image of that kind (type, bits, channels, nodata), as large as the
 * largest that will come; its pixels are not read. alpha: index of the channel to leave alone, or
 * -1. Takes samples of at most 16 bits, and IMGSTAT_STRETCH, IMGSTAT_PERCENTILE and
 * IMGSTAT_EQUALIZE by imgstat's own formulas, to any depth; the rest is an IMGSTAT_ERR_UNSUPPORTED.
 * So are an input range and a region: a chain makes its map of all of each image. The calls that
 * wait, imgstat_transfer_create and imgstat_transfer_apply, take both.
 * Allocates and waits: not while a graph is recorded. Samples of 16 bits take about 2 MiB a
 * channel, and up to 256 KiB a multiprocessor. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_chain_create(ImgstatDevice *device,
                                                                  const ImgstatMethod *method,
                                                                  const ImagePro *like,
                                                                  int16_t alpha, ImgstatChain **out,
                                                                  ImgstatError *err);

/* Destroys a chain once its stream is done with it, before its device is closed. Accepts NULL. */
IMGSTAT_API void imgstat_chain_destroy(ImgstatChain *chain);

/* Returns the sample type that a chain makes, and its significant bits; bits may be NULL. */
IMGSTAT_API ImgstatSample imgstat_chain_output(const ImgstatChain *chain, uint8_t *bits);

/* Enqueues a transform: the image is measured, its transfer is made and applied. `to` has the
 * geometry of `from` and the chain's output type; it may be `from` where the type stays. The bytes
 * are those of imgstat_image_transform. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_transform_async(ImgstatChain *chain,
                                                                     const ImagePro *from,
                                                                     ImagePro *to, void *stream,
                                                                     ImgstatError *err);

/* The same of a series, as batches in an array are: n images like `from`, each from_step bytes
 * behind the one before, to as many like `to`, which do not overlap. Images of a series have no
 * mask. One launch transforms all that have 8 bits, no more than 2^20 samples, one map for all
 * channels, no gaps between rows, and steps of multiples of 16; others have launches of their
 * own. */
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

/* Files on their way to pixels, with all the memory that it takes. */
typedef struct ImgstatDecode ImgstatDecode;

/* Reads the heads of n files and copies compressed pixels to the device. how: NULL for defaults;
 * its salvage and masks are not used. Names and bytes must stay until the object is destroyed. A
 * file that cannot be read is no failure: imgstat_decode_page and imgstat_decode_finish report it.
 * The device decodes, if nothing about the file is unusual, PNG without interlacing and without
 * tRNS of gray or RGB, and strips and tiles of TIFF that are uncompressed or compressed by deflate,
 * LZW or PackBits, but for palettes, predictor 2 of 64 bits and more than 4 GiB of pixels; it takes
 * as much memory as the pixels and the compressed bytes, and where long deflate streams are few,
 * twice the pixels more, but no more than 2 GiB. The processor decodes the first page of everything
 * else in imgstat_decode_finish.
 * Allocates and waits: not while a graph is recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_create(ImgstatDevice *device,
                                                                   const ImgstatEncoded *files,
                                                                   size_t n, const ImgstatOpen *how,
                                                                   ImgstatDecode **out,
                                                                   ImgstatError *err);

/* Destroys it once its stream is done with it, before its device is closed. Accepts NULL. */
IMGSTAT_API void imgstat_decode_destroy(ImgstatDecode *decode);

/* Describes the first page of file i: its size, channels and sample type. Texts are constants, but
 * axis_name is NULL. Fails if the file cannot be read. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_page(const ImgstatDecode *decode,
                                                                 size_t i, ImgstatPage *out,
                                                                 ImgstatError *err);

/* Enqueues the decoding of all files, once. images: n of them, each of its page's width, height,
 * channels and type, in memory of the caller; those of files that cannot be read are not used.
 * Their pixels are complete after imgstat_decode_finish, and in the order of the stream where the
 * device has decoded them. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_async(ImgstatDecode *decode,
                                                                  const ImagePro *images,
                                                                  void *stream, ImgstatError *err);

/* Waits for the stream, and decodes on the processor what the device did not or doubts: a wrong
 * checksum, an invalid code, pixels that end early. results: n of them; results[i].code becomes
 * IMGSTAT_OK if image i is complete, else results[i] says why not. Fails if the device fails. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_decode_finish(ImgstatDecode *decode,
                                                                   void *stream,
                                                                   ImgstatError *results,
                                                                   ImgstatError *err);

/* Whether the device decodes file i, after imgstat_decode_finish whether it did. */
IMGSTAT_API bool imgstat_decode_on_device(const ImgstatDecode *decode, size_t i);

/* ---- Encoding ----------------------------------------------------------------------------- */

/* Images on their way to PNG files, with all the memory that it takes. */
typedef struct ImgstatEncode ImgstatEncode;

/* Makes an object for n images at a time. like: as large as those that will come; their pixels are
 * not read. Others may come that take no more memory in all. fast: as in ImgstatWrite. file_bytes:
 * for the files of a call together; 0: as many as they can become, a little more than the pixels.
 * Takes so many bytes of pinned memory and up to 64 MiB more, and of the device's memory twice the
 * bytes of the pixels.
 * Allocates and waits: not while a graph is recorded. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_encode_create(ImgstatDevice *device,
                                                                   const ImagePro *like, size_t n,
                                                                   bool fast, size_t file_bytes,
                                                                   ImgstatEncode **out,
                                                                   ImgstatError *err);

/* Destroys it once its stream is done with it, before its device is closed. Accepts NULL. */
IMGSTAT_API void imgstat_encode_destroy(ImgstatEncode *encode);

/* Enqueues the encoding of n images. Samples are of 8 or 16 bits (U8, U16), channels 1 to 4: gray,
 * gray and alpha, RGB, RGBA. Masks and nodata are not used. names: NULL, or n texts that begin
 * messages. Names and pixels stay as they are until imgstat_encode_finish, which comes before the
 * next call of this function; that call makes files of the one before invalid. An image that PNG
 * cannot hold is no failure: imgstat_encode_finish reports it. Images that take more memory than
 * there is are an IMGSTAT_ERR_ARG. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_encode_async(ImgstatEncode *encode,
                                                                  const char *const *names,
                                                                  const ImagePro *images, size_t n,
                                                                  void *stream, ImgstatError *err);

/* Waits for the stream, copies the files to pinned memory, and compresses on the processor what a
 * search for matches makes smaller and what the device does not do: samples of 1, 2 or 4 bits, or
 * of other bits than 8 or 16. files: n of them, each the bytes that imgstat_image_save writes; they
 * stay until the next imgstat_encode_async. results: n of them; results[i].code becomes IMGSTAT_OK
 * if file i is complete. Else results[i] says why not (IMGSTAT_ERR_LIMIT: it does not fit into
 * what is left of file_bytes), and the file has no bytes. Fails if the device fails. */
IMGSTAT_API IMGSTAT_MUST_CHECK ImgstatResult imgstat_encode_finish(ImgstatEncode *encode,
                                                                   void *stream,
                                                                   ImgstatEncoded *files,
                                                                   ImgstatError *results,
                                                                   ImgstatError *err);

/* Whether the device filters and compresses image i of the last call. Pieces of half a megabyte
 * that matches make smaller are compressed by the processor all the same. */
IMGSTAT_API bool imgstat_encode_on_device(const ImgstatEncode *encode, size_t i);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/* chains.h: transforms and measurements in the order of a stream, which are made once and used
 * again. */
#ifndef IMGSTAT_PYTHON_CHAINS_H
#define IMGSTAT_PYTHON_CHAINS_H

#include "array_view.h"
#include "work.h"

#include "imgstat_async.h"

/* A chain of the library, or in its place an ImgstatPending, with the device that it is for. One
 * call uses it at a time. */
typedef struct HeldChain HeldChain;

/* n images like the first, `step` bytes apart. */
typedef struct Series {
    const ImagePro *first;
    size_t n;
    int64_t step;
} Series;

/* Takes a chain for a method (NULL: for measuring n images at a time) and images like this one, on
 * a stream: one that was used before, or a new one. *out is NULL, without an error, where the
 * library has no chain for it, or too many measurements have not been read. The interpreter's lock
 * is not held. Making one waits; the GPU's work of others is not recorded meanwhile. */
ImgstatResult chain_take(State *state, const ImgstatMethod *method, const ImagePro *like, size_t n,
                         int16_t alpha, void *stream, HeldChain **out, ImgstatError *err);
void chain_give(HeldChain *chain); /* accepts NULL */

/* Makes a chain for one owner alone, who may record it in a graph. Interpreter and lock as above.
 */
ImgstatResult chain_make(const char *device, unsigned threads, const ImgstatMethod *method,
                         const ImagePro *like, int16_t alpha, HeldChain **out, ImgstatError *err);
void chain_end(HeldChain *chain); /* accepts NULL; waits for the stream */

/* From now on what signals want ends what the chain does on the processor; with NULL nothing does.
 * Accepts a chain of NULL. */
void chain_cancel(HeldChain *chain, Work *work);

/* Enqueues a transform of each image to its place in the other series. */
ImgstatResult chain_run(HeldChain *chain, const Series *from, const Series *to, void *stream,
                        ImgstatError *err);

/* Enqueues a measurement, and waits for it. */
ImgstatResult chain_measure(HeldChain *chain, const Series *series, ImgstatError *err);
ImgstatResult chain_record(HeldChain *chain, size_t i, const ImgstatMeasure *how,
                           ImgstatRecord **out, ImgstatError *err);

/* Ends all chains that chain_take has made. */
void chains_free(State *state);

#endif

/* SPDX-License-Identifier: MIT */
/* output_file.h: a file that an encoder writes, and that appears complete or not at all. */
#ifndef IMGSTAT_TRANSFORM_OUTPUT_FILE_H
#define IMGSTAT_TRANSFORM_OUTPUT_FILE_H

#include "codec/codec.h"
#include "codec/encoder.h"

/* The encoder points to `warnings`: the struct does not move while it is open. */
typedef struct OutputFile {
    AtomicFile *file;
    Encoder *encoder;
    Warnings warnings;
} OutputFile;

/* Where an output goes. */
typedef struct OutputPlace {
    const char *name;          /* a path where there is no sink */
    const ImgstatOutput *sink; /* NULL: a file, which takes `mode` */
    bool replace;
    mode_t mode;
    uint64_t most; /* bytes; 0: any number */
} OutputPlace;

/* Finds the format of an output: the one that `how` names, else that of the ending of `path`, else
 * that of the page that `like` has selected. like: NULL for none. Fails with IMGSTAT_ERR_ARG if
 * there is none. */
ImgstatResult output_file_format(const ImgstatWrite *how, const char *path, const Decoder *like,
                                 const EncodeFormat **out, ImgstatError *err);

/* Opens an output and creates its encoder. Whatever the result, output_file_close follows.
 * warnings: where those about the file go; released at the end. cancel: NULL, or outlives the file.
 */
ImgstatResult output_file_open(OutputFile *output, const EncodeFormat *format,
                               const OutputPlace *place, const EncodeOptions *options,
                               Warnings warnings, const Cancel *cancel, ImgstatError *err);

/* Completes the file if `result`, of all that was done since it was opened, is IMGSTAT_OK; else
 * removes what was written. later: NULL, or receives a file in a folder, whose name comes later.
 * Returns `result`, or why the file could not be completed. */
ImgstatResult output_file_close(OutputFile *output, ImgstatResult result, AtomicFile **later,
                                ImgstatError *err);

#endif

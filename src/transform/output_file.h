/* SPDX-License-Identifier: MIT */
/* output_file.h: a file that an encoder writes, and that appears complete or not at all. */
#ifndef IMGSTAT_TRANSFORM_OUTPUT_FILE_H
#define IMGSTAT_TRANSFORM_OUTPUT_FILE_H

#include "codec/encoder.h"

/* The encoder points to `warnings`: the struct does not move while it is open. */
typedef struct OutputFile {
    AtomicFile *file;
    Encoder *encoder;
    Warnings warnings;
} OutputFile;

/* Returns the format of an output: the one that `write` names, else that of the ending of `path`,
 * else that of the page that the decoder (NULL: none) has selected. NULL: there is none. */
const EncodeFormat *output_format(const ImgstatWrite *write, const char *path,
                                  const Decoder *decoder);

/* Opens `path`, which takes `mode`, and creates its encoder. Whatever the result, output_file_close
 * follows. warnings: where those about the file go; released at the end. cancel: NULL, or outlives
 * the file. */
ImgstatResult output_file_open(OutputFile *output, const EncodeFormat *format, const char *path,
                               bool replace, mode_t mode, const EncodeOptions *options,
                               Warnings warnings, const Cancel *cancel, ImgstatError *err);

/* Completes the file if `result`, of all that was done since it was opened, is IMGSTAT_OK; else
 * removes what was written. Returns `result`, or why the file could not be completed. */
ImgstatResult output_file_close(OutputFile *output, ImgstatResult result, ImgstatError *err);

#endif

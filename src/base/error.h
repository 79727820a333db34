/* SPDX-License-Identifier: MIT */
/* error.h: filling an ImgstatError, and the few helpers every fallible function uses. */
#ifndef IMGSTAT_BASE_ERROR_H
#define IMGSTAT_BASE_ERROR_H

#include "imgstat.h"

/* Returns from the calling function on error; only where nothing is held yet. */
#define IMGSTAT_TRY(call)                         \
    do {                                          \
        const ImgstatResult try_result_ = (call); \
        if (try_result_ != IMGSTAT_OK)            \
            return try_result_;                   \
    } while (0)

/* Writes code and sentence (control characters masked, the middle of one that is too long left out)
 * and returns code. err may be NULL. */
__attribute__((format(printf, 3, 4))) ImgstatResult error_set(ImgstatError *err, ImgstatResult code,
                                                              const char *format, ...);

/* Like error_set, with "FILE: " before the sentence; file is the name as the user gave it. */
__attribute__((format(printf, 4, 5))) ImgstatResult
error_file(ImgstatError *err, ImgstatResult code, const char *file, const char *format, ...);

/* The failure of a function of the program, which may have left no sentence: `otherwise` stands for
 * it. from: what the function was given for its error. */
ImgstatResult error_of_callback(ImgstatError *err, ImgstatResult code, const char *file,
                                ImgstatError *from, const char *otherwise);

/* IMGSTAT_ERR_ARG, with the name of the public function, unless all pointers that it needs are
 * given. */
ImgstatResult error_if_null(bool given, const char *function, ImgstatError *err);

/* "out of memory for 123 bytes of WHAT" */
ImgstatResult error_memory(ImgstatError *err, size_t bytes, const char *what);

/* Adds the file to an error that names none. Returns code. */
ImgstatResult error_add_file(ImgstatError *err, ImgstatResult code, const char *file);

/* Adds the page to an error that names a file and no page. name: of the page. Returns code. */
ImgstatResult error_add_page(ImgstatError *err, ImgstatResult code, uint32_t page,
                             const char *name);

#endif

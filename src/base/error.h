/* SPDX-License-Identifier: MIT */
/* error.h: fills an ImgstatError; the helpers of every function that can fail. */
#ifndef IMGSTAT_BASE_ERROR_H
#define IMGSTAT_BASE_ERROR_H

#include "imgstat.h"

/* Returns from the calling function on error. Use it only where nothing must be released. */
#define IMGSTAT_TRY(call)                         \
    do {                                          \
        const ImgstatResult try_result_ = (call); \
        if (try_result_ != IMGSTAT_OK)            \
            return try_result_;                   \
    } while (0)

/* Writes code and sentence to *err and returns code. Control characters are masked; the middle of a
 * sentence that is too long is left out. err may be NULL. */
__attribute__((format(printf, 3, 4))) ImgstatResult error_set(ImgstatError *err, ImgstatResult code,
                                                              const char *format, ...);

/* Works as error_set, with "FILE: " before the sentence. file: the name as the user wrote it. */
__attribute__((format(printf, 4, 5))) ImgstatResult
error_file(ImgstatError *err, ImgstatResult code, const char *file, const char *format, ...);

/* Reports the failure of a callback of the program, and returns code. from: the error that was
 * passed to the callback. otherwise: the sentence to use if the callback wrote none. */
ImgstatResult error_of_callback(ImgstatError *err, ImgstatResult code, const char *file,
                                ImgstatError *from, const char *otherwise);

/* Fails with IMGSTAT_ERR_ARG unless `given`: whether the public function `function` has all
 * pointers that it needs. */
ImgstatResult error_if_null(bool given, const char *function, ImgstatError *err);

/* Returns IMGSTAT_ERR_MEMORY: "out of memory for 123 bytes of WHAT". */
ImgstatResult error_memory(ImgstatError *err, size_t bytes, const char *what);

/* Adds the name of the file to an error that names none. Returns code. */
ImgstatResult error_add_file(ImgstatError *err, ImgstatResult code, const char *file);

/* Adds a page to an error that names a file and no page. name: the page's name, "2" or "0.1".
 * Returns code. */
ImgstatResult error_add_page(ImgstatError *err, ImgstatResult code, uint32_t page,
                             const char *name);

/* Returns how many bytes of an error are used: those up to the end of its sentence. One that is
 * kept needs no others. */
size_t error_bytes(const ImgstatError *err);

#endif

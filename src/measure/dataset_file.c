/* SPDX-License-Identifier: MIT */
/* dataset_file.c: saves data sets and records to files and loads them. */
#include "codec/atomic_file.h"
#include "codec/source.h"
#include "record/record_file.h"

#include <stdlib.h>

/* ---- Saving ---- */

/* Writes the bytes as a file and frees them. */
static ImgstatResult save(ByteWriter *writer, const char *path, bool replace, ImgstatError *err)
{
    AtomicFile *output = NULL;
    ImgstatResult res = writer->failed ? error_memory(err, writer->n, "the bytes of a record")
                                       : atomic_file_open(path, replace, 0666, &output, err);
    if (res == IMGSTAT_OK)
        res = atomic_file_write(output, 0, writer->bytes, writer->n, err);
    free(writer->bytes);
    if (res == IMGSTAT_OK)
        return atomic_file_commit(output, err);
    atomic_file_discard(output);
    return error_add_file(err, res, path);
}

ImgstatResult imgstat_dataset_save(ImgstatDataset *dataset, const char *path, bool replace,
                                   ImgstatError *err)
{
    ByteWriter writer = {0};
    IMGSTAT_TRY(error_if_null(dataset && path, __func__, err));
    dataset_put(&writer, dataset);
    return save(&writer, path, replace, err);
}

ImgstatResult imgstat_record_save(const ImgstatRecord *record, const char *path, bool replace,
                                  ImgstatError *err)
{
    ByteWriter writer = {0};
    IMGSTAT_TRY(error_if_null(record && path, __func__, err));
    dataset_put_record(&writer, record);
    return save(&writer, path, replace, err);
}

/* ---- Loading ---- */

bool imgstat_dataset_is_file(const char *path)
{
    uint8_t magic[RECORD_MAGIC_BYTES];
    uint64_t bytes;
    size_t got = 0;
    Source *source = NULL;
    bool is = path && source_is_file(path, &bytes) &&
              source_open(path, NULL, &source, NULL) == IMGSTAT_OK &&
              source_read(source, 0, magic, sizeof magic, &got, NULL) == IMGSTAT_OK;
    is = is && got == sizeof magic && memcmp(magic, record_magic, sizeof magic) == 0;
    source_close(source);
    return is;
}

/* What no record begins with is refused at once where it comes from a pipe. */
static ImgstatResult check_begin(const uint8_t *bytes, size_t n, const char *name,
                                 ImgstatError *err)
{
    if (n >= sizeof record_magic && memcmp(bytes, record_magic, sizeof record_magic) == 0)
        return IMGSTAT_OK;
    return error_file(err, IMGSTAT_ERR_FORMAT, name, "is no record of imgstat");
}

/* The bytes of a file are fewer than its counters in memory take, but for texts. */
static ImgstatResult read_all(const Source *source, uint64_t memory, uint8_t **out,
                              ImgstatError *err)
{
    enum { TEXTS = 64 << 20 };
    size_t got = 0;
    *out = NULL;
    if (source->bytes > TEXTS && source->bytes - TEXTS > memory)
        return error_file(err, IMGSTAT_ERR_LIMIT, source->name,
                          "a record of %llu bytes, more than is allowed",
                          (unsigned long long)source->bytes);
    const size_t n = (size_t)source->bytes;
    uint8_t *const bytes = malloc(n ? n : 1);
    ImgstatResult res = bytes ? source_read(source, 0, bytes, n, &got, err)
                              : error_memory(err, n, "the bytes of a record");
    if (res == IMGSTAT_OK && got < n)
        res = error_file(err, IMGSTAT_ERR_TRUNCATED, source->name, "ends early");
    if (res == IMGSTAT_OK)
        *out = bytes;
    else
        free(bytes);
    return error_add_file(err, res, source->name);
}

static ImgstatResult load(const char *path, bool sparse, uint64_t memory, ImgstatDataset **out,
                          ImgstatError *err)
{
    const uint64_t most = memory ? memory : RECORD_MEMORY;
    Source *source = NULL;
    uint8_t *bytes = NULL;
    IMGSTAT_TRY(source_open_of(path, check_begin, NULL, &source, err));
    ImgstatResult res = read_all(source, most, &bytes, err);
    if (res == IMGSTAT_OK)
        res = dataset_read(source->name, bytes, (size_t)source->bytes, sparse, most, out, err);
    free(bytes);
    source_close(source);
    return res;
}

ImgstatResult imgstat_dataset_load(const char *path, uint64_t memory, ImgstatDataset **out,
                                   ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(path && out, __func__, err));
    return load(path, false, memory, out, err);
}

ImgstatResult imgstat_dataset_merge_file(ImgstatDataset *into, const char *path, uint64_t memory,
                                         ImgstatError *err)
{
    ImgstatDataset *from = NULL;
    IMGSTAT_TRY(error_if_null(into && path, __func__, err));
    IMGSTAT_TRY(load(path, true, memory, &from, err));
    const ImgstatResult res = imgstat_dataset_merge(into, from, err);
    imgstat_dataset_destroy(from);
    return res;
}

ImgstatResult imgstat_record_load(const char *path, ImgstatRecord **out, ImgstatError *err)
{
    ImgstatDataset *dataset = NULL;
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(path && out, __func__, err));
    IMGSTAT_TRY(imgstat_dataset_load(path, 0, &dataset, err));
    return dataset_only_record(dataset, out, err);
}

/* SPDX-License-Identifier: MIT */
/* record_file.c: writes data sets as bytes, and checks bytes that it reads. */
#include "record/record_file.h"

#include "record/kind.h"
#include "record/record_code.h"

#include <stdlib.h>

/* The first byte is not valid in text, so no text file begins like this. */
const uint8_t record_magic[RECORD_MAGIC_BYTES] = {0x89, 'i', 'm', 'g', 's', 't', 'a', 't'};

enum { CHECKSUM_BYTES = 8, HEADER_BYTES = RECORD_MAGIC_BYTES + 2 + 6 };

/* ---- Writing ---- */

static void put_account(ByteWriter *writer, const ImgstatDataset *dataset)
{
    const ShardsDone *const shards = &dataset->shards;
    put_varint(writer, dataset->files);
    put_number(writer, dataset->names.low, 8);
    put_number(writer, dataset->names.high, 8);
    put_varint(writer, dataset->failed);
    put_varint(writer, dataset->all_failures);
    put_varint(writer, dataset->n_failures);
    for (size_t i = 0; i < dataset->n_failures; i++) {
        put_text(writer, dataset->failures[i].name);
        put_text(writer, imgstat_result_name(dataset->failures[i].code));
        put_text(writer, dataset->failures[i].message);
    }
    put_varint(writer, shards->n);
    if (shards->n == 0)
        return;
    put_bytes(writer, shards->set, sizeof shards->set);
    put_bytes(writer, shards->done, (shards->n + 7) / 8);
}

static void put_record(ByteWriter *writer, const ImgstatRecord *record)
{
    ByteWriter one = {0};
    record_put(&one, record);
    put_varint(writer, one.n);
    put_bytes(writer, one.bytes, one.n);
    writer->failed = writer->failed || one.failed;
    free(one.bytes);
}

static void put_all(ByteWriter *writer, const ImgstatDataset *dataset)
{
    put_bytes(writer, record_magic, sizeof record_magic);
    put_number(writer, RECORD_FORMAT, 2);
    for (int i = 0; i < 3; i++)
        put_number(writer, dataset->version[i], 2);
    put_account(writer, dataset);
    put_varint(writer, dataset->n);
    for (size_t i = 0; i < dataset->n; i++)
        put_record(writer, dataset->entries[i]->record);
    if (!writer->failed)
        put_number(writer, digest_checksum(writer->bytes, writer->n), CHECKSUM_BYTES);
}

void dataset_put(ByteWriter *writer, ImgstatDataset *dataset)
{
    dataset_sort(dataset);
    put_all(writer, dataset);
}

void dataset_put_record(ByteWriter *writer, const ImgstatRecord *record)
{
    DatasetEntry entry = {.record = (ImgstatRecord *)(uintptr_t)record}, *list = &entry;
    const ImgstatDataset dataset = {
        .entries = &list,
        .n = 1,
        .files = record->files,
        .names = record->names,
        .version = {IMGSTAT_VERSION_MAJOR, IMGSTAT_VERSION_MINOR, IMGSTAT_VERSION_PATCH}};
    put_all(writer, &dataset);
}

/* Copies what was written to where it fits, and frees it. */
static size_t copy_out(ByteWriter *writer, void *out, size_t capacity)
{
    const size_t n = writer->failed ? 0 : writer->n;
    if (out && n <= capacity)
        memcpy(out, writer->bytes, n);
    free(writer->bytes);
    return n;
}

size_t imgstat_dataset_bytes(ImgstatDataset *dataset, void *out, size_t capacity)
{
    ByteWriter writer = {0};
    dataset_put(&writer, dataset);
    return copy_out(&writer, out, capacity);
}

size_t imgstat_record_bytes(const ImgstatRecord *record, void *out, size_t capacity)
{
    ByteWriter writer = {0};
    dataset_put_record(&writer, record);
    return copy_out(&writer, out, capacity);
}

/* ---- Reading ---- */

static bool result_of_name(const char *name, ImgstatResult *out)
{
    for (int code = IMGSTAT_ERR_ARG; code <= IMGSTAT_ERR_CANCELLED; code++) {
        *out = (ImgstatResult)code;
        if (strcmp(imgstat_result_name(*out), name) == 0)
            return true;
    }
    return false;
}

static ImgstatResult get_failure(ByteReader *reader, ImgstatDataset *dataset, ImgstatError *err)
{
    bool memory = false;
    char *const name = get_text(reader, &memory), *const code = get_text(reader, &memory);
    char *const message = get_text(reader, &memory);
    ImgstatError error = {0};
    ImgstatResult res = memory ? error_memory(err, TEXT_MOST, "a data set") : IMGSTAT_OK;
    if (res == IMGSTAT_OK && (reader->failed || !result_of_name(code, &error.code) ||
                              strlen(message) >= sizeof error.message))
        res = record_damaged(err, "a failure of a file cannot be read");
    if (res == IMGSTAT_OK) {
        memcpy(error.message, message, strlen(message) + 1);
        res = dataset_fail(dataset, name, &error, err);
    }
    free(name);
    free(code);
    free(message);
    return res;
}

static ImgstatResult get_shards(ByteReader *reader, ShardsDone *shards, ImgstatError *err)
{
    const uint32_t n = (uint32_t)get_varint_up_to(reader, SHARDS_MOST);
    if (n == 0)
        return reader->failed ? record_damaged(err, "it ends early, or a number is too large")
                              : IMGSTAT_OK;
    const size_t bytes = (n + 7) / 8;
    const uint8_t *const set = get_bytes(reader, sizeof shards->set);
    const uint8_t *const done = get_bytes(reader, bytes);
    uint32_t n_done = 0;
    for (size_t i = 0; done && i < bytes; i++)
        n_done += (uint32_t)__builtin_popcount(done[i]);
    if (!done || n < 2 || n_done == 0 || n_done >= n || (n % 8 && done[bytes - 1] >> (n % 8)))
        return record_damaged(err, "the list of its shards is wrong");
    shards->done = malloc(bytes);
    if (!shards->done)
        return error_memory(err, bytes, "a data set");
    memcpy(shards->done, done, bytes);
    memcpy(shards->set, set, sizeof shards->set);
    shards->n = n;
    shards->n_done = n_done;
    return IMGSTAT_OK;
}

static ImgstatResult get_failures(ByteReader *reader, ImgstatDataset *dataset, ImgstatError *err)
{
    dataset->failed = get_varint_up_to(reader, dataset->files);
    const uint64_t all = get_varint_up_to(reader, RECORD_MOST_SAMPLES);
    const uint64_t most = (uint64_t)(reader->end - reader->at) / 3;
    const uint64_t listed = get_varint_up_to(reader, all < most ? all : most);
    dataset->failures_most = SIZE_MAX;
    size_t files = 0;
    for (uint64_t i = 0; i < listed; i++) {
        IMGSTAT_TRY(get_failure(reader, dataset, err));
        const ImgstatFailure *const failure = &dataset->failures[i];
        if (i > 0 && failures_compare(failure - 1, failure) > 0)
            return record_damaged(err, "its failures are not in order");
        files += i == 0 || strcmp(failure[-1].name, failure->name) != 0;
    }
    if (!reader->failed &&
        (dataset->failed < files || all < dataset->failed || (dataset->failed == 0 && all > 0)))
        return record_damaged(err, "the numbers of its failures do not agree");
    dataset->all_failures = all;
    dataset->failures_sorted = true;
    dataset->failures_most = listed > IMGSTAT_FAILURES_LISTED ? listed : IMGSTAT_FAILURES_LISTED;
    return IMGSTAT_OK;
}

static ImgstatResult get_account(ByteReader *reader, ImgstatDataset *dataset, ImgstatError *err)
{
    dataset->files = get_varint_up_to(reader, RECORD_MOST_SAMPLES);
    dataset->names.low = get_number(reader, 8);
    dataset->names.high = get_number(reader, 8);
    IMGSTAT_TRY(get_failures(reader, dataset, err));
    return get_shards(reader, &dataset->shards, err);
}

/* Reads a record and adds it behind the others. */
static ImgstatResult get_entry(ByteReader *reader, ImgstatDataset *dataset, bool sparse,
                               uint64_t *memory, ImgstatError *err)
{
    const size_t bytes = get_varint(reader);
    const uint8_t *const at = get_bytes(reader, bytes);
    ByteReader one = {.at = at, .end = at ? at + bytes : NULL};
    ImgstatRecord *record = NULL;
    if (!at)
        return record_damaged(err, "it ends early");
    IMGSTAT_TRY(record_get(&one, sparse, memory, &record, err));
    if (one.at != one.end) {
        imgstat_record_destroy(record);
        return record_damaged(err, "bytes follow its counts");
    }
    return dataset_append(dataset, record, err);
}

static ImgstatResult get_all(const uint8_t *bytes, size_t n, bool sparse, ImgstatDataset *dataset,
                             uint64_t memory, ImgstatError *err)
{
    ByteReader reader = {.at = bytes, .end = bytes + n};
    const uint8_t *const magic = get_bytes(&reader, sizeof record_magic);
    if (!magic || memcmp(magic, record_magic, sizeof record_magic) != 0)
        return error_set(err, IMGSTAT_ERR_FORMAT, "is no record of imgstat");
    const unsigned format = (unsigned)get_number(&reader, 2);
    if (!reader.failed && format != RECORD_FORMAT)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "a record in version %u of the format; this imgstat has version %d",
                         format, RECORD_FORMAT);
    for (int i = 0; i < 3; i++)
        dataset->version[i] = (uint16_t)get_number(&reader, 2);
    if (reader.failed || n < HEADER_BYTES + CHECKSUM_BYTES)
        return error_set(err, IMGSTAT_ERR_TRUNCATED, "the record ends early");
    reader.end -= CHECKSUM_BYTES;
    ByteReader checksum = {.at = reader.end, .end = bytes + n};
    if (get_number(&checksum, CHECKSUM_BYTES) != digest_checksum(bytes, n - CHECKSUM_BYTES))
        return record_damaged(err, "its checksum is wrong");
    IMGSTAT_TRY(get_account(&reader, dataset, err));
    const uint64_t records = get_varint(&reader);
    uint64_t pages = 0;
    for (uint64_t i = 0; i < records; i++) {
        IMGSTAT_TRY(get_entry(&reader, dataset, sparse, &memory, err));
        pages += dataset->entries[i]->record->pages;
        if (pages > RECORD_MOST_SAMPLES)
            return record_damaged(err, "it has too many pages");
    }
    if (reader.failed || reader.at != reader.end)
        return record_damaged(err, "bytes follow its end");
    return IMGSTAT_OK;
}

ImgstatResult dataset_read(const char *name, const void *bytes, size_t n, bool sparse,
                           uint64_t memory, ImgstatDataset **out, ImgstatError *err)
{
    ImgstatDataset *made = NULL;
    *out = NULL;
    IMGSTAT_TRY(imgstat_dataset_create(&made, err));
    ImgstatResult res = get_all(bytes, n, sparse, made, memory ? memory : RECORD_MEMORY, err);
    if (res == IMGSTAT_OK && name && !(made->source = shared_text_create(name, strlen(name))))
        res = error_memory(err, strlen(name), "the name of a file");
    if (res == IMGSTAT_OK)
        *out = made;
    else
        imgstat_dataset_destroy(made);
    return name ? error_add_file(err, res, name) : res;
}

ImgstatResult imgstat_dataset_from_bytes(const char *name, const void *bytes, size_t n,
                                         uint64_t memory, ImgstatDataset **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(bytes && out, __func__, err));
    return dataset_read(name, bytes, n, false, memory, out, err);
}

ImgstatResult dataset_only_record(ImgstatDataset *dataset, ImgstatRecord **out, ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    *out = NULL;
    if (dataset->n != 1)
        res = error_set(err, IMGSTAT_ERR_ARG, "%zu records, where one is wanted", dataset->n);
    else if (dataset->shards.n > 0)
        res = error_set(err, IMGSTAT_ERR_ARG, "%u of %u shards of a set", dataset->shards.n_done,
                        dataset->shards.n);
    if (res != IMGSTAT_OK && dataset->source)
        res = error_add_file(err, res, dataset->source->text);
    if (res == IMGSTAT_OK)
        *out = dataset_detach_record(dataset);
    imgstat_dataset_destroy(dataset);
    return res;
}

ImgstatResult imgstat_record_from_bytes(const void *bytes, size_t n, ImgstatRecord **out,
                                        ImgstatError *err)
{
    ImgstatDataset *dataset = NULL;
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(bytes && out, __func__, err));
    IMGSTAT_TRY(imgstat_dataset_from_bytes(NULL, bytes, n, 0, &dataset, err));
    return dataset_only_record(dataset, out, err);
}

/* SPDX-License-Identifier: MIT */
/* peers.c: what processes found is added up along a binary tree of messages, and goes back the same
 * way. Bytes are those of one machine and one version: all processes run the same program. */
#include "batch/peers.h"

#include <stdlib.h>
#include <string.h>

/* ---- Counts and records ---------------------------------------------------------------------- */

/* Most bins of most reads are empty. */
static void put_counts(ByteWriter *writer, const uint64_t *counts, size_t n)
{
    size_t present = 0, last = 0;
    for (size_t i = 0; i < n; i++)
        present += counts[i] > 0;
    put_varint(writer, present);
    for (size_t i = 0; i < n; i++)
        if (counts[i] > 0) {
            put_varint(writer, i - last);
            put_varint(writer, counts[i]);
            last = i;
        }
}

static void add_counts(ByteReader *reader, uint64_t *counts, size_t n)
{
    size_t at = 0;
    for (uint64_t left = get_varint_up_to(reader, n); left > 0 && !reader->failed; left--) {
        at += (size_t)get_varint_up_to(reader, n - 1 - at);
        counts[at] += get_varint(reader);
    }
}

void peers_put_request(ByteWriter *writer, const ReadRequest *request, uint16_t channels)
{
    for (size_t i = 0; i < request->n_digits; i++)
        put_counts(writer, request->digits[i].bins, DIGIT_BINS);
    for (size_t i = 0; i < request->n_ranges; i++)
        put_counts(writer, request->ranges[i].bins, request->ranges[i].n_bins);
    for (size_t i = 0; i < request->n_gathers; i++) {
        put_varint(writer, request->gathers[i].n);
        put_bytes(writer, request->gathers[i].keys, request->gathers[i].n * sizeof(uint64_t));
    }
    if (request->central)
        put_bytes(writer, request->central, channels * sizeof *request->central);
}

void peers_clear_request(const ReadRequest *request, uint16_t channels)
{
    for (size_t i = 0; i < request->n_digits; i++)
        memset(request->digits[i].bins, 0, DIGIT_BINS * sizeof(uint64_t));
    for (size_t i = 0; i < request->n_ranges; i++)
        memset(request->ranges[i].bins, 0, request->ranges[i].n_bins * sizeof(uint64_t));
    for (size_t i = 0; i < request->n_gathers; i++)
        request->gathers[i].n = 0;
    if (request->central)
        memset(request->central, 0, channels * sizeof *request->central);
}

void peers_add_request(ByteReader *reader, const ReadRequest *request, uint16_t channels)
{
    for (size_t i = 0; i < request->n_digits; i++)
        add_counts(reader, request->digits[i].bins, DIGIT_BINS);
    for (size_t i = 0; i < request->n_ranges; i++)
        add_counts(reader, request->ranges[i].bins, request->ranges[i].n_bins);
    for (size_t i = 0; i < request->n_gathers; i++) {
        KeyGather *const gather = &request->gathers[i];
        const size_t n = (size_t)get_varint_up_to(reader, gather->capacity - gather->n);
        const uint8_t *const keys = get_bytes(reader, n * sizeof(uint64_t));
        if (!keys || n == 0)
            continue;
        memcpy(gather->keys + gather->n, keys, n * sizeof(uint64_t));
        gather->n += n;
    }
    for (uint16_t c = 0; request->central && c < channels; c++) {
        Central other;
        const uint8_t *const bytes = get_bytes(reader, sizeof other);
        if (!bytes)
            break;
        memcpy(&other, bytes, sizeof other);
        central_merge(&request->central[c], &other);
    }
}

void peers_put_record(ByteWriter *writer, const Record *record)
{
    put_number(writer, record->sample, 1);
    put_number(writer, record->channels, 2);
    put_number(writer, record->parts, 1);
    put_bytes(writer, record->tally, record->channels * sizeof *record->tally);
    if (record->bins)
        put_counts(writer, record->bins, record->channels * sample_record_bins(record->sample));
}

Record *peers_get_record(ByteReader *reader)
{
    Record *record = NULL;
    const ImgstatSample sample = (ImgstatSample)get_number(reader, 1);
    const uint16_t channels = (uint16_t)get_number(reader, 2);
    const unsigned parts = (unsigned)get_number(reader, 1);
    if (reader->failed || record_create(NULL, sample, channels, parts, &record, NULL) != IMGSTAT_OK)
        return NULL;
    const uint8_t *const tallies = get_bytes(reader, channels * sizeof *record->tally);
    if (tallies)
        memcpy(record->tally, tallies, channels * sizeof *record->tally);
    if (record->bins) {
        memset(record->bins, 0, channels * sample_record_bins(sample) * sizeof *record->bins);
        add_counts(reader, record->bins, channels * sample_record_bins(sample));
    }
    if (!reader->failed)
        return record;
    record_destroy(record);
    return NULL;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Sends what this process holds, or its failure. */
static ImgstatResult send_to(const ImgstatPeers *peers, uint32_t to, const PeerData *data,
                             ImgstatResult own, ImgstatError *err)
{
    ByteWriter writer = {0};
    put_number(&writer, own != IMGSTAT_OK, 1);
    if (own == IMGSTAT_OK && data->put)
        data->put(data->context, &writer);
    if (writer.failed)
        own = error_memory(err, writer.capacity, "a message");
    if (own == IMGSTAT_OK) {
        peers->send(peers->context, to, writer.bytes, writer.n);
    } else {
        uint8_t failure[1 + sizeof *err] = {1};
        memcpy(failure + 1, err, sizeof *err);
        peers->send(peers->context, to, failure, sizeof failure);
    }
    free(writer.bytes);
    return own;
}

/* Adds what another process holds, or puts it in place of what this one does. Of two failures that
 * of this process stays, unless it is replaced. */
static ImgstatResult receive_from(const ImgstatPeers *peers, uint32_t from, bool replaces,
                                  const PeerData *data, ImgstatResult own, ImgstatError *err)
{
    size_t n = 0;
    uint8_t *const bytes = peers->receive(peers->context, from, &n);
    if (!bytes)
        return own != IMGSTAT_OK
                   ? own
                   : error_set(err, IMGSTAT_ERR_IO, "process %u sent nothing", (unsigned)from);
    ByteReader reader = {.at = bytes, .end = bytes + n};
    const bool failed = get_number(&reader, 1) != 0;
    const uint8_t *const failure = failed ? get_bytes(&reader, sizeof *err) : NULL;
    if (failure && (own == IMGSTAT_OK || replaces)) {
        memcpy(err, failure, sizeof *err);
        own = err->code;
    } else if (own == IMGSTAT_OK) {
        if (replaces && data->clear)
            data->clear(data->context);
        if (data->add)
            own = data->add(data->context, &reader, err);
        if (own == IMGSTAT_OK && (reader.failed || reader.at != reader.end))
            own = error_set(err, IMGSTAT_ERR_IO,
                            "process %u found what does not fit: the processes see different files",
                            (unsigned)from);
    }
    free(bytes);
    return own;
}

ImgstatResult peers_combine(const ImgstatPeers *peers, const PeerData *data, ImgstatResult own,
                            ImgstatError *err)
{
    const uint32_t rank = peers->rank;
    uint32_t step = 1;
    for (; step < peers->n && rank % (2 * step) == 0; step *= 2)
        if (rank + step < peers->n)
            own = receive_from(peers, rank + step, false, data, own, err);
    if (rank > 0) {
        own = send_to(peers, rank - step, data, own, err);
        own = receive_from(peers, rank - step, true, data, own, err);
    }
    while (step > 1) {
        step /= 2;
        if (rank + step < peers->n)
            own = send_to(peers, rank + step, data, own, err);
    }
    return own;
}

ImgstatResult peers_agree(const ImgstatPeers *peers, ImgstatResult own, ImgstatError *err)
{
    const PeerData nothing = {.context = NULL};
    ImgstatError why = err ? *err : (ImgstatError){.code = own};
    const ImgstatResult res = peers_combine(peers, &nothing, own, &why);
    if (res != IMGSTAT_OK && err)
        *err = why;
    return res;
}

/* ---- A read ---------------------------------------------------------------------------------- */

typedef struct Read {
    const ReadRequest *request;
    uint16_t channels;
} Read;

static void put_read(void *context, ByteWriter *writer)
{
    const Read *const read = context;
    peers_put_request(writer, read->request, read->channels);
}

static void clear_read(void *context)
{
    const Read *const read = context;
    peers_clear_request(read->request, read->channels);
}

static ImgstatResult add_read(void *context, ByteReader *reader, ImgstatError *err)
{
    const Read *const read = context;
    (void)err;
    peers_add_request(reader, read->request, read->channels);
    return IMGSTAT_OK;
}

ImgstatResult peers_combine_request(const ImgstatPeers *peers, const ReadRequest *request,
                                    uint16_t channels, ImgstatResult own, ImgstatError *err)
{
    Read read = {.request = request, .channels = channels};
    const PeerData data = {.context = &read, .put = put_read, .clear = clear_read, .add = add_read};
    return peers_combine(peers, &data, own, err);
}

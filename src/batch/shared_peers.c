/* SPDX-License-Identifier: MIT */
/* shared_peers.c: gives every process what all of them measured for a shared transfer: the files
 * that failed, the notes of the others, and the records of the groups. */
#include "batch/peers.h"
#include "batch/scheduler.h"

#include <stdlib.h>
#include <string.h>

static void put_failures(void *context, ByteWriter *writer)
{
    const Jobs *const jobs = context;
    put_varint(writer, jobs->n);
    put_varint(writer, jobs->groups.n);
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->failed[i]) {
            ImgstatError failure = {0};
            memcpy(&failure, jobs->failed[i], error_bytes(jobs->failed[i]));
            put_varint(writer, i);
            put_bytes(writer, &failure, sizeof failure);
        }
}

static ImgstatResult add_failures(void *context, ByteReader *reader, ImgstatError *err)
{
    Jobs *const jobs = context;
    if (get_varint(reader) != jobs->n || get_varint(reader) != jobs->groups.n)
        reader->failed = true;
    while (!reader->failed && reader->at < reader->end) {
        const size_t index = (size_t)get_varint_up_to(reader, jobs->n - 1);
        ImgstatError failure;
        const uint8_t *const bytes = get_bytes(reader, sizeof failure);
        if (!bytes || jobs->failed[index])
            continue;
        memcpy(&failure, bytes, sizeof failure);
        failure.message[sizeof failure.message - 1] = '\0';
        jobs_note_failure(jobs, index, &failure);
        if (!jobs->failed[index])
            return error_memory(err, sizeof failure, "a failure");
    }
    return IMGSTAT_OK;
}

static void put_notes(void *context, ByteWriter *writer)
{
    const Jobs *const jobs = context;
    for (size_t i = 0; i < jobs->n; i++) {
        const JobNotes *const notes = &jobs->notes[i];
        if (notes->warnings.bytes == 0 && notes->lost_rows == 0)
            continue;
        put_varint(writer, i);
        put_varint(writer, notes->lost_rows);
        put_varint(writer, notes->warnings.bytes);
        put_bytes(writer, notes->warnings.text, notes->warnings.bytes);
    }
}

static ImgstatResult add_notes(void *context, ByteReader *reader, ImgstatError *err)
{
    Jobs *const jobs = context;
    while (!reader->failed && reader->at < reader->end) {
        JobNotes *const notes = &jobs->notes[get_varint_up_to(reader, jobs->n - 1)];
        const uint64_t lost_rows = get_varint(reader);
        const size_t n = (size_t)get_varint(reader);
        const uint8_t *const text = get_bytes(reader, n);
        if (!text || notes->warnings.bytes > 0 || notes->lost_rows > 0)
            continue;
        notes->lost_rows = lost_rows;
        if (n == 0)
            continue;
        notes->warnings.text = malloc(n);
        if (!notes->warnings.text)
            return error_memory(err, n, "warnings");
        memcpy(notes->warnings.text, text, n);
        notes->warnings.text[n - 1] = '\0';
        notes->warnings.bytes = n;
    }
    return IMGSTAT_OK;
}

static void put_group(void *context, ByteWriter *writer)
{
    const SharedGroup *const group = context;
    if (group->input->record)
        peers_put_record(writer, group->input->record);
}

static void clear_group(void *context)
{
    const SharedGroup *const group = context;
    record_destroy(group->input->record);
    group->input->record = NULL;
}

static ImgstatResult add_group(void *context, ByteReader *reader, ImgstatError *err)
{
    const SharedGroup *const group = context;
    TransferInput *const input = group->input;
    if (reader->at == reader->end)
        return IMGSTAT_OK;
    Record *record = peers_get_record(reader);
    if (!record)
        return error_memory(err, (size_t)(reader->end - reader->at), "a record");
    if (input->record &&
        (input->record->sample != record->sample || input->record->channels != record->channels ||
         input->record->parts != record->parts)) {
        record_destroy(record);
        reader->failed = true;
        return IMGSTAT_OK;
    }
    transfer_input_merge(input, &record);
    return IMGSTAT_OK;
}

ImgstatResult jobs_share_measured(Jobs *jobs, ImgstatResult res, ImgstatError *err)
{
    const ImgstatPeers *const peers = jobs->batch->peers;
    /* Nothing is cleared: those of this process are among those of all. */
    const PeerData failures = {.context = jobs, .put = put_failures, .add = add_failures};
    const PeerData notes = {.context = jobs, .put = put_notes, .add = add_notes};
    IMGSTAT_TRY(peers_combine(peers, &failures, res, err));
    IMGSTAT_TRY(peers_combine(peers, &notes, IMGSTAT_OK, err));
    for (size_t g = 0; g < jobs->groups.n; g++) {
        const PeerData group = {.context = &jobs->groups.group[g],
                                .put = put_group,
                                .clear = clear_group,
                                .add = add_group};
        IMGSTAT_TRY(peers_combine(peers, &group, IMGSTAT_OK, err));
    }
    return IMGSTAT_OK;
}

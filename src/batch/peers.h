/* SPDX-License-Identifier: MIT */
/* peers.h: processes that measure the files of one batch together, and what each of them found. */
#ifndef IMGSTAT_BATCH_PEERS_H
#define IMGSTAT_BATCH_PEERS_H

#include "base/error.h"
#include "device/read_request.h"
#include "record/byte_stream.h"
#include "record/record.h"

/* What a process found, as bytes. All functions may be NULL. */
typedef struct PeerData {
    void *context;
    void (*put)(void *context, ByteWriter *writer);
    void (*clear)(void *context); /* nothing is found any more */
    /* Adds what another process found. Bytes that do not fit fail the reader. */
    ImgstatResult (*add)(void *context, ByteReader *reader, ImgstatError *err);
} PeerData;

/* Whether a process is one of those that it names, and can reach them. */
static inline bool peers_are_complete(const ImgstatPeers *peers)
{
    return peers->rank < peers->n && peers->send && peers->receive;
}

/* Adds up what all processes found, and gives the sum to each of them. own, err: whether this one
 * failed. If one did, the result is the failure of the first one, in all of them. All of them call
 * it, in the same order. */
ImgstatResult peers_combine(const ImgstatPeers *peers, const PeerData *data, ImgstatResult own,
                            ImgstatError *err);

/* Adds nothing up: one process that cannot begin ends the call in all, as others would wait for it.
 * err may be NULL. */
ImgstatResult peers_agree(const ImgstatPeers *peers, ImgstatResult own, ImgstatError *err);

/* The same for what a read found. channels: those of request->central. */
ImgstatResult peers_combine_request(const ImgstatPeers *peers, const ReadRequest *request,
                                    uint16_t channels, ImgstatResult own, ImgstatError *err);

/* What PeerData asks for, of a read. */
void peers_put_request(ByteWriter *writer, const ReadRequest *request, uint16_t channels);
void peers_clear_request(const ReadRequest *request, uint16_t channels);
void peers_add_request(ByteReader *reader, const ReadRequest *request, uint16_t channels);

void peers_put_record(ByteWriter *writer, const Record *record);
/* Creates the record. NULL after a failure of memory or of the reader. */
Record *peers_get_record(ByteReader *reader);

#endif

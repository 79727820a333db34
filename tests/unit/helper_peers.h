/* SPDX-License-Identifier: MIT */
/* helper_peers.h: processes that measure together, as threads of a test. */
#ifndef IMGSTAT_HELPER_PEERS_H
#define IMGSTAT_HELPER_PEERS_H

#include "base/error.h"

enum { PEERS_MOST = 8 };

/* What one of them does. It must not end the test: results are checked when all have ended. */
typedef void PeerWork(const ImgstatPeers *peers, void *own);

/* Runs n of them at once. own: n items of own_bytes. silent: messages of this one arrive without
 * memory; n: of none. Returns the number of messages. */
size_t peers_run(uint32_t n, PeerWork *work, void *own, size_t own_bytes, uint32_t silent);

#endif

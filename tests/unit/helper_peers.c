/* SPDX-License-Identifier: MIT */
/* helper_peers.c: threads with a queue of messages from each to each. */
#include "helper_peers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Message {
    struct Message *next;
    void *bytes;
    size_t n;
} Message;

typedef struct Net {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Message *first[PEERS_MOST][PEERS_MOST]; /* from, to */
    size_t sent;
    uint32_t silent;
} Net;

typedef struct Peer {
    Net *net;
    ImgstatPeers peers;
    PeerWork *work;
    void *own;
} Peer;

static void give_up(const char *why)
{
    perror(why);
    abort();
}

static void send(void *context, uint32_t to, const void *bytes, size_t n)
{
    const Peer *const peer = context;
    Net *const net = peer->net;
    Message *const message = malloc(sizeof *message);
    void *const copy = malloc(n + 1);
    if (!message || !copy || to >= peer->peers.n || to == peer->peers.rank)
        give_up("send");
    memcpy(copy, bytes, n);
    *message = (Message){.bytes = copy, .n = n};
    pthread_mutex_lock(&net->lock);
    Message **end = &net->first[peer->peers.rank][to];
    while (*end)
        end = &(*end)->next;
    *end = message;
    net->sent++;
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->lock);
}

static void *receive(void *context, uint32_t from, size_t *n)
{
    const Peer *const peer = context;
    Net *const net = peer->net;
    Message **const place = &net->first[from][peer->peers.rank];
    pthread_mutex_lock(&net->lock);
    while (!*place)
        pthread_cond_wait(&net->changed, &net->lock);
    Message *const message = *place;
    *place = message->next;
    pthread_mutex_unlock(&net->lock);
    void *bytes = message->bytes;
    *n = message->n;
    free(message);
    if (from == net->silent) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static void *run(void *context)
{
    const Peer *const peer = context;
    peer->work(&peer->peers, peer->own);
    return NULL;
}

static size_t count_left(const Net *net)
{
    size_t left = 0;
    for (uint32_t from = 0; from < PEERS_MOST; from++)
        for (uint32_t to = 0; to < PEERS_MOST; to++)
            left += net->first[from][to] != NULL;
    return left;
}

size_t peers_run(uint32_t n, PeerWork *work, void *own, size_t own_bytes, uint32_t silent)
{
    Net net = {.silent = silent};
    Peer peer[PEERS_MOST];
    pthread_t thread[PEERS_MOST];
    pthread_mutex_init(&net.lock, NULL);
    pthread_cond_init(&net.changed, NULL);
    for (uint32_t i = 0; i < n; i++) {
        peer[i] = (Peer){.net = &net,
                         .peers = {.rank = i, .n = n, .send = send, .receive = receive},
                         .work = work,
                         .own = (char *)own + i * own_bytes};
        peer[i].peers.context = &peer[i];
        if (pthread_create(&thread[i], NULL, run, &peer[i]) != 0)
            give_up("a thread");
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    if (count_left(&net) > 0)
        give_up("messages that nobody received");
    pthread_cond_destroy(&net.changed);
    pthread_mutex_destroy(&net.lock);
    return net.sent;
}

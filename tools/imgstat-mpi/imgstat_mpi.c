/* SPDX-License-Identifier: MIT */
/* imgstat_mpi.c: imgstat in many processes. Rank 0 deals out the shards of a command, receives what
 * the ranks print about each, and prints it in the order of the shards.
 *
 * The work of a rank is on its main thread, and what of MPI comes with it. Rank 0 has one thread
 * more, which answers the other ranks; its main thread takes shards from the same list, and calls
 * MPI only before that thread begins and after it has ended. So one thread of a process is in MPI
 * at a time: MPI_THREAD_SERIALIZED. Nobody waits inside MPI, where implementations keep a processor
 * busy: who waits looks again and again, and sleeps between. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "measure/shard_team.h"
#include "program.h"
#include "text/status.h"
#include "text/temporary.h"
#include "text/terminal.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_ASK, TAG_SHARD, TAG_RESULT, TAG_PIECE, TAG_MESSAGE };
enum { PIECE_BYTES = 1 << 20, ID_BYTES = 16 };
enum { SHORTEST_NS = 100000, LONGEST_NS = 4000000 }; /* of a pause */

/* What a rank sends before the pieces. */
typedef struct Result {
    uint64_t shard, bytes;
} Result;

/* Where the bytes of a shard lie in the spool. */
typedef struct Place {
    uint64_t at, bytes, received;
    bool known;
} Place;

typedef struct Team {
    MPI_Comm comm;
    MPI_Comm messages; /* of ImgstatPeers: the dealer must not see them */
    int rank, ranks;
    bool started;
    const ShardSet *set;
    /* Rank 0: */
    pthread_t dealer;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t arrived;
    uint32_t *order; /* shards, set->n of them */
    uint32_t dealt;
    Place *places;       /* of shard k: places[k - 1] */
    uint64_t spool_end;  /* bytes */
    int spool;           /* an unlinked file: results that are not printed so far */
    FILE *reader;        /* of the same file */
    Place **under_way;   /* of each rank; NULL: it is not sending */
    pthread_mutex_t mpi; /* held by who calls MPI */
} Team;

/* Who has waited long looks seldom: a look takes some microseconds, and a processor that others
 * work on. Each pause is an eighth longer than the one before, so that it is about a ninth of the
 * time waited. */
static void pause_longer(long *ns)
{
    nanosleep(&(struct timespec){.tv_nsec = *ns}, NULL);
    if (*ns < LONGEST_NS)
        *ns += *ns / 8;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void fail(void *context, int status)
{
    Team *const team = context;
    fflush(stdout);
    fflush(stderr);
    pthread_mutex_lock(&team->mpi);
    MPI_Abort(team->comm, status);
    _exit(status);
}

/* On the dealer's thread, which holds MPI. Standard error may be captured: it is the terminal's
 * only while no shard is being done; the descriptor that is kept aside always is. */
static int kept_stderr = STDERR_FILENO;

static void fail_dealing(Team *team, const char *sentence)
{
    dprintf(kept_stderr, "imgstat-mpi: %s\n", sentence);
    MPI_Abort(team->comm, STATUS_FAILED);
    _exit(STATUS_FAILED);
}

static void wait_for(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    for (long pause = SHORTEST_NS; !done; MPI_Test(request, &done, MPI_STATUS_IGNORE))
        pause_longer(&pause);
}

/* ---- What arrives at rank 0 ------------------------------------------------------------------ */

static void open_spool(Team *team)
{
    team->spool = temporary_create();
    const int again = team->spool >= 0 ? dup(team->spool) : -1;
    team->reader = again >= 0 ? fdopen(again, "rbe") : NULL;
    if (team->reader == NULL) {
        fprintf(stderr, "imgstat-mpi: a temporary file cannot be created: %s\n", strerror(errno));
        fail(team, STATUS_FAILED);
    }
    setvbuf(team->reader, NULL, _IONBF, 0); /* a buffer would hold what was there before */
}

static Place *place_for(Team *team, const Result *result)
{
    pthread_mutex_lock(&team->lock);
    Place *const place = &team->places[result->shard - 1];
    *place = (Place){.at = team->spool_end, .bytes = result->bytes, .known = true};
    team->spool_end += result->bytes;
    pthread_cond_signal(&team->arrived); /* of no bytes this is all */
    pthread_mutex_unlock(&team->lock);
    return place;
}

/* False: the file system is full. */
static bool store(Team *team, Place *place, const char *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t part = pwrite(team->spool, bytes + done, n - done,
                                    (off_t)(place->at + place->received + done));
        if (part < 0 && errno != EINTR)
            return false;
        done += part > 0 ? (size_t)part : 0;
    }
    pthread_mutex_lock(&team->lock);
    place->received += n;
    pthread_cond_signal(&team->arrived);
    pthread_mutex_unlock(&team->lock);
    return true;
}

static uint32_t next_shard(Team *team)
{
    pthread_mutex_lock(&team->lock);
    const uint32_t shard = team->dealt < team->set->n ? team->order[team->dealt++] : 0;
    pthread_mutex_unlock(&team->lock);
    return shard;
}

/* ---- The dealer: a thread of rank 0 ---------------------------------------------------------- */

static void answer(Team *team, int rank, int *left)
{
    uint8_t id[ID_BYTES];
    MPI_Recv(id, ID_BYTES, MPI_BYTE, rank, TAG_ASK, team->comm, MPI_STATUS_IGNORE);
    if (memcmp(id, team->set->id, ID_BYTES) != 0) {
        char sentence[200];
        snprintf(sentence, sizeof sentence,
                 "rank %d sees other inputs than rank 0: names or sizes of files differ", rank);
        fail_dealing(team, sentence);
    }
    const uint32_t shard = next_shard(team);
    *left -= shard == 0;
    MPI_Send(&shard, 1, MPI_UINT32_T, rank, TAG_SHARD, team->comm);
}

static void receive(Team *team, const MPI_Status *status, char *buffer)
{
    const int rank = status->MPI_SOURCE;
    if (status->MPI_TAG == TAG_RESULT) {
        Result result;
        MPI_Recv(&result, sizeof result, MPI_BYTE, rank, TAG_RESULT, team->comm, MPI_STATUS_IGNORE);
        team->under_way[rank] = place_for(team, &result);
        return;
    }
    int n;
    MPI_Get_count(status, MPI_BYTE, &n);
    MPI_Recv(buffer, n, MPI_BYTE, rank, TAG_PIECE, team->comm, MPI_STATUS_IGNORE);
    if (!store(team, team->under_way[rank], buffer, (size_t)n)) {
        char sentence[200];
        snprintf(sentence, sizeof sentence, "a temporary file cannot be written: %s",
                 strerror(errno));
        fail_dealing(team, sentence);
    }
}

/* Until every other rank was told that nothing is left; what it sent before has arrived then. */
static void *deal(void *context)
{
    Team *const team = context;
    char *const buffer = text_alloc(PIECE_BYTES);
    long pause = SHORTEST_NS;
    for (int left = team->ranks - 1; left > 0;) {
        int there = 0;
        MPI_Status status;
        pthread_mutex_lock(&team->mpi);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &there, &status);
        if (there && status.MPI_TAG == TAG_ASK)
            answer(team, status.MPI_SOURCE, &left);
        else if (there)
            receive(team, &status, buffer);
        pthread_mutex_unlock(&team->mpi);
        if (there)
            pause = SHORTEST_NS;
        else
            pause_longer(&pause);
    }
    free(buffer);
    return NULL;
}

/* ---- The team, as shard_team.h has it -------------------------------------------------------- */

/* Rank 0 says whether there is something to do together; the others wait for it. */
static bool agree_to_start(Team *team, bool starts)
{
    MPI_Request request;
    int word = starts;
    MPI_Ibcast(&word, 1, MPI_INT, 0, team->comm, &request);
    wait_for(&request);
    return word != 0;
}

static void start(void *context)
{
    Team *const team = context;
    team->started = true;
    if (team->rank == 0)
        (void)agree_to_start(team, true);
}

static void begin(void *context, const ShardSet *set)
{
    Team *const team = context;
    team->set = set;
    if (team->rank > 0)
        return;
    team->order = shard_team_order(set);
    team->places = text_alloc(set->n * sizeof *team->places);
    memset(team->places, 0, set->n * sizeof *team->places);
    team->under_way = text_alloc((size_t)team->ranks * sizeof *team->under_way);
    open_spool(team);
    kept_stderr = dup(STDERR_FILENO);
    if (pthread_create(&team->dealer, NULL, deal, team) != 0) {
        fputs("imgstat-mpi: cannot start a thread\n", stderr);
        fail(team, STATUS_FAILED);
    }
}

static uint32_t next(void *context)
{
    Team *const team = context;
    if (team->rank == 0)
        return next_shard(team);
    uint32_t shard;
    MPI_Request request;
    MPI_Irecv(&shard, 1, MPI_UINT32_T, 0, TAG_SHARD, team->comm, &request);
    MPI_Send(team->set->id, ID_BYTES, MPI_BYTE, 0, TAG_ASK, team->comm);
    wait_for(&request);
    return shard;
}

static void deliver(void *context, uint32_t shard, FILE *kept)
{
    Team *const team = context;
    bool good = fseeko(kept, 0, SEEK_END) == 0;
    const Result result = {.shard = shard, .bytes = (uint64_t)ftello(kept)};
    rewind(kept);
    Place *const place = team->rank == 0 ? place_for(team, &result) : NULL;
    if (team->rank > 0)
        MPI_Send(&result, sizeof result, MPI_BYTE, 0, TAG_RESULT, team->comm);
    char *const buffer = text_alloc(PIECE_BYTES);
    for (uint64_t sent = 0; good && sent < result.bytes;) {
        const uint64_t rest = result.bytes - sent;
        const size_t n = rest < PIECE_BYTES ? (size_t)rest : PIECE_BYTES;
        good = fread(buffer, 1, n, kept) == n;
        if (good && team->rank == 0)
            good = store(team, place, buffer, n);
        else if (good)
            MPI_Send(buffer, (int)n, MPI_BYTE, 0, TAG_PIECE, team->comm);
        sent += n;
    }
    free(buffer);
    if (!good) {
        fprintf(stderr, "imgstat-mpi: a temporary file: %s\n", strerror(errno));
        fail(team, STATUS_FAILED);
    }
}

static FILE *collect(void *context, uint32_t shard, bool waits)
{
    Team *const team = context;
    const Place *const place = &team->places[shard - 1];
    pthread_mutex_lock(&team->lock);
    while (waits && !(place->known && place->received == place->bytes))
        pthread_cond_wait(&team->arrived, &team->lock);
    const bool here = place->known && place->received == place->bytes;
    pthread_mutex_unlock(&team->lock);
    if (!here)
        return NULL;
    if (fseeko(team->reader, (off_t)place->at, SEEK_SET) != 0) {
        fprintf(stderr, "imgstat-mpi: a temporary file: %s\n", strerror(errno));
        fail(team, STATUS_FAILED);
    }
    return team->reader;
}

/* Rank 0 is in MPI on its main thread again. */
static void end(void *context)
{
    Team *const team = context;
    if (team->rank > 0)
        return;
    pthread_join(team->dealer, NULL);
    fclose(team->reader);
    close(team->spool);
    close(kept_stderr);
    kept_stderr = STDERR_FILENO;
    free(team->order);
    free(team->places);
    free(team->under_way);
}

/* ---- Messages, as ImgstatPeers has them ------------------------------------------------------ */

static void send_part(const Team *team, uint32_t to, const void *bytes, int n)
{
    MPI_Request request;
    MPI_Isend(bytes, n, MPI_BYTE, (int)to, TAG_MESSAGE, team->messages, &request);
    wait_for(&request);
}

static void receive_part(const Team *team, uint32_t from, void *to, int n)
{
    MPI_Request request;
    MPI_Irecv(to, n, MPI_BYTE, (int)from, TAG_MESSAGE, team->messages, &request);
    wait_for(&request);
}

static void send_message(void *context, uint32_t to, const void *bytes, size_t n)
{
    const uint64_t length = n;
    send_part(context, to, &length, sizeof length);
    for (size_t sent = 0; sent < n;) {
        const int part = n - sent < PIECE_BYTES ? (int)(n - sent) : PIECE_BYTES;
        send_part(context, to, (const char *)bytes + sent, part);
        sent += (size_t)part;
    }
}

static void *receive_message(void *context, uint32_t from, size_t *n)
{
    uint64_t length;
    receive_part(context, from, &length, sizeof length);
    char *const bytes = text_alloc((size_t)length);
    for (uint64_t got = 0; got < length;) {
        const int part = length - got < PIECE_BYTES ? (int)(length - got) : PIECE_BYTES;
        receive_part(context, from, bytes + got, part);
        got += (uint64_t)part;
    }
    *n = (size_t)length;
    return bytes;
}

/* ---- The program ----------------------------------------------------------------------------- */

/* Ranks that may run on the same processors share them. */
static void share_processors(const Team *team)
{
    cpu_set_t own, *all;
    MPI_Comm host;
    int n, same = 0;
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        return;
    MPI_Comm_split_type(team->comm, MPI_COMM_TYPE_SHARED, team->rank, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &n);
    all = text_alloc((size_t)n * sizeof *all);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, host);
    for (int i = 0; i < n; i++)
        same += CPU_EQUAL(&own, &all[i]) != 0;
    free(all);
    MPI_Comm_free(&host);
    const int share = CPU_COUNT(&own) / same;
    char number[24];
    snprintf(number, sizeof number, "%d", share > 0 ? share : 1);
    (void)setenv("IMGSTAT_JOBS", number, 0);
}

static int run(Team *team, int argc, char **argv)
{
    terminal_is_unknown();
    if (team->rank > 0 && !agree_to_start(team, false))
        return STATUS_OK;
    const int status = program_run(argc, argv);
    if (team->rank == 0 && !team->started)
        (void)agree_to_start(team, false);
    else if (team->rank > 0 && !team->started)
        fail(team, status); /* a sentence was printed: rank 0 read the command line otherwise */
    return status;
}

int main(int argc, char **argv)
{
    int threads;
    Team team = {.spool = -1};
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS)
        return STATUS_FAILED;
    if (threads < MPI_THREAD_SERIALIZED) {
        fputs("imgstat-mpi: this MPI can be called from one thread only\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, STATUS_FAILED);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &team.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &team.messages);
    MPI_Comm_rank(team.comm, &team.rank);
    MPI_Comm_size(team.comm, &team.ranks);
    pthread_mutex_init(&team.lock, NULL);
    pthread_mutex_init(&team.mpi, NULL);
    pthread_cond_init(&team.arrived, NULL);
    share_processors(&team);
    const ImgstatPeers peers = {.rank = (uint32_t)team.rank,
                                .n = (uint32_t)team.ranks,
                                .send = send_message,
                                .receive = receive_message,
                                .context = &team};
    const ShardTeam members = {.members = (uint32_t)team.ranks,
                               .leads = team.rank == 0,
                               .context = &team,
                               .peers = &peers,
                               .start = start,
                               .begin = begin,
                               .next = next,
                               .deliver = deliver,
                               .collect = collect,
                               .end = end,
                               .fail = fail};
    shard_team = &members;
    const int status = run(&team, argc, argv);
    MPI_Request request;
    MPI_Ibarrier(team.comm, &request);
    wait_for(&request);
    MPI_Finalize();
    return status;
}

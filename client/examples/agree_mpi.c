/* agree_mpi.c: ranks of MPI compare the data that they train on, before the first batch and at the
 * end.
 *
 *     mpirun -n 4 agree_mpi STREAM
 *
 * Each rank opens its part of STREAM and counts the rows of an epoch. Before the epoch, and where a
 * trainer would write a checkpoint, all ranks compare their fingerprints. A fingerprint identifies
 * spec, data, seed, epoch, step, world size and ordering rules. If fingerprints differ, all ranks
 * end with status 1, and rank 0 prints the host, the fingerprint and the files of each rank.
 * Collective calls wait for all ranks. If a rank is missing, only the scheduler's time limit ends
 * the job.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat.h"

#define FILES_SIZE 32769 /* the largest list that libleat returns */

struct member {
    char host[MPI_MAX_PROCESSOR_NAME];
    char fingerprint[LEAT_FINGERPRINT_SIZE];
};

static int rank, n_ranks;

static void *allocate(size_t n, size_t size) {
    void *memory = calloc(n, size);

    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* Prints on rank 0 which files each rank reads. Call it on all ranks. */
static void print_files(const struct leat_stream *stream, const struct member *members) {
    char *own = allocate(1, FILES_SIZE);
    char *all = allocate(rank == 0 ? (size_t)n_ranks : 1, FILES_SIZE);

    (void)snprintf(own, FILES_SIZE, "%s", leat_stream_files(stream));
    MPI_Gather(own, FILES_SIZE, MPI_CHAR, all, FILES_SIZE, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < n_ranks; i++)
        (void)fprintf(stderr, "rank %d on %s: %s\n%s", i, members[i].host, members[i].fingerprint,
                      all + (size_t)i * FILES_SIZE);
    free(own);
    free(all);
}

/* Returns true on all ranks if all ranks are at the same position of the same data. */
static bool agree(struct leat_stream *stream) {
    struct member own = {.host = ""};
    struct member *members = allocate((size_t)n_ranks, sizeof(*members));
    int n_host = 0;
    bool is_same = true;

    (void)MPI_Get_processor_name(own.host, &n_host);
    (void)snprintf(own.fingerprint, sizeof(own.fingerprint), "%s", leat_stream_fingerprint(stream));
    MPI_Allgather(&own, sizeof(own), MPI_CHAR, members, sizeof(own), MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 1; i < n_ranks; i++)
        if (strcmp(members[i].fingerprint, members[0].fingerprint) != 0)
            is_same = false;
    if (!is_same)
        print_files(stream, members);
    free(members);
    return is_same;
}

/* Reads an epoch, and returns the number of rows of this rank, or -errno. */
static long count_rows(struct leat_stream *stream) {
    struct leat_batch *batch;
    long n_rows = 0;
    int r;

    while ((r = leat_stream_next(stream, -1, &batch)) == 0) {
        n_rows += (long)leat_batch_n_rows(batch);
        leat_batch_release(batch);
    }
    return r < 0 ? r : n_rows;
}

/* Returns true if the epoch came to its end. */
static bool train(struct leat_stream *stream) {
    long n_rows, n_all = 0;

    if (!agree(stream))
        return false;
    n_rows = count_rows(stream);
    if (n_rows < 0) {
        (void)fprintf(stderr, "rank %d: %s\n", rank, leat_error_text(leat_stream_error(stream)));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (!agree(stream)) /* a checkpoint contains leat_stream_position() of any rank */
        return false;
    MPI_Reduce(&n_rows, &n_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld rows by %d ranks\n", n_all, n_ranks);
    return true;
}

int main(int argc, char **argv) {
    struct leat_open_options options;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    bool is_done;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    leat_open_options_init(&options);
    options.rank = (uint32_t)rank;
    options.world_size = (uint32_t)n_ranks;
    options.n_epochs = 1;
    if (argc != 2 || leat_client_new(NULL, &client) < 0 ||
        leat_client_open(client, argv[1], &options, &stream) < 0) {
        (void)fprintf(stderr, "rank %d: %s\n", rank,
                      client ? leat_error_text(leat_client_error(client)) : "agree_mpi STREAM");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    is_done = train(stream);
    leat_stream_close(stream);
    leat_client_free(client);
    MPI_Finalize();
    return is_done ? 0 : 1;
}

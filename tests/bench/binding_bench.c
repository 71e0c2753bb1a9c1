/* binding_bench.c: what a batch of four tensors costs a trainer in C, for binding_bench.py to put
 * beside Python.
 *
 *     binding_bench SOCKET STREAM
 *
 * Batches are let pile up, then taken 64 in one go: what is timed is libleat's own work, not the
 * daemon's. Prints the best of the goes, in nanoseconds a batch.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client/leat.h"

#define N_GOES   300
#define N_A_GO   64
#define PAUSE_US 3000

static double now_s(void) {
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct leat_stream *open_stream(const char *address, const char *name) {
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    struct leat_open_options options;

    leat_open_options_init(&options);
    options.window = 2 * N_A_GO;
    options.private_writes = true; /* as Python has it */
    if (leat_client_new(address, &client) < 0 ||
        leat_client_open(client, name, &options, &stream) < 0)
        errx(1, "%s", leat_error_text(leat_client_error(client)));
    (void)leat_client_free(client);
    return stream;
}

/* The batches that were there, and the sum of the tensors' addresses, so that they are looked at.
 */
static uint32_t take(struct leat_stream *stream, uintptr_t *sum) {
    struct leat_batch *batch = NULL;
    uint32_t n = 0;

    while (n < N_A_GO) {
        int r = leat_stream_next(stream, 0, &batch);

        if (r == LEAT_END_EPOCH)
            continue;
        if (r != 0)
            break;
        for (size_t i = 0; i < leat_batch_n_tensors(batch); i++)
            *sum += (uintptr_t)leat_batch_find(batch, leat_batch_tensor(batch, i)->name)->data;
        leat_batch_release(batch);
        n++;
    }
    return n;
}

int main(int argc, char **argv) {
    struct leat_stream *stream;
    double best_s = 1;
    uintptr_t sum = 0;

    if (argc != 3)
        errx(2, "usage: binding_bench SOCKET STREAM");
    stream = open_stream(argv[1], argv[2]);
    for (int go = 0; go < N_GOES; go++) {
        double from_s;

        (void)usleep(PAUSE_US);
        from_s = now_s();
        if (take(stream, &sum) == N_A_GO && (now_s() - from_s) / N_A_GO < best_s)
            best_s = (now_s() - from_s) / N_A_GO;
    }
    (void)leat_stream_close(stream);
    (void)printf("%.0f\n", best_s * 1e9);
    return sum == 0;
}

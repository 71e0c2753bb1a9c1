/* paced: the good trainer, which rests after each batch as one that computes does.
 *
 *     paced STREAM REST_US
 *
 * Pulls STREAM at $LEAT_SOCKET epoch for epoch, until the end of the one in which SIGTERM comes.
 * Prints a line "E STEPS DIGEST NS WAITED_NS LONGEST_NS" at the end of epoch E: its steps, the
 * digest of all batches so far as `leatctl run --digest` has it, how long the epoch took, and how
 * much of that it waited for batches, in all and for one.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client/leat.h"
#include "proto/base/blake2b.h"

struct paced {
    struct leat_stream *stream;
    unsigned rest_us;
    struct leat_blake2b digest;
    uint64_t n_steps, waited_ns, longest_ns; /* of the epoch */
};

static volatile sig_atomic_t is_enough;

static void on_signal(int number) {
    (void)number;
    is_enough = 1;
}

static uint64_t now_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "paced: %s\n", what);
    exit(1);
}

static void add_tensor(struct leat_blake2b *digest, const struct leat_tensor *tensor) {
    leat_blake2b_text(digest, tensor->name);
    leat_blake2b_text(digest, tensor->dtype_name);
    leat_blake2b_u64(digest, tensor->ndim);
    for (uint32_t d = 0; d < tensor->ndim; d++)
        leat_blake2b_u64(digest, tensor->shape[d]);
    leat_blake2b_u64(digest, tensor->size_bytes);
    leat_blake2b_update(digest, tensor->data, tensor->size_bytes);
}

static void add_batch(struct leat_blake2b *digest, const struct leat_batch *batch) {
    leat_blake2b_u64(digest, leat_batch_epoch(batch));
    leat_blake2b_u64(digest, leat_batch_step(batch));
    leat_blake2b_u64(digest, leat_batch_n_tensors(batch));
    for (uint32_t i = 0; i < leat_batch_n_tensors(batch); i++)
        add_tensor(digest, leat_batch_tensor(batch, i));
}

/* 0, or LEAT_END. */
static int next(struct paced *paced, struct leat_batch **ret_batch) {
    uint64_t start_ns = now_ns(), waited_ns;
    int r;

    do {
        r = leat_stream_next(paced->stream, -1, ret_batch);
    } while (r == -EINTR);
    if (r < 0)
        fail(leat_error_text(leat_stream_error(paced->stream)));
    waited_ns = now_ns() - start_ns;
    paced->waited_ns += waited_ns;
    if (waited_ns > paced->longest_ns)
        paced->longest_ns = waited_ns;
    return r;
}

static void pull_epoch(struct paced *paced, uint64_t epoch) {
    uint8_t bytes[LEAT_DIGEST_BYTES];
    char hex[LEAT_DIGEST_HEX_SIZE];
    uint64_t start_ns = now_ns();
    struct leat_blake2b digest;
    struct leat_batch *batch;

    paced->n_steps = paced->waited_ns = paced->longest_ns = 0;
    while (next(paced, &batch) == 0) {
        add_batch(&paced->digest, batch);
        leat_batch_release(batch);
        paced->n_steps++;
        (void)usleep(paced->rest_us);
    }
    digest = paced->digest;
    leat_blake2b_final(&digest, bytes);
    leat_digest_hex(bytes, hex);
    printf("%" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", epoch,
           paced->n_steps, hex, now_ns() - start_ns, paced->waited_ns, paced->longest_ns);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct leat_client *client;
    struct paced paced = {.rest_us = 0};

    if (argc != 3)
        fail("usage: paced STREAM REST_US");
    (void)sigaction(SIGTERM, &action, NULL);
    paced.rest_us = (unsigned)strtoul(argv[2], NULL, 10);
    leat_blake2b_init(&paced.digest);
    if (leat_client_new(NULL, &client) < 0)
        fail("no memory");
    if (leat_client_open(client, argv[1], NULL, &paced.stream) < 0)
        fail(leat_error_text(leat_client_error(client)));
    for (uint64_t epoch = 0; !is_enough; epoch++)
        pull_epoch(&paced, epoch);
    leat_stream_close(paced.stream);
    leat_client_free(client);
    return 0;
}

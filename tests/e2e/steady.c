/* steady: a trainer for the end-to-end tests, made to outlive its daemon.
 *
 *     steady STREAM RANK WORLD_SIZE HOLD PACE_US EPOCHS [copy | backwards]
 *
 * Pulls STREAM at $LEAT_SOCKET with a window of 4: for so many epochs, or, if EPOCHS is 0, until
 * the end of the one in which SIGTERM comes. HOLD batches (0 to 4) are kept while it rests for
 * PACE_US after each. With `backwards` it seeks each of the EPOCHS, the last first. What is held
 * must not change. Prints a line "epoch E STEPS DIGEST" for each, and at the end "longest_ms N lost
 * N back N", the longest call of leat_stream_next().
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/leat.h"
#include "proto/base/blake2b.h"

#define WINDOW 4

struct held {
    struct leat_batch *batch;
    uint8_t digest[LEAT_DIGEST_BYTES];
};

struct trainer {
    struct leat_stream *stream;
    unsigned n_hold, n_held, n_lost, n_back;
    struct held held[WINDOW]; /* the oldest first */
    uint64_t longest_ns;
    struct leat_blake2b epoch;
    uint64_t n_steps; /* of this rank, in the epoch */
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

static void digest_batch(const struct leat_batch *batch, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_u64(&state, leat_batch_epoch(batch));
    leat_blake2b_u64(&state, leat_batch_step(batch));
    for (size_t i = 0; i < leat_batch_n_tensors(batch); i++) {
        const struct leat_tensor *tensor = leat_batch_tensor(batch, i);

        leat_blake2b_text(&state, tensor->name);
        leat_blake2b_update(&state, tensor->data, tensor->size_bytes);
    }
    leat_blake2b_final(&state, ret_digest);
}

static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct trainer *trainer = user;

    trainer->n_lost += event->kind == LEAT_RECONNECT_LOST;
    trainer->n_back += event->kind == LEAT_RECONNECT_BACK;
}

static void release_oldest(struct trainer *trainer) {
    uint8_t digest[LEAT_DIGEST_BYTES];

    digest_batch(trainer->held[0].batch, digest);
    if (memcmp(digest, trainer->held[0].digest, sizeof(digest)) != 0) {
        fprintf(stderr, "batch (%" PRIu64 ", %" PRIu64 ") changed while it was held\n",
                leat_batch_epoch(trainer->held[0].batch), leat_batch_step(trainer->held[0].batch));
        exit(1);
    }
    leat_batch_release(trainer->held[0].batch);
    trainer->n_held--;
    memmove(&trainer->held[0], &trainer->held[1], trainer->n_held * sizeof(trainer->held[0]));
}

static void hold(struct trainer *trainer, struct leat_batch *batch) {
    struct held *held = &trainer->held[trainer->n_held++];

    held->batch = batch;
    digest_batch(batch, held->digest);
    leat_blake2b_update(&trainer->epoch, held->digest, sizeof(held->digest));
    trainer->n_steps++;
    while (trainer->n_held > trainer->n_hold)
        release_oldest(trainer);
}

static int next(struct trainer *trainer, struct leat_batch **ret_batch) {
    uint64_t start_ns = now_ns();
    int r;

    if (trainer->n_held == WINDOW)
        release_oldest(trainer);
    do {
        r = leat_stream_next(trainer->stream, -1, ret_batch);
    } while (r == -EINTR);
    if (now_ns() - start_ns > trainer->longest_ns)
        trainer->longest_ns = now_ns() - start_ns;
    if (r < 0) {
        fprintf(stderr, "%s\n", leat_error_text(leat_stream_error(trainer->stream)));
        exit(1);
    }
    return r;
}

static void pull_epoch(struct trainer *trainer, uint64_t epoch, unsigned pace_us) {
    char hex[LEAT_DIGEST_HEX_SIZE];
    uint8_t digest[LEAT_DIGEST_BYTES];
    struct leat_batch *batch;

    trainer->n_steps = 0;
    leat_blake2b_init(&trainer->epoch);
    while (next(trainer, &batch) == 0) {
        hold(trainer, batch);
        if (pace_us > 0)
            (void)usleep(pace_us);
    }
    leat_blake2b_final(&trainer->epoch, digest);
    leat_digest_hex(digest, hex);
    printf("epoch %" PRIu64 " %" PRIu64 " %s\n", epoch, trainer->n_steps, hex);
}

static void release_all(struct trainer *trainer) {
    while (trainer->n_held > 0)
        release_oldest(trainer);
}

static void seek(struct trainer *trainer, uint64_t epoch) {
    release_all(trainer);
    if (leat_stream_seek(trainer->stream, epoch, 0) < 0) {
        fprintf(stderr, "%s\n", leat_error_text(leat_stream_error(trainer->stream)));
        exit(1);
    }
}

static unsigned number(const char *text) {
    return (unsigned)strtoul(text, NULL, 10);
}

static struct leat_client *open_stream(struct trainer *trainer, char **argv, bool is_copy) {
    struct leat_open_options options;
    struct leat_client *client = NULL;

    leat_open_options_init(&options);
    options.rank = number(argv[2]);
    options.world_size = number(argv[3]);
    options.window = WINDOW;
    options.delivery = is_copy ? LEAT_DELIVERY_COPY : LEAT_DELIVERY_SHARED;
    options.on_reconnect = on_reconnect;
    options.on_reconnect_user = trainer;
    if (leat_client_new(NULL, &client) < 0 ||
        leat_client_open(client, argv[1], &options, &trainer->stream) < 0) {
        fprintf(stderr, "%s\n", leat_error_text(leat_client_error(client)));
        exit(1);
    }
    return client;
}

int main(int argc, char **argv) {
    struct trainer trainer = {.stream = NULL};
    struct leat_client *client;
    uint64_t n_epochs;
    const char *mode;

    if (argc < 7 || number(argv[4]) > WINDOW) {
        fprintf(stderr,
                "usage: steady STREAM RANK WORLD_SIZE HOLD PACE_US EPOCHS [copy | backwards]\n");
        return 2;
    }
    trainer.n_hold = number(argv[4]);
    n_epochs = number(argv[6]);
    mode = argc > 7 ? argv[7] : "";
    (void)signal(SIGTERM, on_signal);
    client = open_stream(&trainer, argv, strcmp(mode, "copy") == 0);
    for (uint64_t epoch = 0; n_epochs ? epoch < n_epochs : !is_enough; epoch++) {
        bool is_backwards = strcmp(mode, "backwards") == 0;
        uint64_t place = is_backwards ? n_epochs - 1 - epoch : epoch;

        if (is_backwards)
            seek(&trainer, place);
        pull_epoch(&trainer, place, number(argv[5]));
    }
    release_all(&trainer);
    printf("longest_ms %" PRIu64 " lost %u back %u\n", trainer.longest_ns / 1000000U,
           trainer.n_lost, trainer.n_back);
    leat_stream_close(trainer.stream);
    leat_client_free(client);
    return 0;
}

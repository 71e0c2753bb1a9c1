/* trainer: a trainer for the end-to-end tests, made to be killed.
 *
 *     trainer STREAM WINDOW HOLD [fork | close | seed N]
 *
 * Opens STREAM at $LEAT_SOCKET without end, takes HOLD batches and keeps them, prints "held N" and
 * waits for its end. With `fork` it first makes a child that inherits socket and mappings and
 * sleeps on; "child PID" is printed before. With `seed N` that is its seed, in place of the
 * stream's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/leat.h"

#define MAX_HELD 64

static int hold(struct leat_stream *stream, struct leat_batch **batches, unsigned n_batches) {
    for (unsigned i = 0; i < n_batches;) {
        int r = leat_stream_next(stream, 30000, &batches[i]);

        if (r < 0) {
            fprintf(stderr, "%s\n", leat_error_text(leat_stream_error(stream)));
            return 1;
        }
        i += r == 0;
    }
    return 0;
}

static int reopen(struct leat_client *client, const char *name,
                  const struct leat_open_options *options) {
    for (int i = 0; i < 10; i++) {
        struct leat_stream *stream = NULL;

        if (leat_client_open(client, name, options, &stream) < 0) {
            fprintf(stderr, "%s\n", leat_error_text(leat_client_error(client)));
            return 1;
        }
        leat_stream_close(stream);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct leat_open_options options;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    struct leat_batch *batches[MAX_HELD] = {NULL};
    const char *mode = argc > 4 ? argv[4] : "";
    unsigned n_held = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : MAX_HELD + 1;

    if (n_held > MAX_HELD) {
        fprintf(stderr, "usage: trainer STREAM WINDOW HOLD [fork | close | seed N]\n");
        return 2;
    }
    leat_open_options_init(&options);
    options.window = (uint32_t)strtoul(argv[2], NULL, 10);
    options.has_seed = strcmp(mode, "seed") == 0 && argc > 5;
    options.seed = options.has_seed ? strtoull(argv[5], NULL, 10) : 0;
    if (leat_client_new(NULL, &client) < 0 ||
        leat_client_open(client, argv[1], &options, &stream) < 0) {
        fprintf(stderr, "%s\n", leat_error_text(leat_client_error(client)));
        return 1;
    }
    if (hold(stream, batches, n_held) != 0)
        return 1;
    if (strcmp(mode, "close") == 0) {
        for (unsigned i = 0; i < n_held; i++)
            leat_batch_release(batches[i]);
        leat_stream_close(stream);
        if (reopen(client, argv[1], &options) != 0)
            return 1;
    }
    if (strcmp(mode, "fork") == 0) {
        pid_t child = fork();

        if (child == 0)
            for (;;)
                (void)pause();
        printf("child %d\n", (int)child);
    }
    printf("held %u\n", n_held);
    (void)fflush(stdout);
    for (;;)
        (void)pause();
}

/* trainer: a trainer for the end-to-end tests, made to be killed.
 *
 *     trainer STREAM WINDOW HOLD [fork]
 *
 * Opens STREAM at $LEAT_SOCKET without end, takes HOLD batches and keeps them, prints "held N" and
 * waits for its end. With `fork` it first makes a child that inherits socket and mappings and
 * sleeps on; "child PID" is printed before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/leat.h"

static int hold(struct leat_stream *stream, unsigned n_batches) {
    struct leat_batch *batch;

    for (unsigned i = 0; i < n_batches;) {
        int r = leat_stream_next(stream, 30000, &batch);

        if (r < 0) {
            fprintf(stderr, "%s\n", leat_error_text(leat_stream_error(stream)));
            return 1;
        }
        i += r == 0;
    }
    return 0;
}

int main(int argc, char **argv) {
    struct leat_open_options options;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;

    if (argc < 4) {
        fprintf(stderr, "usage: trainer STREAM WINDOW HOLD [fork]\n");
        return 2;
    }
    leat_open_options_init(&options);
    options.window = (uint32_t)strtoul(argv[2], NULL, 10);
    if (leat_client_new(NULL, &client) < 0 ||
        leat_client_open(client, argv[1], &options, &stream) < 0) {
        fprintf(stderr, "%s\n", leat_error_text(leat_client_error(client)));
        return 1;
    }
    if (hold(stream, (unsigned)strtoul(argv[3], NULL, 10)) != 0)
        return 1;
    if (argc > 4 && strcmp(argv[4], "fork") == 0) {
        pid_t child = fork();

        if (child == 0)
            for (;;)
                (void)pause();
        printf("child %d\n", (int)child);
    }
    printf("held %s\n", argv[3]);
    (void)fflush(stdout);
    for (;;)
        (void)pause();
}

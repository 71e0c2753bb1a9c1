/* stream.h: an open stream: the session's packets turned into batches, in step order.
 *
 * Owner: the caller's thread. Lives until it is closed and the last of its batches is released.
 */
#pragma once

#include <sys/types.h>

#include "client/batch.h"
#include "client/wire.h"
#include "proto/position.h"

#define LEAT_STREAM_MAX_WINDOW   4096
#define LEAT_STREAM_MAX_RELEASED 16

struct leat_stream {
    struct leat_wire wire;
    struct leat_error error; /* the last failure */
    int failure; /* what every further next returns: negative errno, LEAT_END; 0: open */
    bool is_closed;
    pid_t pid; /* that opened it */

    struct leat_mapping *newest; /* received rings, by way of `older` */
    struct leat_batch *spare;
    uint32_t n_held;
    bool is_watched;   /* in an event loop: releases must not wait for the next call */
    size_t n_released; /* that the daemon was not told of yet */
    struct leat_packet released[LEAT_STREAM_MAX_RELEASED];

    /* where it stands */
    uint64_t epoch, step; /* of the batch after the last one returned */
    uint32_t rank, world_size;
    uint64_t first_epoch, first_step;       /* where it was opened */
    uint64_t n_steps, n_taken;              /* batches that were asked for (0: all), and came */
    char position[LEAT_POSITION_TEXT_SIZE]; /* as it was last asked for */

    /* as opened */
    char *name;
    size_t n_tensors;
    struct leat_tensor_info *tensors; /* names belong to it */
    uint64_t batch_size;
    uint32_t window;
    uint8_t digest[LEAT_DIGEST_BYTES];
    uint8_t data_digest[LEAT_DIGEST_BYTES]; /* all zero: it has none */
    uint64_t seed;                          /* in force */
};

/* Takes a connected socket and opens the stream that `request` (OpenRequest, packed) names on it.
 * The first batch is the first one of the rank at or after (epoch, step). 0 or -errno with a
 * message; the socket is closed then. */
struct leat_stream_request {
    const uint8_t *packed;
    size_t n_packed;
    uint64_t epoch, step;
    uint64_t n_steps; /* 0: all */
    uint32_t rank, world_size;
    const uint8_t *expect_digest; /* may be NULL */
    int timeout_ms;
};
int leat_stream_attach(int take_fd, enum leat_delivery delivery,
                       const struct leat_stream_request *request, struct leat_stream **ret_stream,
                       struct leat_error *err);

/* Takes a REFUSE or GOAWAY packet's error. Returns its code. */
int leat_stream_take_error(const struct leat_packet *packet, const void *payload,
                           struct leat_error *err);

/* Frees a stream that holds nothing any more. */
struct leat_stream *leat_stream_free(struct leat_stream *stream);

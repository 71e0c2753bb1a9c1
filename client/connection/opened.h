/* opened.h: what the daemon says that the opened stream is.
 *
 * The first OPENED packet fills the description. After a reconnection the daemon must describe the
 * same stream, unless an operator has changed it: then digests, seed, steps, batch size and shapes
 * are new, but tensors keep names, types and numbers of dimensions, since the trainer's code was
 * written for them. Owner: the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/leat.h"
#include "proto/base/blake2b.h"
#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

#define LEAT_MAX_WINDOW 4096

struct leat_opened {
    uint64_t version; /* how many descriptions were taken */
    bool may_change;  /* the next one may be of a stream that an operator has changed */
    char *name;       /* NULL: not described yet */
    size_t n_tensors;
    struct leat_tensor_info *tensors; /* owns their names */
    uint64_t batch_size;
    uint32_t window;
    uint8_t digest[LEAT_DIGEST_BYTES];
    uint8_t data_digest[LEAT_DIGEST_BYTES]; /* all zero: the data has none */
    uint64_t seed;                          /* in force */
    bool has_epoch_steps;
    uint64_t epoch_steps;    /* of an epoch, over all ranks */
    char *steps_reason;      /* why they are not known; "" if they are */
    bool has_constant_steps; /* all epochs have as many; the first one that ends shows the number */
    char *left_out;          /* fields of the data that are not read, and why */
    char *files;             /* of the data: see leat_stream_files() */
    uint32_t order_version;  /* of the daemon; 0: it does not tell */
};

/* Takes a description, and checks its digest against `wanted`: 32 bytes, or any other number for no
 * check. 0, -EPROTO, -ESTALE (the stream is not the one that was opened), -ENOMEM. */
int leat_opened_take(struct leat_opened *opened, const Leat__Opened *message,
                     const ProtobufCBinaryData *wanted, struct leat_error *err);
/* The description that was taken is in force: from now on it may not change. */
void leat_opened_accept(struct leat_opened *opened);
void leat_opened_allow_change(struct leat_opened *opened);
/* An epoch has ended that was read from its start: each epoch has that many steps. */
void leat_opened_set_steps(struct leat_opened *opened, uint64_t n_steps);
void leat_opened_deinit(struct leat_opened *opened);

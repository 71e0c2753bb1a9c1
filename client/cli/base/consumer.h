/* consumer.h: the loop that pulls a stream's batches and releases them. Owner: the one thread.
 *
 * The caller's struct begins with leat_cli_consumer. Signals end the loop (interrupt.h).
 */
#pragma once

#include <stdbool.h>

#include "client/leat.h"
#include "proto/base/error.h"

struct leat_cli_consumer {
    /* Uses a batch, which the loop releases afterwards. False ends the loop. */
    bool (*on_batch)(struct leat_cli_consumer *consumer, struct leat_batch *batch);
    uint64_t deadline_ns; /* ends the loop; on_batch() may set it; 0: none */

    uint64_t n_epochs; /* that ended */
    uint64_t wait_ns;  /* time without a batch */
};

/* 0: on_batch() or the deadline ended it; LEAT_END; -EINTR: a signal; else the stream's failure. */
int leat_cli_consume(struct leat_cli_consumer *consumer, struct leat_stream *stream,
                     struct leat_error *err);

/* consumer.h: the loop that pulls a stream's batches and gives them back. Owner: the one thread.
 *
 * What is done with a batch is the caller's: a struct that begins with leat_cli_consumer. Signals
 * end the loop (interrupt.h).
 */
#pragma once

#include <stdbool.h>

#include "client/leat.h"
#include "proto/base/error.h"

struct leat_cli_consumer {
    /* Looks at a batch, which is given back afterwards. False: that was enough. */
    bool (*on_batch)(struct leat_cli_consumer *consumer, struct leat_batch *batch);
    uint64_t deadline_ns; /* then it is enough, batch or no batch; may be set meanwhile; 0: none */

    uint64_t n_epochs; /* that ended */
    uint64_t wait_ns;  /* time in which nothing was there */
};

/* 0: enough; LEAT_END: the stream ended; -EINTR: a signal; else what the stream ended with. */
int leat_cli_consume(struct leat_cli_consumer *consumer, struct leat_stream *stream,
                     struct leat_error *err);

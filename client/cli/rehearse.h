/* rehearse.h: a stream of the daemon as it would be with one more worker, or with a cache: tried,
 * where a model would only reckon.
 *
 * A daemon of our own gives as many trainers, who take as long for a batch, the same stream, of the
 * beginnings of its files. While that is measured the stream itself is held, since both would want
 * the same processors. Owner: the one thread, which starts one for each trainer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/error.h"
#include "proto/leat.pb-c.h"

struct leat_cli_rehearsed {
    bool was_tried;
    double batches_per_s; /* that trainers get in all */
    double ratio;         /* of that to what they get of the stream itself */
};

struct leat_cli_rehearsal {
    uint64_t sample_bytes; /* of the text of its files, at most; UINT64_MAX: all of it */
    uint32_t n_trainers;
    struct leat_cli_rehearsed worker; /* with one more */
    struct leat_cli_rehearsed cache;  /* that is there; not of a stream that can have none */
};

/* why: what the daemon says of the stream. Reads the stream's files with the rights of who asks,
 * and writes below $TMPDIR, what goes in the end. Programs of `exec` are started as who asks, if
 * the daemon is that user's or root's. 0 or -errno; -EINTR: a signal came. */
int leat_cli_rehearse(const char *stream, const Leat__WhyReply *why,
                      struct leat_cli_rehearsal *ret_rehearsal, struct leat_error *err);

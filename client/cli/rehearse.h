/* rehearse.h: a stream of the daemon as it would be with a cache: tried, where a model would only
 * guess.
 *
 * A daemon of our own with as many workers gives as many trainers, who take as long for a batch,
 * the same stream, of the beginnings of its files, from a cache. The cache is written while the
 * stream goes on; then the stream is held for as long as it takes to measure, since both would want
 * the same processors. Owner: the one thread, which starts one for each trainer.
 */
#pragma once

#include <stdint.h>

#include "proto/error.h"
#include "proto/leat.pb-c.h"

struct leat_cli_rehearsal {
    uint64_t sample_bytes; /* of the text of its files, at most, of which the cache was */
    uint32_t n_trainers;
    double batches_per_s;
    double ratio; /* of that to the stream's own rate */
};

/* why: what the daemon says of the stream. Reads the stream's files with the rights of who asks,
 * and writes at most about 256 MiB below $TMPDIR, which go in the end. 0 or -errno; -EINTR: a
 * signal came. */
int leat_cli_rehearse(const char *stream, const Leat__WhyReply *why,
                      struct leat_cli_rehearsal *ret_rehearsal, struct leat_error *err);

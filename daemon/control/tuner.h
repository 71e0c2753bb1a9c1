/* control/tuner.h: what the tuners of a stream chose and why, for `stats`. Owner: loop. */
#pragma once

#include "daemon/core/daemon.h"
#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

/* Into message->tuners: those of its runs (some of them, if there are many), else of the last that
 * ended; of each the n_decisions latest. 0 or -ENOMEM. */
int leat_control_describe_tuners(const struct leat_daemon *daemon,
                                 const struct leat_daemon_stream *stream, size_t n_decisions,
                                 Leat__StreamStats *message, struct leat_arena *arena);

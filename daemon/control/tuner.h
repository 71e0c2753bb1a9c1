/* control/tuner.h: describes the decisions of a stream's tuners, for the verb stats. Owner: loop.
 */
#pragma once

#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

struct leat_daemon_stream;
struct leat_sessions;

/* Fills message->tuners with the tuners of up to TUNERS_MAX runs, else with that of the last run
 * that ended; each with its n_decisions latest decisions. 0 or -ENOMEM. */
int leat_control_describe_tuners(const struct leat_sessions *sessions,
                                 const struct leat_daemon_stream *stream, size_t n_decisions,
                                 Leat__StreamStats *message, struct leat_arena *arena);

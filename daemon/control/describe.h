/* control/describe.h: what the daemon tells of itself, as messages: for single answers and for
 * subscriptions alike. Messages are made in the arena, their texts are the daemon's own or the
 * arena's. Owner: loop.
 */
#pragma once

#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

struct leat_daemon;
struct leat_session;

/* Into a message that was initialized. */
int leat_control_describe_status(struct leat_daemon *daemon, struct leat_arena *arena,
                                 Leat__StatusReply *status);
/* Of all streams, or of the one of that name. 0 or -ENOMEM. */
int leat_control_describe_streams(const struct leat_daemon *daemon, const char *name,
                                  struct leat_arena *arena, Leat__StreamsReply *streams);
int leat_control_describe_stats(const struct leat_daemon *daemon, const char *name,
                                struct leat_arena *arena, Leat__StatsReply *stats);
/* NULL: no memory. */
Leat__Session *leat_control_describe_session(const struct leat_session *session,
                                             struct leat_arena *arena);

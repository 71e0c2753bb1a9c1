/* control/describe.h: describes the daemon and its streams in messages, for replies and for
 * subscriptions. Messages are in the arena; their texts are there or belong to the daemon.
 * Owner: loop.
 */
#pragma once

#include <string.h>

#include "daemon/stream/stream.h"
#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

struct leat_sessions;
struct leat_session;

/* n messages of that kind, initialized, as the list of pointers that a message has of them. NULL:
 * no memory. */
void *leat_control_messages(struct leat_arena *arena, const ProtobufCMessageDescriptor *kind,
                            size_t n);
/* Into a message that was initialized. */
int leat_control_describe_status(const struct leat_sessions *sessions, struct leat_arena *arena,
                                 Leat__StatusReply *status);
/* True if that name is empty, which means all streams, or the stream's. */
static inline bool leat_control_is_meant(const struct leat_daemon_stream *stream,
                                         const char *name) {
    return !name[0] || strcmp(name, stream->name) == 0;
}
/* Describes all streams, or the one of that name. 0 or -ENOMEM. */
int leat_control_describe_streams(const struct leat_sessions *sessions, const char *name,
                                  struct leat_arena *arena, Leat__StreamsReply *streams);
int leat_control_describe_stats(const struct leat_sessions *sessions, const char *name,
                                struct leat_arena *arena, Leat__StatsReply *stats);
void leat_control_describe_session(const struct leat_session *session, Leat__Session *message);

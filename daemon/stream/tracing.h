/* tracing.h: a stream whose runs are traced, for one control connection.
 *
 * There are few at a time, each of a fixed size, which the memory budget knows of; a stream has one
 * at most. It holds on to its stream, and ends with its connection. Owner: loop.
 */
#pragma once

#include "daemon/stream/stream.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/profile/trace.h"

#define LEAT_TRACINGS_MAX   4
#define LEAT_TRACING_EVENTS 32768 /* that wait to be asked for */

struct leat_daemon;

struct leat_tracing {
    struct leat_daemon *daemon;
    struct leat_daemon_stream *stream;
    struct leat_account account;
    struct leat_trace *trace;
    bool has_ended; /* nothing more is recorded */
};

/* Of all runs of that stream, those to come too. 0; -EBUSY, -ENOMEM, -ENOENT. */
int leat_tracing_new(struct leat_daemon *daemon, const char *stream,
                     struct leat_tracing **ret_tracing, struct leat_error *err);
/* Records no more. */
void leat_tracing_end(struct leat_tracing *tracing);
struct leat_tracing *leat_tracing_free(struct leat_tracing *tracing);

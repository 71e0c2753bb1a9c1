/* tracing.h: traces the runs of a stream, for one control connection.
 *
 * There are few tracings at a time, each of a fixed size that the memory budget counts, and at most
 * one of a stream. A tracing has a reference to its stream, and ends with its connection. Owner:
 * loop.
 */
#pragma once

#include "daemon/stream/stream.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/pipeline.h"

#define LEAT_TRACINGS_MAX   4
#define LEAT_TRACING_EVENTS 32768 /* that are kept until they are fetched */

struct leat_feeds;

struct leat_tracing {
    struct leat_feeds *feeds;
    struct leat_daemon_stream *stream;
    struct leat_account account;
    struct leat_trace *trace;
    bool has_ended; /* nothing more is recorded */
};

/* Traces all runs of that stream, future ones included. 0; -EBUSY, -ENOMEM, -ENOENT. */
int leat_tracing_new(struct leat_feeds *feeds, const char *stream,
                     struct leat_tracing **ret_tracing, struct leat_error *err);
/* Stops recording. */
void leat_tracing_end(struct leat_tracing *tracing);
struct leat_tracing *leat_tracing_free(struct leat_tracing *tracing);

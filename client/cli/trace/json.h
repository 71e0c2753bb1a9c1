/* json.h: events of the daemon as Chrome's trace events, which Perfetto reads.
 *
 * JSON Object Format of the "Trace Event Format" (Google, 2016). There is one process, a track for
 * the daemon's loop, one for batches that are handed out, and one for each worker thread. Times are
 * microseconds since the earliest event of the first reply; earlier events are cut there. The text
 * may be written and dropped at any time, so memory does not grow. Owner: the one thread.
 */
#pragma once

#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

#define LEAT_CLI_TRACE_THREADS_MAX 4096

struct leat_cli_trace_json {
    struct leat_text text;
    bool has_events, has_start;
    uint64_t start_ns;
    bool has_thread[LEAT_CLI_TRACE_THREADS_MAX]; /* its track has a name */
    uint32_t n_threads;
    uint64_t n_events, n_batches, n_dropped;
};

void leat_cli_trace_json_begin(struct leat_cli_trace_json *json, const char *stream);
/* Adds the events of a reply; the result is JSON whatever the reply holds. */
void leat_cli_trace_json_add(struct leat_cli_trace_json *json, const Leat__TraceReply *reply);
void leat_cli_trace_json_end(struct leat_cli_trace_json *json);

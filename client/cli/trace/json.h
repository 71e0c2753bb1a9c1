/* json.h: events of the daemon as Chrome's trace events, which Perfetto reads.
 *
 * JSON Object Format of the "Trace Event Format" (Google, 2016). One process; a track for the
 * daemon's loop, one for batches that are handed out, and one for each worker thread. Times are
 * microseconds from the earliest of the first reply; what began before is cut there. Memory does
 * not grow with the events: what is in `text` may be written and dropped at any time. Owner: the
 * one thread.
 */
#pragma once

#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

#define LEAT_CLI_TRACE_THREADS_MAX 4096

struct leat_cli_trace_json {
    struct leat_text text;
    bool has_events, has_start;
    uint64_t start_ns;
    bool has_thread[LEAT_CLI_TRACE_THREADS_MAX]; /* was named */
    uint32_t n_threads;
    uint64_t n_events, n_batches, n_dropped;
};

void leat_cli_trace_json_begin(struct leat_cli_trace_json *json, const char *stream);
/* What a reply holds; whatever that is, the result is JSON. */
void leat_cli_trace_json_add(struct leat_cli_trace_json *json, const Leat__TraceReply *reply);
void leat_cli_trace_json_end(struct leat_cli_trace_json *json);

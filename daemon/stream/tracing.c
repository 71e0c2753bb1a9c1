/* tracing.c: see tracing.h. */
#include "daemon/stream/tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/daemon.h"
#include "daemon/stream/feed.h"
#include "proto/base/shown.h"

static void set_trace(struct leat_daemon *daemon, struct leat_daemon_stream *stream,
                      struct leat_trace *trace) {
    stream->trace = trace;
    for (struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        if (feed->stream == stream && feed->run)
            leat_run_set_trace(feed->run, trace);
}

/* Trainers' own streams too, the latest of that name. */
static struct leat_daemon_stream *find(struct leat_daemon *daemon, const char *name,
                                       struct leat_error *err) {
    struct leat_daemon_stream *found = NULL;

    for (struct leat_daemon_stream *stream = daemon->streams.first; stream; stream = stream->next)
        if (strcmp(stream->name, name) == 0)
            found = stream;
    return found ? leat_daemon_stream_ref(found) : leat_streams_find(&daemon->streams, name, err);
}

static int check(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                 struct leat_error *err) {
    if (stream->trace)
        return leat_error_set(err, -EBUSY, "the stream \"%s\" is being traced already",
                              stream->name);
    if (daemon->n_tracings >= LEAT_TRACINGS_MAX)
        return leat_error_set(err, -EBUSY, "%u streams are being traced already: there may be %d",
                              daemon->n_tracings, LEAT_TRACINGS_MAX);
    return 0;
}

static int start(struct leat_tracing *tracing, struct leat_error *err) {
    struct leat_daemon *daemon = tracing->daemon;
    uint64_t n_bytes = leat_trace_bytes(LEAT_TRACING_EVENTS);
    char needed[LEAT_SHOW_BYTES_MAX], left[LEAT_SHOW_BYTES_MAX];

    if (leat_account_open(&tracing->account, &daemon->budget, n_bytes) < 0)
        return leat_error_set(err, -ENOMEM, "a trace takes %s, of which memory_limit leaves %s",
                              leat_show_bytes(n_bytes, needed),
                              leat_show_bytes(leat_budget_free_bytes(&daemon->budget), left));
    tracing->trace = leat_trace_new(LEAT_TRACING_EVENTS);
    if (!tracing->trace) {
        leat_account_close(&tracing->account);
        return leat_error_oom(err);
    }
    leat_account_change(&tracing->account, LEAT_MEMORY_TRACES, 0, n_bytes);
    set_trace(daemon, tracing->stream, tracing->trace);
    daemon->n_tracings++;
    return 0;
}

int leat_tracing_new(struct leat_daemon *daemon, const char *stream,
                     struct leat_tracing **ret_tracing, struct leat_error *err) {
    struct leat_daemon_stream *found = find(daemon, stream, err);
    struct leat_tracing *tracing = NULL;
    int r = found ? check(daemon, found, err) : err->code;

    if (r == 0) {
        tracing = calloc(1, sizeof(*tracing));
        r = tracing ? 0 : leat_error_oom(err);
    }
    if (r == 0) {
        *tracing = (struct leat_tracing){.daemon = daemon, .stream = found};
        r = start(tracing, err);
    }
    if (r < 0) {
        leat_streams_unref(&daemon->streams, found);
        free(tracing);
        return r;
    }
    *ret_tracing = tracing;
    return 0;
}

void leat_tracing_end(struct leat_tracing *tracing) {
    if (!tracing->has_ended)
        set_trace(tracing->daemon, tracing->stream, NULL);
    tracing->has_ended = true;
}

struct leat_tracing *leat_tracing_free(struct leat_tracing *tracing) {
    if (!tracing)
        return NULL;
    leat_tracing_end(tracing);
    leat_trace_free(tracing->trace);
    leat_account_change(&tracing->account, LEAT_MEMORY_TRACES,
                        leat_trace_bytes(LEAT_TRACING_EVENTS), 0);
    leat_account_close(&tracing->account);
    leat_streams_unref(&tracing->daemon->streams, tracing->stream);
    tracing->daemon->n_tracings--;
    free(tracing);
    return NULL;
}

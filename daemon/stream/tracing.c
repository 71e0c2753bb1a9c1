#include "daemon/stream/tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/stream/feed.h"
#include "daemon/stream/feeds.h"
#include "proto/base/text.h"

static void set_trace(struct leat_feeds *feeds, struct leat_daemon_stream *stream,
                      struct leat_trace *trace) {
    stream->trace = trace;
    for (struct leat_feed *feed = feeds->first; feed; feed = feed->next)
        if (feed->stream == stream && feed->run)
            leat_run_set_trace(feed->run, trace);
}

/* Finds the latest stream of that name, trainers' own ones included. */
static struct leat_daemon_stream *find_stream(struct leat_feeds *feeds, const char *name,
                                              struct leat_error *err) {
    struct leat_daemon_stream *found = NULL;

    for (struct leat_daemon_stream *stream = feeds->streams.first; stream; stream = stream->next)
        if (strcmp(stream->name, name) == 0)
            found = stream;
    return found ? leat_daemon_stream_ref(found) : leat_streams_find(&feeds->streams, name, err);
}

static uint32_t count_traced(const struct leat_feeds *feeds) {
    uint32_t n = 0;

    for (struct leat_daemon_stream *stream = feeds->streams.first; stream; stream = stream->next)
        n += stream->trace != NULL;
    return n;
}

static int check_limits(const struct leat_feeds *feeds, const struct leat_daemon_stream *stream,
                        struct leat_error *err) {
    uint32_t n = count_traced(feeds);

    if (stream->trace)
        return leat_error_set(err, -EBUSY, "another client already traces the stream \"%s\"",
                              stream->name);
    if (n >= LEAT_TRACINGS_MAX)
        return leat_error_set(
            err, -EBUSY,
            "%u streams are already traced, but at most %d are allowed: end another trace first", n,
            LEAT_TRACINGS_MAX);
    return 0;
}

static int start_trace(struct leat_tracing *tracing, struct leat_error *err) {
    struct leat_feeds *feeds = tracing->feeds;
    uint64_t n_bytes = leat_trace_bytes(LEAT_TRACING_EVENTS);
    char needed[LEAT_SHOW_BYTES_MAX], left[LEAT_SHOW_BYTES_MAX];

    if (leat_account_open(&tracing->account, feeds->env->budget, n_bytes) < 0)
        return leat_error_set(err, -ENOMEM,
                              "a trace needs %s of memory, but memory_limit leaves only %s",
                              leat_show_bytes(n_bytes, needed),
                              leat_show_bytes(leat_budget_free_bytes(feeds->env->budget), left));
    tracing->trace = leat_trace_new(LEAT_TRACING_EVENTS);
    if (!tracing->trace) {
        leat_account_close(&tracing->account);
        return leat_error_oom(err);
    }
    leat_account_change(&tracing->account, LEAT_MEMORY_TRACES, 0, n_bytes);
    set_trace(feeds, tracing->stream, tracing->trace);
    return 0;
}

int leat_tracing_new(struct leat_feeds *feeds, const char *stream,
                     struct leat_tracing **ret_tracing, struct leat_error *err) {
    struct leat_daemon_stream *found = find_stream(feeds, stream, err);
    struct leat_tracing *tracing = NULL;
    int r = found ? check_limits(feeds, found, err) : err->code;

    if (r == 0) {
        tracing = calloc(1, sizeof(*tracing));
        r = tracing ? 0 : leat_error_oom(err);
    }
    if (r == 0) {
        *tracing = (struct leat_tracing){.feeds = feeds, .stream = found};
        r = start_trace(tracing, err);
    }
    if (r < 0) {
        leat_streams_unref(&feeds->streams, found);
        free(tracing);
        return r;
    }
    *ret_tracing = tracing;
    return 0;
}

void leat_tracing_end(struct leat_tracing *tracing) {
    if (!tracing->has_ended)
        set_trace(tracing->feeds, tracing->stream, NULL);
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
    leat_streams_unref(&tracing->feeds->streams, tracing->stream);
    free(tracing);
    return NULL;
}

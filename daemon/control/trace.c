/* control/trace.c: the verb trace: events of a stream's runs, some for each request.
 *
 * A trace belongs to a connection. It begins with the first request, and ends with the connection
 * at the latest. A reply has a bounded number of events, so that packing it does not hold up the
 * loop.
 */
#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "daemon/stream/tracing.h"

#define EVENTS_MAX 4096 /* of a reply: with all names it stays far below a frame's limit */

static void fill_event(Leat__TraceEvent *message, const struct leat_trace_event *event) {
    message->kind = event->kind;
    message->name = event->name;
    message->thread = event->thread;
    message->run = event->run;
    message->file = event->file == LEAT_TRACE_NO_FILE ? 0 : event->file + 1;
    message->n_rows = event->n_rows;
    message->start_ns = event->start_ns;
    message->duration_ns = event->duration_ns;
    message->n_bytes = event->n_bytes;
    message->epoch = event->epoch;
    message->place = event->place;
}

static int fill_events(Leat__TraceReply *reply, struct leat_trace *trace,
                       struct leat_arena *arena) {
    size_t n = trace->n_events < EVENTS_MAX ? trace->n_events : EVENTS_MAX;
    struct leat_trace_event event;

    reply->events = leat_control_messages(arena, &leat__trace_event__descriptor, n);
    if (!reply->events)
        return -ENOMEM;
    while (reply->n_events < n && leat_trace_take(trace, &event))
        fill_event(reply->events[reply->n_events++], &event);
    reply->n_left = (uint32_t)trace->n_events;
    return 0;
}

static void answer(struct leat_control *control, struct leat_arena *arena) {
    struct leat_trace *trace = control->tracing->trace;
    Leat__TraceReply message = LEAT__TRACE_REPLY__INIT;
    int r = fill_events(&message, trace, arena);

    message.names = (char **)(uintptr_t)trace->names;
    message.n_names = trace->n_names;
    message.files = trace->files;
    message.n_files = trace->n_files;
    message.n_dropped = trace->n_dropped;
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_TRACE, r < 0 ? NULL : &message);
}

void leat_control_trace(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    const char *stream = request->trace->stream;
    struct leat_error err = LEAT_ERROR_INIT;

    if (stream[0] && control->tracing)
        leat_error_set(&err, -EBUSY, "this connection already traces the stream \"%s\"",
                       control->tracing->stream->name);
    else if (!stream[0] && !control->tracing)
        leat_error_set(
            &err, -EINVAL,
            "this connection does not trace a stream yet: name a stream in the first request");
    else if (stream[0])
        (void)leat_tracing_new(control->controls->feeds, stream, &control->tracing, &err);
    if (err.code) {
        leat_control_fail(control, &err);
        return;
    }
    if (request->trace->ends)
        leat_tracing_end(control->tracing);
    answer(control, arena);
}

/* control_pause.c: the verb that holds a stream for a moment, so that something else has what its
 * work takes of the machine: a rehearsal (`leatctl why --rehearse`).
 *
 * No job of its runs begins; those that run end, and what is ready goes out. Owner: loop.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/feed.h"
#include "daemon/look.h"

#define TIMEOUT_MAX_MS 10000

struct leat_pause {
    struct leat_stream *stream; /* a reference */
    uint64_t end_ns;
};

static void go_on(struct leat_daemon *daemon, struct leat_stream *stream) {
    for (struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        if (feed->stream == stream && feed->state != LEAT_FEED_CLOSING) {
            leat_feed_tuner_restart(feed);
            leat_feed_mark(feed);
        }
    leat_looks_restart(daemon, stream);
}

struct leat_pause *leat_pause_end(struct leat_daemon *daemon, struct leat_pause *pause) {
    if (!pause)
        return NULL;
    if (--pause->stream->n_pauses == 0)
        go_on(daemon, pause->stream);
    leat_streams_unref(&daemon->streams, pause->stream);
    free(pause);
    return NULL;
}

void leat_pauses_tick(struct leat_daemon *daemon, uint64_t now_ns) {
    for (struct leat_control *control = daemon->controls; control; control = control->next)
        if (control->pause && now_ns >= control->pause->end_ns)
            control->pause = leat_pause_end(daemon, control->pause);
}

static int begin(struct leat_control *control, const Leat__PauseRequest *request,
                 struct leat_error *err) {
    struct leat_daemon *daemon = control->daemon;
    struct leat_pause *pause;

    if (request->timeout_ms == 0 || request->timeout_ms > TIMEOUT_MAX_MS)
        return leat_error_set(err, -ERANGE, "a pause of %u ms is outside 1..%d",
                              request->timeout_ms, TIMEOUT_MAX_MS);
    pause = calloc(1, sizeof(*pause));
    if (!pause)
        return leat_error_oom(err);
    pause->stream = leat_streams_find(&daemon->streams, request->stream, err);
    if (!pause->stream) {
        free(pause);
        return err->code;
    }
    pause->end_ns = leat_daemon_now_ns() + request->timeout_ms * UINT64_C(1000000);
    pause->stream->n_pauses++;
    control->pause = leat_pause_end(daemon, control->pause);
    control->pause = pause;
    return 0;
}

void leat_control_pause(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)arena;
    if (begin(control, request->pause, &err) < 0) {
        leat_control_fail(control, &err);
        return;
    }
    leat_control_log(control, "pause");
    leat_control_done(control);
}

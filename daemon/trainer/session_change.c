/* session_change.c: a trainer whose stream is another one since the configuration was loaded anew.
 *
 * An epoch that it has begun it gets to its end as it was; nothing of the next one. There it is
 * told to open the stream once more, and goes on with the new one; what it still holds it may give
 * back on the old connection meanwhile. Where there is no stream any more, or the stream's
 * `on_reload` says so, it is told with an error that ends it. Owner: loop.
 */
#include <errno.h>

#include "daemon/core/daemon.h"
#include "daemon/trainer/session.h"

#define LAST_RELEASES_NS UINT64_C(600000000000) /* for what it holds of the old one */

/* One that stands at the beginning of an epoch has not begun it; one that was opened behind its
 * first step has. */
uint64_t leat_session_fresh_epoch(const struct leat_session *session) {
    const struct leat_hub_session *hub = &session->hub;
    bool has_begun = hub->next.step >= session->world_size ||
                     (hub->next.epoch == hub->first_epoch && hub->phase > 0);

    return hub->next.epoch + has_begun;
}

void leat_session_set_change(struct leat_session *session, uint64_t epoch) {
    session->change = (struct leat_session_change){.is_set = true, .epoch = epoch};
    leat_session_mark(session);
}

void leat_session_clear_change(struct leat_session *session) {
    session->change.is_set = false;
    leat_session_mark(session);
}

bool leat_session_is_at_change(const struct leat_session *session) {
    return session->change.is_set && !session->is_finished && !session->hub.is_finished &&
           session->hub.n_left > 0 && session->hub.next.epoch >= session->change.epoch;
}

static void leave(struct leat_session *session, const struct leat_error *err) {
    leat_session_log(session, LEAT_EVENT_STREAM_CHANGED, err);
    leat_session_leave(session, err);
    if (session->state == LEAT_SESSION_LEAVING)
        session->deadline_ns = leat_daemon_now_ns() + LAST_RELEASES_NS;
}

void leat_session_tell_now(struct leat_session *session) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (session->stream->is_removed)
        leat_error_set(&err, -ESTALE, "the stream %s is not in the daemon's settings any more",
                       session->stream->name);
    else
        leat_error_set(&err, -ESTALE,
                       "the stream %s has become another one by a reload of the daemon's settings: "
                       "open it anew, at an epoch's beginning",
                       session->stream->name);
    leave(session, &err);
}

void leat_session_tell_change(struct leat_session *session) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (session->stream->is_removed) {
        leat_session_tell_now(session);
        return;
    }
    leat_error_set(
        &err, LEAT_GOAWAY_CHANGED,
        "the stream %s has become another one by a reload of the daemon's settings: open "
        "it anew to go on with epoch %llu",
        session->stream->name, (unsigned long long)session->hub.next.epoch);
    leave(session, &err);
}

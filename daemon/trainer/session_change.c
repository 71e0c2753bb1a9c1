/* session_change.c: a session whose stream was changed or removed by a reload of the configuration.
 *
 * The trainer gets the rest of the epoch that it has begun, and nothing of the next one. Then it is
 * told to open the stream again, and goes on with the new one, while the old connection still takes
 * releases. If the stream was removed, or its `on_reload` demands it, the trainer gets an error
 * that ends it. Owner: loop.
 */
#include <errno.h>

#include "daemon/stream/share.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

#define LAST_RELEASES_NS UINT64_C(600000000000) /* for releases of batches of the old stream */

/* A session at the beginning of an epoch has not begun it, unless it was opened after the epoch's
 * first step. */
uint64_t leat_session_fresh_epoch(const struct leat_session *session) {
    const struct leat_broadcast_reader *reader = &session->consumer.reader;
    bool has_begun = reader->next.step >= session->world_size ||
                     (reader->next.epoch == reader->first_epoch && reader->phase > 0);

    return reader->next.epoch + has_begun;
}

void leat_session_set_change(struct leat_session *session, uint64_t epoch) {
    session->change = (struct leat_session_change){.is_set = true, .epoch = epoch};
    leat_share_mark(&session->consumer);
}

void leat_session_clear_change(struct leat_session *session) {
    session->change.is_set = false;
    leat_share_mark(&session->consumer);
}

bool leat_session_is_at_change(const struct leat_session *session) {
    return session->change.is_set && !session->is_finished &&
           !session->consumer.reader.is_finished && session->consumer.reader.n_left > 0 &&
           session->consumer.reader.next.epoch >= session->change.epoch;
}

static void leave_changed(struct leat_session *session, const struct leat_error *err) {
    leat_session_log(session, LEAT_EVENT_STREAM_CHANGED, err);
    leat_session_leave(session, err);
    if (session->state == LEAT_SESSION_LEAVING)
        session->deadline_ns = leat_now_ns() + LAST_RELEASES_NS;
}

void leat_session_tell_now(struct leat_session *session) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (session->stream->is_removed)
        leat_error_set(&err, -ESTALE, "the stream %s is no longer in the daemon's settings",
                       session->stream->name);
    else
        leat_error_set(
            &err, -ESTALE,
            "an operator changed the stream %s: open it again, at the beginning of an epoch",
            session->stream->name);
    leave_changed(session, &err);
}

void leat_session_tell_change(struct leat_session *session) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (session->stream->is_removed) {
        leat_session_tell_now(session);
        return;
    }
    leat_error_set(&err, LEAT_GOAWAY_CHANGED,
                   "an operator changed the stream %s: open it again to continue with epoch %llu",
                   session->stream->name, (unsigned long long)session->consumer.reader.next.epoch);
    leave_changed(session, &err);
}

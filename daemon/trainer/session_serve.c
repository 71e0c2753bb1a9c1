/* session_serve.c: batches out: taken from the hub of the session's share, announced, held. */
#include <errno.h>
#include <string.h>

#include "daemon/core/daemon.h"
#include "daemon/stream/share.h"
#include "daemon/trainer/session.h"

/* ---- marks ---- */

void leat_session_mark(struct leat_session *session) {
    if (session->is_dirty)
        return;
    session->is_dirty = true;
    session->next_dirty = session->daemon->dirty_sessions;
    session->daemon->dirty_sessions = session;
}

void leat_session_unmark(struct leat_session *session) {
    struct leat_session **link = &session->daemon->dirty_sessions;

    if (!session->is_dirty)
        return;
    while (*link != session)
        link = &(*link)->next_dirty;
    *link = session->next_dirty;
    session->is_dirty = false;
}

/* ---- holds ---- */

void leat_session_release_all(struct leat_session *session) {
    if (!session->share)
        return;
    leat_hub_release_all(&session->hub);
    leat_share_act(session->share);
}

/* A process that lost its connection may still read what it held; copies it has of its own. */
void leat_session_keep_holds(struct leat_session *session) {
    if (!session->share)
        return;
    leat_hub_release_copies(&session->hub);
    for (uint32_t i = 0; i < session->hub.n_holds; i++) {
        struct leat_feed_item *item = (struct leat_feed_item *)session->holds[i].item;

        leat_slot_ring_quarantine(item->ring, item->hub.slot);
    }
    if (session->hub.n_holds > 0)
        leat_session_log(session, LEAT_EVENT_QUARANTINED, NULL);
}

/* ---- waiting ---- */

static void end_serving(struct leat_session *session, uint64_t now_ns) {
    if (session->stream && session->serve_ns)
        session->stream->totals.trainer_ns += now_ns - session->serve_ns;
    session->serve_ns = 0;
}

static void end_wait(struct leat_session *session, uint64_t now_ns) {
    uint64_t waited_ns = session->wait_start_ns ? now_ns - session->wait_start_ns : 0;

    if (session->stream && session->wait_start_ns) {
        session->stream->totals.wait_ns += waited_ns;
        leat_spread_add(&session->stream->totals.waits, &leat_spread_waits, waited_ns);
    }
    session->wait_ns += waited_ns;
    session->wait_start_ns = 0;
}

static void end_hold(struct leat_session *session, uint64_t now_ns) {
    session->hold_ns += session->hold_start_ns ? now_ns - session->hold_start_ns : 0;
    session->hold_start_ns = 0;
}

static void count_wait(struct leat_session *session, bool is_waiting) {
    uint64_t now_ns;

    if (is_waiting == (session->wait_start_ns != 0))
        return;
    now_ns = leat_daemon_now_ns();
    if (is_waiting) {
        session->stream->totals.n_waits++;
        session->wait_start_ns = now_ns;
    } else {
        end_wait(session, now_ns);
    }
    if (session->hub.run)
        leat_feed_tuner_note_waits(leat_feed_of(session->hub.run), now_ns);
}

static void end_idle(struct leat_session *session, uint64_t now_ns) {
    session->idle_ns += session->idle_start_ns ? now_ns - session->idle_start_ns : 0;
    session->idle_start_ns = 0;
}

/* Only one that holds nothing is certain to have nothing to do. */
static void count_idle(struct leat_session *session) {
    bool is_idle = session->wait_start_ns != 0 && session->hub.n_holds == 0;

    if (is_idle == (session->idle_start_ns != 0))
        return;
    if (is_idle)
        session->idle_start_ns = leat_daemon_now_ns();
    else
        end_idle(session, leat_daemon_now_ns());
}

static void count_hold(struct leat_session *session, bool is_holding) {
    if (is_holding == (session->hold_start_ns != 0))
        return;
    if (is_holding)
        session->hold_start_ns = leat_daemon_now_ns();
    else
        end_hold(session, leat_daemon_now_ns());
}

void leat_session_stop(struct leat_session *session) {
    uint64_t now_ns = leat_daemon_now_ns();

    session->n_outbox = 0;
    end_serving(session, now_ns);
    end_wait(session, now_ns);
    end_hold(session, now_ns);
    end_idle(session, now_ns);
    if (!session->share)
        return;
    leat_hub_leave(&session->hub);
    leat_share_act(session->share);
}

/* ---- taking ---- */

static void put_into_outbox(struct leat_session *session, enum leat_hub_taken_kind kind,
                            const struct leat_hub_taken *taken) {
    struct leat_feed_item *item = (struct leat_feed_item *)taken->item;

    session->outbox[session->n_outbox++] = (struct leat_feed_output){
        .is_end = kind == LEAT_HUB_END,
        .is_last = taken->is_last,
        .item = item,
        .epoch = taken->epoch,
        .step = taken->step,
    };
    if (item && item->ring->slots[item->hub.slot].state == LEAT_SLOT_READY)
        leat_slot_ring_hold(item->ring, item->hub.slot);
}

static bool pull(struct leat_session *session) {
    struct leat_feed *feed = session->hub.run ? leat_feed_of(session->hub.run) : NULL;

    if (!feed)
        return false;
    leat_feed_reach(feed, session->reached);
    return leat_feed_pull(feed);
}

/* What its run has made and nobody has taken yet comes from there. */
static bool take(struct leat_session *session) {
    enum leat_hub_taken_kind kind;
    struct leat_hub_taken taken;

    if (leat_session_is_at_change(session))
        return false;
    do {
        kind = leat_hub_take(&session->hub, &taken);
    } while (kind == LEAT_HUB_NOTHING && pull(session));
    session->has_failed = kind == LEAT_HUB_FAILED;
    if (kind == LEAT_HUB_BATCH || kind == LEAT_HUB_END)
        put_into_outbox(session, kind, &taken);
    return kind == LEAT_HUB_BATCH || kind == LEAT_HUB_END;
}

/* True if it was told of a batch of an epoch that it has not begun: it has enough to do. */
static bool has_unread_epoch(const struct leat_session *session) {
    return session->next_epoch > session->reached && session->next_step >= session->world_size;
}

static void fill_outbox(struct leat_session *session) {
    struct leat_hub_session *hub = &session->hub;
    bool has_credit = hub->n_holds < session->window;

    while (session->n_outbox < LEAT_SESSION_OUTBOX && has_credit && take(session))
        has_credit = hub->n_holds < session->window;
    has_credit = has_credit && !leat_session_is_at_change(session);
    if (session->n_outbox == 0 && has_credit && !session->has_failed)
        leat_hub_wait(hub);
    count_wait(session, session->n_outbox == 0 && has_credit && !session->is_finished &&
                            !has_unread_epoch(session));
    count_idle(session);
    count_hold(session, !has_credit);
}

/* ---- telling ---- */

static void account(struct leat_session *session, const struct leat_feed_output *output) {
    if (output->is_end) {
        session->next_epoch = output->epoch + 1;
        session->next_step = session->rank;
        session->is_finished = output->is_last;
        return;
    }
    session->daemon->n_rows += output->item->n_rows;
    leat_hub_announce(&session->hub, 1, session->delivery->ops->keeps_slot);
    session->n_batches++;
    session->daemon->n_batches++;
    session->next_epoch = output->epoch;
    session->next_step = output->step + session->world_size;
    if (!session->says_reached)
        session->reached = output->epoch;
}

/* Announces what is in the outbox: 1: all of it, 0: not all, -errno. */
static int empty_outbox(struct leat_session *session) {
    const struct leat_delivery_ops *ops = session->delivery->ops;
    int n = ops->deliver(session->delivery, session->outbox, session->n_outbox);

    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        account(session, &session->outbox[i]);
    session->n_outbox -= (uint32_t)n;
    memmove(session->outbox, session->outbox + n, session->n_outbox * sizeof(*session->outbox));
    if (ops->flush)
        ops->flush(session->delivery);
    return session->n_outbox == 0;
}

static void delivery_failed(struct leat_session *session, int r) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (r == -EPIPE || r == -ECONNRESET)
        return; /* it has gone; its last words are still to be read, then comes the end of file */
    leat_error_set(&err, r, "sending a batch: %s",
                   r == -EDQUOT ? "its copy would be over the limit of this user's, or all users' "
                                  "memory (max_user_ring_bytes, max_ring_bytes, memory_limit)"
                                : strerror(-r));
    leat_session_refuse(session, &err);
}

/* What ends it comes behind all that it was sent. */
static void tell_end(struct leat_session *session) {
    const struct leat_delivery_ops *ops = session->delivery->ops;

    if (ops->is_idle && !ops->is_idle(session->delivery))
        return;
    if (leat_session_is_at_change(session))
        leat_session_tell_change(session);
    else if (session->has_failed && session->hub.run)
        leat_session_fail(session, leat_feed_error(leat_feed_of(session->hub.run)));
}

static void flush(struct leat_session *session) {
    while (session->state == LEAT_SESSION_SERVING) {
        int r;

        if (session->hub.run)
            leat_feed_reach(leat_feed_of(session->hub.run), session->reached);
        fill_outbox(session);
        if (session->n_outbox == 0) {
            tell_end(session);
            return;
        }
        r = empty_outbox(session);
        if (r < 0)
            delivery_failed(session, r);
        if (r <= 0)
            return;
    }
}

void leat_session_flush_next(struct leat_daemon *daemon) {
    struct leat_session *session = daemon->dirty_sessions;

    daemon->dirty_sessions = session->next_dirty;
    session->is_dirty = false;
    if (session->state != LEAT_SESSION_SERVING)
        return;
    flush(session);
    leat_share_act(session->share);
}

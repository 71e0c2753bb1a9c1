/* session_serve.c: takes batches from the broadcast of the session's share, announces them, and
 * counts how long the trainer waits. Owner: loop.
 */
#include <errno.h>
#include <string.h>

#include "daemon/stream/share.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

/* ---- holds ---- */

void leat_session_release_all(struct leat_session *session) {
    if (!session->consumer.share)
        return;
    leat_broadcast_release_all(&session->consumer.reader);
    leat_share_act(session->consumer.share);
}

/* A process that lost its connection may still read the slots that it held, but needs no copies. */
void leat_session_keep_holds(struct leat_session *session) {
    if (!session->consumer.share)
        return;
    leat_broadcast_release_copies(&session->consumer.reader);
    if (session->consumer.reader.n_holds > 0)
        leat_session_log(session, LEAT_EVENT_QUARANTINED, NULL);
}

/* ---- times ---- */

/* Ends the time that began at *start_ns, if any, and returns its length. */
static uint64_t end_time(uint64_t *start_ns, uint64_t *sum_ns, uint64_t now_ns) {
    uint64_t length_ns = *start_ns ? now_ns - *start_ns : 0;

    *sum_ns += length_ns;
    *start_ns = 0;
    return length_ns;
}

static void count_time(uint64_t *start_ns, uint64_t *sum_ns, bool is_on) {
    if (is_on == (*start_ns != 0))
        return;
    if (is_on)
        *start_ns = leat_now_ns();
    else
        (void)end_time(start_ns, sum_ns, leat_now_ns());
}

static void end_wait(struct leat_session *session, uint64_t now_ns) {
    bool has_waited = session->wait_start_ns != 0;
    uint64_t waited_ns = end_time(&session->wait_start_ns, &session->wait_ns, now_ns);

    if (!session->stream || !has_waited)
        return;
    session->stream->totals.counts.figures.wait_ns += waited_ns;
    leat_stream_counts_spread(&session->stream->totals.counts, LEAT_SPREAD_WAIT, waited_ns);
}

static void count_wait(struct leat_session *session, bool is_waiting) {
    const struct leat_broadcast_run *run = session->consumer.reader.run;
    uint64_t now_ns;

    if (is_waiting == (session->wait_start_ns != 0))
        return;
    now_ns = leat_now_ns();
    if (is_waiting) {
        session->stream->totals.counts.figures.n_waits++;
        session->wait_start_ns = now_ns;
    } else {
        end_wait(session, now_ns);
    }
    if (run)
        leat_feed_tuner_note_waits(leat_feed_of(run), now_ns);
}

/* A trainer certainly has nothing to do only while it holds nothing. */
static void count_times(struct leat_session *session, bool is_waiting, bool has_credit) {
    count_wait(session, is_waiting);
    count_time(&session->idle_start_ns, &session->idle_ns,
               is_waiting && session->consumer.reader.n_holds == 0);
    count_time(&session->hold_start_ns, &session->hold_ns, !has_credit);
}

void leat_session_stop(struct leat_session *session) {
    uint64_t now_ns = leat_now_ns();

    session->n_outbox = 0;
    if (session->stream && session->serve_ns)
        session->stream->totals.counts.figures.trainer_ns += now_ns - session->serve_ns;
    session->serve_ns = 0;
    end_wait(session, now_ns);
    (void)end_time(&session->hold_start_ns, &session->hold_ns, now_ns);
    (void)end_time(&session->idle_start_ns, &session->idle_ns, now_ns);
    leat_share_leave(&session->consumer);
}

/* ---- taking ---- */

static void put_into_outbox(struct leat_session *session, enum leat_broadcast_taken_kind kind,
                            const struct leat_broadcast_taken *taken) {
    struct leat_feed_item *item = (struct leat_feed_item *)taken->item;

    session->outbox[session->n_outbox++] = (struct leat_feed_output){
        .is_end = kind == LEAT_BROADCAST_END,
        .is_last = taken->is_last,
        .item = item,
        .epoch = taken->epoch,
        .step = taken->step,
    };
    if (item)
        leat_slot_ring_hold(item->ring, item->base.slot);
}

static bool pull_output(struct leat_session *session) {
    struct leat_feed *feed =
        session->consumer.reader.run ? leat_feed_of(session->consumer.reader.run) : NULL;

    if (!feed)
        return false;
    leat_feed_reach(feed, session->reached);
    return leat_feed_pull(feed);
}

/* Takes the next output, for which its run may have to put one out. */
static bool take_output(struct leat_session *session) {
    enum leat_broadcast_taken_kind kind;
    struct leat_broadcast_taken taken;

    if (leat_session_is_at_change(session))
        return false;
    do {
        kind = leat_broadcast_take(&session->consumer.reader, &taken);
    } while (kind == LEAT_BROADCAST_NOTHING && pull_output(session));
    session->has_failed = kind == LEAT_BROADCAST_FAILED;
    if (kind == LEAT_BROADCAST_BATCH || kind == LEAT_BROADCAST_END)
        put_into_outbox(session, kind, &taken);
    return kind == LEAT_BROADCAST_BATCH || kind == LEAT_BROADCAST_END;
}

/* True if a batch of an epoch was announced that the trainer has not begun: it waits for none. */
static bool has_unread_epoch(const struct leat_session *session) {
    return session->next_epoch > session->reached && session->next_step >= session->world_size;
}

static void fill_outbox(struct leat_session *session) {
    struct leat_broadcast_reader *reader = &session->consumer.reader;
    bool has_credit = reader->n_holds < session->window;

    while (session->n_outbox < LEAT_SESSION_OUTBOX && has_credit && take_output(session))
        has_credit = reader->n_holds < session->window;
    has_credit = has_credit && !leat_session_is_at_change(session);
    if (session->n_outbox == 0 && has_credit && !session->has_failed)
        leat_broadcast_wait(reader);
    count_times(session,
                session->n_outbox == 0 && has_credit && !session->is_finished &&
                    !has_unread_epoch(session),
                has_credit);
}

/* ---- announcing ---- */

static void account_output(struct leat_session *session, const struct leat_feed_output *output) {
    if (output->is_end) {
        session->next_epoch = output->epoch + 1;
        session->next_step = session->rank;
        session->is_finished = output->is_last;
        return;
    }
    session->sessions->n_rows += output->item->n_rows;
    leat_broadcast_announce(&session->consumer.reader, 1, session->delivery->ops->keeps_slot);
    session->n_batches++;
    session->sessions->n_batches++;
    session->next_epoch = output->epoch;
    session->next_step = output->step + session->world_size;
    if (!session->says_reached)
        session->reached = output->epoch;
}

/* Announces the outbox. Returns 1 for all of it, 0 for a part, or -errno. */
static int empty_outbox(struct leat_session *session) {
    const struct leat_delivery_ops *ops = session->delivery->ops;
    int n = ops->deliver(session->delivery, session->outbox, session->n_outbox);

    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        account_output(session, &session->outbox[i]);
    session->n_outbox -= (uint32_t)n;
    memmove(session->outbox, session->outbox + n, session->n_outbox * sizeof(*session->outbox));
    if (ops->flush)
        ops->flush(session->delivery);
    return session->n_outbox == 0;
}

static void delivery_failed(struct leat_session *session, int r) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (r == -EPIPE || r == -ECONNRESET)
        return; /* it has gone: its last packets are still to be read, before the end of file */
    leat_error_set(&err, r, "the daemon cannot send a batch: %s",
                   r == -EDQUOT
                       ? "a copy of the batch would exceed the memory limit of this user or of all "
                         "users (max_user_ring_bytes, max_ring_bytes, memory_limit)"
                       : strerror(-r));
    leat_session_refuse(session, &err);
}

/* Errors and changes come after all batches that were sent. */
static void tell_end(struct leat_session *session) {
    const struct leat_delivery_ops *ops = session->delivery->ops;

    if (ops->is_idle && !ops->is_idle(session->delivery))
        return;
    if (leat_session_is_at_change(session))
        leat_session_tell_change(session);
    else if (session->has_failed && session->consumer.reader.run)
        leat_session_fail(session, leat_feed_error(leat_feed_of(session->consumer.reader.run)));
}

static void serve_trainer(struct leat_session *session) {
    while (session->state == LEAT_SESSION_SERVING) {
        int r;

        if (session->consumer.reader.run)
            leat_feed_reach(leat_feed_of(session->consumer.reader.run), session->reached);
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

void leat_session_flush(struct leat_session *session) {
    if (session->state != LEAT_SESSION_SERVING)
        return;
    serve_trainer(session);
    leat_share_act(session->consumer.share);
}

/* session_consumer.c: a session as a consumer of its share: it joins with what its trainer wants,
 * waits for a run where memory is short, and is told what becomes of it. Owner: loop.
 */
#include <errno.h>

#include "daemon/stream/admission.h"
#include "daemon/stream/share.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"
#include "proto/base/container_of.h"

#define ROOM_NS      UINT64_C(60000000000) /* the longest wait for memory, */
#define ROOM_IDLE_NS UINT64_C(10000000000) /* and the longest while no one gives any back */

static struct leat_session *session_of(const struct leat_consumer *consumer) {
    return LEAT_CONTAINER_OF(consumer, struct leat_session, consumer);
}

/* ---- operations ---- */

static void consumer_start(struct leat_consumer *consumer, const struct leat_error *err) {
    struct leat_session *session = session_of(consumer);

    if (err)
        session->room.error = *err;
    leat_session_serve(session, err);
}

static void consumer_flush(struct leat_consumer *consumer) {
    leat_session_flush(session_of(consumer));
}

static void consumer_fail(struct leat_consumer *consumer, const struct leat_error *err) {
    leat_session_fail(session_of(consumer), err);
}

/* A session that is opening waits no longer than all openings do, and only for what its user may
 * have at all. */
static bool consumer_may_wait(struct leat_consumer *consumer, const struct leat_error *err) {
    struct leat_session *session = session_of(consumer);
    struct leat_run_options options = leat_share_options_for(consumer);
    uint64_t loaded_bytes;

    session->room.error = *err;
    return session->state == LEAT_SESSION_SERVING ||
           (err->code == -ENOMEM && leat_now_ns() < session->room.deadline_ns &&
            leat_admission_wait_bytes(&session->user->memory, consumer->share->plan, &options,
                                      session->window, false, &loaded_bytes) > 0);
}

static void consumer_notify(struct leat_consumer *consumer, const struct leat_error *notice) {
    const struct leat_session *session = session_of(consumer);

    if (session->state == LEAT_SESSION_SERVING)
        leat_delivery_send_error(session->delivery, LEAT_PACKET_NOTICE, notice);
}

static bool consumer_is_starved(const struct leat_consumer *consumer) {
    return session_of(consumer)->wait_start_ns != 0;
}

static bool consumer_has_unsent(const struct leat_consumer *consumer) {
    return session_of(consumer)->n_outbox > 0;
}

static const struct leat_consumer_ops consumer_ops = {
    .start = consumer_start,
    .flush = consumer_flush,
    .fail = consumer_fail,
    .may_wait = consumer_may_wait,
    .notify = consumer_notify,
    .is_starved = consumer_is_starved,
    .has_unsent = consumer_has_unsent,
};

/* ---- joining ---- */

/* Ranks of one machine follow each other. Where they do not, or the trainer names no local rank,
 * each rank is alone. */
static void choose_ranks(const struct leat_session *session, struct leat_broadcast_reader *reader) {
    uint32_t n = session->local_world_size, first = session->rank - session->local_rank;
    bool is_known = n > 0 && session->local_rank < n && session->local_rank <= session->rank &&
                    n <= session->world_size && first <= session->world_size - n;

    reader->rank = session->rank;
    reader->first_rank = is_known ? first : session->rank;
    reader->n_ranks = is_known ? n : 1;
}

int leat_session_join(struct leat_session *session, const struct leat_opening *opening,
                      struct leat_error *err) {
    const struct leat_run_options *options = &opening->run_options;
    struct leat_share wanted = {
        .plan = opening->plan,
        .user = session->user,
        .stream = opening->stream,
        .roots = opening->roots,
        .options = *options,
        .kept = opening->kept,
        .seed = session->seed,
    };

    session->consumer.ops = &consumer_ops;
    session->consumer.reader = (struct leat_broadcast_reader){
        .next = {options->first_epoch, options->first_step},
        .phase = options->round_phase,
        .n_epochs = options->n_epochs,
        .n_left = options->n_steps ? options->n_steps : LEAT_BROADCAST_NO_LIMIT,
        .window = session->window,
        .holds = session->holds,
    };
    choose_ranks(session, &session->consumer.reader);
    if (leat_share_join(session->sessions->feeds, &wanted, &session->consumer) < 0)
        return leat_error_oom(err);
    session->reached = session->consumer.reader.next.epoch;
    return 0;
}

void leat_session_fail(struct leat_session *session, const struct leat_error *err) {
    struct leat_error copy = *err;

    if (session->state == LEAT_SESSION_OPENED) {
        leat_session_refuse(session, &copy);
        return;
    }
    (void)leat_error_print(err, session->stream->totals.last_error,
                           sizeof(session->stream->totals.last_error));
    leat_session_log(session, LEAT_EVENT_STREAM_FAILED, &copy);
    leat_session_leave(session, &copy);
}

/* ---- room for its run ---- */

bool leat_session_has_slots(const struct leat_session *session) {
    const struct leat_broadcast_run *run = session->consumer.reader.run;

    return run && leat_feed_of(run)->state != LEAT_FEED_STARTING;
}

static bool has_waited_enough(struct leat_session *session, uint64_t now_ns) {
    struct leat_session_room *room = &session->room;
    uint64_t n_returned = session->sessions->env->budget->n_returned_bytes;

    if (room->since_ns == 0)
        room->since_ns = now_ns;
    if (room->since_ns == now_ns || n_returned != room->n_seen)
        room->returned_ns = now_ns;
    room->n_seen = n_returned;
    return now_ns - room->returned_ns >= ROOM_IDLE_NS || now_ns - room->since_ns >= ROOM_NS;
}

static void fail_for_room(struct leat_session *session) {
    static const char behind[] = "the trainer fell too far behind the other trainers of its "
                                 "stream, so it needs separate memory: ";
    struct leat_error err = LEAT_ERROR_INIT;

    _Static_assert(sizeof(behind) - 1 + LEAT_ADMISSION_ADVICE_MAX < sizeof(err.message),
                   "the advice of the other error would be cut");
    leat_error_set(&err, -ENOMEM, "%s%s", behind, session->room.error.message);
    leat_session_fail(session, &err);
}

void leat_session_seek_room(struct leat_session *session, uint64_t now_ns) {
    struct leat_broadcast_reader *reader = &session->consumer.reader;

    if (!session->consumer.share)
        return;
    if (reader->is_waiting) {
        leat_broadcast_retry(reader);
        leat_share_act(session->consumer.share);
    }
    if (!reader->is_waiting)
        session->room.since_ns = 0;
    if (session->state == LEAT_SESSION_OPENED && leat_session_has_slots(session))
        leat_session_serve(session, NULL);
    else if (reader->is_waiting && session->state == LEAT_SESSION_SERVING &&
             has_waited_enough(session, now_ns))
        fail_for_room(session);
}

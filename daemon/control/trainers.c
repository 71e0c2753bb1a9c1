/* control/trainers.c: the verb trainers: all trainers, and what each waits for. Owner: loop. */
#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

#define TRAINERS_MAX 4096 /* of a reply: about 600 KB */

static uint64_t since(uint64_t start_ns, uint64_t now_ns) {
    return start_ns ? now_ns - start_ns : 0;
}

static void describe(const struct leat_session *session, Leat__Trainer *message) {
    uint64_t now_ns = leat_now_ns();

    if (session->stream)
        message->stream = session->stream->name;
    leat_control_describe_session(session, message->session);
    message->wait_ns = session->wait_ns + since(session->wait_start_ns, now_ns);
    message->hold_ns = session->hold_ns + since(session->hold_start_ns, now_ns);
    if (session->unit)
        message->unit = session->unit;
    message->is_foreign = session->peer.pid == 0;
}

static int describe_all(const struct leat_sessions *sessions, struct leat_arena *arena,
                        Leat__TrainersReply *reply) {
    size_t n = sessions->n_sessions < TRAINERS_MAX ? sessions->n_sessions : TRAINERS_MAX;
    const struct leat_session *session = sessions->first;
    Leat__Session **described = leat_control_messages(arena, &leat__session__descriptor, n);

    reply->trainers = leat_control_messages(arena, &leat__trainer__descriptor, n);
    if (!reply->trainers || !described)
        return -ENOMEM;
    for (; session && reply->n_trainers < n; session = session->next, reply->n_trainers++) {
        reply->trainers[reply->n_trainers]->session = described[reply->n_trainers];
        describe(session, reply->trainers[reply->n_trainers]);
    }
    reply->n_left = sessions->n_sessions - (uint32_t)n;
    return 0;
}

void leat_control_trainers(struct leat_control *control, const Leat__ControlRequest *request,
                           struct leat_arena *arena) {
    Leat__TrainersReply trainers = LEAT__TRAINERS_REPLY__INIT;
    int r = describe_all(control->controls->sessions, arena, &trainers);

    (void)request;
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_TRAINERS, r < 0 ? NULL : &trainers);
}

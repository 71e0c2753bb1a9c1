/* control/kick.c: the verb kick: ends sessions of trainers.
 *
 * The trainer gets the reason with the code -ECANCELED, after which libleat does not connect again
 * by itself. It may still read and give back the batches that it holds, as in a drain. Owner: loop.
 */
#include <errno.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"

#define REASON_MAX 200

static bool says_whom(const Leat__KickRequest *kick) {
    return kick->session || kick->pid || kick->has_uid || kick->stream[0];
}

static bool fits(const struct leat_session *session, const Leat__KickRequest *kick) {
    const char *stream = session->stream ? session->stream->name : "";

    return session->state < LEAT_SESSION_LEAVING &&
           (!kick->session || kick->session == session->id) &&
           (!kick->pid || kick->pid == (uint32_t)session->peer.pid) &&
           (!kick->has_uid || kick->uid == session->peer.uid) &&
           (!kick->stream[0] || strcmp(kick->stream, stream) == 0);
}

static size_t count(const struct leat_sessions *sessions, const Leat__KickRequest *kick) {
    size_t n = 0;

    for (const struct leat_session *session = sessions->first; session; session = session->next)
        n += fits(session, kick);
    return n;
}

static int check(const struct leat_sessions *sessions, const Leat__KickRequest *kick,
                 struct leat_error *err) {
    if (!says_whom(kick))
        return leat_error_set(
            err, -EINVAL,
            "the request names no session: name a session, a process, a user or a stream");
    if (strlen(kick->reason) > REASON_MAX)
        return leat_error_set(err, -EINVAL, "the reason has %zu bytes, but it may have at most %d",
                              strlen(kick->reason), REASON_MAX);
    if (count(sessions, kick) == 0)
        return leat_error_set(
            err, -ENOENT, "no session matches: `leatctl streams --trainers` lists the sessions");
    return 0;
}

static void set_reason(struct leat_error *why, const char *reason) {
    leat_error_set(why, -ECANCELED, "an operator ended this session%s%s", reason[0] ? ": " : "",
                   reason);
}

void leat_control_kick(struct leat_control *control, const Leat__ControlRequest *request,
                       struct leat_arena *arena) {
    const Leat__KickRequest *kick = request->kick;
    Leat__KickReply kicked = LEAT__KICK_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT, why = LEAT_ERROR_INIT;

    if (check(control->controls->sessions, kick, &err) < 0) {
        leat_control_fail(control, &err);
        return;
    }
    kicked.sessions = leat_arena_alloc(arena, count(control->controls->sessions, kick) *
                                                  sizeof(*kicked.sessions));
    if (!kicked.sessions) {
        leat_control_fail_memory(control);
        return;
    }
    leat_control_log(control, "kick");
    set_reason(&why, kick->reason);
    for (struct leat_session *session = control->controls->sessions->first, *next; session;
         session = next) {
        next = session->next;
        if (!fits(session, kick))
            continue;
        kicked.sessions[kicked.n_sessions++] = session->id;
        leat_session_log(session, LEAT_EVENT_KICKED, &why);
        leat_session_leave(session, &why);
    }
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_KICK, &kicked);
}

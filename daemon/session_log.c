/* session_log.c: see session_log.h. */
#include "daemon/session_log.h"

#include "daemon/daemon.h"
#include "daemon/session.h"

void leat_session_log_opened(const struct leat_session *session) {
    struct leat_daemon *daemon = session->daemon;
    uint32_t n_dropped = 0;

    if (!leat_log_wants(&daemon->log, LEAT_EVENT_OPENED) ||
        !leat_user_may_log(session->user, leat_daemon_now_ns(), &n_dropped))
        return;
    leat_log_write(&daemon->log, LEAT_EVENT_OPENED,
                   (struct leat_log_field[]){
                       LEAT_LOG_N("session", session->id),
                       LEAT_LOG_N("uid", session->peer.uid),
                       LEAT_LOG_N("pid", session->peer.pid),
                       LEAT_LOG_F("client", session->client_name),
                       LEAT_LOG_F("stream", session->stream->name),
                       LEAT_LOG_N("epoch", session->next_epoch),
                       LEAT_LOG_N("step", session->next_step),
                       LEAT_LOG_N("rank", session->rank),
                       LEAT_LOG_N("world_size", session->world_size),
                       LEAT_LOG_F("source", session->rank_source),
                       LEAT_LOG_N("suppressed", n_dropped),
                       LEAT_LOG_FIELDS_END,
                   });
}

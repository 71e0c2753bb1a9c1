/* session_log.c: see session_log.h. */
#include "daemon/trainer/session_log.h"

#include "daemon/core/daemon.h"
#include "daemon/trainer/session.h"

void leat_session_log_opened(const struct leat_session *session) {
    leat_daemon_log_client(session->daemon, session->peer.uid, LEAT_EVENT_OPENED,
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
                               LEAT_LOG_FIELDS_END,
                           });
}

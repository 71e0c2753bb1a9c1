/* session_log.h: what the log says of a session. Owner: loop. */
#pragma once

struct leat_session;

/* It was opened: by whom, what, where it starts, and who said its rank. */
void leat_session_log_opened(const struct leat_session *session);

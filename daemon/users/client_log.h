/* client_log.h: logs events that clients cause, a bounded number of lines for each user.
 *
 * At most LEAT_CLIENT_LOG_LINES are written about one user in LEAT_CLIENT_LOG_NS. Further ones are
 * counted, and reported with one line when that time is over. The count outlives the user's
 * connections, so that connecting again does not start a new one. Counts are kept for a bounded
 * number of users; all further users share one. Owner: loop.
 */
#pragma once

#include <sys/types.h>

#include "daemon/log/log.h"
#include "daemon/system/env.h"

#define LEAT_CLIENT_LOG_LINES 10
#define LEAT_CLIENT_LOG_NS    UINT64_C(10000000000)
#define LEAT_CLIENT_LOG_USERS 64

struct leat_client_log {
    struct leat_client_log_user {
        uid_t uid;
        uint64_t start_ns; /* of the time in which lines are counted */
        uint32_t n_lines;  /* 0: the count is free */
        uint32_t n_left_out;
    } users[LEAT_CLIENT_LOG_USERS];
    struct leat_client_log_user others;
};

/* Writes the event, or counts it as left out. */
void leat_client_log_write(struct leat_client_log *client_log, struct leat_log *log, uid_t uid,
                           uint64_t now_ns, enum leat_event event,
                           const struct leat_log_field *fields);
/* The same, to the logs of env and at this moment. */
void leat_client_log_event(const struct leat_env *env, uid_t uid, enum leat_event event,
                           const struct leat_log_field *fields);
/* Reports how many lines were left out for each user whose time is over. */
void leat_client_log_tick(struct leat_client_log *client_log, struct leat_log *log,
                          uint64_t now_ns);

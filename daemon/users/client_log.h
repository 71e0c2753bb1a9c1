/* client_log.h: events that clients cause, and how many lines a user may cause.
 *
 * At most LEAT_CLIENT_LOG_LINES are written about one user in LEAT_CLIENT_LOG_NS; the others are
 * counted, and told with one line when that time is over. The count outlives the user's
 * connections: who comes and fails over and over is one user all the same. It is kept for a bounded
 * number of users; if there are more in that time, the others share a count. Owner: loop.
 */
#pragma once

#include <sys/types.h>

#include "daemon/log/log.h"

#define LEAT_CLIENT_LOG_LINES 10
#define LEAT_CLIENT_LOG_NS    UINT64_C(10000000000)
#define LEAT_CLIENT_LOG_USERS 64

struct leat_client_log {
    struct leat_client_log_user {
        uid_t uid;
        uint64_t start_ns; /* of the time in which lines are counted */
        uint32_t n_lines;  /* 0: nobody's */
        uint32_t n_left_out;
    } users[LEAT_CLIENT_LOG_USERS];
    struct leat_client_log_user others;
};

/* Writes it, or counts that it did not. */
void leat_client_log_write(struct leat_client_log *client_log, struct leat_log *log, uid_t uid,
                           uint64_t now_ns, enum leat_event event,
                           const struct leat_log_field *fields);
/* Tells what was left out of those whose time is over. */
void leat_client_log_tick(struct leat_client_log *client_log, struct leat_log *log,
                          uint64_t now_ns);

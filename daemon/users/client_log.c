/* client_log.c: see client_log.h. The counts are searched one by one: users that fail are few. */
#include "daemon/users/client_log.h"

#include "proto/base/clock.h"

static bool is_over(const struct leat_client_log_user *user, uint64_t now_ns) {
    return user->n_lines > 0 && now_ns - user->start_ns >= LEAT_CLIENT_LOG_NS;
}

static void settle(struct leat_client_log_user *user, struct leat_log *log, bool is_one) {
    if (user->n_left_out > 0)
        leat_log_write(log, LEAT_EVENT_SUPPRESSED,
                       (struct leat_log_field[]){
                           LEAT_LOG_N("lines", user->n_left_out),
                           LEAT_LOG_N("uid", is_one ? (int64_t)user->uid : -1),
                           LEAT_LOG_FIELDS_END,
                       });
    user->n_lines = user->n_left_out = 0;
}

/* The user's count, or a free one, or the one that others share. */
static struct leat_client_log_user *find(struct leat_client_log *client_log, uid_t uid) {
    struct leat_client_log_user *nobodys = NULL;

    for (int i = 0; i < LEAT_CLIENT_LOG_USERS; i++) {
        struct leat_client_log_user *user = &client_log->users[i];

        if (user->n_lines > 0 && user->uid == uid)
            return user;
        if (user->n_lines == 0 && !nobodys)
            nobodys = user;
    }
    return nobodys ? nobodys : &client_log->others;
}

void leat_client_log_write(struct leat_client_log *client_log, struct leat_log *log, uid_t uid,
                           uint64_t now_ns, enum leat_event event,
                           const struct leat_log_field *fields) {
    struct leat_client_log_user *user;

    if (!leat_log_wants(log, event))
        return;
    user = find(client_log, uid);
    if (is_over(user, now_ns))
        settle(user, log, user != &client_log->others);
    if (user->n_lines == 0) {
        user->uid = uid;
        user->start_ns = now_ns;
    }
    if (user->n_lines >= LEAT_CLIENT_LOG_LINES) {
        user->n_left_out++;
        return;
    }
    user->n_lines++;
    leat_log_write(log, event, fields);
}

void leat_client_log_event(const struct leat_env *env, uid_t uid, enum leat_event event,
                           const struct leat_log_field *fields) {
    leat_client_log_write(env->client_log, env->log, uid, leat_now_ns(), event, fields);
}

void leat_client_log_tick(struct leat_client_log *client_log, struct leat_log *log,
                          uint64_t now_ns) {
    for (int i = 0; i < LEAT_CLIENT_LOG_USERS; i++)
        if (is_over(&client_log->users[i], now_ns))
            settle(&client_log->users[i], log, true);
    if (is_over(&client_log->others, now_ns))
        settle(&client_log->others, log, false);
}

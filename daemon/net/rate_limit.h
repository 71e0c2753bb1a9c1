/* rate_limit.h: limits how often each user connects.
 *
 * A connection costs the loop about 0.1 ms even if it is closed at once, so a user who connects in
 * a loop could keep it from handing out batches. Each user may make LEAT_RATE_PER_SECOND
 * connections a second, and a burst from a stock that fills at the same rate (the generic cell rate
 * algorithm). If the table is full of users in debt, a new user takes over the least debt, so
 * connecting as ever new users gains nothing. Pure; the owner is the thread that accepts.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define LEAT_RATE_PER_SECOND 200
#define LEAT_RATE_AT_ONCE    1024
#define LEAT_RATE_USERS      64
#define LEAT_RATE_EXPLAIN_NS UINT64_C(100000000) /* from one explanation to the next of a user */

struct leat_rate_limit_user {
    uid_t uid;
    uint64_t paid_until_ns; /* when its connections so far are paid for */
    uint64_t told_ns;       /* when it last got an explanation */
};

struct leat_rate_limit {
    struct leat_rate_limit_user users[LEAT_RATE_USERS];
};

enum leat_rate_answer {
    LEAT_RATE_ALLOWED,
    LEAT_RATE_EXPLAINED, /* refused; an explanation is due */
    LEAT_RATE_REFUSED,   /* refused; it got an explanation a moment ago */
};

/* A user connects who may make n_more connections at once besides LEAT_RATE_AT_ONCE. */
enum leat_rate_answer leat_rate_limit_take(struct leat_rate_limit *limit, uid_t uid,
                                           uint64_t n_more, uint64_t now_ns);
/* When that user may make the next connection: now, or later. */
uint64_t leat_rate_limit_next_ns(const struct leat_rate_limit *limit, uid_t uid, uint64_t n_more,
                                 uint64_t now_ns);

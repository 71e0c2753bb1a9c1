/* door.h: how many connections each user may make in a time.
 *
 * A connection costs the loop about 0.1 ms, whatever becomes of it, so that somebody who connects
 * and hangs up in a loop could keep it from handing out batches. Each user may make
 * LEAT_DOOR_PER_SECOND connections a second, and besides as many at once as a stock that fills
 * again at that pace (the generic cell rate algorithm). Users share nothing but the table: if it is
 * full of users in debt, the next one takes over the least of these debts, so that it is no use to
 * come as ever new users. Pure; the owner is the thread that accepts.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define LEAT_DOOR_PER_SECOND 200
#define LEAT_DOOR_AT_ONCE    1024
#define LEAT_DOOR_USERS      64
#define LEAT_DOOR_TELL_NS    UINT64_C(100000000) /* from one explanation to the next of a user */

struct leat_door_user {
    uid_t uid;
    uint64_t paid_until_ns; /* the connections it has made are paid for at that time */
    uint64_t told_ns;       /* when it was last told why it may not come in */
};

struct leat_door {
    struct leat_door_user users[LEAT_DOOR_USERS];
};

enum leat_door_answer {
    LEAT_DOOR_OPEN,
    LEAT_DOOR_TELL, /* it is refused, and told why */
    LEAT_DOOR_SHUT, /* it is refused, and was told lately */
};

/* A user connects that may make n_more connections at once besides LEAT_DOOR_AT_ONCE. */
enum leat_door_answer leat_door_knock(struct leat_door *door, uid_t uid, uint64_t n_more,
                                      uint64_t now_ns);
/* When that user may make the next connection: now, or later. */
uint64_t leat_door_opens_ns(const struct leat_door *door, uid_t uid, uint64_t n_more,
                            uint64_t now_ns);

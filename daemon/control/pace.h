/* control/pace.h: how much of the loop those take who only look.
 *
 * The loop hands out batches; whoever asks it for counters must not slow that, however often. All
 * connections of a user together get a hundredth of the loop's time: an account that fills by that,
 * up to a little. All that the loop does for a connection is paid from it: accepting, receiving and
 * closing it, parsing and refusing what is no proper request, answering. Only the work of verbs of
 * the right OPERATE is not. If nothing is left when the loop comes to a connection, or after a
 * frame, the connection rests: nothing of it is read until there is something left. Those that rest
 * go on in the order in which they were served last. So single requests do not notice, and a flood
 * of them is served at that pace. A connection that rests and is hung up is gone at once: it must
 * not count against its user. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct leat_daemon;
struct leat_control;
struct leat_user;

/* Each user gets one part in so many of the loop's time. Waking those that rest, and caches that
 * are cold then, cannot be counted; they take less than the rest of a hundredth. */
#define LEAT_CONTROL_SHARE   125
#define LEAT_CONTROL_TURN_NS 6000 /* about what the loop takes to come to a connection */

/* Of the daemon. */
struct leat_control_pace {
    uv_timer_t rest;            /* while connections rest */
    uv_timer_t tell;            /* to the next subscriber: see control/subscribe.c */
    struct leat_control *first; /* that rest, in the order in which they go on */
    uint64_t n_served;
};

/* Of a connection. */
struct leat_control_rest {
    struct leat_control *next;
    bool is_on;
    uint64_t served;   /* n_served when it was served last */
    uint64_t since_ns; /* the loop works for it, and it has not paid since then; 0: not so */
};

void leat_control_pace_init(struct leat_daemon *daemon);
void leat_control_pace_close(struct leat_daemon *daemon);

/* The time that the loop has run: what somebody else's processes take is nobody's debt. */
uint64_t leat_control_pace_now_ns(void);

/* The loop begins to work for it, and ends. It rests if nothing is left, then or now. */
void leat_control_pace_begin(struct leat_control *control);
void leat_control_pace_end(struct leat_control *control);
/* Within that: it has been served, and pays. */
void leat_control_pace_served(struct leat_control *control);
/* Within that: what was done since then is not paid. */
void leat_control_pace_waive(struct leat_control *control, uint64_t since_ns);

/* A thread of the workers' has worked for it so long: one that may only look pays for that too, as
 * its part of all workers. */
void leat_control_pace_worked(struct leat_control *control, uint64_t taken_ns);

/* It is new, and pays for what was done since then. */
void leat_control_pace_accepted(struct leat_control *control, uint64_t since_ns);
/* Its user has taken so much without a connection: one was refused. */
void leat_control_pace_charge(struct leat_user *user, uint64_t spent_ns);
/* Whether there is anything left. */
bool leat_control_may_spend(struct leat_control *control);
/* It is closed. */
void leat_control_rest_end(struct leat_control *control);

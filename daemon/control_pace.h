/* control_pace.h: how much of the loop those take who only look.
 *
 * The loop hands out batches; whoever asks it for counters must not slow that, however often. All
 * connections of a user together get a hundredth of the loop's time for requests of the right READ:
 * an account that fills by that, up to a little. A request is answered at once; then, if nothing is
 * left, its connection rests, which is not read until there is, one after the other; so does a
 * new one, or asking by ever new ones would be free. So single requests do not notice, and a flood
 * of them is served at that pace. A connection that rests and is hung up is gone at once: it must
 * not count against its user. What operators change is not charged. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct leat_daemon;
struct leat_control;

/* Of the daemon. */
struct leat_control_pace {
    uv_timer_t rest;                    /* while connections rest */
    uv_timer_t tell;                    /* to the next subscriber: see control_subscribe.c */
    struct leat_control *first, **last; /* that rest, in the order in which they go on */
};

/* Of a connection that rests. */
struct leat_control_rest {
    struct leat_control *next;
    bool is_on;
};

void leat_control_pace_init(struct leat_daemon *daemon);
void leat_control_pace_close(struct leat_daemon *daemon);

/* The time that the loop has run: what somebody else's processes take is nobody's debt. */
uint64_t leat_control_pace_now_ns(void);
/* Its user has taken so much of it. */
void leat_control_spend(struct leat_control *control, uint64_t spent_ns);
/* Whether there is anything left. */
bool leat_control_may_spend(struct leat_control *control);
/* Reads nothing more from it until there is something left. */
void leat_control_rest_if_spent(struct leat_control *control);
/* It is closed. */
void leat_control_rest_end(struct leat_control *control);

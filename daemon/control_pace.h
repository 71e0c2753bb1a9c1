/* control_pace.h: how much of the loop those take who only look.
 *
 * The loop hands out batches; whoever asks it for counters must not slow that, however often. All
 * connections of a user together get a fiftieth of the loop's time for requests of the right READ:
 * each has a small account that fills by its part of that. A request is answered at once if there
 * is anything left; then the connection is not read until there is again. So single requests do not
 * notice, and a flood of them is served at that pace. What operators change is not held up.
 * Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct leat_daemon;
struct leat_control;

/* Of the daemon. */
struct leat_control_pace {
    uv_timer_t rest; /* while connections rest */
    uv_timer_t tell; /* to the next subscriber: see control_subscribe.c */
};

/* Of a connection. A fresh one has nothing saved up, so that to connect anew gains nothing. */
struct leat_control_account {
    uint64_t spent_ns; /* of what it may save up */
    uint64_t at_ns;    /* when that was so */
    bool rests;
};

void leat_control_pace_init(struct leat_daemon *daemon);
void leat_control_pace_close(struct leat_daemon *daemon);

void leat_control_account_init(struct leat_control *control);
/* It has taken so much time. */
void leat_control_account_spend(struct leat_control *control, uint64_t spent_ns);
/* Whether there is anything left. */
bool leat_control_account_has(struct leat_control *control);
/* Reads nothing more from it until there is something left. */
void leat_control_rest_if_spent(struct leat_control *control);

/* control/pace.h: how much of the loop's time control connections may take.
 *
 * The loop hands out batches, and requests for counters must not slow that, however many come. All
 * connections of one user together get about a hundredth of the loop's time, from an account that
 * fills at that rate up to a little. Everything that the loop does for a connection is paid from
 * it: accepting, receiving, closing, refusing, answering; only the work of verbs of the right
 * OPERATE is free. If nothing is left when the loop comes to a connection, or after a frame, the
 * connection rests: nothing is read from it until the account has filled again. Resting connections
 * go on in the order in which they were last served. So a single request does not notice, and a
 * flood is served at that pace. A resting connection whose client hangs up is closed at once,
 * because it must not count against its user. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct leat_channel;
struct leat_user;

/* Each user gets one part in so many of the loop's time. Waking resting connections, and caches
 * that are cold then, cannot be counted; that takes less than the rest of a hundredth. */
#define LEAT_CONTROL_SHARE   125
#define LEAT_CONTROL_TURN_NS 6000 /* about what the loop takes to come to a connection */

struct leat_control_pace {
    uv_timer_t timer;                /* runs while connections rest */
    struct leat_control_rest *first; /* those that rest, in the order in which they go on */
    uint64_t n_served;
    uint32_t n_workers;
};

/* The pace of one connection. */
struct leat_control_rest {
    struct leat_control_pace *pace;
    struct leat_channel *channel;
    struct leat_user *user; /* who pays */
    struct leat_control_rest *next;
    bool is_on, is_closed;
    uint64_t served;   /* n_served when it was served last */
    uint64_t since_ns; /* work since then is not paid yet; 0: the loop does not work for it */
};

void leat_control_pace_init(struct leat_control_pace *pace, uv_loop_t *loop, uint32_t n_workers);
void leat_control_pace_close(struct leat_control_pace *pace);

/* A user pays for work without a connection, as for one that was refused. */
void leat_control_pace_charge(struct leat_user *user, uint64_t spent_ns);

/* A new connection, which pays for what was done for it since then. */
void leat_control_rest_init(struct leat_control_rest *rest, struct leat_control_pace *pace,
                            struct leat_channel *channel, struct leat_user *user,
                            uint64_t since_ns);
/* The loop begins to work for the connection, and ends; the connection rests if nothing is left. */
void leat_control_rest_begin(struct leat_control_rest *rest);
void leat_control_rest_end(struct leat_control_rest *rest);
/* Between the two: it was served, and pays. */
void leat_control_rest_serve(struct leat_control_rest *rest);
/* Between the two: what was done since then is free. */
void leat_control_rest_waive(struct leat_control_rest *rest, uint64_t since_ns);
/* A worker thread has worked for it so long: it pays its part of all workers. */
void leat_control_rest_work(struct leat_control_rest *rest, uint64_t taken_ns);
bool leat_control_rest_may_spend(struct leat_control_rest *rest);
/* The connection is closed, and does not rest any more. */
void leat_control_rest_close(struct leat_control_rest *rest);

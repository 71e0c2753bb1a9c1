/* control/pace.c: see control/pace.h: a token bucket for each user, counted in time. */
#include "daemon/control/pace.h"

#include <time.h>

#include "daemon/control/control.h"
#include "daemon/core/daemon.h"

/* Times that a user owes or has saved up. */
#define SAVED_MAX_NS UINT64_C(1000000)  /* that a user saves up */
#define OWED_GOES_NS UINT64_C(500000)   /* those that rest go on below that */
#define DEBT_MAX_NS  UINT64_C(50000000) /* of one request that took very long */
#define REST_MS      50

uint64_t leat_control_pace_now_ns(void) {
    struct timespec now = {.tv_sec = 0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* What the user has got since it was looked last. */
static void refill(struct leat_user *user) {
    uint64_t now_ns = leat_daemon_now_ns(),
             got_ns = (now_ns - user->looked_at_ns) / LEAT_CONTROL_SHARE;

    if (got_ns == 0)
        return;
    user->looked_at_ns = now_ns;
    user->looking_ns = user->looking_ns > got_ns ? user->looking_ns - got_ns : 0;
}

void leat_control_pace_charge(struct leat_user *user, uint64_t spent_ns) {
    refill(user);
    user->looking_ns += spent_ns;
    if (user->looking_ns > SAVED_MAX_NS + DEBT_MAX_NS)
        user->looking_ns = SAVED_MAX_NS + DEBT_MAX_NS;
}

static bool owes_less(struct leat_control *control, uint64_t limit_ns) {
    refill(control->user);
    return control->user->looking_ns < limit_ns;
}

bool leat_control_may_spend(struct leat_control *control) {
    return owes_less(control, SAVED_MAX_NS);
}

/* ---- rest ---- */

static void on_rest(uv_timer_t *timer);

static void line_up(struct leat_control_pace *pace, struct leat_control *control) {
    struct leat_control **link = &pace->first;

    while (*link && (*link)->rest.served <= control->rest.served)
        link = &(*link)->rest.next;
    control->rest.next = *link;
    *link = control;
}

static void rest_if_spent(struct leat_control *control) {
    struct leat_control_pace *pace = &control->daemon->pace;

    if (control->is_closed || control->rest.is_on || leat_control_may_spend(control))
        return;
    control->rest.is_on = true;
    line_up(pace, control);
    leat_channel_rest(&control->channel, true);
    if (!uv_is_active((uv_handle_t *)&pace->rest) && !uv_is_closing((uv_handle_t *)&pace->rest))
        (void)uv_timer_start(&pace->rest, on_rest, REST_MS, REST_MS);
}

void leat_control_rest_end(struct leat_control *control) {
    struct leat_control **link = &control->daemon->pace.first;

    if (!control->rest.is_on)
        return;
    control->rest.is_on = false;
    while (*link != control)
        link = &(*link)->rest.next;
    *link = control->rest.next;
}

/* Each goes on whose user owes little, and pays for that. What all connections of a user pay is
 * less than what is left then, so that the first of them is served. */
static void on_rest(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;
    struct leat_control *control = daemon->pace.first, *next;

    for (; control; control = next) {
        next = control->rest.next;
        if (!owes_less(control, OWED_GOES_NS))
            continue;
        leat_control_pace_charge(control->user, LEAT_CONTROL_TURN_NS);
        leat_control_rest_end(control);
        leat_channel_rest(&control->channel, false);
    }
    if (!daemon->pace.first)
        (void)uv_timer_stop(timer);
}

/* ---- work ---- */

void leat_control_pace_begin(struct leat_control *control) {
    control->rest.since_ns = leat_control_pace_now_ns();
    rest_if_spent(control);
}

static void pay(struct leat_control *control, uint64_t more_ns) {
    uint64_t now_ns = leat_control_pace_now_ns();

    leat_control_pace_charge(control->user, now_ns - control->rest.since_ns + more_ns);
    control->rest.since_ns = now_ns;
    rest_if_spent(control);
}

void leat_control_pace_served(struct leat_control *control) {
    control->rest.served = ++control->daemon->pace.n_served;
    pay(control, 0);
}

void leat_control_pace_worked(struct leat_control *control, uint64_t taken_ns) {
    if (control->right < LEAT_RIGHT_OPERATE)
        leat_control_pace_charge(control->user, taken_ns / control->daemon->n_workers);
}

void leat_control_pace_waive(struct leat_control *control, uint64_t since_ns) {
    control->rest.since_ns += leat_control_pace_now_ns() - since_ns;
}

void leat_control_pace_end(struct leat_control *control) {
    pay(control, LEAT_CONTROL_TURN_NS);
    control->rest.since_ns = 0;
}

void leat_control_pace_accepted(struct leat_control *control, uint64_t since_ns) {
    control->rest.since_ns = since_ns;
    leat_control_pace_served(control);
    leat_control_pace_end(control);
}

void leat_control_pace_init(struct leat_daemon *daemon) {
    (void)uv_timer_init(&daemon->loop, &daemon->pace.rest);
    (void)uv_timer_init(&daemon->loop, &daemon->pace.tell);
    daemon->pace.rest.data = daemon->pace.tell.data = daemon;
}

void leat_control_pace_close(struct leat_daemon *daemon) {
    uv_close((uv_handle_t *)&daemon->pace.rest, NULL);
    uv_close((uv_handle_t *)&daemon->pace.tell, NULL);
}

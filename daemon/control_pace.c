/* control_pace.c: see control_pace.h: a token bucket for each user, counted in time. */
#include "daemon/control_pace.h"

#include <time.h>

#include "daemon/control.h"
#include "daemon/daemon.h"

#define SHARE        100                /* that part of the loop's time, for each user */
#define SAVED_MAX_NS UINT64_C(1000000)  /* that a user saves up */
#define DEBT_MAX_NS  UINT64_C(20000000) /* of one request that took very long */
#define REST_MS      5

uint64_t leat_control_pace_now_ns(void) {
    struct timespec now = {.tv_sec = 0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* What the user has got since it was looked last. */
static void refill(struct leat_user *user) {
    uint64_t now_ns = leat_daemon_now_ns(), got_ns = (now_ns - user->looked_at_ns) / SHARE;

    if (got_ns == 0)
        return;
    user->looked_at_ns = now_ns;
    user->looking_ns = user->looking_ns > got_ns ? user->looking_ns - got_ns : 0;
}

void leat_control_spend(struct leat_control *control, uint64_t spent_ns) {
    struct leat_user *user = control->user;

    refill(user);
    user->looking_ns += spent_ns;
    if (user->looking_ns > SAVED_MAX_NS + DEBT_MAX_NS)
        user->looking_ns = SAVED_MAX_NS + DEBT_MAX_NS;
}

bool leat_control_may_spend(struct leat_control *control) {
    refill(control->user);
    return control->user->looking_ns < SAVED_MAX_NS;
}

static void append(struct leat_control_pace *pace, struct leat_control *control) {
    control->rest.next = NULL;
    *pace->last = control;
    pace->last = &control->rest.next;
}

static struct leat_control *pop(struct leat_control_pace *pace) {
    struct leat_control *control = pace->first;

    pace->first = control->rest.next;
    if (!pace->first)
        pace->last = &pace->first;
    return control;
}

static void on_rest(uv_timer_t *timer);

void leat_control_rest_if_spent(struct leat_control *control) {
    struct leat_control_pace *pace = &control->daemon->pace;

    if (control->is_closed || control->rest.is_on || leat_control_may_spend(control))
        return;
    control->rest.is_on = true;
    append(pace, control);
    leat_channel_rest(&control->channel, true);
    if (!uv_is_active((uv_handle_t *)&pace->rest) && !uv_is_closing((uv_handle_t *)&pace->rest))
        (void)uv_timer_start(&pace->rest, on_rest, REST_MS, REST_MS);
}

void leat_control_rest_end(struct leat_control *control) {
    struct leat_control_pace *pace = &control->daemon->pace;
    struct leat_control **link = &pace->first;

    if (!control->rest.is_on)
        return;
    control->rest.is_on = false;
    while (*link != control)
        link = &(*link)->rest.next;
    *link = control->rest.next;
    if (!*link)
        pace->last = link;
}

/* Each that rested when this began goes on, or to the end of the line. */
static void on_rest(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;
    struct leat_control_pace *pace = &daemon->pace;
    struct leat_control *control = pace->first;
    uint32_t n = 0;

    for (; control; control = control->rest.next)
        n++;
    for (; n > 0 && pace->first; n--) {
        control = pop(pace);
        if (!leat_control_may_spend(control)) {
            append(pace, control);
            continue;
        }
        control->rest.is_on = false;
        leat_channel_rest(&control->channel, false);
    }
    if (!pace->first)
        (void)uv_timer_stop(timer);
}

void leat_control_pace_init(struct leat_daemon *daemon) {
    (void)uv_timer_init(&daemon->loop, &daemon->pace.rest);
    (void)uv_timer_init(&daemon->loop, &daemon->pace.tell);
    daemon->pace.rest.data = daemon->pace.tell.data = daemon;
    daemon->pace.last = &daemon->pace.first;
}

void leat_control_pace_close(struct leat_daemon *daemon) {
    uv_close((uv_handle_t *)&daemon->pace.rest, NULL);
    uv_close((uv_handle_t *)&daemon->pace.tell, NULL);
}

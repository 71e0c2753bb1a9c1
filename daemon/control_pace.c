/* control_pace.c: see control_pace.h: a token bucket for each connection, counted in time. */
#include "daemon/control_pace.h"

#include "daemon/control.h"
#include "daemon/daemon.h"

#define SHARE        50                 /* that part of the loop's time, for each user */
#define SAVED_MAX_NS UINT64_C(1000000)  /* that a connection saves up */
#define DEBT_MAX_NS  UINT64_C(20000000) /* of one request that took very long */
#define REST_MS      5

/* What it has got since, with the other connections of its user. */
static void refill(struct leat_control *control) {
    struct leat_control_account *account = &control->account;
    uint64_t now_ns = leat_daemon_now_ns();
    uint64_t n_connections = control->user->used[LEAT_CHARGE_CONTROLS];
    uint64_t got_ns = (now_ns - account->at_ns) / (SHARE * (n_connections ? n_connections : 1));

    if (got_ns == 0)
        return;
    account->at_ns = now_ns;
    account->spent_ns = account->spent_ns > got_ns ? account->spent_ns - got_ns : 0;
}

void leat_control_account_init(struct leat_control *control) {
    control->account =
        (struct leat_control_account){.spent_ns = SAVED_MAX_NS - 1, .at_ns = leat_daemon_now_ns()};
}

void leat_control_account_spend(struct leat_control *control, uint64_t spent_ns) {
    struct leat_control_account *account = &control->account;

    refill(control);
    account->spent_ns += spent_ns;
    if (account->spent_ns > SAVED_MAX_NS + DEBT_MAX_NS)
        account->spent_ns = SAVED_MAX_NS + DEBT_MAX_NS;
}

bool leat_control_account_has(struct leat_control *control) {
    refill(control);
    return control->account.spent_ns < SAVED_MAX_NS;
}

static void on_rest(uv_timer_t *timer);

void leat_control_rest_if_spent(struct leat_control *control) {
    uv_timer_t *timer = &control->daemon->pace.rest;

    if (control->is_closed || control->account.rests || leat_control_account_has(control))
        return;
    control->account.rests = true;
    leat_channel_pause(&control->channel, true);
    if (!uv_is_active((uv_handle_t *)timer) && !uv_is_closing((uv_handle_t *)timer))
        (void)uv_timer_start(timer, on_rest, REST_MS, REST_MS);
}

/* Reading on may close a connection, but frees none. */
static void on_rest(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;
    bool any_rests = false;

    for (struct leat_control *control = daemon->controls; control; control = control->next) {
        if (control->is_closed || !control->account.rests)
            continue;
        if (leat_control_account_has(control)) {
            control->account.rests = false;
            leat_channel_pause(&control->channel, false);
        }
        any_rests = any_rests || (!control->is_closed && control->account.rests);
    }
    if (!any_rests)
        (void)uv_timer_stop(timer);
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

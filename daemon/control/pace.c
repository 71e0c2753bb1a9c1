/* control/pace.c: see control/pace.h: a token bucket for each user, counted in time. */
#include "daemon/control/pace.h"

#include "daemon/net/channel.h"
#include "daemon/users/user.h"
#include "proto/base/clock.h"

/* Times that a user owes or has saved up. */
#define SAVED_MAX_NS UINT64_C(1000000)  /* the most that a user saves up */
#define OWED_GOES_NS UINT64_C(500000)   /* resting connections go on below that */
#define DEBT_MAX_NS  UINT64_C(50000000) /* the most that is owed, as for one very long request */
#define REST_MS      50

/* Adds what the user has earned since the last call. */
static void refill(struct leat_user *user) {
    uint64_t now_ns = leat_now_ns(), got_ns = (now_ns - user->looked_at_ns) / LEAT_CONTROL_SHARE;

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

static bool owes_less(struct leat_user *user, uint64_t limit_ns) {
    refill(user);
    return user->looking_ns < limit_ns;
}

bool leat_control_rest_may_spend(struct leat_control_rest *rest) {
    return owes_less(rest->user, SAVED_MAX_NS);
}

/* ---- rest ---- */

static void enqueue(struct leat_control_rest *rest) {
    struct leat_control_rest **link = &rest->pace->first;

    while (*link && (*link)->served <= rest->served)
        link = &(*link)->next;
    rest->next = *link;
    *link = rest;
    rest->is_on = true;
}

static void dequeue(struct leat_control_rest *rest) {
    struct leat_control_rest **link = &rest->pace->first;

    if (!rest->is_on)
        return;
    while (*link != rest)
        link = &(*link)->next;
    *link = rest->next;
    rest->is_on = false;
}

/* Connections of users that owe little go on, and pay for it. All connections of a user together
 * pay less than what is left then, so the first of them is served. */
static void on_timer(uv_timer_t *timer) {
    struct leat_control_pace *pace = timer->data;
    struct leat_control_rest *rest = pace->first, *next;

    for (; rest; rest = next) {
        next = rest->next;
        if (!owes_less(rest->user, OWED_GOES_NS))
            continue;
        leat_control_pace_charge(rest->user, LEAT_CONTROL_TURN_NS);
        dequeue(rest);
        leat_channel_rest(rest->channel, false);
    }
    if (!pace->first)
        (void)uv_timer_stop(timer);
}

static void rest_if_spent(struct leat_control_rest *rest) {
    uv_timer_t *timer = &rest->pace->timer;

    if (rest->is_closed || rest->is_on || leat_control_rest_may_spend(rest))
        return;
    enqueue(rest);
    leat_channel_rest(rest->channel, true);
    if (!uv_is_active((uv_handle_t *)timer) && !uv_is_closing((uv_handle_t *)timer))
        (void)uv_timer_start(timer, on_timer, REST_MS, REST_MS);
}

/* ---- work ---- */

static void pay(struct leat_control_rest *rest, uint64_t more_ns) {
    uint64_t now_ns = leat_thread_ns();

    leat_control_pace_charge(rest->user, now_ns - rest->since_ns + more_ns);
    rest->since_ns = now_ns;
    rest_if_spent(rest);
}

void leat_control_rest_begin(struct leat_control_rest *rest) {
    rest->since_ns = leat_thread_ns();
    rest_if_spent(rest);
}

void leat_control_rest_end(struct leat_control_rest *rest) {
    pay(rest, LEAT_CONTROL_TURN_NS);
    rest->since_ns = 0;
}

void leat_control_rest_serve(struct leat_control_rest *rest) {
    rest->served = ++rest->pace->n_served;
    pay(rest, 0);
}

void leat_control_rest_waive(struct leat_control_rest *rest, uint64_t since_ns) {
    rest->since_ns += leat_thread_ns() - since_ns;
}

void leat_control_rest_work(struct leat_control_rest *rest, uint64_t taken_ns) {
    leat_control_pace_charge(rest->user, taken_ns / rest->pace->n_workers);
}

void leat_control_rest_init(struct leat_control_rest *rest, struct leat_control_pace *pace,
                            struct leat_channel *channel, struct leat_user *user,
                            uint64_t since_ns) {
    *rest = (struct leat_control_rest){
        .pace = pace, .channel = channel, .user = user, .since_ns = since_ns};
    leat_control_rest_serve(rest);
    leat_control_rest_end(rest);
}

void leat_control_rest_close(struct leat_control_rest *rest) {
    rest->is_closed = true;
    dequeue(rest);
}

void leat_control_pace_init(struct leat_control_pace *pace, uv_loop_t *loop, uint32_t n_workers) {
    *pace = (struct leat_control_pace){.n_workers = n_workers};
    (void)uv_timer_init(loop, &pace->timer);
    pace->timer.data = pace;
}

void leat_control_pace_close(struct leat_control_pace *pace) {
    uv_close((uv_handle_t *)&pace->timer, NULL);
}

/* control/subscribe.c: the verb subscribe: sends a connection the state of the daemon at intervals.
 *
 * Intervals are counted from the daemon's start. So subscribers with the same interval get their
 * updates at the same moment, and each is described and packed once. A subscriber that has not
 * taken its last update gets no further one, and is dropped if it misses several. So it costs the
 * memory of one update at most. Owner: loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "proto/base/clock.h"

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 60000
#define MISSES_MAX      10 /* updates in a row */

struct leat_subscription {
    uint64_t interval_ns, next_ns;
    uint32_t n_misses;
    char stream[LEAT_NAME_MAX + 1];
};

/* An update of one stream, or of all, at one moment. */
struct update {
    struct update *next; /* of the same moment */
    struct leat_packed *packed;
    char stream[LEAT_NAME_MAX + 1]; /* empty: all */
};

struct leat_subscription *leat_subscription_free(struct leat_subscription *subscription) {
    free(subscription);
    return NULL;
}

/* ---- updates ---- */

static struct update *update_free(struct update *update) {
    if (update)
        leat_packed_unref(update->packed);
    free(update);
    return NULL;
}

static struct leat_packed *describe(const struct leat_sessions *sessions, const char *stream) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__Update message = LEAT__UPDATE__INIT;
    Leat__StatusReply status = LEAT__STATUS_REPLY__INIT;
    Leat__StreamsReply streams = LEAT__STREAMS_REPLY__INIT;
    Leat__StatsReply stats = LEAT__STATS_REPLY__INIT;
    struct leat_packed *packed = NULL;
    struct leat_arena arena;

    leat_arena_init(&arena);
    message.at_ns = leat_now_ns();
    message.status = &status;
    message.streams = &streams;
    message.stats = &stats;
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_UPDATE;
    reply.update = &message;
    if (leat_control_describe_status(sessions, &arena, &status) == 0 &&
        leat_control_describe_streams(sessions, stream, &arena, &streams) == 0 &&
        leat_control_describe_stats(sessions, stream, &arena, &stats) == 0)
        packed = leat_packed_new(&reply);
    leat_arena_deinit(&arena);
    return packed;
}

/* The update that other subscribers got at this moment, or a new one. */
static struct update *find(struct leat_control *control, struct update **updates) {
    const char *stream = control->subscription->stream;
    struct update *update;

    for (update = *updates; update; update = update->next)
        if (strcmp(update->stream, stream) == 0)
            return update;
    update = calloc(1, sizeof(*update));
    if (!update)
        return NULL;
    (void)snprintf(update->stream, sizeof(update->stream), "%s", stream);
    update->packed = describe(control->controls->sessions, stream);
    if (!update->packed)
        return update_free(update);
    update->next = *updates;
    *updates = update;
    return update;
}

/* ---- subscribers ---- */

static void give_up(struct leat_control *control) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(
        &err, -EMSGSIZE,
        "an update is too large for one frame, or memory is short: subscribe to one stream only");
    control->subscription = leat_subscription_free(control->subscription);
    leat_control_fail(control, &err);
}

static void tell(struct leat_control *control, struct update **updates) {
    struct leat_subscription *subscription = control->subscription;
    bool may_have = leat_control_rest_may_spend(&control->rest);
    struct update *update;

    if (control->channel.first) {
        if (++subscription->n_misses == MISSES_MAX)
            leat_control_close(control);
        return;
    }
    subscription->n_misses = 0;
    if (!may_have)
        return;
    update = find(control, updates);
    if (!update || !leat_packed_send(update->packed, &control->channel))
        give_up(control);
}

/* The next multiple of the interval. */
static uint64_t next_after(const struct leat_controls *controls, uint64_t now_ns,
                           uint64_t interval_ns) {
    uint64_t since_ns = now_ns - controls->env->start_ns;

    return controls->env->start_ns + (since_ns / interval_ns + 1) * interval_ns;
}

static void wait_for_next(struct leat_controls *controls);

static void on_tell(uv_timer_t *timer) {
    struct leat_controls *controls = timer->data;
    uint64_t now_ns = leat_now_ns();
    struct update *updates = NULL, *next;

    for (struct leat_control *control = controls->first; control; control = control->next) {
        struct leat_subscription *subscription = control->subscription;

        if (control->is_closed || !subscription || subscription->next_ns > now_ns)
            continue;
        subscription->next_ns = next_after(controls, now_ns, subscription->interval_ns);
        leat_control_rest_begin(&control->rest);
        tell(control, &updates);
        leat_control_rest_end(&control->rest);
    }
    for (; updates; updates = next) {
        next = updates->next;
        (void)update_free(updates);
    }
    wait_for_next(controls);
}

static void wait_for_next(struct leat_controls *controls) {
    uint64_t now_ns = leat_now_ns(), next_ns = UINT64_MAX;

    for (const struct leat_control *control = controls->first; control; control = control->next)
        if (!control->is_closed && control->subscription &&
            control->subscription->next_ns < next_ns)
            next_ns = control->subscription->next_ns;
    if (next_ns == UINT64_MAX || uv_is_closing((uv_handle_t *)&controls->updates))
        (void)uv_timer_stop(&controls->updates);
    else
        (void)uv_timer_start(&controls->updates, on_tell,
                             next_ns > now_ns ? (next_ns - now_ns + 999999) / 1000000 : 0, 0);
}

/* ---- the verb ---- */

static int check(struct leat_controls *controls, const Leat__SubscribeRequest *request,
                 struct leat_error *err) {
    struct leat_daemon_stream *stream;

    if (request->interval_ms < INTERVAL_MIN_MS || request->interval_ms > INTERVAL_MAX_MS)
        return leat_error_set(err, -EINVAL, "the interval is %u ms, but it must be in %d..%d",
                              request->interval_ms, INTERVAL_MIN_MS, INTERVAL_MAX_MS);
    if (!request->stream[0])
        return 0;
    stream = leat_streams_find(&controls->feeds->streams, request->stream, err);
    if (!stream)
        return -ENOENT;
    leat_streams_unref(&controls->feeds->streams, stream);
    return 0;
}

/* The first update comes at once. */
void leat_control_subscribe(struct leat_control *control, const Leat__ControlRequest *request,
                            struct leat_arena *arena) {
    const Leat__SubscribeRequest *wanted = request->subscribe;
    struct leat_subscription *subscription;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)arena;
    if (check(control->controls, wanted, &err) < 0) {
        leat_control_fail(control, &err);
        return;
    }
    subscription = calloc(1, sizeof(*subscription));
    if (!subscription) {
        leat_control_fail_memory(control);
        return;
    }
    subscription->interval_ns = UINT64_C(1000000) * wanted->interval_ms;
    (void)snprintf(subscription->stream, sizeof(subscription->stream), "%s", wanted->stream);
    (void)leat_subscription_free(control->subscription);
    control->subscription = subscription;
    wait_for_next(control->controls);
}

#include "client/connection/outage.h"

#include <errno.h>
#include <unistd.h>

#include "client/transport/wire.h"
#include "proto/base/clock.h"
#include "proto/base/rng.h"

#define FIRST_DELAY_NS UINT64_C(10000000)
#define LAST_DELAY_NS  UINT64_C(1000000000)

static uint64_t add_ns(uint64_t now_ns, uint64_t more_ns) {
    return more_ns < UINT64_MAX - now_ns ? now_ns + more_ns : UINT64_MAX;
}

/* Between a half and the whole of a quarter of the time that the outage has taken so far. */
static uint64_t delay_ns(const struct leat_outage *outage, uint64_t now_ns) {
    struct leat_rng rng = {.state = leat_rng_fold(now_ns, (uint64_t)getpid())};
    uint64_t delay = (now_ns - outage->start_ns) / 4;

    if (delay < FIRST_DELAY_NS)
        delay = FIRST_DELAY_NS;
    if (delay > LAST_DELAY_NS)
        delay = LAST_DELAY_NS;
    return delay / 2 + leat_rng_below(&rng, delay / 2);
}

static void send_event(const struct leat_outage *outage, const struct leat_request *request,
                       enum leat_reconnect_kind kind, uint64_t now_ns) {
    struct leat_reconnect_event event = {
        .struct_size = sizeof(event),
        .kind = (int32_t)kind,
        .attempt = outage->attempt,
        .waited_ns = now_ns - outage->start_ns,
        .reason = outage->error.message,
    };

    if (request->on_reconnect && outage->is_told)
        request->on_reconnect(request->on_reconnect_user, &event);
}

/* ---- the beginning ---- */

/* A loss within an outage continues it. */
static void begin_outage(struct leat_outage *outage, const struct leat_batch_place *place,
                         uint64_t patience_ns, uint64_t now_ns) {
    if (outage->is_on) {
        outage->next_ns = now_ns + delay_ns(outage, now_ns);
    } else {
        *outage = (struct leat_outage){
            .is_on = true, .start_ns = now_ns, .next_ns = now_ns, .left_ns = patience_ns};
    }
    outage->limit_ns = add_ns(now_ns, outage->left_ns);
    outage->place = *place;
}

void leat_outage_begin(struct leat_outage *outage, const struct leat_batch_place *place,
                       const struct leat_request *request, const struct leat_error *reason) {
    uint64_t now_ns = leat_now_ns();

    begin_outage(outage, place, request->patience_ns, now_ns);
    outage->error = *reason;
    outage->is_told = true;
    send_event(outage, request, LEAT_RECONNECT_LOST, now_ns);
}

void leat_outage_begin_reopening(struct leat_outage *outage, const struct leat_batch_place *place,
                                 const struct leat_request *request) {
    uint64_t patience_ns = request->patience_ns;

    if (patience_ns == 0 && request->open_timeout_ms >= 0)
        patience_ns = (uint64_t)request->open_timeout_ms * 1000000U;
    outage->is_on = false;
    begin_outage(outage, place, patience_ns ? patience_ns : UINT64_MAX, leat_now_ns());
    outage->limit_ns = UINT64_MAX; /* counts from the first attempt, which may be much later */
}

/* ---- attempts ---- */

void leat_outage_begin_attempt(struct leat_outage *outage, const struct leat_request *request) {
    uint64_t now_ns = leat_now_ns();

    if (outage->attempt == 0 && !outage->is_told) {
        outage->start_ns = now_ns;
        outage->limit_ns = add_ns(now_ns, outage->left_ns);
    }
    outage->attempt++;
    send_event(outage, request, LEAT_RECONNECT_TRYING, now_ns);
    outage->try_ns = leat_wire_deadline(request->open_timeout_ms);
}

void leat_outage_end_attempt(struct leat_outage *outage, const struct leat_request *request) {
    send_event(outage, request, LEAT_RECONNECT_BACK, leat_now_ns());
}

void leat_outage_fail_attempt(struct leat_outage *outage, const struct leat_request *request,
                              const struct leat_error *err) {
    uint64_t now_ns = leat_now_ns();

    outage->error = *err;
    if (!outage->is_told) {
        outage->is_told = true;
        send_event(outage, request, LEAT_RECONNECT_LOST, now_ns);
    }
    if (outage->limit_ns == UINT64_MAX)
        outage->limit_ns = add_ns(now_ns, outage->left_ns);
    outage->next_ns = now_ns + delay_ns(outage, now_ns);
}

void leat_outage_on_answer(struct leat_outage *outage) {
    uint64_t now_ns = leat_now_ns();

    if (outage->limit_ns == UINT64_MAX)
        return;
    outage->left_ns = outage->limit_ns > now_ns ? outage->limit_ns - now_ns : 0;
    outage->limit_ns = UINT64_MAX;
}

/* ---- times ---- */

bool leat_outage_is_hopeless(const struct leat_outage *outage, const struct leat_request *request,
                             struct leat_error *err) {
    uint64_t now_ns = leat_now_ns();

    if (now_ns < outage->limit_ns)
        return false;
    leat_error_set(err, -ECONNRESET,
                   "no daemon answered for %.1f s (%u attempts), after the batch of epoch %llu, "
                   "step %llu, at %s: %s",
                   (double)(now_ns - outage->start_ns) / 1e9, outage->attempt,
                   (unsigned long long)outage->place.epoch, (unsigned long long)outage->place.step,
                   request->place.sun_path, outage->error.message);
    return true;
}

bool leat_outage_is_due(const struct leat_outage *outage) {
    return leat_now_ns() >= outage->next_ns;
}

bool leat_outage_is_late(const struct leat_outage *outage) {
    uint64_t now_ns = leat_now_ns();

    return now_ns >= outage->try_ns || now_ns >= outage->limit_ns;
}

uint64_t leat_outage_wake_ns(const struct leat_outage *outage, enum leat_phase phase) {
    uint64_t at_ns = phase == LEAT_PHASE_CLOSED ? outage->next_ns : outage->try_ns;

    if (phase == LEAT_PHASE_OPEN)
        return UINT64_MAX;
    return at_ns < outage->limit_ns ? at_ns : outage->limit_ns;
}

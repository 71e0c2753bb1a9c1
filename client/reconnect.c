/* reconnect.c: see reconnect.h. */
#include "client/reconnect.h"

#include <errno.h>
#include <unistd.h>

#include "client/address.h"
#include "client/stream.h"
#include "proto/base/rng.h"

#define FIRST_DELAY_NS UINT64_C(10000000)
#define LAST_DELAY_NS  UINT64_C(1000000000)

bool leat_reconnect_is_passing(int code) {
    switch (code) {
    case -ECONNRESET: /* it has closed the connection */
    case -ETIMEDOUT:
    case -ESHUTDOWN: /* it says that it goes */
    case -EDQUOT:    /* what the old sessions had is perhaps not free yet */
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
    case -EAGAIN:
    case -EBUSY:
        return true;
    default:
        return false;
    }
}

/* Nobody may listen, or nobody yet; that one is not let in does not pass. */
static bool is_connecting_hopeless(int code) {
    return code == -EACCES || code == -EPERM || code == -EPROTOTYPE;
}

static uint64_t later(uint64_t now_ns, uint64_t by_ns) {
    return by_ns < UINT64_MAX - now_ns ? now_ns + by_ns : UINT64_MAX;
}

/* Between a half and the whole of a quarter of the time that it has taken so far. */
static uint64_t delay_ns(const struct leat_outage *outage, uint64_t now_ns) {
    struct leat_rng rng = {.state = leat_rng_fold(now_ns, (uint64_t)getpid())};
    uint64_t delay = (now_ns - outage->start_ns) / 4;

    if (delay < FIRST_DELAY_NS)
        delay = FIRST_DELAY_NS;
    if (delay > LAST_DELAY_NS)
        delay = LAST_DELAY_NS;
    return delay / 2 + leat_rng_below(&rng, delay / 2);
}

static void tell(struct leat_stream *stream, enum leat_reconnect_kind kind, uint64_t now_ns) {
    const struct leat_request *request = &stream->request;
    struct leat_reconnect_event event = {
        .struct_size = sizeof(event),
        .kind = (int32_t)kind,
        .attempt = stream->outage.attempt,
        .waited_ns = now_ns - stream->outage.start_ns,
        .reason = stream->outage.error.message,
    };

    if (request->on_reconnect && stream->outage.is_told)
        request->on_reconnect(request->on_reconnect_user, &event);
}

/* ---- the beginning ---- */

static void begin(struct leat_stream *stream, uint64_t now_ns, uint64_t patience_ns) {
    struct leat_outage *outage = &stream->outage;

    if (outage->is_on) {
        outage->next_ns = now_ns + delay_ns(outage, now_ns);
    } else {
        *outage = (struct leat_outage){
            .is_on = true, .start_ns = now_ns, .next_ns = now_ns, .left_ns = patience_ns};
    }
    outage->limit_ns = later(now_ns, outage->left_ns);
    leat_session_end(stream);
}

int leat_reconnect_lose(struct leat_stream *stream) {
    struct leat_request *request = &stream->request;
    uint64_t now_ns = leat_wire_now_ns();

    if (leat_request_is_done(request, stream->epoch, stream->n_taken))
        return LEAT_END;
    if (request->patience_ns == 0)
        return stream->error.code;
    leat_request_move(request, stream->epoch, leat_stream_round(stream), stream->n_taken);
    begin(stream, now_ns, request->patience_ns);
    stream->outage.error = stream->error;
    stream->outage.is_told = true;
    tell(stream, LEAT_RECONNECT_LOST, now_ns);
    return 0;
}

void leat_reconnect_leap(struct leat_stream *stream) {
    const struct leat_request *request = &stream->request;
    uint64_t patience_ns = request->patience_ns;

    if (patience_ns == 0 && request->open_timeout_ms >= 0)
        patience_ns = (uint64_t)request->open_timeout_ms * 1000000U;
    stream->outage.is_on = false;
    begin(stream, leat_wire_now_ns(), patience_ns ? patience_ns : UINT64_MAX);
    stream->outage.limit_ns = UINT64_MAX; /* nobody has looked for a daemon yet */
}

/* ---- attempts ---- */

static int give_up(struct leat_stream *stream, uint64_t now_ns) {
    const struct leat_outage *outage = &stream->outage;
    struct leat_error last = outage->error;

    stream->error = LEAT_ERROR_INIT;
    return leat_error_set(
        &stream->error, -ECONNRESET,
        "no daemon answered for %.1f s (%u attempts) behind batch (%llu, %llu) at "
        "%s: %s",
        (double)(now_ns - outage->start_ns) / 1e9, outage->attempt,
        (unsigned long long)stream->epoch, (unsigned long long)stream->step,
        stream->request.place.sun_path, last.message);
}

/* The attempt failed: another one follows, or it is the stream's failure. */
static int end_attempt(struct leat_stream *stream, const struct leat_error *err, bool is_passing) {
    struct leat_outage *outage = &stream->outage;
    uint64_t now_ns = leat_wire_now_ns();

    outage->error = *err;
    leat_session_end(stream);
    if (!is_passing || stream->request.patience_ns == 0) {
        stream->error = *err;
        return err->code;
    }
    if (!outage->is_told) {
        outage->is_told = true;
        tell(stream, LEAT_RECONNECT_LOST, now_ns);
    }
    if (outage->limit_ns == UINT64_MAX)
        outage->limit_ns = later(now_ns, outage->left_ns);
    outage->next_ns = now_ns + delay_ns(outage, now_ns);
    return 0;
}

static int begin_attempt(struct leat_stream *stream, uint64_t now_ns) {
    const struct leat_request *request = &stream->request;
    struct leat_outage *outage = &stream->outage;
    struct leat_error err = LEAT_ERROR_INIT;
    int fd, r;

    if (outage->attempt == 0 && !outage->is_told) {
        outage->start_ns = now_ns;
        outage->limit_ns = later(now_ns, outage->left_ns);
    }
    stream->outage.attempt++;
    tell(stream, LEAT_RECONNECT_TRYING, now_ns);
    r = leat_address_connect_again(&request->place, leat_request_socket_type(request),
                                   request->open_timeout_ms, &fd);
    if (r < 0) {
        leat_error_set(&err, r, "cannot connect to %s: %s", request->place.sun_path, strerror(-r));
        return end_attempt(stream, &err, !is_connecting_hopeless(r));
    }
    stream->outage.try_ns = leat_wire_deadline(request->open_timeout_ms);
    r = leat_session_begin(stream, fd, &err);
    if (r < 0)
        return end_attempt(stream, &err, leat_reconnect_is_passing(r));
    leat_watch_add(&stream->watch, stream->wire.fd);
    return 0;
}

static int time_out(struct leat_stream *stream) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(&err, -ETIMEDOUT, "the daemon does not answer");
    return end_attempt(stream, &err, true);
}

static int go_on(struct leat_stream *stream) {
    struct leat_outage *outage = &stream->outage;
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_session_step(stream, &err);
    uint64_t now_ns = leat_wire_now_ns();

    if (r < 0)
        return end_attempt(stream, &err, leat_reconnect_is_passing(r));
    if (stream->phase > LEAT_PHASE_GREETING && outage->limit_ns != UINT64_MAX) {
        outage->left_ns = outage->limit_ns > now_ns ? outage->limit_ns - now_ns : 0;
        outage->limit_ns = UINT64_MAX;
    }
    if (r == 0)
        return now_ns >= outage->try_ns || now_ns >= outage->limit_ns ? time_out(stream) : 0;
    tell(stream, LEAT_RECONNECT_BACK, now_ns);
    return 1;
}

int leat_reconnect_step(struct leat_stream *stream) {
    struct leat_outage *outage = &stream->outage;

    if (stream->phase == LEAT_PHASE_NONE) {
        uint64_t now_ns = leat_wire_now_ns();
        int r;

        if (now_ns >= outage->limit_ns)
            return give_up(stream, now_ns);
        if (now_ns < outage->next_ns)
            return 0;
        r = begin_attempt(stream, now_ns);
        if (r < 0 || stream->phase == LEAT_PHASE_NONE)
            return r;
    }
    return go_on(stream);
}

uint64_t leat_reconnect_wake_ns(const struct leat_stream *stream) {
    const struct leat_outage *outage = &stream->outage;
    uint64_t at_ns = UINT64_MAX;

    if (stream->failure == 0 && stream->phase == LEAT_PHASE_NONE)
        at_ns = outage->next_ns;
    else if (stream->failure == 0 && stream->phase != LEAT_PHASE_OPEN)
        at_ns = outage->try_ns;
    else
        return UINT64_MAX;
    return at_ns < outage->limit_ns ? at_ns : outage->limit_ns;
}

void leat_reconnect_over(struct leat_stream *stream) {
    stream->outage.is_on = false;
}

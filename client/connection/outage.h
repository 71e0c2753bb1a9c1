/* outage.h: the time between a lost connection and the next batch: attempts, delays, and the events
 * for the trainer.
 *
 * The first attempt follows at once, the next ones after a quarter of the time that has passed, at
 * least 10 ms and at most 1 s, spread at random so that many trainers do not come at the same
 * moment. The time without a daemon that answers is bounded: it counts from the loss to the first
 * batch behind it, and stops while a daemon answers. Here is the account of it; connection.c acts.
 * Owner: the connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/connection/handshake.h"
#include "client/connection/request.h"
#include "proto/base/error.h"

/* The next batch of a stream. */
struct leat_batch_place {
    uint64_t epoch, step;
};

struct leat_outage {
    bool is_on;   /* from the loss to the first batch or end of an epoch behind it */
    bool is_told; /* the trainer has an event of it; a reopening that succeeds has none */
    uint32_t attempt;
    uint64_t start_ns; /* of the loss */
    uint64_t next_ns;  /* of the next attempt, while there is no connection */
    uint64_t limit_ns; /* when to give up; UINT64_MAX: never, or while a daemon answers */
    uint64_t left_ns;  /* until then, while a daemon answers */
    uint64_t try_ns;   /* when the present attempt has taken too long */
    struct leat_batch_place place; /* of the stream meanwhile */
    struct leat_error error;       /* why the connection was lost, or the last attempt failed */
};

/* The connection is lost for that reason, which the trainer's event has. */
void leat_outage_begin(struct leat_outage *outage, const struct leat_batch_place *place,
                       const struct leat_request *request, const struct leat_error *reason);
/* The connection was given up to open another one: an outage only if no daemon answers. */
void leat_outage_begin_reopening(struct leat_outage *outage, const struct leat_batch_place *place,
                                 const struct leat_request *request);
/* An attempt begins, succeeds; or fails and is to be repeated. */
void leat_outage_begin_attempt(struct leat_outage *outage, const struct leat_request *request);
void leat_outage_end_attempt(struct leat_outage *outage, const struct leat_request *request);
void leat_outage_fail_attempt(struct leat_outage *outage, const struct leat_request *request,
                              const struct leat_error *err);
/* The daemon that was reached has answered. */
void leat_outage_on_answer(struct leat_outage *outage);
/* A batch or the end of an epoch has come. */
static inline void leat_outage_end(struct leat_outage *outage) {
    outage->is_on = false;
}

/* True if no daemon has answered for too long; then err says so. */
bool leat_outage_is_hopeless(const struct leat_outage *outage, const struct leat_request *request,
                             struct leat_error *err);
/* True if the next attempt is due; if the present one has taken too long. */
bool leat_outage_is_due(const struct leat_outage *outage);
bool leat_outage_is_late(const struct leat_outage *outage);
/* When the next of these happens, in that phase. UINT64_MAX: never. */
uint64_t leat_outage_wake_ns(const struct leat_outage *outage, enum leat_phase phase);

/* reconnect.h: what happens between a connection that is lost and the next one.
 *
 * A daemon that dies, is restarted or upgraded costs a trainer a pause. The stream tries to
 * connect, at first at once, then after a quarter of the time that has passed, within 10 ms and 1
 * s, spread at random so that many trainers do not come at the same moment; greets, and asks for
 * what it asked for before, from where it stands. Told at once, and not tried again, is what no
 * restart cures: another spec or other data, no permission, a protocol that is not understood.
 *
 * How long it looks for a daemon is bounded: the time without a daemon that answers counts, from
 * the loss to the next batch. Nothing here waits. Owner: the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/error.h"

struct leat_stream;

struct leat_outage {
    bool is_on;   /* from the loss to the first batch or end of an epoch behind it */
    bool is_told; /* the trainer was told; not of a leap that succeeds */
    uint32_t attempt;
    uint64_t start_ns;       /* of the loss */
    uint64_t next_ns;        /* the next attempt, while there is no connection */
    uint64_t limit_ns;       /* then no daemon has answered for too long; UINT64_MAX: never */
    uint64_t left_ns;        /* of that time, while a daemon answers */
    uint64_t try_ns;         /* then this attempt has taken too long */
    struct leat_error error; /* why it was lost, or the last attempt failed */
};

/* Whether that is what a daemon says, or leaves behind, that is to be back soon. */
bool leat_reconnect_is_passing(int code);

/* The connection is lost, for the reason in stream->error. 0: it will be tried for; LEAT_END: there
 * is nothing more to come; else the error, as reconnecting is not wanted. */
int leat_reconnect_lose(struct leat_stream *stream);
/* The same without a loss: the next session begins at once, where the request says. */
void leat_reconnect_leap(struct leat_stream *stream);
/* As far as it gets without waiting. 1: there is a session again; 0: not yet; else the stream's
 * failure, in stream->error. */
int leat_reconnect_step(struct leat_stream *stream);
/* When there is something to do without an answer of the daemon. UINT64_MAX: never. */
uint64_t leat_reconnect_wake_ns(const struct leat_stream *stream);
/* Something came: the outage, if there was one, is over. */
void leat_reconnect_over(struct leat_stream *stream);

/* history.h: what the daemon did in the last minutes and hours, in bounded memory.
 *
 * Of the readings that come about once a second samples are made, of what happened between two of
 * them: one a second for ten minutes, and besides one of each ten seconds for six hours. A sample
 * is kept packed, as the message Sample of leat.proto, and has only streams and stages that
 * something happened to. When the bytes of one kind of samples are used up, the oldest ones go
 * before their time: many busy streams make the history shorter, never larger. Pure; on one thread.
 */
#pragma once

#include "daemon/metrics/reading.h"
#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

enum leat_history_tier { LEAT_HISTORY_SECONDS, LEAT_HISTORY_TENS, LEAT_N_HISTORY_TIERS };

#define LEAT_HISTORY_MIN_BYTES (UINT64_C(256) << 10)
#define LEAT_HISTORY_MAX_BYTES (UINT64_C(4) << 20)

struct leat_history_sample {
    uint64_t at_ns, duration_ns;
    uint32_t n_head;  /* bytes that are of no stream */
    uint32_t n_bytes; /* with the streams */
    uint8_t bytes[];  /* a Sample; see leat_history_next() */
};

struct leat_history {
    struct leat_history_part {
        uint64_t period_ns, max_bytes, n_bytes;
        size_t max_samples, first, n_samples;
        struct leat_history_sample **samples; /* [max_samples]: a ring */
        struct leat_reading *before;          /* with which the next sample begins */
    } parts[LEAT_N_HISTORY_TIERS];
};

/* max_bytes: of all samples, about. 0 or -ENOMEM. */
int leat_history_init(struct leat_history *history, uint64_t max_bytes);
void leat_history_deinit(struct leat_history *history);

/* A sample is made if the time has come for one. Returns of which tiers: a bit for each. Without
 * memory there is none. */
unsigned leat_history_add(struct leat_history *history, const struct leat_reading *reading);

/* The i-th of a tier, the oldest first; NULL: there are not so many. */
const struct leat_history_sample *leat_history_get(const struct leat_history *history,
                                                   enum leat_history_tier tier, size_t i);
/* How many of a tier are not after that time. */
size_t leat_history_skip(const struct leat_history *history, enum leat_history_tier tier,
                         uint64_t after_ns);

/* Whether a sample has something of that stream. */
bool leat_history_has(const struct leat_history *history, const char *stream);

/* Appends samples after that time to a reply, until it has max_bytes: those of ten seconds up to
 * where those of a second begin. With a stream, only what is of that one. They refer to the history
 * and are made in `arena`. 0 or -ENOMEM. */
int leat_history_collect(const struct leat_history *history, const char *stream, uint64_t after_ns,
                         size_t max_bytes, struct leat_arena *arena, Leat__HistoryReply *reply);

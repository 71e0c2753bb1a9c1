/* history.h: what the daemon did in the last minutes and hours, in bounded memory.
 *
 * A sample is the difference of two readings: one a second is kept for ten minutes, and one each
 * ten seconds for six hours. It is kept packed, as the message Sample of leat.proto, and has only
 * streams and stages to which something happened. When the memory of one tier is used up, its
 * oldest samples go: many busy streams make the history shorter, never larger. Pure; on one
 * thread.
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
    uint32_t n_head;  /* bytes before the streams */
    uint32_t n_bytes; /* with the streams */
    uint8_t bytes[];  /* a Sample */
};

struct leat_history {
    struct leat_history_part {
        uint64_t period_ns, max_bytes, n_bytes;
        size_t max_samples, first, n_samples;
        struct leat_history_sample **samples; /* [max_samples]: a ring */
        struct leat_reading *before;          /* The next sample is the difference to it. */
    } parts[LEAT_N_HISTORY_TIERS];
};

/* max_bytes: the approximate limit of all samples. 0 or -ENOMEM. */
int leat_history_init(struct leat_history *history, uint64_t max_bytes);
void leat_history_deinit(struct leat_history *history);

/* Makes a sample in each tier that is due, unless memory is out. Returns a bit for each of them. */
unsigned leat_history_add(struct leat_history *history, const struct leat_reading *reading);

/* The i-th sample of a tier, the oldest first; NULL behind the last. */
const struct leat_history_sample *leat_history_get(const struct leat_history *history,
                                                   enum leat_history_tier tier, size_t i);
/* The number of samples of a tier that are not after that time. */
size_t leat_history_skip(const struct leat_history *history, enum leat_history_tier tier,
                         uint64_t after_ns);

/* True if a sample has that stream. */
bool leat_history_has(const struct leat_history *history, const char *stream);

/* Appends the samples after that time to a reply, until it has max_bytes: those of ten seconds up
 * to the first of a second. stream: the only one in them; NULL: all. They refer to the history and
 * are made in `arena`. 0 or -ENOMEM. */
int leat_history_collect(const struct leat_history *history, const char *stream, uint64_t after_ns,
                         size_t max_bytes, struct leat_arena *arena, Leat__HistoryReply *reply);

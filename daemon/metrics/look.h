/* look.h: what the counters of a stream, of the daemon and of the machine said at some moment. What
 * happened between two of them is what a verdict is made from.
 *
 * Each stream that is being run keeps one a second, of the last half minute. Owner:
 * loop.
 */
#pragma once

#include "daemon/metrics/verdict.h"
#include "daemon/stream/stream.h"
#include "daemon/trainer/session.h"

#define LEAT_LOOK_NS UINT64_C(1000000000) /* between two */

struct leat_daemon;

struct leat_look {
    uint64_t at_ns;
    /* of the stream */
    uint64_t n_batches, n_rows, n_records, no_slot_ns, short_ns;
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS];
    size_t n_stages;
    uint64_t busy_ns[LEAT_STREAM_MAX_STAGES];
    /* of all */
    uint64_t all_busy_ns, all_cpu_ns; /* of the jobs of all streams */
    uint64_t loop_cpu_ns, process_cpu_ns, trainer_cpu_ns, trainer_delay_ns, machine_cpu_ns;
};

/* A ring; `at` is where the next one goes. */
struct leat_looks {
    size_t at, n;
    struct leat_look of[LEAT_LOOKS_MAX];
};

/* Its first run begins: what was before is forgotten. */
void leat_looks_begin(struct leat_daemon *daemon, struct leat_daemon_stream *stream);
/* Often: takes those that are due, of streams that are being run. */
void leat_looks_tick(struct leat_daemon *daemon, uint64_t now_ns);

#define LEAT_LOOK_TRAINERS_MAX 128

/* What happened, and the room for what that points to. */
struct leat_looks_facts {
    char host[65];
    struct leat_verdict_stage stages[LEAT_STREAM_MAX_STAGES]; /* with the stream's names */
    struct leat_verdict_trainer trainers[LEAT_LOOK_TRAINERS_MAX];
    struct leat_verdict_facts facts;
};

/* What happened in about the last so many nanoseconds, or since its run began; is_fresh: up to now,
 * else up to the latest look, which costs less. False: nothing was looked at yet,
 * or not lately. */
bool leat_looks_facts(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                      uint64_t interval_ns, bool is_fresh, struct leat_looks_facts *ret_facts);

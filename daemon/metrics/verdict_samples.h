/* verdict_samples.h: samples of the counters of a stream, of the daemon and of the machine. A
 * verdict is made from the difference of two.
 *
 * Each stream that is being run keeps one a second, of the last half minute. Owner: loop.
 */
#pragma once

#include "daemon/metrics/verdict.h"
#include "daemon/stream/stream.h"
#include "daemon/trainer/session.h"

#define LEAT_VERDICT_SAMPLE_NS UINT64_C(1000000000) /* a sample is taken so often */

struct leat_sessions;

struct leat_verdict_sample {
    uint64_t at_ns;
    /* of the stream */
    struct leat_stream_figures figures;
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS];
    size_t n_stages;
    uint64_t busy_ns[LEAT_STREAM_MAX_STAGES];
    /* of all */
    uint64_t all_busy_ns, all_cpu_ns; /* of the jobs of all streams */
    uint64_t loop_cpu_ns, process_cpu_ns, trainer_cpu_ns, trainer_delay_ns, machine_cpu_ns;
};

/* A ring; the next sample goes to `at`. */
struct leat_verdict_samples {
    size_t at, n;
    struct leat_verdict_sample of[LEAT_VERDICT_SAMPLES_MAX];
};

/* The first run of a stream begins: drops earlier samples, and takes one. */
void leat_verdict_samples_begin(struct leat_sessions *sessions, struct leat_daemon_stream *stream);
/* Takes the samples that are due, of streams that are being run. Called often. */
void leat_verdict_samples_tick(struct leat_sessions *sessions, uint64_t now_ns);

#define LEAT_VERDICT_TRAINERS_MAX 128

/* The facts of an interval, and the memory that they point to. */
struct leat_verdict_interval {
    char host[65];
    struct leat_verdict_stage stages[LEAT_STREAM_MAX_STAGES]; /* with the stream's names */
    struct leat_verdict_trainer trainers[LEAT_VERDICT_TRAINERS_MAX];
    struct leat_verdict_facts facts;
};

/* Fills the facts of about the last `interval_ns`, or of the time since the first run began. With
 * is_fresh they reach up to now, else up to the latest sample, which costs less. False: there is no
 * sample, or no recent one. */
bool leat_verdict_samples_facts(const struct leat_sessions *sessions,
                                const struct leat_daemon_stream *stream, uint64_t interval_ns,
                                bool is_fresh, struct leat_verdict_interval *ret_facts);

#include "daemon/metrics/verdict_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/metrics/counts.h"
#include "daemon/stream/feed.h"
#include "daemon/system/machine.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

#define SESSIONS_MAX 256 /* trainers whose processor time is read */
#define DELAYS_MAX   16  /* trainers whose wait for a processor is read */

/* A sum falls when a session, or a trainer's own stream, that was a part of it has gone. */
static uint64_t minus(uint64_t now, uint64_t before) {
    return now > before ? now - before : 0;
}

/* ---- one sample ---- */

static void add_run(struct leat_verdict_sample *sample, const struct leat_run *run) {
    struct leat_run_stats stats;

    leat_run_get_stats(run, &stats);
    leat_job_stats_add(sample->jobs, stats.jobs);
    for (size_t i = 0; i < stats.n_stages && i < LEAT_STREAM_MAX_STAGES; i++)
        sample->busy_ns[i] += stats.stages[i].figures.busy_ns;
    if (stats.n_stages > sample->n_stages)
        sample->n_stages =
            stats.n_stages < LEAT_STREAM_MAX_STAGES ? stats.n_stages : LEAT_STREAM_MAX_STAGES;
}

static void sample_stream(const struct leat_sessions *sessions,
                          const struct leat_daemon_stream *stream,
                          struct leat_verdict_sample *sample) {
    const struct leat_stream_totals *totals = &stream->totals;
    struct leat_stream_counts counts;

    leat_stream_read_counts(sessions, stream, &counts);
    sample->figures = counts.figures;
    leat_job_stats_add(sample->jobs, totals->jobs);
    sample->n_stages = totals->stages ? totals->n_stages : 0;
    for (size_t i = 0; i < sample->n_stages; i++)
        sample->busy_ns[i] = totals->stages[i].figures.busy_ns;
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next)
        if (feed->stream == stream && feed->run) {
            add_run(sample, feed->run);
            leat_feed_add_running(feed, sample->at_ns, sample->jobs);
        }
}

static uint64_t so_far(uint64_t sum_ns, uint64_t start_ns, uint64_t now_ns) {
    return sum_ns + (start_ns ? minus(now_ns, start_ns) : 0);
}

static struct leat_session_sample sample_session(const struct leat_session *session,
                                                 uint64_t now_ns) {
    return (struct leat_session_sample){
        .at_ns = now_ns,
        .n_batches = session->n_batches,
        .wait_ns = so_far(session->wait_ns, session->wait_start_ns, now_ns),
        .idle_ns = so_far(session->idle_ns, session->idle_start_ns, now_ns),
        .hold_ns = so_far(session->hold_ns, session->hold_start_ns, now_ns),
    };
}

static void add_all_jobs(struct leat_verdict_sample *sample,
                         const struct leat_run_job_stats *jobs) {
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++) {
        sample->all_busy_ns += jobs[i].busy_ns;
        sample->all_cpu_ns += jobs[i].cpu_ns;
    }
}

/* The processor time of any process; 0 if it has ended. */
static uint64_t cpu_of(pid_t pid) {
    clockid_t clock;

    return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? leat_clock_ns(clock) : 0;
}

static bool is_first_of_process(const struct leat_session *first,
                                const struct leat_session *session) {
    while (first != session && first->peer.pid != session->peer.pid)
        first = first->next;
    return first == session;
}

static void sample_trainers(const struct leat_sessions *sessions,
                            struct leat_verdict_sample *sample) {
    size_t n = 0;

    for (const struct leat_session *session = sessions->first; session && n < SESSIONS_MAX;
         session = session->next, n++) {
        if (!is_first_of_process(sessions->first, session))
            continue;
        sample->trainer_cpu_ns += cpu_of(session->peer.pid);
        if (n < DELAYS_MAX)
            sample->trainer_delay_ns += leat_process_delay_ns(session->peer.pid);
    }
}

static void sample_all(const struct leat_sessions *sessions, struct leat_verdict_sample *sample) {
    struct leat_run_stats stats;

    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next)
        add_all_jobs(sample, stream->totals.jobs);
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next) {
        if (!feed->run)
            continue;
        leat_run_get_stats(feed->run, &stats);
        leat_feed_add_running(feed, sample->at_ns, stats.jobs);
        add_all_jobs(sample, stats.jobs);
    }
    sample->loop_cpu_ns = leat_thread_ns();
    sample->process_cpu_ns = leat_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sample_trainers(sessions, sample);
    sample->machine_cpu_ns = leat_machine_busy_ns();
}

/* ---- many ---- */

static const struct leat_verdict_sample *sample_back(const struct leat_verdict_samples *samples,
                                                     size_t n_back) {
    return &samples->of[(samples->at + LEAT_VERDICT_SAMPLES_MAX - 1 - n_back) %
                        LEAT_VERDICT_SAMPLES_MAX];
}

/* all: a sample of this moment without the stream's part; NULL: it is taken here. */
static void take(struct leat_sessions *sessions, struct leat_daemon_stream *stream, uint64_t now_ns,
                 const struct leat_verdict_sample *all) {
    struct leat_verdict_samples *samples = stream->samples;
    struct leat_verdict_sample *sample = &samples->of[samples->at];

    if (all)
        *sample = *all;
    else
        *sample = (struct leat_verdict_sample){.at_ns = now_ns};
    if (!all)
        sample_all(sessions, sample);
    sample_stream(sessions, stream, sample);
    for (struct leat_session *session = sessions->first; session; session = session->next)
        if (session->stream == stream)
            session->samples[samples->at] = sample_session(session, sample->at_ns);
    samples->at = (samples->at + 1) % LEAT_VERDICT_SAMPLES_MAX;
    samples->n += samples->n < LEAT_VERDICT_SAMPLES_MAX;
}

static bool is_run(const struct leat_sessions *sessions, const struct leat_daemon_stream *stream) {
    const struct leat_feed *feed = sessions->feeds->first;

    while (feed && feed->stream != stream)
        feed = feed->next;
    return feed != NULL;
}

void leat_verdict_samples_begin(struct leat_sessions *sessions, struct leat_daemon_stream *stream) {
    if (is_run(sessions, stream))
        return;
    if (!stream->samples)
        stream->samples = calloc(1, sizeof(*stream->samples));
    if (!stream->samples)
        return; /* the next one tries again */
    stream->samples->n = 0;
    take(sessions, stream, leat_now_ns(), NULL);
}

void leat_verdict_samples_tick(struct leat_sessions *sessions, uint64_t now_ns) {
    struct leat_verdict_sample all = {.at_ns = 0};

    for (struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next) {
        const struct leat_verdict_samples *samples = stream->samples;

        if (!samples || samples->n == 0 ||
            now_ns - sample_back(samples, 0)->at_ns < LEAT_VERDICT_SAMPLE_NS / 10 * 9 ||
            !is_run(sessions, stream))
            continue;
        if (all.at_ns == 0) {
            all.at_ns = now_ns;
            sample_all(sessions, &all);
        }
        take(sessions, stream, now_ns, &all);
    }
}

/* ---- the difference of two ---- */

static void subtract_jobs(const struct leat_verdict_sample *from,
                          const struct leat_verdict_sample *to,
                          struct leat_run_job_stats *ret_jobs) {
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        ret_jobs[i] = (struct leat_run_job_stats){
            .n_jobs = minus(to->jobs[i].n_jobs, from->jobs[i].n_jobs),
            .busy_ns = minus(to->jobs[i].busy_ns, from->jobs[i].busy_ns),
            .cpu_ns = minus(to->jobs[i].cpu_ns, from->jobs[i].cpu_ns),
            .delay_ns = minus(to->jobs[i].delay_ns, from->jobs[i].delay_ns),
            .queue_ns = minus(to->jobs[i].queue_ns, from->jobs[i].queue_ns),
        };
}

static void subtract(const struct leat_verdict_sample *from, const struct leat_verdict_sample *to,
                     struct leat_verdict_facts *facts) {
    facts->wall_ns = minus(to->at_ns, from->at_ns);
    facts->n_batches = minus(to->figures.n_batches, from->figures.n_batches);
    facts->n_rows = minus(to->figures.n_rows, from->figures.n_rows);
    facts->n_records = minus(to->figures.n_source_records, from->figures.n_source_records);
    facts->no_slot_ns = minus(to->figures.no_slot_ns, from->figures.no_slot_ns);
    facts->short_ns = minus(to->figures.short_ns, from->figures.short_ns);
    subtract_jobs(from, to, facts->jobs);
    facts->other_busy_ns = minus(to->all_busy_ns, from->all_busy_ns);
    facts->other_cpu_ns = minus(to->all_cpu_ns, from->all_cpu_ns);
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++) {
        facts->other_busy_ns = minus(facts->other_busy_ns, facts->jobs[i].busy_ns);
        facts->other_cpu_ns = minus(facts->other_cpu_ns, facts->jobs[i].cpu_ns);
    }
    facts->loop_cpu_ns = minus(to->loop_cpu_ns, from->loop_cpu_ns);
    facts->process_cpu_ns = minus(to->process_cpu_ns, from->process_cpu_ns);
    facts->trainer_cpu_ns = minus(to->trainer_cpu_ns, from->trainer_cpu_ns);
    facts->trainer_delay_ns = minus(to->trainer_delay_ns, from->trainer_delay_ns);
    facts->machine_cpu_ns =
        from->machine_cpu_ns == LEAT_MACHINE_UNKNOWN || to->machine_cpu_ns == LEAT_MACHINE_UNKNOWN
            ? LEAT_VERDICT_UNKNOWN
            : minus(to->machine_cpu_ns, from->machine_cpu_ns);
}

static void name_stages(const struct leat_sessions *sessions,
                        const struct leat_daemon_stream *stream,
                        struct leat_verdict_stage *stages) {
    struct leat_run_stats stats;

    for (size_t i = 0; stream->totals.stages && i < stream->totals.n_stages; i++) {
        stages[i].name = stream->totals.stages[i].name;
        stages[i].role = stream->totals.stages[i].role;
    }
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next) {
        if (feed->stream != stream || !feed->run)
            continue;
        leat_run_get_stats(feed->run, &stats);
        for (size_t i = 0; i < stats.n_stages && i < LEAT_STREAM_MAX_STAGES; i++) {
            stages[i].name = stats.stages[i].name;
            stages[i].role = stats.stages[i].role;
        }
    }
}

static const char *program_of(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i]->ops->workspace_idle)
            return plan->map[i]->ops->name;
    return NULL;
}

/* True if the trainer was served for a noticeable part of the interval. */
static bool is_there(const struct leat_session *session, uint64_t wall_ns, uint64_t now_ns) {
    return leat_session_is_serving(session) && session->serve_ns && !session->is_finished &&
           session->consumer.reader.run && minus(now_ns, session->serve_ns) > wall_ns / 10;
}

/* The last part of a control group's path, which is the name of the unit. */
static const char *last_part(const char *unit) {
    const char *slash = unit ? strrchr(unit, '/') : NULL;

    return slash ? slash + 1 : unit ? unit : "";
}

static void fill_trainer(const struct leat_session *session, const struct leat_session_sample *from,
                         const struct leat_session_sample *to,
                         struct leat_verdict_trainer *ret_trainer) {
    *ret_trainer = (struct leat_verdict_trainer){
        .session = session->id,
        .rank = session->rank,
        .world_size = session->world_size,
        .pid = (uint32_t)session->peer.pid,
        .present_ns = minus(to->at_ns, from->at_ns),
        .n_batches = minus(to->n_batches, from->n_batches),
        .wait_ns = minus(to->wait_ns, from->wait_ns),
        .idle_ns = minus(to->idle_ns, from->idle_ns),
        .hold_ns = minus(to->hold_ns, from->hold_ns),
    };
    (void)snprintf(ret_trainer->client, sizeof(ret_trainer->client), "%s", session->client_name);
    (void)snprintf(ret_trainer->unit, sizeof(ret_trainer->unit), "%s", last_part(session->unit));
}

/* from, to: samples of the ring; to NULL: now. */
static void find_trainers(const struct leat_sessions *sessions,
                          const struct leat_daemon_stream *stream,
                          const struct leat_verdict_sample *from,
                          const struct leat_verdict_sample *to, uint64_t now_ns,
                          struct leat_verdict_interval *facts) {
    const struct leat_verdict_samples *samples = stream->samples;

    for (const struct leat_session *session = sessions->first; session; session = session->next) {
        struct leat_session_sample begin = session->samples[from - samples->of];
        struct leat_session_sample end =
            to ? session->samples[to - samples->of] : sample_session(session, now_ns);

        if (session->stream != stream || end.at_ns != now_ns ||
            !is_there(session, facts->facts.wall_ns, now_ns))
            continue;
        facts->facts.n_sessions++;
        if (begin.at_ns != from->at_ns || begin.at_ns < session->serve_ns)
            begin = (struct leat_session_sample){.at_ns = session->serve_ns};
        if (facts->facts.n_trainers < LEAT_VERDICT_TRAINERS_MAX)
            fill_trainer(session, &begin, &end, &facts->trainers[facts->facts.n_trainers++]);
    }
}

static void describe_now(const struct leat_sessions *sessions,
                         const struct leat_daemon_stream *stream,
                         struct leat_verdict_facts *facts) {
    struct leat_knobs knobs;

    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next) {
        if (feed->stream != stream || !feed->run)
            continue;
        leat_run_get_knobs(feed->run, &knobs);
        facts->n_blocks += knobs.of[LEAT_KNOB_JOBS];
        facts->n_slots += feed->ring ? feed->ring->n_slots : 0;
        facts->has_cache = feed->plan->cache_path != NULL;
        facts->may_cache =
            !feed->plan->is_one_pass && !feed->plan->mixing && !leat_plan_find_varying(feed->plan);
        facts->comes_once = feed->plan->is_one_pass;
        facts->program = program_of(feed->plan);
        facts->n_runs++;
    }
    facts->n_cpus = leat_machine_n_cpus();
    facts->n_workers = sessions->env->n_workers;
    facts->n_threads = leat_scheduler_n_threads(sessions->env->n_workers) - 1;
    facts->n_more_threads = leat_scheduler_n_threads(sessions->env->n_workers + 1) - 1;
}

static const struct leat_verdict_sample *sample_from(const struct leat_verdict_samples *samples,
                                                     uint64_t now_ns, uint64_t interval_ns) {
    size_t n_back = 0;

    while (n_back + 1 < samples->n && now_ns - sample_back(samples, n_back)->at_ns < interval_ns)
        n_back++;
    return sample_back(samples, n_back);
}

bool leat_verdict_samples_facts(const struct leat_sessions *sessions,
                                const struct leat_daemon_stream *stream, uint64_t interval_ns,
                                bool is_fresh, struct leat_verdict_interval *ret_facts) {
    const struct leat_verdict_samples *samples = stream->samples;
    struct leat_verdict_sample now = {.at_ns = leat_now_ns()};
    struct leat_verdict_facts *facts = &ret_facts->facts;
    const struct leat_verdict_sample *from;

    ret_facts->host[sizeof(ret_facts->host) - 1] = '\0';
    *facts =
        (struct leat_verdict_facts){.stages = ret_facts->stages, .trainers = ret_facts->trainers};
    if (!samples || samples->n == 0 ||
        (!is_fresh &&
         minus(now.at_ns, sample_back(samples, 0)->at_ns) > 3 * LEAT_VERDICT_SAMPLE_NS))
        return false;
    if (is_fresh) {
        sample_all(sessions, &now);
        sample_stream(sessions, stream, &now);
    } else {
        now = *sample_back(samples, 0);
    }
    from = sample_from(samples, now.at_ns, interval_ns);
    subtract(from, &now, facts);
    memset(ret_facts->stages, 0, now.n_stages * sizeof(*ret_facts->stages));
    facts->n_stages = now.n_stages;
    name_stages(sessions, stream, ret_facts->stages);
    for (size_t i = 0; i < now.n_stages; i++)
        ret_facts->stages[i].busy_ns =
            minus(now.busy_ns[i], i < from->n_stages ? from->busy_ns[i] : 0);
    describe_now(sessions, stream, facts);
    if (gethostname(ret_facts->host, sizeof(ret_facts->host) - 1) == 0)
        facts->host = ret_facts->host;
    find_trainers(sessions, stream, from, is_fresh ? NULL : sample_back(samples, 0), now.at_ns,
                  ret_facts);
    return true;
}

/* look.c: see look.h. */
#include "daemon/metrics/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/core/daemon.h"
#include "daemon/stream/feed.h"
#include "daemon/system/machine.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"

#define SESSIONS_MAX 256 /* whose processor time is asked for, */
#define DELAYS_MAX   16  /* and what they waited for it */

/* Counters of what has gone since (a session, a stream of a trainer's own) may be less. */
static uint64_t minus(uint64_t now, uint64_t before) {
    return now > before ? now - before : 0;
}

/* ---- one look ---- */

static void add_jobs(struct leat_look *look, const struct leat_run_job_stats *jobs) {
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++) {
        look->jobs[i].n_jobs += jobs[i].n_jobs;
        look->jobs[i].busy_ns += jobs[i].busy_ns;
        look->jobs[i].cpu_ns += jobs[i].cpu_ns;
        look->jobs[i].delay_ns += jobs[i].delay_ns;
        look->jobs[i].queue_ns += jobs[i].queue_ns;
    }
}

static void add_run(struct leat_look *look, const struct leat_run *run) {
    struct leat_run_stats stats;

    leat_run_get_stats(run, &stats);
    look->n_batches += stats.n_batches;
    look->n_rows += stats.n_rows;
    look->n_records += stats.n_source_records;
    look->no_slot_ns += stats.no_slot_ns;
    look->short_ns += stats.short_ns;
    add_jobs(look, stats.jobs);
    for (size_t i = 0; i < stats.n_stages && i < LEAT_STREAM_MAX_STAGES; i++)
        look->busy_ns[i] += stats.stages[i].busy_ns;
    if (stats.n_stages > look->n_stages)
        look->n_stages =
            stats.n_stages < LEAT_STREAM_MAX_STAGES ? stats.n_stages : LEAT_STREAM_MAX_STAGES;
}

static void look_at_stream(const struct leat_daemon *daemon,
                           const struct leat_daemon_stream *stream, struct leat_look *look) {
    const struct leat_stream_totals *totals = &stream->totals;

    look->n_batches = totals->n_batches;
    look->n_rows = totals->n_rows;
    look->n_records = totals->n_source_records;
    look->no_slot_ns = totals->no_slot_ns;
    look->short_ns = totals->short_ns;
    add_jobs(look, totals->jobs);
    look->n_stages = totals->stages ? totals->n_stages : 0;
    for (size_t i = 0; i < look->n_stages; i++)
        look->busy_ns[i] = totals->stages[i].busy_ns;
    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        if (feed->stream == stream && feed->run) {
            add_run(look, feed->run);
            leat_feed_add_running(feed, look->at_ns, look->jobs);
        }
}

static uint64_t so_far(uint64_t sum_ns, uint64_t start_ns, uint64_t now_ns) {
    return sum_ns + (start_ns ? minus(now_ns, start_ns) : 0);
}

static struct leat_session_look look_at_session(const struct leat_session *session,
                                                uint64_t now_ns) {
    return (struct leat_session_look){
        .at_ns = now_ns,
        .n_batches = session->n_batches,
        .wait_ns = so_far(session->wait_ns, session->wait_start_ns, now_ns),
        .idle_ns = so_far(session->idle_ns, session->idle_start_ns, now_ns),
        .hold_ns = so_far(session->hold_ns, session->hold_start_ns, now_ns),
    };
}

static void add_all_jobs(struct leat_look *look, const struct leat_run_job_stats *jobs) {
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++) {
        look->all_busy_ns += jobs[i].busy_ns;
        look->all_cpu_ns += jobs[i].cpu_ns;
    }
}

/* Of any process, whoever's it is: 0 if it is not there any more. */
static uint64_t cpu_of(pid_t pid) {
    struct timespec time;
    clockid_t clock;

    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0)
        return 0;
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static bool is_first_of_process(const struct leat_session *first,
                                const struct leat_session *session) {
    while (first != session && first->peer.pid != session->peer.pid)
        first = first->next;
    return first == session;
}

static void look_at_trainers(const struct leat_daemon *daemon, struct leat_look *look) {
    size_t n = 0;

    for (const struct leat_session *session = daemon->sessions; session && n < SESSIONS_MAX;
         session = session->next, n++) {
        if (!is_first_of_process(daemon->sessions, session))
            continue;
        look->trainer_cpu_ns += cpu_of(session->peer.pid);
        if (n < DELAYS_MAX)
            look->trainer_delay_ns += leat_process_delay_ns(session->peer.pid);
    }
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;

    if (clock_gettime(clock, &time) < 0)
        return 0;
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void look_at_all(const struct leat_daemon *daemon, struct leat_look *look) {
    struct leat_run_stats stats;

    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next)
        add_all_jobs(look, stream->totals.jobs);
    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next) {
        if (!feed->run)
            continue;
        leat_run_get_stats(feed->run, &stats);
        leat_feed_add_running(feed, look->at_ns, stats.jobs);
        add_all_jobs(look, stats.jobs);
    }
    look->loop_cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
    look->process_cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    look_at_trainers(daemon, look);
    look->machine_cpu_ns = leat_machine_busy_ns();
}

/* ---- many ---- */

static const struct leat_look *look_back(const struct leat_looks *looks, size_t n_back) {
    return &looks->of[(looks->at + LEAT_LOOKS_MAX - 1 - n_back) % LEAT_LOOKS_MAX];
}

/* `all`: what it says of all was looked up just now; NULL: it is to be. */
static void take(struct leat_daemon *daemon, struct leat_daemon_stream *stream, uint64_t now_ns,
                 const struct leat_look *all) {
    struct leat_looks *looks = stream->looks;
    struct leat_look *look = &looks->of[looks->at];

    if (all)
        *look = *all;
    else
        *look = (struct leat_look){.at_ns = now_ns};
    if (!all)
        look_at_all(daemon, look);
    look_at_stream(daemon, stream, look);
    for (struct leat_session *session = daemon->sessions; session; session = session->next)
        if (session->stream == stream)
            session->looks[looks->at] = look_at_session(session, look->at_ns);
    looks->at = (looks->at + 1) % LEAT_LOOKS_MAX;
    looks->n += looks->n < LEAT_LOOKS_MAX;
}

static bool is_run(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream) {
    const struct leat_feed *feed = daemon->feeds;

    while (feed && feed->stream != stream)
        feed = feed->next;
    return feed != NULL;
}

void leat_looks_begin(struct leat_daemon *daemon, struct leat_daemon_stream *stream) {
    if (is_run(daemon, stream))
        return;
    if (!stream->looks)
        stream->looks = calloc(1, sizeof(*stream->looks));
    if (!stream->looks)
        return; /* the next one tries again */
    stream->looks->n = 0;
    take(daemon, stream, leat_daemon_now_ns(), NULL);
}

void leat_looks_tick(struct leat_daemon *daemon, uint64_t now_ns) {
    struct leat_look all = {.at_ns = 0};

    for (struct leat_daemon_stream *stream = daemon->streams.first; stream; stream = stream->next) {
        const struct leat_looks *looks = stream->looks;

        if (!looks || looks->n == 0 ||
            now_ns - look_back(looks, 0)->at_ns < LEAT_LOOK_NS / 10 * 9 || !is_run(daemon, stream))
            continue;
        if (all.at_ns == 0) {
            all.at_ns = now_ns;
            look_at_all(daemon, &all);
        }
        take(daemon, stream, now_ns, &all);
    }
}

/* ---- what lies between two ---- */

static void subtract_jobs(const struct leat_look *from, const struct leat_look *to,
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

static void subtract(const struct leat_look *from, const struct leat_look *to,
                     struct leat_verdict_facts *facts) {
    facts->wall_ns = minus(to->at_ns, from->at_ns);
    facts->n_batches = minus(to->n_batches, from->n_batches);
    facts->n_rows = minus(to->n_rows, from->n_rows);
    facts->n_records = minus(to->n_records, from->n_records);
    facts->no_slot_ns = minus(to->no_slot_ns, from->no_slot_ns);
    facts->short_ns = minus(to->short_ns, from->short_ns);
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

static void name_stages(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                        struct leat_verdict_stage *stages) {
    struct leat_run_stats stats;

    for (size_t i = 0; stream->totals.stages && i < stream->totals.n_stages; i++) {
        stages[i].name = stream->totals.stages[i].name;
        stages[i].role = stream->totals.stages[i].role;
    }
    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next) {
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
        if (plan->map[i]->ops->workspace_rest)
            return plan->map[i]->ops->name;
    return NULL;
}

/* A trainer that came a moment ago has no part of the interval yet. */
static bool is_there(const struct leat_session *session, uint64_t wall_ns, uint64_t now_ns) {
    return leat_session_is_serving(session) && session->serve_ns && !session->is_finished &&
           session->hub.run && minus(now_ns, session->serve_ns) > wall_ns / 10;
}

/* Of a control group the last part is what people know. */
static const char *last_part(const char *unit) {
    const char *slash = unit ? strrchr(unit, '/') : NULL;

    return slash ? slash + 1 : unit ? unit : "";
}

static void fill_trainer(const struct leat_session *session, const struct leat_session_look *from,
                         const struct leat_session_look *to,
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

/* `from` and `to` (NULL: now): looks in the ring. */
static void find_trainers(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                          const struct leat_look *from, const struct leat_look *to, uint64_t now_ns,
                          struct leat_looks_facts *facts) {
    const struct leat_looks *looks = stream->looks;

    for (const struct leat_session *session = daemon->sessions; session; session = session->next) {
        struct leat_session_look begin = session->looks[from - looks->of];
        struct leat_session_look end =
            to ? session->looks[to - looks->of] : look_at_session(session, now_ns);

        if (session->stream != stream || end.at_ns != now_ns ||
            !is_there(session, facts->facts.wall_ns, now_ns))
            continue;
        facts->facts.n_sessions++;
        if (begin.at_ns != from->at_ns || begin.at_ns < session->serve_ns)
            begin = (struct leat_session_look){.at_ns = session->serve_ns};
        if (facts->facts.n_trainers < LEAT_LOOK_TRAINERS_MAX)
            fill_trainer(session, &begin, &end, &facts->trainers[facts->facts.n_trainers++]);
    }
}

static void describe_now(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                         struct leat_verdict_facts *facts) {
    struct leat_knobs knobs;

    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next) {
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
    facts->n_workers = daemon->n_workers;
    facts->n_threads = leat_scheduler_n_threads(daemon->n_workers) - 1;
    facts->n_more_threads = leat_scheduler_n_threads(daemon->n_workers + 1) - 1;
}

static const struct leat_look *look_from(const struct leat_looks *looks, uint64_t now_ns,
                                         uint64_t interval_ns) {
    size_t n_back = 0;

    while (n_back + 1 < looks->n && now_ns - look_back(looks, n_back)->at_ns < interval_ns)
        n_back++;
    return look_back(looks, n_back);
}

bool leat_looks_facts(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                      uint64_t interval_ns, bool is_fresh, struct leat_looks_facts *ret_facts) {
    const struct leat_looks *looks = stream->looks;
    struct leat_look now = {.at_ns = leat_daemon_now_ns()};
    struct leat_verdict_facts *facts = &ret_facts->facts;
    const struct leat_look *from;

    ret_facts->host[sizeof(ret_facts->host) - 1] = '\0';
    *facts =
        (struct leat_verdict_facts){.stages = ret_facts->stages, .trainers = ret_facts->trainers};
    if (!looks || looks->n == 0 ||
        (!is_fresh && minus(now.at_ns, look_back(looks, 0)->at_ns) > 3 * LEAT_LOOK_NS))
        return false;
    if (is_fresh) {
        look_at_all(daemon, &now);
        look_at_stream(daemon, stream, &now);
    } else {
        now = *look_back(looks, 0);
    }
    from = look_from(looks, now.at_ns, interval_ns);
    subtract(from, &now, facts);
    memset(ret_facts->stages, 0, now.n_stages * sizeof(*ret_facts->stages));
    facts->n_stages = now.n_stages;
    name_stages(daemon, stream, ret_facts->stages);
    for (size_t i = 0; i < now.n_stages; i++)
        ret_facts->stages[i].busy_ns =
            minus(now.busy_ns[i], i < from->n_stages ? from->busy_ns[i] : 0);
    describe_now(daemon, stream, facts);
    if (gethostname(ret_facts->host, sizeof(ret_facts->host) - 1) == 0)
        facts->host = ret_facts->host;
    find_trainers(daemon, stream, from, is_fresh ? NULL : look_back(looks, 0), now.at_ns,
                  ret_facts);
    return true;
}

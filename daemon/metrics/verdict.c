/* verdict.c: see verdict.h. Arithmetic only. */
#include "daemon/metrics/verdict.h"

#include <math.h>
#include <string.h>

#define BUSY      0.85 /* a resource that is busy for this part of its time is at its limit */
#define FULL      0.95 /* of the processors' time */
#define MOST      LEAT_BOUND_MOST
#define SHARED    0.3 /* of what there is: others have enough of it to be told */
#define N_BATCHES 8   /* fewer have no rate */

/* A thread that sleeps before each batch takes longer for it. These parts of that time go if there
 * is always another batch. Measured with pipelines of tests/bench/why_bench.py on two machines. */
#define COLD_LOOP    0.55 /* besides the order of rows */
#define COLD_TRAINER 0.3  /* of its processor time */
#define COLD_COLLATE 0.5  /* of its processor time */
#define WAKE_S       30e-6

/* The part of the processors' time that is of use if there are more threads than processors. */
#define CROWDED 0.8

static const char *const bound_names[LEAT_N_BOUNDS] = {
    [LEAT_BOUND_IDLE] = "idle",
    [LEAT_BOUND_TRAINER] = "trainer",
    [LEAT_BOUND_STAGE] = "stage",
    [LEAT_BOUND_DISK] = "disk",
    [LEAT_BOUND_MEMORY] = "memory",
    [LEAT_BOUND_WORKERS] = "workers",
    [LEAT_BOUND_BLOCKS] = "blocks",
    [LEAT_BOUND_ORDER] = "order",
    [LEAT_BOUND_OTHER_USERS] = "other_users",
};

const char *leat_bound_name(enum leat_bound bound) {
    return bound_names[bound];
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static double within(double value) {
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

/* ---- what the counters say of each resource ---- */

/* The jobs' time, without the time in which other threads had their processor. */
static double work_s(const struct leat_run_job_stats *jobs) {
    return (double)(jobs->busy_ns -
                    (jobs->delay_ns < jobs->busy_ns ? jobs->delay_ns : jobs->busy_ns)) /
           1e9;
}

static double blocked_s(const struct leat_run_job_stats *jobs) {
    double s = work_s(jobs) - (double)jobs->cpu_ns / 1e9;

    return s > 0 ? s : 0;
}

/* The work that only the mapping threads do. */
static double long_s(const struct leat_verdict_facts *facts) {
    return work_s(&facts->jobs[LEAT_JOB_MAP]) + work_s(&facts->jobs[LEAT_JOB_DECODE]) +
           work_s(&facts->jobs[LEAT_JOB_CACHE]) + work_s(&facts->jobs[LEAT_JOB_IDLE]);
}

static double all_s(const struct leat_verdict_facts *facts) {
    double s = 0;

    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        s += work_s(&facts->jobs[i]);
    return s;
}

static double jobs_cpu_s(const struct leat_verdict_facts *facts) {
    double s = 0;

    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        s += (double)facts->jobs[i].cpu_ns / 1e9;
    return s;
}

/* Processor time that neither this daemon nor its trainers use. */
static double foreign_cpu_s(const struct leat_verdict_facts *facts) {
    double own = (double)facts->process_cpu_ns + (double)facts->trainer_cpu_ns;
    double foreign =
        facts->machine_cpu_ns == LEAT_VERDICT_UNKNOWN ? 0 : (double)facts->machine_cpu_ns - own;

    return (foreign > 0 ? foreign : 0) / 1e9;
}

static double wall_s(const struct leat_verdict_facts *facts) {
    return (double)facts->wall_ns / 1e9;
}

/* The threads that other streams leave to this one. They take at most their own part. */
static double threads_left(const struct leat_verdict_facts *facts, double n_threads) {
    double own = long_s(facts), others = (double)facts->other_busy_ns / 1e9;

    return fmax(n_threads - others / wall_s(facts), n_threads * ratio(own, own + others));
}

static double order_s(const struct leat_verdict_facts *facts) {
    uint64_t ns = 0;

    for (size_t i = 0; i < facts->n_stages; i++)
        if (facts->stages[i].role == LEAT_ROLE_ORDER)
            ns += facts->stages[i].busy_ns;
    return (double)ns / 1e9;
}

/* A job holds the slots of all its batches while it runs; then two threads wake for them. */
static double slots_s(const struct leat_verdict_facts *facts) {
    const struct leat_run_job_stats *jobs = &facts->jobs[LEAT_JOB_COLLATE];

    return (ratio(work_s(jobs), (double)jobs->n_jobs) + 2 * WAKE_S) * (double)facts->n_batches;
}

double leat_verdict_waited(const struct leat_verdict_trainer *trainer) {
    return within(ratio((double)trainer->wait_ns, (double)trainer->present_ns));
}

double leat_verdict_held(const struct leat_verdict_trainer *trainer) {
    return within(ratio((double)trainer->hold_ns, (double)trainer->present_ns));
}

/* The time in which trainers were busy, as far as it is known: one that waits may still work on the
 * batches that it holds. Trainers of one run go at the pace of the slowest. Trainers of several
 * runs go at their own paces, and are weighted by their batches. */
static double busy_trainers(const struct leat_verdict_facts *facts, bool is_most) {
    double slowest = 0, sum = 0, n_batches = 0;

    for (size_t i = 0; i < facts->n_trainers; i++) {
        const struct leat_verdict_trainer *trainer = &facts->trainers[i];
        uint64_t wait_ns = is_most ? trainer->idle_ns : trainer->wait_ns;
        double busy = within(1 - ratio((double)wait_ns, (double)trainer->present_ns));

        slowest = fmax(slowest, busy);
        sum += busy * (double)trainer->n_batches;
        n_batches += (double)trainer->n_batches;
    }
    return facts->n_runs > 1 && n_batches > 0 ? sum / n_batches : slowest;
}

static void make_load(const struct leat_verdict_facts *facts, struct leat_load *ret_load) {
    double wall = wall_s(facts), others_cpu = (double)facts->other_cpu_ns / 1e9;
    double cpus = facts->n_cpus - (foreign_cpu_s(facts) + others_cpu) / wall;
    double own_cpu =
        ((double)facts->process_cpu_ns + (double)facts->trainer_cpu_ns) / 1e9 - others_cpu;

    *ret_load = (struct leat_load){
        .of = {
            [LEAT_RESOURCE_TRAINER] = {busy_trainers(facts, false), 1},
            [LEAT_RESOURCE_WORKERS] = {long_s(facts) / wall, threads_left(facts, facts->n_threads)},
            [LEAT_RESOURCE_THREADS] = {all_s(facts) / wall,
                                       threads_left(facts, facts->n_threads + 1.0)},
            [LEAT_RESOURCE_BLOCKS] = {work_s(&facts->jobs[LEAT_JOB_MAP]) / wall,
                                      (double)facts->n_blocks},
            [LEAT_RESOURCE_SCAN] = {work_s(&facts->jobs[LEAT_JOB_SCAN]) / wall, 1},
            [LEAT_RESOURCE_LOOP] = {(double)facts->loop_cpu_ns / 1e9 / wall, 1},
            [LEAT_RESOURCE_CPUS] = {own_cpu / wall, fmax(cpus, 0.5)},
            [LEAT_RESOURCE_SLOTS] = {slots_s(facts) / wall, (double)facts->n_slots},
        }};
}

static void make_loads(const struct leat_verdict_facts *facts, struct leat_loads *ret_loads) {
    make_load(facts, &ret_loads->least);
    ret_loads->most = ret_loads->least;
    ret_loads->most.of[LEAT_RESOURCE_TRAINER].need = busy_trainers(facts, true);
}

/* ---- what it would gain ---- */

static enum leat_bound bound_of(enum leat_resource resource) {
    static const enum leat_bound bounds[LEAT_N_RESOURCES] = {
        [LEAT_RESOURCE_TRAINER] = LEAT_BOUND_TRAINER, [LEAT_RESOURCE_WORKERS] = LEAT_BOUND_WORKERS,
        [LEAT_RESOURCE_THREADS] = LEAT_BOUND_WORKERS, [LEAT_RESOURCE_BLOCKS] = LEAT_BOUND_BLOCKS,
        [LEAT_RESOURCE_SCAN] = LEAT_BOUND_DISK,       [LEAT_RESOURCE_LOOP] = LEAT_BOUND_ORDER,
        [LEAT_RESOURCE_CPUS] = LEAT_BOUND_STAGE,      [LEAT_RESOURCE_SLOTS] = LEAT_BOUND_STAGE,
    };

    return bounds[resource];
}

static void tell_least(const struct leat_verdict_facts *facts, const struct leat_load *load,
                       double ret_least_s[]) {
    double batch_s = ratio(wall_s(facts), (double)facts->n_batches);

    for (int i = 0; i < LEAT_N_RESOURCES; i++)
        ret_least_s[i] = leat_load_use(load, (enum leat_resource)i) * batch_s;
}

/* Workers, the thread beside them, the loop, and trainers. */
static bool is_crowded(const struct leat_verdict_facts *facts) {
    return (double)facts->n_threads + 2 + facts->n_sessions > facts->n_cpus;
}

static struct leat_gain gain(const struct leat_verdict_facts *facts,
                             const struct leat_loads *before, const struct leat_loads *after) {
    struct leat_loads then = *after;
    struct leat_gain gain = {.is_known = facts->n_batches >= N_BATCHES};

    if (is_crowded(facts))
        then.most.of[LEAT_RESOURCE_CPUS].have *= CROWDED;
    gain.ratio = leat_loads_gain(before, &then);
    gain.is_known &= isfinite(gain.ratio.high);
    gain.next = bound_of(leat_load_tightest(&then.least));
    tell_least(facts, &then.least, gain.least_s);
    return gain;
}

/* If our threads and others keep all processors busy, each thread that can run gets an equal part.
 * Returns how much larger our part is with n_more threads. */
static double larger_part(const struct leat_verdict_facts *facts, const struct leat_load *load,
                          double n_more) {
    double wall = wall_s(facts), own = load->of[LEAT_RESOURCE_CPUS].need;
    double foreign = foreign_cpu_s(facts) / wall, n_own = own, n_all;

    if (own <= 0 || foreign <= 0 || own + foreign < FULL * facts->n_cpus)
        return 1;
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        n_own += (double)facts->jobs[i].delay_ns / 1e9 / wall;
    n_all = n_own * (own + foreign) / own;
    return (n_own + n_more) / n_own * n_all / (n_all + n_more);
}

static void set_threads(const struct leat_verdict_facts *facts, double n_threads,
                        struct leat_load *load) {
    load->of[LEAT_RESOURCE_WORKERS].have = threads_left(facts, n_threads);
    load->of[LEAT_RESOURCE_THREADS].have = threads_left(facts, n_threads + 1);
}

static void add_worker(const struct leat_verdict_facts *facts, struct leat_loads *loads) {
    set_threads(facts, facts->n_more_threads, &loads->least);
    set_threads(facts, facts->n_more_threads, &loads->most);
    loads->least.of[LEAT_RESOURCE_CPUS].have *=
        larger_part(facts, &loads->least, (double)facts->n_more_threads - facts->n_threads);
}

static void add_cpu(const struct leat_verdict_facts *facts, struct leat_loads *loads) {
    set_threads(facts, facts->n_threads + 1.0, &loads->least);
    set_threads(facts, facts->n_threads + 1.0, &loads->most);
    loads->least.of[LEAT_RESOURCE_CPUS].have *= larger_part(facts, &loads->least, 1);
    loads->least.of[LEAT_RESOURCE_CPUS].have++;
    if (foreign_cpu_s(facts) <= 0) /* whoever else there is may take it */
        loads->most.of[LEAT_RESOURCE_CPUS].have++;
}

/* The part of the time in which the resource sleeps. A thread that sleeps before a batch comes back
 * to caches that others have filled, on a processor that has rested; it works faster if batches
 * follow each other. */
static double asleep(const struct leat_load *load, enum leat_resource resource) {
    return within(1 - leat_load_use(load, resource));
}

static double warm_loop(const struct leat_verdict_facts *facts, const struct leat_load *load) {
    double all = load->of[LEAT_RESOURCE_LOOP].need,
           order = fmin(order_s(facts) / wall_s(facts), all);

    return order + (all - order) * (1 - COLD_LOOP * asleep(load, LEAT_RESOURCE_LOOP));
}

static double warm_trainers_cpu(const struct leat_verdict_facts *facts,
                                const struct leat_load *load) {
    return (double)facts->trainer_cpu_ns / 1e9 / wall_s(facts) *
           (1 - COLD_TRAINER * asleep(load, LEAT_RESOURCE_TRAINER));
}

/* Threads kept the trainer from running. A cache does away with some of them. */
static double warm_trainer(const struct leat_verdict_facts *facts, const struct leat_load *load) {
    double all = load->of[LEAT_RESOURCE_TRAINER].need, n = facts->n_sessions * wall_s(facts);
    double cpu = fmin((double)facts->trainer_cpu_ns / 1e9 / n, all);
    double wakes = WAKE_S * asleep(load, LEAT_RESOURCE_TRAINER) * (double)facts->n_batches / n;
    double delay = (double)facts->trainer_delay_ns / 1e9 / n;

    return fmin(warm_trainers_cpu(facts, load) / facts->n_sessions, cpu) +
           fmax(all - cpu - fmax(wakes, delay), 0);
}

static double n_jobs(const struct leat_verdict_facts *facts) {
    double n = 0;

    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        n += (double)facts->jobs[i].n_jobs;
    return n;
}

/* Processor time with a cache. Jobs wake threads, so the time that the process uses besides jobs
 * and loop is proportional to the number of jobs. */
static double cached_cpus(const struct leat_verdict_facts *facts, const struct leat_load *load,
                          double loading) {
    const struct leat_run_job_stats *map = &facts->jobs[LEAT_JOB_MAP];
    const struct leat_run_job_stats *collate = &facts->jobs[LEAT_JOB_COLLATE];
    double wall = wall_s(facts), own = load->of[LEAT_RESOURCE_CPUS].need;
    double loop = load->of[LEAT_RESOURCE_LOOP].need;
    double trainers = (double)facts->trainer_cpu_ns / 1e9 / wall, jobs = jobs_cpu_s(facts) / wall;
    double rest = fmax(own - trainers - jobs - loop, 0);
    double n_left = ratio((double)(map->n_jobs + collate->n_jobs), n_jobs(facts));

    return loading + (double)collate->cpu_ns / 1e9 / wall * (1 - COLD_COLLATE) + rest * n_left +
           warm_loop(facts, load) + warm_trainers_cpu(facts, load);
}

/* Blocks are loaded: nothing is read, decoded or mapped. */
static void load_blocks(const struct leat_verdict_facts *facts, double loading,
                        struct leat_load *load) {
    double collate = work_s(&facts->jobs[LEAT_JOB_COLLATE]) / wall_s(facts);

    load->of[LEAT_RESOURCE_WORKERS].need = loading;
    load->of[LEAT_RESOURCE_BLOCKS].need = loading;
    load->of[LEAT_RESOURCE_THREADS].need = loading + collate;
    load->of[LEAT_RESOURCE_SCAN].need = 0;
}

/* The records of the trial may have been shorter or longer than those of the interval. */
static void add_cache(const struct leat_verdict_facts *facts, struct leat_loads *loads) {
    double n = (double)facts->n_records, tried = facts->load_ns * n / 1e9 / wall_s(facts);
    double map_ns = ratio((double)facts->jobs[LEAT_JOB_MAP].cpu_ns, n);
    double scaled = facts->tried_ns > 0 && map_ns > 0 ? tried * map_ns / facts->tried_ns : tried;
    double most = fmax(tried, scaled), now_cpus = loads->most.of[LEAT_RESOURCE_CPUS].need;
    struct leat_load before = loads->least;

    load_blocks(facts, fmin(tried, scaled), &loads->least);
    loads->least.of[LEAT_RESOURCE_CPUS].need =
        fmin(cached_cpus(facts, &before, fmin(tried, scaled)), now_cpus);
    loads->least.of[LEAT_RESOURCE_LOOP].need = warm_loop(facts, &before);
    loads->least.of[LEAT_RESOURCE_TRAINER].need = warm_trainer(facts, &before);
    load_blocks(facts, most, &loads->most);
    loads->most.of[LEAT_RESOURCE_CPUS].need =
        fmax(now_cpus - (double)facts->jobs[LEAT_JOB_MAP].cpu_ns / 1e9 / wall_s(facts), 0) + most;
}

static void remove_blocking(const struct leat_verdict_facts *facts, struct leat_load *load) {
    double scan = blocked_s(&facts->jobs[LEAT_JOB_SCAN]) / wall_s(facts);
    double map = facts->program ? 0 : blocked_s(&facts->jobs[LEAT_JOB_MAP]) / wall_s(facts);

    load->of[LEAT_RESOURCE_SCAN].need -= scan;
    load->of[LEAT_RESOURCE_WORKERS].need -= map;
    load->of[LEAT_RESOURCE_BLOCKS].need -= map;
    load->of[LEAT_RESOURCE_THREADS].need -= map + scan;
}

/* Some gains are left out. More threads do not help if memory is short. A disk is of no matter to a
 * pipe. Of trainers that go at their own paces, nobody knows which one would have to be faster. */
static void predict(const struct leat_verdict_facts *facts, const struct leat_loads *loads,
                    struct leat_verdict *verdict) {
    struct leat_loads after = *loads;

    if (verdict->bound != LEAT_BOUND_MEMORY) {
        add_worker(facts, &after);
        verdict->worker = gain(facts, loads, &after);
        after = *loads;
        add_cpu(facts, &after);
        verdict->cpu = gain(facts, loads, &after);
    }
    if (!facts->comes_once && verdict->bound != LEAT_BOUND_MEMORY) {
        after = *loads;
        remove_blocking(facts, &after.least);
        remove_blocking(facts, &after.most);
        verdict->disk = gain(facts, loads, &after);
    }
    if (facts->n_runs <= 1) {
        after = *loads;
        after.least.of[LEAT_RESOURCE_TRAINER].need = after.most.of[LEAT_RESOURCE_TRAINER].need = 0;
        verdict->trainers = gain(facts, loads, &after);
    }
    if (!facts->has_cache && facts->may_cache && facts->load_ns > 0) {
        after = *loads;
        add_cache(facts, &after);
        verdict->cache = gain(facts, loads, &after);
    }
}

/* ---- the verdict ---- */

static void find_stage(const struct leat_verdict_facts *facts, struct leat_verdict *verdict) {
    uint64_t all_ns = 0;

    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct leat_verdict_stage *stage = &facts->stages[i];

        all_ns += stage->busy_ns;
        if (stage->busy_ns > (verdict->stage ? verdict->stage->busy_ns : 0))
            verdict->stage = stage;
    }
    if (verdict->stage)
        verdict->stage_share = ratio((double)verdict->stage->busy_ns, (double)all_ns);
}

static double mean_waited(const struct leat_verdict_facts *facts) {
    double sum = 0;

    for (size_t i = 0; i < facts->n_trainers; i++)
        sum += leat_verdict_waited(&facts->trainers[i]);
    return ratio(sum, (double)facts->n_trainers);
}

static void measure(const struct leat_verdict_facts *facts, const struct leat_load *load,
                    struct leat_verdict *verdict) {
    double wall = wall_s(facts), cpus = facts->n_cpus * wall;
    double foreign = foreign_cpu_s(facts), others = (double)facts->other_busy_ns / 1e9;
    double queued = 0, wall_long = long_s(facts);

    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        queued += (double)facts->jobs[i].queue_ns / 1e9;
    wall_long += (double)facts->jobs[LEAT_JOB_MAP].delay_ns / 1e9 +
                 (double)facts->jobs[LEAT_JOB_DECODE].delay_ns / 1e9;
    verdict->batches_per_s = (double)facts->n_batches / wall;
    verdict->rows_per_s = (double)facts->n_rows / wall;
    verdict->trainer = facts->n_trainers > 0 ? 1 - mean_waited(facts) : 0;
    verdict->no_slot = within((double)facts->no_slot_ns / 1e9 / wall);
    verdict->workers = within(ratio(wall_long + others, facts->n_threads * wall));
    verdict->others = ratio(others, wall_long + others);
    verdict->scan = within(leat_load_use(load, LEAT_RESOURCE_SCAN));
    verdict->scan_blocked =
        ratio(blocked_s(&facts->jobs[LEAT_JOB_SCAN]), work_s(&facts->jobs[LEAT_JOB_SCAN]));
    verdict->map_blocked =
        ratio(blocked_s(&facts->jobs[LEAT_JOB_MAP]), work_s(&facts->jobs[LEAT_JOB_MAP]));
    verdict->loop = leat_load_use(load, LEAT_RESOURCE_LOOP);
    verdict->foreign_cpus = within(ratio(foreign, cpus));
    verdict->cpus = within(ratio(
        ((double)facts->process_cpu_ns + (double)facts->trainer_cpu_ns) / 1e9 + foreign, cpus));
    verdict->is_short = within((double)facts->short_ns / 1e9 / wall);
    verdict->n_queued = queued / wall;
}

/* All workers or all processors are busy. Says with what, and if more of them would help. */
static enum leat_bound judge_workers(const struct leat_verdict_facts *facts,
                                     const struct leat_verdict *verdict, bool is_cpu) {
    if (verdict->others >= SHARED || (is_cpu && verdict->foreign_cpus >= SHARED))
        return LEAT_BOUND_OTHER_USERS;
    if (verdict->map_blocked >= MOST)
        return facts->program ? LEAT_BOUND_STAGE : LEAT_BOUND_DISK;
    if (!is_cpu && verdict->cpus < BUSY && facts->n_more_threads > facts->n_threads)
        return LEAT_BOUND_WORKERS;
    return LEAT_BOUND_STAGE;
}

/* True if workers have too little to do, and only the budget is the cause. Other users of the
 * processors do not change that. */
static bool lacks_memory(const struct leat_load *load, const struct leat_verdict *verdict) {
    struct leat_load without = *load;

    without.of[LEAT_RESOURCE_CPUS].need = 0;
    return verdict->is_short >= MOST && verdict->workers < BUSY &&
           leat_load_use(&without, leat_load_tightest(&without)) < BUSY;
}

static enum leat_bound judge(const struct leat_verdict_facts *facts, const struct leat_load *load,
                             const struct leat_verdict *verdict) {
    enum leat_resource most = leat_load_tightest(load);

    if (lacks_memory(load, verdict))
        return LEAT_BOUND_MEMORY;
    switch (most) {
    case LEAT_RESOURCE_TRAINER:
        return LEAT_BOUND_TRAINER;
    case LEAT_RESOURCE_SCAN:
        return verdict->scan_blocked >= MOST ? LEAT_BOUND_DISK : LEAT_BOUND_STAGE;
    case LEAT_RESOURCE_LOOP:
        return LEAT_BOUND_ORDER;
    case LEAT_RESOURCE_BLOCKS:
        return LEAT_BOUND_BLOCKS;
    default:
        return judge_workers(facts, verdict, most == LEAT_RESOURCE_CPUS);
    }
}

/* The programs' stage may have no counts yet. */
static void name_program(const struct leat_verdict_facts *facts, struct leat_verdict *verdict) {
    if (verdict->behind != LEAT_BOUND_STAGE || !facts->program || verdict->map_blocked < MOST)
        return;
    for (size_t i = 0; i < facts->n_stages; i++)
        if (facts->stages[i].name && strcmp(facts->stages[i].name, facts->program) == 0)
            verdict->stage = &facts->stages[i];
}

/* Finds the trainer that waits least; of several, the one that holds most. If all read one run and
 * others wait while no slot is free, this trainer holds the slots. */
static void find_slow(const struct leat_verdict_facts *facts, struct leat_verdict *verdict) {
    double most = 0;

    if (verdict->bound != LEAT_BOUND_TRAINER)
        return;
    for (size_t i = 0; i < facts->n_trainers; i++) {
        const struct leat_verdict_trainer *trainer = &facts->trainers[i];
        double waited = leat_verdict_waited(trainer), best;

        best = verdict->slow ? leat_verdict_waited(verdict->slow) : 2;
        if (waited < best ||
            (waited <= best && leat_verdict_held(trainer) > leat_verdict_held(verdict->slow)))
            verdict->slow = trainer;
        most = fmax(most, waited);
    }
    verdict->waits_for_slow = facts->n_runs <= 1 && most + verdict->no_slot >= 1 + LEAT_BOUND_SOME;
}

static bool waits_for_pipeline(const struct leat_verdict_facts *facts,
                               const struct leat_verdict *verdict) {
    bool does_any = false;

    for (size_t i = 0; i < facts->n_trainers; i++)
        does_any |= leat_verdict_waited(&facts->trainers[i]) >= MOST;
    return does_any &&
           leat_bound_slower(mean_waited(facts), verdict->no_slot) == LEAT_SLOWER_PIPELINE;
}

static void judge_all(const struct leat_verdict_facts *facts, const struct leat_load *load,
                      struct leat_verdict *verdict) {
    struct leat_load pipeline = *load;

    pipeline.of[LEAT_RESOURCE_TRAINER].need = 0;
    verdict->behind = judge(facts, &pipeline, verdict);
    if (leat_bound_slower(mean_waited(facts), verdict->no_slot) == LEAT_SLOWER_TRAINERS)
        verdict->bound = LEAT_BOUND_TRAINER;
    else
        verdict->bound =
            waits_for_pipeline(facts, verdict) ? verdict->behind : judge(facts, load, verdict);
    name_program(facts, verdict);
    find_slow(facts, verdict);
}

void leat_verdict_make(const struct leat_verdict_facts *facts, struct leat_verdict *ret_verdict) {
    struct leat_verdict *verdict = ret_verdict;
    struct leat_loads loads;

    *verdict = (struct leat_verdict){.bound = LEAT_BOUND_IDLE, .behind = LEAT_BOUND_IDLE};
    if (facts->wall_ns == 0)
        return;
    make_loads(facts, &loads);
    measure(facts, &loads.least, verdict);
    find_stage(facts, verdict);
    if (facts->n_trainers == 0 || (all_s(facts) <= 0 && verdict->no_slot <= 0))
        return;
    judge_all(facts, &loads.least, verdict);
    tell_least(facts, &loads.least, verdict->least_s);
    predict(facts, &loads, verdict);
}

/* verdict.c: see verdict.h. Arithmetic only. */
#include "daemon/verdict.h"

#include <math.h>

#define BUSY     0.85 /* of its time: at its limit, as far as jobs have to be handed out */
#define FULL     0.95 /* of the processors' time */
#define MOST     0.5
#define SOME     0.3
#define SHARP    12  /* how sharply the model goes from one bound to the next */
#define SLACK    0.7 /* below: no resource is near its limit, so that something unknown bounds */
#define LOADS_AS 2   /* times what COLLATE jobs take, about, is what it takes to read a cache */

/* Parts of what a batch takes a thread that always sleeps before it, which go when there is always
 * another: of pipelines of tests/bench/why_bench.py, on two machines. */
#define COLD_LOOP    0.55 /* besides the order of rows */
#define COLD_TRAINER 0.3  /* of its processor time */
#define COLD_COLLATE 0.5  /* of its processor time */
#define WAKE_S       30e-6

/* Of the processors' time, what is had where there are more threads than processors. */
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

static const char *const resource_names[LEAT_N_RESOURCES] = {
    [LEAT_RESOURCE_TRAINER] = "trainer", [LEAT_RESOURCE_WORKERS] = "workers",
    [LEAT_RESOURCE_THREADS] = "threads", [LEAT_RESOURCE_BLOCKS] = "blocks",
    [LEAT_RESOURCE_SCAN] = "scan",       [LEAT_RESOURCE_LOOP] = "loop",
    [LEAT_RESOURCE_CPUS] = "cpus",       [LEAT_RESOURCE_SLOTS] = "slots",
    [LEAT_RESOURCE_UNKNOWN] = "unknown",
};

const char *leat_resource_name(enum leat_resource resource) {
    return resource_names[resource];
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static double within(double value) {
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

/* ---- the model: how much of each resource's time the interval took ---- */

/* Seconds that are needed, and that there are for it. */
struct resource_use {
    double need, have;
};

struct model {
    struct resource_use of[LEAT_N_RESOURCES];
};

static double use_of(const struct model *model, enum leat_resource resource) {
    return ratio(model->of[resource].need, model->of[resource].have);
}

/* What a job has at the same time, so that it waits for one of them alone. */
static double use_of_jobs(const struct model *model) {
    return fmax(fmax(use_of(model, LEAT_RESOURCE_WORKERS), use_of(model, LEAT_RESOURCE_THREADS)),
                fmax(use_of(model, LEAT_RESOURCE_BLOCKS), use_of(model, LEAT_RESOURCE_CPUS)));
}

/* How many times the interval's batches could be made in it: 1 / (sum u^p)^(1/p), which is the
 * least of 1 / u where one u is far above all others, and less where two are alike. */
static double speed(const struct model *model) {
    double sum = pow(use_of_jobs(model), SHARP);

    sum += pow(use_of(model, LEAT_RESOURCE_TRAINER), SHARP) +
           pow(use_of(model, LEAT_RESOURCE_SCAN), SHARP) +
           pow(use_of(model, LEAT_RESOURCE_LOOP), SHARP) +
           pow(use_of(model, LEAT_RESOURCE_SLOTS), SHARP) +
           pow(use_of(model, LEAT_RESOURCE_UNKNOWN), SHARP);
    return sum > 0 ? pow(sum, -1.0 / SHARP) : INFINITY;
}

static enum leat_resource tightest(const struct model *model) {
    enum leat_resource most = LEAT_RESOURCE_TRAINER;

    for (int i = 0; i < LEAT_N_RESOURCES; i++)
        if (use_of(model, (enum leat_resource)i) > use_of(model, most))
            most = (enum leat_resource)i;
    return most;
}

/* Without what others had: that they did not run. */
static double work_s(const struct leat_run_job_stats *jobs) {
    return (double)(jobs->busy_ns -
                    (jobs->delay_ns < jobs->busy_ns ? jobs->delay_ns : jobs->busy_ns)) /
           1e9;
}

static double blocked_s(const struct leat_run_job_stats *jobs) {
    double s = work_s(jobs) - (double)jobs->cpu_ns / 1e9;

    return s > 0 ? s : 0;
}

/* What only those threads do that map. */
static double long_s(const struct leat_verdict_facts *facts) {
    return work_s(&facts->jobs[LEAT_JOB_MAP]) + work_s(&facts->jobs[LEAT_JOB_DECODE]) +
           work_s(&facts->jobs[LEAT_JOB_CACHE]) + work_s(&facts->jobs[LEAT_JOB_REST]);
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

/* Processor time that goes to neither this stream nor its trainers. */
static double foreign_cpu_s(const struct leat_verdict_facts *facts) {
    double own = (double)facts->process_cpu_ns + (double)facts->trainer_cpu_ns;
    double foreign =
        facts->machine_cpu_ns == LEAT_VERDICT_UNKNOWN ? 0 : (double)facts->machine_cpu_ns - own;

    return (foreign > 0 ? foreign : 0) / 1e9;
}

/* Threads that are left to this stream: others take what they take, but no more than their part. */
static double threads_left(const struct leat_verdict_facts *facts, double n_threads) {
    double own = long_s(facts), others = (double)facts->other_busy_ns / 1e9;
    double wall = (double)facts->wall_ns / 1e9, all = n_threads * wall;
    double part = all * ratio(own, own + others);

    return all - others > part ? all - others : part;
}

static double order_s(const struct leat_verdict_facts *facts) {
    uint64_t ns = 0;

    for (size_t i = 0; i < facts->n_stages; i++)
        if (facts->stages[i].role == LEAT_ROLE_ORDER)
            ns += facts->stages[i].busy_ns;
    return (double)ns / 1e9;
}

/* A job has the slots of all its batches for as long as it takes; then two threads wake for them.
 */
static double slots_s(const struct leat_verdict_facts *facts) {
    const struct leat_run_job_stats *jobs = &facts->jobs[LEAT_JOB_COLLATE];

    return (ratio(work_s(jobs), (double)jobs->n_jobs) + 2 * WAKE_S) * (double)facts->n_batches;
}

static double trainer_need(const struct leat_verdict_facts *facts) {
    double all = (double)facts->n_sessions * (double)facts->wall_ns;

    return within(1 - ratio((double)facts->wait_ns, all)) * (double)facts->wall_ns / 1e9;
}

static void make_model(const struct leat_verdict_facts *facts, struct model *model) {
    double wall = (double)facts->wall_ns / 1e9, others_cpu = (double)facts->other_cpu_ns / 1e9;
    double cpus = facts->n_cpus * wall - foreign_cpu_s(facts) - others_cpu;
    double own_cpu =
        ((double)facts->process_cpu_ns + (double)facts->trainer_cpu_ns) / 1e9 - others_cpu;

    *model = (struct model){
        .of = {
            [LEAT_RESOURCE_TRAINER] = {trainer_need(facts), wall},
            [LEAT_RESOURCE_WORKERS] = {long_s(facts), threads_left(facts, facts->n_threads)},
            [LEAT_RESOURCE_THREADS] = {all_s(facts), threads_left(facts, facts->n_threads + 1.0)},
            [LEAT_RESOURCE_BLOCKS] = {work_s(&facts->jobs[LEAT_JOB_MAP]),
                                      (double)facts->n_blocks * wall},
            [LEAT_RESOURCE_SCAN] = {work_s(&facts->jobs[LEAT_JOB_SCAN]), wall},
            [LEAT_RESOURCE_LOOP] = {(double)facts->loop_cpu_ns / 1e9, wall},
            [LEAT_RESOURCE_CPUS] = {own_cpu, cpus > wall / 2 ? cpus : wall / 2},
        }};
    if (facts->n_blocks == 0)
        model->of[LEAT_RESOURCE_BLOCKS].need = 0;
    if (facts->n_slots > 0)
        model->of[LEAT_RESOURCE_SLOTS] =
            (struct resource_use){slots_s(facts), (double)facts->n_slots * wall};
}

/* ---- what it would gain ---- */

static enum leat_bound bound_of(enum leat_resource resource) {
    static const enum leat_bound bounds[LEAT_N_RESOURCES] = {
        [LEAT_RESOURCE_TRAINER] = LEAT_BOUND_TRAINER, [LEAT_RESOURCE_WORKERS] = LEAT_BOUND_WORKERS,
        [LEAT_RESOURCE_THREADS] = LEAT_BOUND_WORKERS, [LEAT_RESOURCE_BLOCKS] = LEAT_BOUND_BLOCKS,
        [LEAT_RESOURCE_SCAN] = LEAT_BOUND_DISK,       [LEAT_RESOURCE_LOOP] = LEAT_BOUND_ORDER,
        [LEAT_RESOURCE_CPUS] = LEAT_BOUND_STAGE,      [LEAT_RESOURCE_SLOTS] = LEAT_BOUND_STAGE,
        [LEAT_RESOURCE_UNKNOWN] = LEAT_BOUND_MEMORY,
    };

    return bounds[resource];
}

static void tell_least(const struct leat_verdict_facts *facts, const struct model *model,
                       double ret_least_s[]) {
    double batch_s = ratio((double)facts->wall_ns / 1e9, (double)facts->n_batches);

    for (int i = 0; i < LEAT_N_RESOURCES; i++)
        ret_least_s[i] = use_of(model, (enum leat_resource)i) * batch_s;
}

/* Workers, the thread beside them, the loop, and trainers. */
static bool is_crowded(const struct leat_verdict_facts *facts) {
    return (double)facts->n_threads + 2 + facts->n_sessions > facts->n_cpus;
}

/* Threads that get in each other's way keep a bound one from working all of the time, which the
 * next bound would not be kept from: how that comes out is known of the processors alone. */
static double crowded_ratio(const struct model *before, const struct model *after) {
    struct model then = *after;

    then.of[LEAT_RESOURCE_CPUS].have *= fmax(CROWDED, fmin(use_of(before, LEAT_RESOURCE_CPUS), 1));
    return fmax(speed(&then), 1);
}

static struct leat_gain gain(const struct leat_verdict_facts *facts, const struct model *before,
                             const struct model *after) {
    bool is_known = use_of(before, LEAT_RESOURCE_UNKNOWN) <= 0;
    double r = is_known && is_crowded(facts) ? crowded_ratio(before, after)
                                             : ratio(speed(after), speed(before));
    struct leat_gain gain = {
        .is_known = isfinite(r) && r > 0, .ratio = r, .next = bound_of(tightest(after))};

    tell_least(facts, after, gain.least_s);
    return gain;
}

/* Where all processors are busy, others with them, each thread that can run has its part: with more
 * of our own, our part is larger by so much. */
static double larger_part(const struct leat_verdict_facts *facts, const struct model *model,
                          double n_more) {
    double wall = (double)facts->wall_ns / 1e9, own = model->of[LEAT_RESOURCE_CPUS].need;
    double foreign = foreign_cpu_s(facts), all = facts->n_cpus * wall, n_own = own, n_all;

    if (own <= 0 || foreign <= 0 || own + foreign < FULL * all)
        return 1;
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        n_own += (double)facts->jobs[i].delay_ns / 1e9;
    n_own /= wall;
    n_all = n_own * (own + foreign) / own;
    return (n_own + n_more) / n_own * n_all / (n_all + n_more);
}

static void add_worker(const struct leat_verdict_facts *facts, struct model *model) {
    model->of[LEAT_RESOURCE_CPUS].have *=
        larger_part(facts, model, (double)facts->n_more_threads - facts->n_threads);
    model->of[LEAT_RESOURCE_WORKERS].have = threads_left(facts, facts->n_more_threads);
    model->of[LEAT_RESOURCE_THREADS].have = threads_left(facts, facts->n_more_threads + 1.0);
}

static void add_cpu(const struct leat_verdict_facts *facts, struct model *model) {
    model->of[LEAT_RESOURCE_WORKERS].have = threads_left(facts, facts->n_threads + 1.0);
    model->of[LEAT_RESOURCE_THREADS].have = threads_left(facts, facts->n_threads + 2.0);
    model->of[LEAT_RESOURCE_CPUS].have *= larger_part(facts, model, 1);
    model->of[LEAT_RESOURCE_CPUS].have += (double)facts->wall_ns / 1e9;
}

/* Needs when batches come one behind the other. A thread that sleeps before them comes back each
 * time to caches that others have filled, on a processor that has rested. */
static double asleep(const struct model *model, enum leat_resource resource) {
    return within(1 - use_of(model, resource));
}

static double warm_loop(const struct leat_verdict_facts *facts, const struct model *model) {
    double all = model->of[LEAT_RESOURCE_LOOP].need, order = fmin(order_s(facts), all);

    return order + (all - order) * (1 - COLD_LOOP * asleep(model, LEAT_RESOURCE_LOOP));
}

static double warm_trainers_cpu(const struct leat_verdict_facts *facts, const struct model *model) {
    return (double)facts->trainer_cpu_ns / 1e9 *
           (1 - COLD_TRAINER * asleep(model, LEAT_RESOURCE_TRAINER));
}

static double warm_trainer(const struct leat_verdict_facts *facts, const struct model *model) {
    double all = model->of[LEAT_RESOURCE_TRAINER].need;
    double cpu = fmin((double)facts->trainer_cpu_ns / 1e9 / facts->n_sessions, all);
    double wakes = WAKE_S * asleep(model, LEAT_RESOURCE_TRAINER) * (double)facts->n_batches /
                   facts->n_sessions;
    double delay = (double)facts->trainer_delay_ns / 1e9 / facts->n_sessions;

    return fmin(warm_trainers_cpu(facts, model) / facts->n_sessions, cpu) +
           fmax(all - cpu - fmax(wakes, delay), 0);
}

/* That blocks take to be loaded: those of the trial may have been of other records. */
static double load_s(const struct leat_verdict_facts *facts) {
    double n = (double)facts->n_records;
    double map_ns = ratio((double)facts->jobs[LEAT_JOB_MAP].cpu_ns, n);

    if (facts->load_ns <= 0)
        return LOADS_AS * work_s(&facts->jobs[LEAT_JOB_COLLATE]);
    return facts->load_ns * n / 1e9 *
           (facts->tried_ns > 0 && map_ns > 0 ? map_ns / facts->tried_ns : 1);
}

static double n_jobs(const struct leat_verdict_facts *facts) {
    double n = 0;

    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        n += (double)facts->jobs[i].n_jobs;
    return n;
}

/* Processor time with a cache. What the process uses besides jobs and loop goes with the number of
 * jobs, which wake threads. */
static double cached_cpu_s(const struct leat_verdict_facts *facts, const struct model *model,
                           double load) {
    const struct leat_run_job_stats *map = &facts->jobs[LEAT_JOB_MAP];
    const struct leat_run_job_stats *collate = &facts->jobs[LEAT_JOB_COLLATE];
    double own = model->of[LEAT_RESOURCE_CPUS].need, loop = (double)facts->loop_cpu_ns / 1e9;
    double trainers = (double)facts->trainer_cpu_ns / 1e9, jobs = jobs_cpu_s(facts);
    double rest = fmax(own - trainers - jobs - loop, 0);
    double n_left = ratio((double)(map->n_jobs + collate->n_jobs), n_jobs(facts));

    return load + (double)collate->cpu_ns / 1e9 * (1 - COLD_COLLATE) + rest * n_left +
           warm_loop(facts, model) + warm_trainers_cpu(facts, model);
}

/* Nothing is read, decoded or mapped; blocks are loaded instead. */
static void add_cache(const struct leat_verdict_facts *facts, struct model *model) {
    double collate = work_s(&facts->jobs[LEAT_JOB_COLLATE]);
    double load = load_s(facts);
    struct model before = *model;

    model->of[LEAT_RESOURCE_CPUS].need = cached_cpu_s(facts, &before, load);
    model->of[LEAT_RESOURCE_LOOP].need = warm_loop(facts, &before);
    model->of[LEAT_RESOURCE_TRAINER].need = warm_trainer(facts, &before);
    model->of[LEAT_RESOURCE_WORKERS].need = load;
    model->of[LEAT_RESOURCE_BLOCKS].need = load;
    model->of[LEAT_RESOURCE_THREADS].need = load + collate;
    model->of[LEAT_RESOURCE_SCAN].need = 0;
    model->of[LEAT_RESOURCE_UNKNOWN].need = 0;
}

static void remove_blocking(const struct leat_verdict_facts *facts, struct model *model) {
    double scan = blocked_s(&facts->jobs[LEAT_JOB_SCAN]);
    double map = facts->waits_for_programs ? 0 : blocked_s(&facts->jobs[LEAT_JOB_MAP]);

    model->of[LEAT_RESOURCE_SCAN].need -= scan;
    model->of[LEAT_RESOURCE_WORKERS].need -= map;
    model->of[LEAT_RESOURCE_BLOCKS].need -= map;
    model->of[LEAT_RESOURCE_THREADS].need -= map + scan;
}

static void predict(const struct leat_verdict_facts *facts, const struct model *model,
                    struct leat_verdict *verdict) {
    struct model after = *model;

    add_worker(facts, &after);
    verdict->worker = gain(facts, model, &after);
    after = *model;
    add_cpu(facts, &after);
    verdict->cpu = gain(facts, model, &after);
    after = *model;
    remove_blocking(facts, &after);
    verdict->disk = gain(facts, model, &after);
    after = *model;
    after.of[LEAT_RESOURCE_TRAINER].need = 0;
    verdict->trainers = gain(facts, model, &after);
    if (facts->has_cache || !facts->may_cache)
        return;
    after = *model;
    add_cache(facts, &after);
    verdict->cache = gain(facts, model, &after);
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

static void measure(const struct leat_verdict_facts *facts, const struct model *model,
                    struct leat_verdict *verdict) {
    double wall = (double)facts->wall_ns / 1e9, cpus = facts->n_cpus * wall;
    double foreign = foreign_cpu_s(facts), others = (double)facts->other_busy_ns / 1e9;
    double queued = 0, wall_long = long_s(facts);

    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        queued += (double)facts->jobs[i].queue_ns / 1e9;
    wall_long += (double)facts->jobs[LEAT_JOB_MAP].delay_ns / 1e9 +
                 (double)facts->jobs[LEAT_JOB_DECODE].delay_ns / 1e9;
    verdict->batches_per_s = (double)facts->n_batches / wall;
    verdict->rows_per_s = (double)facts->n_rows / wall;
    verdict->trainer = model->of[LEAT_RESOURCE_TRAINER].need / wall;
    verdict->no_slot = within((double)facts->no_slot_ns / 1e9 / wall);
    verdict->workers = within(ratio(wall_long + others, facts->n_threads * wall));
    verdict->others = ratio(others, wall_long + others);
    verdict->scan = model->of[LEAT_RESOURCE_SCAN].need / wall;
    verdict->scan_blocked =
        ratio(blocked_s(&facts->jobs[LEAT_JOB_SCAN]), work_s(&facts->jobs[LEAT_JOB_SCAN]));
    verdict->map_blocked =
        ratio(blocked_s(&facts->jobs[LEAT_JOB_MAP]), work_s(&facts->jobs[LEAT_JOB_MAP]));
    verdict->loop = model->of[LEAT_RESOURCE_LOOP].need / wall;
    verdict->foreign_cpus = within(ratio(foreign, cpus));
    verdict->cpus = within(ratio(
        ((double)facts->process_cpu_ns + (double)facts->trainer_cpu_ns) / 1e9 + foreign, cpus));
    verdict->is_short = within((double)facts->short_ns / 1e9 / wall);
    verdict->n_queued = queued / wall;
}

/* All workers are busy, or all processors: with what, and whether more of them would do. */
static enum leat_bound judge_workers(const struct leat_verdict_facts *facts,
                                     const struct leat_verdict *verdict, bool is_cpu) {
    if (verdict->others >= SOME || (is_cpu && verdict->foreign_cpus >= SOME))
        return LEAT_BOUND_OTHER_USERS;
    if (verdict->map_blocked >= MOST)
        return facts->waits_for_programs ? LEAT_BOUND_STAGE : LEAT_BOUND_DISK;
    if (!is_cpu && verdict->cpus < BUSY && facts->n_more_threads > facts->n_threads)
        return LEAT_BOUND_WORKERS;
    return LEAT_BOUND_STAGE;
}

/* Whether workers have less to do than they could, and nobody but the budget is to blame: who else
 * uses the processors does not change that. */
static bool lacks_memory(const struct model *model, const struct leat_verdict *verdict) {
    struct model without = *model;

    without.of[LEAT_RESOURCE_CPUS].need = 0;
    return verdict->is_short >= MOST && verdict->workers < BUSY &&
           use_of(&without, tightest(&without)) < BUSY;
}

static enum leat_bound judge(const struct leat_verdict_facts *facts, const struct model *model,
                             const struct leat_verdict *verdict) {
    enum leat_resource most = tightest(model);

    if (verdict->no_slot >= MOST)
        return LEAT_BOUND_TRAINER;
    if (lacks_memory(model, verdict))
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

/* Where nothing known is at its limit, what bounds is unknown (memory, a wait), and stays. */
static void bound_unknown(struct model *model, enum leat_bound bound) {
    if (use_of(model, tightest(model)) < SLACK || bound == LEAT_BOUND_MEMORY)
        model->of[LEAT_RESOURCE_UNKNOWN] = (struct resource_use){1, 1};
}

void leat_verdict_make(const struct leat_verdict_facts *facts, struct leat_verdict *ret_verdict) {
    struct leat_verdict *verdict = ret_verdict;
    struct model model;

    *verdict = (struct leat_verdict){.bound = LEAT_BOUND_IDLE};
    if (facts->wall_ns == 0)
        return;
    make_model(facts, &model);
    measure(facts, &model, verdict);
    find_stage(facts, verdict);
    if (facts->n_sessions == 0 || (all_s(facts) <= 0 && verdict->no_slot <= 0))
        return;
    verdict->bound = judge(facts, &model, verdict);
    bound_unknown(&model, verdict->bound);
    tell_least(facts, &model, verdict->least_s);
    predict(facts, &model, verdict);
}

/* verdict_text.c: see verdict_text.h. First come sentences that say what bounds and why; then how
 * much of each resource was used; then what changes would give. */
#include "daemon/metrics/verdict_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/json_writer.h"

static double percent(double share) {
    return 100 * share;
}

static const char *plural(double n) {
    return n == 1 ? "" : "s";
}

/* ---- what bounds ---- */

static const char *stage_name(const struct leat_verdict *verdict) {
    return verdict->stage && verdict->stage->name ? verdict->stage->name : "nothing";
}

/* In a sentence: "waits for ..". */
static const char *behind_names(const struct leat_verdict *verdict) {
    static const char *const names[LEAT_N_BOUNDS] = {
        [LEAT_BOUND_IDLE] = "nothing",
        [LEAT_BOUND_TRAINER] = "the trainers",
        [LEAT_BOUND_DISK] = "its source",
        [LEAT_BOUND_MEMORY] = "memory (memory_limit)",
        [LEAT_BOUND_WORKERS] = "the workers",
        [LEAT_BOUND_BLOCKS] = "jobs_in_flight",
        [LEAT_BOUND_ORDER] = "the daemon's main loop",
        [LEAT_BOUND_OTHER_USERS] = "other load on this machine",
    };

    return verdict->behind == LEAT_BOUND_STAGE ? stage_name(verdict) : names[verdict->behind];
}

static void add_stage(const struct leat_verdict *verdict, struct leat_text *text) {
    if (verdict->stage_share > 0)
        leat_text_add_line(text, "  %s is %.0f %% of all work.", stage_name(verdict),
                           percent(verdict->stage_share));
}

static void say_idle(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                     struct leat_text *text) {
    (void)verdict;
    leat_text_add(text, facts->n_sessions == 0 ? "no trainer reads it now.\n"
                                               : "no trainer asked for a batch in this time.\n");
}

/* ---- trainers ---- */

/* "rank 1 of 2 (python, pid 4711, train.service, on gpu03)". */
static void add_trainer(const struct leat_verdict_facts *facts,
                        const struct leat_verdict_trainer *trainer, struct leat_text *text) {
    if (trainer->world_size > 1)
        leat_text_add(text, "rank %u of %u (", trainer->rank, trainer->world_size);
    else
        leat_text_add(text, "the trainer (");
    leat_text_add_shown(text, trainer->client[0] ? trainer->client : "unnamed");
    if (trainer->pid)
        leat_text_add(text, ", pid %u", trainer->pid);
    else
        leat_text_add(text, ", in a container");
    if (trainer->unit[0]) {
        leat_text_add(text, ", ");
        leat_text_add_shown(text, trainer->unit);
    }
    if (facts->host) {
        leat_text_add(text, ", on ");
        leat_text_add_shown(text, facts->host);
    }
    leat_text_add(text, ")");
}

/* Adds what the other trainers wait for. */
static void add_awaited(const struct leat_verdict *verdict, struct leat_text *text) {
    if (!verdict->waits_for_slow)
        leat_text_add(text, "%s", behind_names(verdict));
    else if (verdict->slow->world_size > 1)
        leat_text_add(text, "the slots that rank %u holds", verdict->slow->rank);
    else
        leat_text_add(text, "the slots that session %" PRIu64 " holds", verdict->slow->session);
}

static bool is_waiting(const struct leat_verdict *verdict,
                       const struct leat_verdict_trainer *trainer) {
    return trainer != verdict->slow && leat_verdict_waited(trainer) >= LEAT_BOUND_SOME;
}

#define TOLD_MAX 4 /* trainers; there may be a hundred */

static void say_waiting(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                        struct leat_text *text) {
    size_t n = 0;

    for (size_t i = 0; i < facts->n_trainers; i++) {
        const struct leat_verdict_trainer *trainer = &facts->trainers[i];

        if (!is_waiting(verdict, trainer) || n++ >= TOLD_MAX)
            continue;
        leat_text_add(text, "  ");
        add_trainer(facts, trainer, text);
        leat_text_add(text, "\n  waited %.0f %% of its time, for ",
                      percent(leat_verdict_waited(trainer)));
        add_awaited(verdict, text);
        leat_text_add(text, ".\n");
    }
    if (n > TOLD_MAX)
        leat_text_add(text, "  %zu more trainers waited.\n", n - TOLD_MAX);
}

static void say_trainer(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                        struct leat_text *text) {
    leat_text_add(text, "bounded by ");
    add_trainer(facts, verdict->slow, text);
    leat_text_add(text,
                  ".\n  This trainer is slower than leat. It waited %.0f %% of the time. For %.0f "
                  "%% of the time, it held\n  all batches that its window allows. For %.0f %%, no "
                  "slot was free for the next batch.\n",
                  percent(leat_verdict_waited(verdict->slow)),
                  percent(leat_verdict_held(verdict->slow)), percent(verdict->no_slot));
    say_waiting(facts, verdict, text);
}

static void say_stage(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                      struct leat_text *text) {
    leat_text_add_line(text, "bounded by %s.", stage_name(verdict));
    if (verdict->scan > verdict->workers)
        leat_text_add(text,
                      "  Only one thread reads the source. It is busy %.0f %% of the time, and "
                      "does not wait for files.\n",
                      percent(verdict->scan));
    else if (facts->program && verdict->map_blocked >= LEAT_BOUND_MOST)
        leat_text_add(text,
                      "  Workers spend %.0f %% of their time waiting for the programs of this "
                      "stage: raise `processes`,\n  or make the programs faster.\n",
                      percent(verdict->map_blocked));
    else
        leat_text_add(text,
                      "  The workers are busy %.0f %% of the time, and the processors %.0f %%, so "
                      "one more worker would\n  not help.\n",
                      percent(verdict->workers), percent(verdict->cpus));
    add_stage(verdict, text);
}

static void say_disk(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                     struct leat_text *text) {
    leat_text_add(text, facts->comes_once ? "bounded by the program that writes the data.\n"
                                          : "bounded by the disk.\n");
    leat_text_add(
        text,
        "  Reading takes %.0f %% of the time. Waiting for %s takes %.0f %% of the reading time.\n",
        percent(verdict->scan), facts->comes_once ? "the writer" : "files",
        percent(verdict->scan_blocked));
    if (verdict->map_blocked > 0.5)
        leat_text_add(text, "  Workers spend %.0f %% of their time waiting for files.\n",
                      percent(verdict->map_blocked));
}

static void say_memory(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                       struct leat_text *text) {
    (void)facts;
    leat_text_add(text,
                  "bounded by memory_limit.\n  For %.0f %% of the time, too little memory was free "
                  "to read or process more. The workers are busy\n  %.0f %% of the time.\n",
                  percent(verdict->is_short), percent(verdict->workers));
}

static void say_workers(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                        struct leat_text *text) {
    leat_text_add(text,
                  "bounded by too few workers (%u).\n  They are busy %.0f %% of the time, and %.1f "
                  "jobs wait for a worker. The processors are busy %.0f %% of the time.\n",
                  facts->n_workers, percent(verdict->workers), verdict->n_queued,
                  percent(verdict->cpus));
    add_stage(verdict, text);
}

static void say_blocks(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                       struct leat_text *text) {
    leat_text_add(text,
                  "bounded by jobs_in_flight.\n  This option allows only %llu block%s at once, so "
                  "the workers are busy only %.0f %% of the time.\n",
                  (unsigned long long)facts->n_blocks, plural((double)facts->n_blocks),
                  percent(verdict->workers));
    add_stage(verdict, text);
}

static void say_order(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                      struct leat_text *text) {
    (void)facts;
    leat_text_add(
        text,
        "bounded by the daemon's main loop.\n  This loop orders rows and sends batches. It "
        "is busy %.0f %% of the time. Use larger batches,\n  which need less time in this "
        "loop.\n",
        percent(verdict->loop));
}

static void say_others(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                       struct leat_text *text) {
    (void)facts;
    leat_text_add(text,
                  "bounded by other load on this machine.\n  Other streams take %.0f %% of the "
                  "workers' time, and other processes %.0f %% of the processors.\n",
                  percent(verdict->others), percent(verdict->foreign_cpus));
    add_stage(verdict, text);
}

static void add_bound(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                      struct leat_text *text) {
    static void (*const sayers[LEAT_N_BOUNDS])(const struct leat_verdict_facts *,
                                               const struct leat_verdict *, struct leat_text *) = {
        [LEAT_BOUND_IDLE] = say_idle,          [LEAT_BOUND_TRAINER] = say_trainer,
        [LEAT_BOUND_STAGE] = say_stage,        [LEAT_BOUND_DISK] = say_disk,
        [LEAT_BOUND_MEMORY] = say_memory,      [LEAT_BOUND_WORKERS] = say_workers,
        [LEAT_BOUND_BLOCKS] = say_blocks,      [LEAT_BOUND_ORDER] = say_order,
        [LEAT_BOUND_OTHER_USERS] = say_others,
    };

    sayers[verdict->bound](facts, verdict, text);
}

void leat_verdict_line(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                       struct leat_text *text) {
    const struct leat_verdict_trainer *most = NULL;

    if (verdict->bound == LEAT_BOUND_IDLE)
        return;
    leat_text_add(text, "bounded by ");
    if (verdict->slow)
        add_trainer(facts, verdict->slow, text);
    else
        leat_text_add(text, "%s", behind_names(verdict));
    for (size_t i = 0; i < facts->n_trainers; i++)
        if (is_waiting(verdict, &facts->trainers[i]) &&
            (!most || leat_verdict_waited(&facts->trainers[i]) > leat_verdict_waited(most)))
            most = &facts->trainers[i];
    if (!most)
        return;
    leat_text_add(text, "; ");
    add_trainer(facts, most, text);
    leat_text_add(text, " waited %.0f %% of the time", percent(leat_verdict_waited(most)));
    if (verdict->slow) {
        leat_text_add(text, " for ");
        add_awaited(verdict, text);
    }
}

/* ---- use of resources ---- */

static void add_use(struct leat_text *text, const char *what, double share, const char *of,
                    double part) {
    leat_text_add(text, "    %-16s %3.0f %%", what, percent(share));
    if (of)
        leat_text_add(text, "   %.0f %% %s", percent(part), of);
    leat_text_add(text, "\n");
}

static void add_uses(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                     struct leat_text *text) {
    char workers[32], cpus[32];

    (void)snprintf(workers, sizeof(workers), "workers (%u)", facts->n_workers);
    (void)snprintf(cpus, sizeof(cpus), "processors (%g)", facts->n_cpus);
    leat_text_add(text, "  busy\n");
    add_use(text, facts->n_sessions == 1 ? "the trainer" : "trainers", verdict->trainer,
            "of the time without a free slot", verdict->no_slot);
    add_use(text, workers, verdict->workers, "for other streams", verdict->others);
    add_use(text, "reading", verdict->scan,
            facts->comes_once ? "of that waiting for the writer" : "of that waiting for files",
            verdict->scan_blocked);
    add_use(text, "the main loop", verdict->loop, NULL, 0);
    add_use(text, cpus, verdict->cpus, "used by other processes", verdict->foreign_cpus);
    if (verdict->is_short > 0)
        add_use(text, "short of memory", verdict->is_short, NULL, 0);
}

/* ---- gains ---- */

/* Each gain: its name in JSON, and what people read. */
static const struct gain_line {
    const char *name, *label;
    size_t offset;
} gain_lines[] = {
    {"worker", "one more worker", offsetof(struct leat_verdict, worker)},
    {"cpu", "one more processor (and worker)", offsetof(struct leat_verdict, cpu)},
    {"cache", "reading from a cache in memory", offsetof(struct leat_verdict, cache)},
    {"disk", "files in memory", offsetof(struct leat_verdict, disk)},
    {"trainer", "an infinitely fast trainer", offsetof(struct leat_verdict, trainers)},
};
#define NO_GAIN 1.02
#define N_GAINS (sizeof(gain_lines) / sizeof(gain_lines[0]))

static const struct leat_gain *gain_of(const struct leat_verdict *verdict,
                                       const struct gain_line *line) {
    return (const struct leat_gain *)(const void *)((const char *)verdict + line->offset);
}

static void add_gain(const struct leat_gain *gain, const char *label, double batches_per_s,
                     struct leat_text *text) {
    const struct leat_gain_range *ratio = &gain->ratio;

    leat_text_add(text, "    %-32s ", label);
    if (ratio->high < NO_GAIN)
        leat_text_add(text, "nothing\n");
    else
        leat_text_add(text, "%.2f to %.2f times as many: %.4g to %.4g batches/s\n", ratio->low,
                      ratio->high, ratio->low * batches_per_s, ratio->high * batches_per_s);
}

static void add_gains(const struct leat_verdict *verdict, struct leat_text *text) {
    const char *head = "  estimated gains\n";

    for (size_t i = 0; i < N_GAINS; i++) {
        const struct leat_gain *gain = gain_of(verdict, &gain_lines[i]);

        if (!gain->is_known)
            continue;
        leat_text_add(text, "%s", head);
        add_gain(gain, gain_lines[i].label, verdict->batches_per_s, text);
        head = "";
    }
}

void leat_verdict_text(const char *stream, const struct leat_verdict_facts *facts,
                       const struct leat_verdict *verdict, struct leat_text *text) {
    leat_text_add_shown(text, stream);
    leat_text_add(text, ": ");
    add_bound(facts, verdict, text);
    if (verdict->bound == LEAT_BOUND_IDLE)
        return;
    if (!verdict->slow && facts->n_sessions > 1)
        say_waiting(facts, verdict, text);
    leat_text_add(text, "  In the last %.1f s: %.4g batches/s, %.4g rows/s.\n",
                  (double)facts->wall_ns / 1e9, verdict->batches_per_s, verdict->rows_per_s);
    add_uses(facts, verdict, text);
    add_gains(verdict, text);
}

/* ---- for programs ---- */

static const struct number_line {
    const char *name;
    size_t offset;
} number_lines[] = {
    {"batches_per_s", offsetof(struct leat_verdict, batches_per_s)},
    {"rows_per_s", offsetof(struct leat_verdict, rows_per_s)},
    {"stage_share", offsetof(struct leat_verdict, stage_share)},
    {"trainer", offsetof(struct leat_verdict, trainer)},
    {"no_slot", offsetof(struct leat_verdict, no_slot)},
    {"workers", offsetof(struct leat_verdict, workers)},
    {"other_streams", offsetof(struct leat_verdict, others)},
    {"scan", offsetof(struct leat_verdict, scan)},
    {"scan_blocked", offsetof(struct leat_verdict, scan_blocked)},
    {"map_blocked", offsetof(struct leat_verdict, map_blocked)},
    {"loop", offsetof(struct leat_verdict, loop)},
    {"cpus", offsetof(struct leat_verdict, cpus)},
    {"other_processes", offsetof(struct leat_verdict, foreign_cpus)},
    {"short_of_memory", offsetof(struct leat_verdict, is_short)},
    {"n_queued", offsetof(struct leat_verdict, n_queued)},
};

static void add_numbers_json(struct leat_text *json, const struct leat_verdict *verdict) {
    for (size_t i = 0; i < sizeof(number_lines) / sizeof(number_lines[0]); i++) {
        double value;

        memcpy(&value, (const char *)verdict + number_lines[i].offset, sizeof(value));
        leat_json_add_double(json, number_lines[i].name, value);
    }
}

static void add_least_json(struct leat_text *json, const double least_s[]) {
    leat_json_open(json, "batch_us", '{');
    for (int i = 0; i < LEAT_N_RESOURCES; i++)
        leat_json_add_double(json, leat_resource_name((enum leat_resource)i), least_s[i] * 1e6);
    leat_json_close(json, '}');
}

static void add_gain_json(struct leat_text *json, const struct leat_verdict *verdict,
                          const struct gain_line *line) {
    const struct leat_gain *gain = gain_of(verdict, line);

    if (!gain->is_known) {
        leat_json_add_null(json, line->name);
        return;
    }
    leat_json_open(json, line->name, '{');
    leat_json_add_double(json, "low", gain->ratio.low);
    leat_json_add_double(json, "high", gain->ratio.high);
    leat_json_add_text(json, "next", leat_bound_name(gain->next));
    add_least_json(json, gain->least_s);
    leat_json_close(json, '}');
}

/* The name of what the stream waits for, or NULL. */
static const char *waits_for(const struct leat_verdict *verdict,
                             const struct leat_verdict_trainer *trainer) {
    if (!is_waiting(verdict, trainer) || verdict->bound == LEAT_BOUND_IDLE)
        return NULL;
    return leat_bound_name(verdict->waits_for_slow ? LEAT_BOUND_TRAINER : verdict->behind);
}

static void add_trainer_json(struct leat_text *json, const struct leat_verdict *verdict,
                             const struct leat_verdict_trainer *trainer) {
    leat_json_open(json, NULL, '{');
    leat_json_add_uint(json, "session", trainer->session);
    leat_json_add_uint(json, "rank", trainer->rank);
    leat_json_add_uint(json, "world_size", trainer->world_size);
    leat_json_add_uint(json, "pid", trainer->pid);
    leat_json_add_text(json, "client", trainer->client);
    leat_json_add_text(json, "unit", trainer->unit);
    leat_json_add_uint(json, "n_batches", trainer->n_batches);
    leat_json_add_double(json, "waited", leat_verdict_waited(trainer));
    leat_json_add_double(json, "held_all", leat_verdict_held(trainer));
    leat_json_add_bool(json, "is_slow", trainer == verdict->slow);
    leat_json_add_text(json, "waits_for", waits_for(verdict, trainer));
    leat_json_close(json, '}');
}

void leat_verdict_json(struct leat_text *json, const char *stream,
                       const struct leat_verdict_facts *facts, const struct leat_verdict *verdict) {
    leat_json_add_text(json, "stream", stream);
    leat_json_add_text(json, "verdict", leat_bound_name(verdict->bound));
    leat_json_add_text(json, "stage", verdict->stage ? stage_name(verdict) : NULL);
    leat_json_add_double(json, "seconds", (double)facts->wall_ns / 1e9);
    leat_json_add_uint(json, "n_batches", facts->n_batches);
    leat_json_add_uint(json, "n_sessions", facts->n_sessions);
    leat_json_add_uint(json, "n_workers", facts->n_workers);
    leat_json_add_double(json, "n_cpus", facts->n_cpus);
    add_numbers_json(json, verdict);
    leat_json_add_text(json, "host", facts->host);
    leat_json_open(json, "trainers", '[');
    for (size_t i = 0; i < facts->n_trainers; i++)
        add_trainer_json(json, verdict, &facts->trainers[i]);
    leat_json_close(json, ']');
    add_least_json(json, verdict->least_s);
    leat_json_open(json, "gains", '{');
    for (size_t i = 0; i < N_GAINS; i++)
        add_gain_json(json, verdict, &gain_lines[i]);
    leat_json_close(json, '}');
}

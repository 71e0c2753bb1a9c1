/* control/why.c: the verb why: what bounds a stream, from the looks at its counters that there are.
 *
 * What it would take to read a cache that there is not yet is tried on the pool, with the first
 * blocks of the source: some ms of one worker. Where that cannot be, its gain is not told.
 * Owner: loop; while the task is on the pool only the fields under `task` are the worker's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/control/control.h"
#include "daemon/core/daemon.h"
#include "daemon/metrics/look.h"
#include "daemon/metrics/verdict_text.h"
#include "daemon/stream/share.h"
#include "pipeline/inspect/measure.h"
#include "pipeline/work/memory_plan.h"

#define INTERVAL_MS     10000
#define SECOND_NS       UINT64_C(1000000000)
#define INTERVAL_MS_MAX 30000
#define TRIAL_BYTES     (UINT64_C(512) << 10)
#define TRIAL_NS        (UINT64_C(60) * 1000000)

struct leat_control_why {
    struct leat_task task;
    const struct leat_opener *opener;
    struct leat_roots *roots; /* whose it may be; NULL */
    struct leat_user *user;   /* who asks: its task, that it waits for */
    struct leat_plan *plan;
    struct leat_plan view;       /* of it: the worker does not look where references are counted */
    double load_ns, tried_ns;    /* of a record; 0: unknown */
    struct leat_account account; /* of the trial's memory, claimed for who asks */

    struct leat_control *control; /* NULL: it has gone */
    struct leat_daemon *daemon;
    struct leat_daemon_stream *stream;
    struct leat_looks_facts facts;
};

static void why_free(struct leat_control_why *why) {
    if (why->plan) /* it was tried */
        leat_streams_unref(&why->daemon->streams, why->stream);
    leat_plan_unref(why->plan);
    leat_roots_unref(why->roots);
    leat_user_unref(why->user);
    free(why);
}

void leat_control_why_abandon(struct leat_control_why *why) {
    why->control = NULL;
}

/* What keeps it from being read at all; and what did so before. */
static void add_trouble(const struct leat_daemon_stream *stream, struct leat_text *text) {
    const struct leat_failure *failure = &stream->failure;
    time_t seconds = (time_t)(failure->unix_ns / SECOND_NS);
    char when[32];
    struct tm parts;

    if (stream->n_stalled > 0)
        leat_text_add(text, "  It stalls: a worker has been at one task for %llu s.\n",
                      (unsigned long long)(stream->stalled_ns / SECOND_NS));
    if (failure->unix_ns == 0)
        return;
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(when, sizeof(when), "%FT%TZ", &parts);
    leat_text_add(text, failure->is_over ? "  It failed, and goes on since then; the last time at "
                                         : "  It has failed, at ");
    leat_text_add(text, "%s (%s):\n  ", when, leat_failure_name(failure->reason));
    leat_text_add_shown(text, failure->text);
    leat_text_add(text, "\n");
}

/* As more members of the object. */
static void add_trouble_json(const struct leat_daemon_stream *stream, struct leat_text *text) {
    if (text->failed || text->n_bytes == 0)
        return;
    text->n_bytes--; /* its brace */
    leat_text_add(text, ", \"n_stalled\": %u, \"last_failure\": ", stream->n_stalled);
    leat_failure_json(&stream->failure, text);
    leat_text_add(text, "}");
}

static void answer(struct leat_control_why *why) {
    struct leat_text text = {.data = NULL}, json = {.data = NULL};
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__WhyReply message = LEAT__WHY_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_verdict verdict;

    leat_verdict_make(&why->facts.facts, &verdict);
    leat_verdict_text(why->stream->name, &why->facts.facts, &verdict, &text);
    add_trouble(why->stream, &text);
    leat_verdict_json(why->stream->name, &why->facts.facts, &verdict, &json);
    add_trouble_json(why->stream, &json);
    if (text.failed || json.failed) {
        leat_error_oom(&err);
        leat_control_fail(why->control, &err);
    } else {
        message.verdict = (char *)(uintptr_t)leat_bound_name(verdict.bound);
        message.text = text.data;
        message.json = json.data;
        reply.verb_case = LEAT__CONTROL_REPLY__VERB_WHY;
        reply.why = &message;
        leat_control_reply(why->control, &reply);
    }
    free(text.data);
    free(json.data);
}

/* ---- the trial ---- */

static uint64_t busy_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void try_cache(struct leat_task *task) {
    struct leat_control_why *why = (struct leat_control_why *)task;
    struct leat_measure_options options = {.max_bytes = TRIAL_BYTES,
                                           .max_ns = TRIAL_NS,
                                           .now_ns = leat_daemon_now_ns,
                                           .busy_ns = busy_ns,
                                           .tries_cache = true};
    struct leat_measurement measured;
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_measure_refusal(&why->view, &options))
        return;
    if (leat_measure(&why->view, why->opener, &options, &measured, &err) == 0 &&
        measured.n_cached_rows > 0) {
        why->load_ns = (double)measured.load_ns / (double)measured.n_cached_rows;
        for (size_t i = 0; measured.n_step_rows > 0 && i <= why->view.n_map; i++)
            why->tried_ns += (double)measured.step_ns[i] / (double)measured.n_step_rows;
    }
    leat_measurement_deinit(&measured);
}

static void on_tried(struct leat_task *task) {
    struct leat_control_why *why = (struct leat_control_why *)task;
    struct leat_control *control = why->control;

    leat_account_close(&why->account);
    why->facts.facts.load_ns = why->load_ns;
    why->facts.facts.tried_ns = why->tried_ns;
    if (control) {
        control->why = NULL;
        leat_control_pace_begin(control);
        leat_control_pace_worked(control, why->task.taken_ns);
        answer(why);
        leat_control_pace_end(control);
        if (!control->is_closed)
            leat_channel_pause(&control->channel, false);
    }
    why_free(why);
}

/* Only a stream that is being run is tried, which has references: one more keeps it meanwhile. */
static const struct leat_feed *feed_to_try(const struct leat_control_why *why) {
    const struct leat_daemon *daemon = why->daemon;
    const struct leat_feed *feed = daemon->feeds;

    if (why->facts.facts.n_sessions == 0 || why->facts.facts.has_cache ||
        !why->facts.facts.may_cache || daemon->is_stopping)
        return NULL;
    while (feed && (feed->stream != why->stream || !feed->run))
        feed = feed->next;
    return feed;
}

/* The trial reads, maps and loads one block at a time. -ENOMEM: there is no room for that. */
static int claim_memory(struct leat_control_why *why, const struct leat_plan *plan) {
    struct leat_memory_plan memory;

    leat_memory_plan(plan, 0, 0, 0, &memory);
    return leat_account_open_of(&why->account, &why->control->user->memory,
                                2 * memory.block_bytes + memory.scratch_bytes +
                                    memory.workspace_bytes + memory.decoder_bytes);
}

static void start_trial(struct leat_control_why *why, const struct leat_feed *feed) {
    (void)leat_daemon_stream_ref(why->stream);
    why->plan = leat_plan_ref(feed->plan);
    why->view = *why->plan;
    why->opener = feed->share->options.opener;
    why->roots = feed->share->roots ? leat_roots_ref(feed->share->roots) : NULL;
    why->user = leat_user_ref(why->control->user);
    why->task.class = LEAT_TASK_SLOW;
    why->task.work = try_cache;
    why->task.done = on_tried;
    why->control->why = why;
    leat_channel_pause(&why->control->channel, true);
    leat_scheduler_add(&why->daemon->scheduler, &why->user->queue, &why->task);
}

/* ---- the verb ---- */

static void start(struct leat_control *control, struct leat_daemon_stream *stream,
                  uint64_t interval_ns) {
    struct leat_control_why *why = calloc(1, sizeof(*why));
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_feed *feed;

    if (!why) {
        leat_error_oom(&err);
        leat_control_fail(control, &err);
        return;
    }
    why->control = control;
    why->daemon = control->daemon;
    why->stream = stream;
    (void)leat_looks_facts(why->daemon, stream, interval_ns, true, &why->facts);
    feed = feed_to_try(why);
    if (feed && claim_memory(why, feed->plan) == 0) {
        start_trial(why, feed);
        return;
    }
    answer(why);
    why_free(why);
}

void leat_control_why(struct leat_control *control, const Leat__ControlRequest *request,
                      struct leat_arena *arena) {
    const Leat__WhyRequest *why = request->why;
    uint32_t interval_ms = why->interval_ms ? why->interval_ms : INTERVAL_MS;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_daemon_stream *stream = NULL;

    (void)arena;
    if (interval_ms > INTERVAL_MS_MAX)
        leat_error_set(&err, -ERANGE, "an interval of %u ms is above %d", interval_ms,
                       INTERVAL_MS_MAX);
    else
        stream = leat_streams_look(&control->daemon->streams, why->stream, &err);
    if (!stream)
        leat_control_fail(control, &err);
    else
        start(control, stream, (uint64_t)interval_ms * UINT64_C(1000000));
}

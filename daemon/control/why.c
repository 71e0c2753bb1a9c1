/* control/why.c: the verb why: what bounds a stream, from samples of its counters.
 *
 * A trial on the pool with the first blocks of the source measures what a cache would gain; it
 * takes a worker some ms. If the trial is not possible, the reply has no such gain. Owner: loop;
 * while the task is on the pool the worker has the fields up to `tried_ns`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/config/roots.h"
#include "daemon/control/control.h"
#include "daemon/metrics/verdict_samples.h"
#include "daemon/metrics/verdict_text.h"
#include "daemon/stream/feeds.h"
#include "daemon/stream/share.h"
#include "pipeline/inspect/measure.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/clock.h"
#include "proto/base/json_writer.h"

#define INTERVAL_MS     10000
#define SECOND_NS       UINT64_C(1000000000)
#define INTERVAL_MS_MAX 30000
#define TRIAL_BYTES     (UINT64_C(512) << 10)
#define TRIAL_NS        (UINT64_C(60) * 1000000)

struct leat_control_why {
    struct leat_control_job job;
    const struct leat_opener *opener;
    struct leat_roots *roots; /* of the opener; may be NULL */
    struct leat_plan *plan;
    struct leat_plan view;       /* a copy for the worker, without the count of references */
    double load_ns, tried_ns;    /* of a record; 0: unknown */
    struct leat_account account; /* of the trial's memory, claimed for the user who asks */

    struct leat_controls *controls;
    struct leat_daemon_stream *stream;
    struct leat_verdict_interval facts;
};

static void why_free(struct leat_control_job *job) {
    struct leat_control_why *why = (struct leat_control_why *)job;

    if (why->plan) /* it was tried */
        leat_streams_unref(&why->controls->feeds->streams, why->stream);
    leat_account_close(&why->account);
    leat_plan_unref(why->plan);
    leat_roots_unref(why->roots);
    free(why);
}

/* Adds that the stream is stalled, and how it last failed. */
static void add_trouble(const struct leat_daemon_stream *stream, struct leat_text *text) {
    const struct leat_failure *failure = &stream->failure;
    time_t seconds = (time_t)(failure->unix_ns / SECOND_NS);
    char when[32];
    struct tm parts;

    if (stream->n_stalled > 0)
        leat_text_add(text,
                      "  The stream is stalled: one of its tasks has been running for %llu s.\n",
                      (unsigned long long)(stream->stalled_ns / SECOND_NS));
    if (failure->unix_ns == 0)
        return;
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(when, sizeof(when), "%FT%TZ", &parts);
    leat_text_add(text, failure->is_over
                            ? "  The stream failed, but it works again. The last failure was at "
                            : "  The stream failed at ");
    leat_text_add(text, "%s (%s):\n  ", when, leat_failure_name(failure->reason));
    leat_text_add_shown(text, failure->text);
    leat_text_add(text, "\n");
}

static void answer(struct leat_control_job *job) {
    struct leat_control_why *why = (struct leat_control_why *)job;
    struct leat_text text = {.data = NULL}, json = {.data = NULL};
    Leat__WhyReply message = LEAT__WHY_REPLY__INIT;
    struct leat_verdict verdict;

    why->facts.facts.load_ns = why->load_ns;
    why->facts.facts.tried_ns = why->tried_ns;
    leat_verdict_make(&why->facts.facts, &verdict);
    leat_verdict_text(why->stream->name, &why->facts.facts, &verdict, &text);
    add_trouble(why->stream, &text);
    leat_json_open(&json, NULL, '{');
    leat_verdict_json(&json, why->stream->name, &why->facts.facts, &verdict);
    leat_json_add_uint(&json, "n_stalled", why->stream->n_stalled);
    leat_failure_json(&json, "last_failure", &why->stream->failure);
    leat_json_close(&json, '}');
    message.verdict = (char *)(uintptr_t)leat_bound_name(verdict.bound);
    message.text = text.data;
    message.json = json.data;
    leat_control_answer(job->control, LEAT__CONTROL_REPLY__VERB_WHY,
                        text.failed || json.failed ? NULL : &message);
    free(text.data);
    free(json.data);
}

/* ---- the trial ---- */

static void try_cache(struct leat_task *task) {
    struct leat_control_why *why = (struct leat_control_why *)task;
    struct leat_measure_options options = {.max_bytes = TRIAL_BYTES,
                                           .max_ns = TRIAL_NS,
                                           .now_ns = leat_now_ns,
                                           .busy_ns = leat_thread_ns,
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

/* Only a stream that is being run is tried: it has references, so that one more keeps it. */
static const struct leat_feed *feed_to_try(const struct leat_control_why *why) {
    const struct leat_controls *controls = why->controls;
    const struct leat_feed *feed = controls->feeds->first;

    if (why->facts.facts.n_sessions == 0 || why->facts.facts.has_cache ||
        !why->facts.facts.may_cache || controls->env->is_stopping)
        return NULL;
    while (feed && (feed->stream != why->stream || !feed->run))
        feed = feed->next;
    return feed;
}

/* The trial reads, maps and loads one block at a time. -ENOMEM: there is not enough memory. */
static int claim_memory(struct leat_control_why *why, struct leat_user *user,
                        const struct leat_plan *plan) {
    struct leat_memory_plan memory;

    leat_memory_plan(plan, 0, &memory);
    return leat_account_open_of(&why->account, &user->memory,
                                2 * memory.block_bytes + memory.scratch_bytes +
                                    memory.workspace_bytes + memory.decoder_bytes);
}

static void start_trial(struct leat_control_why *why, struct leat_control *control,
                        const struct leat_feed *feed) {
    (void)leat_daemon_stream_ref(why->stream);
    why->plan = leat_plan_ref(feed->plan);
    why->view = *why->plan;
    why->opener = feed->share->options.opener;
    why->roots = feed->share->roots ? leat_roots_ref(feed->share->roots) : NULL;
    leat_control_job_begin(&why->job, control);
    leat_scheduler_add(why->controls->env->scheduler, &control->user->queue, &why->job.task);
}

/* ---- the verb ---- */

static void start(struct leat_control *control, struct leat_daemon_stream *stream,
                  uint64_t interval_ns) {
    struct leat_control_why *why = calloc(1, sizeof(*why));
    const struct leat_feed *feed;

    if (!why) {
        leat_control_fail_memory(control);
        return;
    }
    why->job = (struct leat_control_job){
        .task = {.work = try_cache, .done = leat_control_job_done},
        .control = control,
        .answer = answer,
        .free = why_free,
    };
    why->controls = control->controls;
    why->stream = stream;
    (void)leat_verdict_samples_facts(why->controls->sessions, stream, interval_ns, true,
                                     &why->facts);
    feed = feed_to_try(why);
    if (feed && claim_memory(why, control->user, feed->plan) == 0) {
        start_trial(why, control, feed);
        return;
    }
    answer(&why->job);
    why_free(&why->job);
}

void leat_control_why(struct leat_control *control, const Leat__ControlRequest *request,
                      struct leat_arena *arena) {
    const Leat__WhyRequest *why = request->why;
    uint32_t interval_ms = why->interval_ms ? why->interval_ms : INTERVAL_MS;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_daemon_stream *stream = NULL;

    (void)arena;
    if (interval_ms > INTERVAL_MS_MAX)
        leat_error_set(&err, -ERANGE, "the interval is %u ms, but it may be at most %d",
                       interval_ms, INTERVAL_MS_MAX);
    else
        stream = leat_streams_peek(&control->controls->feeds->streams, why->stream, &err);
    if (!stream)
        leat_control_fail(control, &err);
    else
        start(control, stream, (uint64_t)interval_ms * UINT64_C(1000000));
}

/* control/plan.c: the verbs explain and check, which build a plan on the pool.
 *
 * Owner: loop; while the task is on the pool the worker has the fields up to `error`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "daemon/control/control.h"
#include "daemon/stream/admission.h"
#include "daemon/stream/feeds.h"
#include "pipeline/inspect/explain.h"
#include "pipeline/run/pipeline.h"

struct leat_control_plan {
    struct leat_control_job job;
    struct leat_spec *spec; /* a copy of the stream's, or that of the request */
    const struct leat_opener *opener;
    uint32_t n_workers;
    bool wants_text;
    enum leat_explain_format format; /* of the text */
    struct leat_plan *plan;
    char *text, *json;
    struct leat_error error;

    struct leat_controls *controls;
    struct leat_loading loading;
    struct leat_roots *roots; /* of the opener; NULL: it has none */
};

static void plan_free(struct leat_control_job *job) {
    struct leat_control_plan *plan = (struct leat_control_plan *)job;

    leat_loading_release(&plan->loading);
    leat_plan_unref(plan->plan);
    free(plan->text);
    free(plan->json);
    leat_spec_free(plan->spec);
    leat_roots_unref(plan->roots);
    free(plan);
}

static void plan_work(struct leat_task *task) {
    struct leat_control_plan *plan = (struct leat_control_plan *)task;
    struct leat_explain_options options = {.n_workers = plan->n_workers,
                                           .is_unfused = plan->controls->env->is_unfused};

    if (leat_loading_check(&plan->loading, plan->spec, &plan->error) < 0 ||
        leat_pipeline_open(plan->spec, plan->opener, &plan->plan, &plan->error) < 0 ||
        !plan->wants_text)
        return;
    options.has_index = leat_feeds_index_folder(plan->controls->feeds) != NULL;
    leat_plan_measure_data(plan->plan, plan->opener);
    leat_steps_find_rows(plan->plan, plan->opener, leat_feeds_index_folder(plan->controls->feeds));
    options.format = plan->format;
    plan->text = leat_explain(plan->plan, &options);
    options.format = LEAT_EXPLAIN_JSON;
    plan->json = leat_explain(plan->plan, &options);
    if (!plan->text || !plan->json)
        leat_error_oom(&plan->error);
}

static void answer(struct leat_control_job *job) {
    const struct leat_control_plan *plan = (const struct leat_control_plan *)job;
    Leat__ExplainReply explain = LEAT__EXPLAIN_REPLY__INIT;

    if (plan->error.code) {
        leat_control_fail(job->control, &plan->error);
        return;
    }
    if (!plan->wants_text) {
        leat_control_answer_done(job->control);
        return;
    }
    explain.text = plan->text;
    explain.json = plan->json;
    leat_control_answer(job->control, LEAT__CONTROL_REPLY__VERB_EXPLAIN, &explain);
}

static void plan_done(struct leat_task *task) {
    struct leat_control_plan *plan = (struct leat_control_plan *)task;

    if (plan->job.control && leat_loading_again(plan->controls->feeds, &plan->loading))
        plan->error = LEAT_ERROR_INIT;
    else
        leat_control_job_done(task);
}

/* A stream of the settings may read any file, a spec from the socket only files that its sender may
 * read. A plan starts no program. */
static int choose_spec(struct leat_control_plan *plan, uid_t uid, const char *name,
                       const Leat__StreamSpec *message, struct leat_error *err) {
    struct leat_controls *controls = plan->controls;
    struct leat_daemon_stream *stream;
    int r;

    plan->opener = controls->env->settings->exec == LEAT_SETTINGS_EXEC_NEVER
                       ? &leat_opener_any
                       : &leat_opener_operator;
    if (!message) {
        stream = leat_streams_find(&controls->feeds->streams, name, err);
        if (!stream)
            return -ENOENT;
        r = leat_spec_copy(stream->spec, &plan->spec);
        leat_streams_unref(&controls->feeds->streams, stream);
        return r < 0 ? leat_error_oom(err) : 0;
    }
    if (uid != 0 && uid != geteuid())
        plan->opener = &(plan->roots = leat_roots_ref(controls->env->roots))->opener;
    return leat_spec_unpack(message, &plan->spec, err);
}

/* An unknown drawing is a text. */
static enum leat_explain_format format_of(const char *drawing) {
    return strcmp(drawing, "dot") == 0   ? LEAT_EXPLAIN_DOT
           : strcmp(drawing, "svg") == 0 ? LEAT_EXPLAIN_SVG
                                         : LEAT_EXPLAIN_TEXT;
}

static void start(struct leat_control *control, const char *name, const Leat__StreamSpec *message,
                  const char *drawing) {
    struct leat_control_plan *plan = calloc(1, sizeof(*plan));
    struct leat_error err = LEAT_ERROR_INIT;

    if (!plan) {
        leat_control_fail_memory(control);
        return;
    }
    plan->controls = control->controls;
    plan->job = (struct leat_control_job){
        .task = {.work = plan_work, .done = plan_done}, .answer = answer, .free = plan_free};
    plan->n_workers = control->controls->env->n_workers;
    plan->wants_text = drawing != NULL;
    plan->format = drawing ? format_of(drawing) : LEAT_EXPLAIN_TEXT;
    if (choose_spec(plan, control->peer.uid, name, message, &err) < 0) {
        leat_control_fail(control, &err);
        plan_free(&plan->job);
        return;
    }
    leat_control_job_begin(&plan->job, control);
    leat_loading_start(control->controls->feeds, &plan->loading, control->user, &plan->job.task);
}

void leat_control_explain(struct leat_control *control, const Leat__ControlRequest *request,
                          struct leat_arena *arena) {
    (void)arena;
    start(control, request->explain->stream, request->explain->spec, request->explain->drawing);
}

void leat_control_check(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    (void)arena;
    start(control, request->check->stream, request->check->spec, NULL);
}

/* control/plan.c: the verbs that need a plan, which is built on the pool: explain, check.
 *
 * Owner: loop; while the task is on the pool only the fields under `task` are touched by the
 * worker.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "daemon/core/daemon.h"
#include "daemon/stream/admission.h"
#include "pipeline/inspect/explain.h"
#include "pipeline/plan/data_digest.h"
#include "pipeline/work/steps.h"

struct leat_control_plan {
    struct leat_task task;
    struct leat_spec *spec; /* a copy of the stream's, or that of the request */
    const struct leat_opener *opener;
    uint32_t n_workers;
    bool wants_text;
    enum leat_explain_format format; /* of the text */
    struct leat_plan *plan;
    char *text, *json;
    struct leat_error error;

    struct leat_daemon *daemon;
    struct leat_user *user;
    struct leat_loading loading;
    struct leat_control *control; /* NULL: it has gone */
    struct leat_roots *roots;     /* of the opener; NULL: it has none */
};

static void plan_free(struct leat_control_plan *plan) {
    leat_plan_unref(plan->plan);
    free(plan->text);
    free(plan->json);
    leat_spec_free(plan->spec);
    leat_roots_unref(plan->roots);
    leat_user_unref(plan->user);
    free(plan);
}

void leat_control_plan_abandon(struct leat_control_plan *plan) {
    plan->control = NULL;
}

static void plan_work(struct leat_task *task) {
    struct leat_control_plan *plan = (struct leat_control_plan *)task;
    struct leat_explain_options options = {.n_workers = plan->n_workers,
                                           .is_unfused = plan->daemon->options.is_unfused};

    if (leat_loading_check(&plan->loading, plan->spec, &plan->error) < 0 ||
        leat_plan_new(plan->spec, plan->opener, &plan->plan, &plan->error) < 0 || !plan->wants_text)
        return;
    options.has_index = leat_daemon_index_folder(plan->daemon) != NULL;
    leat_data_measure(plan->plan, plan->opener);
    leat_steps_look(plan->plan, plan->opener, leat_daemon_index_folder(plan->daemon));
    options.format = plan->format;
    plan->text = leat_explain(plan->plan, &options);
    options.format = LEAT_EXPLAIN_JSON;
    plan->json = leat_explain(plan->plan, &options);
    if (!plan->text || !plan->json)
        leat_error_oom(&plan->error);
}

static void answer(const struct leat_control_plan *plan) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__ExplainReply explain = LEAT__EXPLAIN_REPLY__INIT;
    Leat__Empty done = LEAT__EMPTY__INIT;

    if (plan->error.code) {
        leat_control_fail(plan->control, &plan->error);
        return;
    }
    if (plan->wants_text) {
        explain.text = plan->text;
        explain.json = plan->json;
        reply.verb_case = LEAT__CONTROL_REPLY__VERB_EXPLAIN;
        reply.explain = &explain;
    } else {
        reply.verb_case = LEAT__CONTROL_REPLY__VERB_DONE;
        reply.done = &done;
    }
    leat_control_reply(plan->control, &reply);
}

static void plan_done(struct leat_task *task) {
    struct leat_control_plan *plan = (struct leat_control_plan *)task;
    struct leat_control *control = plan->control;

    if (control && leat_loading_again(plan->daemon, &plan->loading)) {
        plan->error = LEAT_ERROR_INIT;
        return;
    }
    if (control) {
        control->plan = NULL;
        leat_control_pace_begin(control);
        leat_control_pace_worked(control, plan->task.taken_ns);
        answer(plan);
        if (!control->is_closed)
            leat_channel_pause(&control->channel, false);
    }
    leat_loading_release(&plan->loading);
    plan_free(plan);
    if (control)
        leat_control_pace_end(control);
}

/* A stream of the settings may read any file; a spec from the socket only what its sender may. No
 * program is started for a plan. */
static int choose_spec(struct leat_control_plan *plan, const char *name,
                       const Leat__StreamSpec *message, struct leat_error *err) {
    struct leat_daemon *daemon = plan->daemon;
    uid_t uid = plan->control->peer.uid;
    struct leat_daemon_stream *stream;
    int r;

    plan->opener = daemon->settings->exec == LEAT_SETTINGS_EXEC_NEVER ? &leat_opener_any
                                                                      : &leat_opener_operator;
    if (!message) {
        stream = leat_streams_find(&daemon->streams, name, err);
        if (!stream)
            return -ENOENT;
        r = leat_spec_copy(stream->spec, &plan->spec);
        leat_streams_unref(&daemon->streams, stream);
        return r < 0 ? leat_error_oom(err) : 0;
    }
    if (uid != 0 && uid != geteuid())
        plan->opener = &(plan->roots = leat_roots_ref(daemon->roots))->opener;
    return leat_spec_unpack(message, &plan->spec, err);
}

/* Unknown drawings are texts. */
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
        leat_error_oom(&err);
        leat_control_fail(control, &err);
        return;
    }
    plan->daemon = control->daemon;
    plan->control = control;
    plan->user = leat_user_ref(control->user);
    plan->n_workers = control->daemon->n_workers;
    plan->wants_text = drawing != NULL;
    plan->format = drawing ? format_of(drawing) : LEAT_EXPLAIN_TEXT;
    if (choose_spec(plan, name, message, &err) < 0) {
        leat_control_fail(control, &err);
        plan_free(plan);
        return;
    }
    control->plan = plan;
    leat_channel_pause(&control->channel, true);
    plan->task.class = LEAT_TASK_SLOW;
    plan->task.work = plan_work;
    plan->task.done = plan_done;
    leat_loading_start(control->daemon, &plan->loading, plan->user, &plan->task);
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

/* run/rest.c: see run/rest.h. */
#include "pipeline/run/rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void leat_run_rest_init(struct leat_run *run) {
    const struct leat_plan *plan = run->plan;
    uint32_t n_threads = run->options.n_map_threads;

    run->map_limit = UINT32_MAX;
    for (size_t i = 0; i < plan->n_map; i++) {
        const struct leat_plan_stage *stage = plan->map[i];
        uint32_t n = stage->ops->max_jobs ? stage->ops->max_jobs(stage->config) : UINT32_MAX;

        run->map_limit = n < run->map_limit ? n : run->map_limit;
        run->can_rest = run->can_rest || stage->ops->workspace_rest;
    }
    run->n_at_once = n_threads > 0 ? n_threads : (uint32_t)run->knobs.of[LEAT_KNOB_JOBS] + 1;
    if (run->map_limit < run->n_at_once)
        run->n_at_once = run->map_limit;
    if (n_threads == 0) /* as many are executed as are out */
        run->map_limit = run->n_at_once;
}

void leat_run_rest_deinit(struct leat_run *run) {
    while (run->n_notes > 0)
        free(run->notes[--run->n_notes]);
    while (run->n_changes > 0)
        free(run->changes[--run->n_changes]);
}

bool leat_run_wants_rest(const struct leat_run *run, bool is_for_good) {
    return run->can_rest && !run->rest_is_out && run->free_workspaces &&
           (is_for_good ? run->n_jobs == 0 && !run->has_rested : run->rest_is_due);
}

void leat_run_begin_rest(struct leat_run *run, struct leat_rest_job *rest, bool is_for_good) {
    *rest = (struct leat_rest_job){
        .plan = run->plan, .workspaces = run->free_workspaces, .is_for_good = is_for_good};
    run->free_workspaces = NULL;
    run->rest_is_out = true;
    run->rest_is_due = false;
    run->has_rested = is_for_good;
}

void leat_run_end_rest(struct leat_run *run, struct leat_rest_job *rest) {
    struct leat_workspace **last = &run->free_workspaces;

    while (*last)
        last = &(*last)->next;
    *last = rest->workspaces;
    run->rest_is_out = false;
}

bool leat_run_tick(struct leat_run *run) {
    leat_run_trim(run);
    run->rest_is_due = true;
    return leat_run_is_starved(run) || leat_run_wants_rest(run, false);
}

/* ---- notes ---- */

static void add_note(struct leat_run *run, const char *text) {
    char *copy = run->n_notes < LEAT_RUN_NOTES_MAX ? strdup(text) : NULL;

    if (copy)
        run->notes[run->n_notes++] = copy;
}

void leat_run_add_notes(struct leat_run *run, const struct leat_notes *notes) {
    char text[64];

    for (uint32_t i = 0; i < notes->n_texts; i++)
        add_note(run, notes->texts[i]);
    if (notes->n_dropped == 0)
        return;
    (void)snprintf(text, sizeof(text), "(%u more lines)", notes->n_dropped);
    add_note(run, text);
}

static char *take_first(char **texts, size_t *n_texts) {
    char *text = *n_texts > 0 ? texts[0] : NULL;

    if (text)
        memmove(texts, texts + 1, --*n_texts * sizeof(texts[0]));
    return text;
}

char *leat_run_take_note(struct leat_run *run) {
    return take_first(run->notes, &run->n_notes);
}

void leat_run_take_watched(struct leat_run *run) {
    struct leat_run *whole = leat_run_whole(run);
    char *text;

    whole->stats.n_changed_files += run->watch.n_changes;
    run->watch.n_changes = 0;
    while ((text = take_first(run->watch.texts, &run->watch.n_texts))) {
        if (whole->n_changes < LEAT_RUN_NOTES_MAX)
            whole->changes[whole->n_changes++] = text;
        else
            free(text);
    }
}

char *leat_run_take_change(struct leat_run *run) {
    return take_first(run->changes, &run->n_changes);
}

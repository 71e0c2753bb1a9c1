/* inline.c: see inline.h. Each job is executed as soon as the run hands it out. Slots are aligned
 * memory, and free again after their batch was reported. */
#include "client/cli/run/inline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/cli/base/checkpoint.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/profile.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/array.h"
#include "proto/base/clock.h"

#define MAX_MAP_JOBS 1

struct slots {
    struct leat_slot *items; /* that the run does not have */
    size_t n_items, capacity;
};

static int put_slot(struct slots *slots, struct leat_slot slot) {
    if (!leat_array_reserve(&slots->items, slots->n_items + 1, &slots->capacity))
        return -ENOMEM;
    slots->items[slots->n_items++] = slot;
    return 0;
}

static int make_slot(size_t size_bytes, struct leat_slot *ret_slot) {
    size_t rounded = leat_slot_align(size_bytes);
    void *memory = aligned_alloc(LEAT_SLOT_ALIGN, rounded);

    *ret_slot = (struct leat_slot){.memory = memory, .size_bytes = rounded};
    return memory ? 0 : -ENOMEM;
}

/* Gives a slot for the pending batch: a spare one if it is large enough, else a new one. */
static int give_slot(struct leat_run *run, const struct leat_plan *plan, struct slots *slots,
                     struct leat_error *err) {
    size_t need = leat_run_slot_need(run);
    struct leat_slot slot = {.memory = NULL};

    if (slots->n_items > 0)
        slot = slots->items[--slots->n_items];
    if (slot.size_bytes < need || !slot.memory) {
        free(slot.memory);
        if (make_slot(need > plan->slot_bytes ? need : plan->slot_bytes, &slot) < 0)
            return leat_error_oom(err);
    }
    if (leat_run_give_slot(run, &slot) < 0) {
        free(slot.memory);
        return leat_error_oom(err);
    }
    return 0;
}

static int take_outputs(struct leat_run *run, struct slots *slots, struct leat_view *view,
                        struct leat_cli_place *place, struct leat_cli_report *report,
                        struct leat_error *err) {
    struct leat_output output;

    while (leat_run_take_output(run, &output)) {
        int r;

        leat_cli_place_take(place, &output);
        if (output.kind == LEAT_OUTPUT_EPOCH_END) {
            report->n_epochs++;
            continue;
        }
        r = leat_view_read(view, output.slot.memory, (size_t)output.used_bytes, err);
        if (r == 0)
            leat_cli_report_batch(report, view);
        if (put_slot(slots, output.slot) < 0) {
            free(output.slot.memory);
            r = leat_error_oom(err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static void print_notes(struct leat_run *run) {
    struct leat_text text = {.data = NULL};
    char *note;

    while ((note = leat_run_take_note(run))) {
        leat_text_add_line(&text, "leatctl: %s", note);
        free(note);
    }
    note = leat_run_take_replay(run);
    if (note)
        leat_text_add_line(&text, "leatctl: %s", note);
    leat_cli_print_to(&text, stderr);
    free(note);
}

/* Advances the run by one step. 0; 1: it has ended; -errno. */
static int step_run(struct leat_run *run, const struct leat_plan *plan, struct slots *slots,
                    struct leat_error *err) {
    switch (leat_pipeline_step(run)) {
    case LEAT_RUN_JOB:
        print_notes(run);
        return 0;
    case LEAT_RUN_NEEDS_SLOT:
        return give_slot(run, plan, slots, err);
    case LEAT_RUN_WAITING:
        return 0; /* the caller takes an output */
    default:
        return 1;
    }
}

static int drive_run(struct leat_run *run, const struct leat_plan *plan, struct slots *slots,
                     struct leat_cli_place *place, struct leat_cli_report *report,
                     struct leat_error *err) {
    struct leat_view view = {.capacity = 0};
    int r = 0;

    while (r == 0) {
        if (leat_cli_interrupt_seen())
            r = leat_error_set(err, -EINTR, "interrupted");
        else
            r = step_run(run, plan, slots, err);
        if (r >= 0 && take_outputs(run, slots, &view, place, report, err) < 0)
            r = err->code;
    }
    leat_view_deinit(&view);
    if (r < 0)
        leat_pipeline_stop(run);
    if (r > 0 && leat_run_error(run)) {
        *err = *leat_run_error(run);
        return err->code;
    }
    return r < 0 ? r : 0;
}

static void take_stats(const struct leat_run *run, struct leat_cli_report *report) {
    Leat__StreamStats *profile = leat_cli_profile_of_run(run);
    struct leat_run_stats stats;
    char text[LEAT_ERROR_PRINT_MAX];

    leat_run_get_stats(run, &stats);
    if (stats.n_cache_notes > 0 && leat_error_print(stats.cache_note, text, sizeof(text)) > 0)
        (void)fprintf(stderr, "leatctl: warning: %s\n", text);
    report->has_tokens = true;
    report->n_tokens = stats.counts.figures.n_elements;
    report->n_bad_records = stats.counts.figures.n_bad_records;
    if (stats.last_bad && stats.last_bad->code)
        (void)leat_error_print(stats.last_bad, report->last_bad, sizeof(report->last_bad));
    if (profile)
        leat_cli_report_profile(report, profile);
    free(profile);
}

static void free_slots(struct leat_run *run, struct slots *slots) {
    struct leat_slot slot;

    while (leat_run_take_slot_back(run, &slot))
        free(slot.memory);
    while (slots->n_items > 0)
        free(slots->items[--slots->n_items].memory);
    free(slots->items);
}

/* Saves the position also of a run that failed or was interrupted. */
static int save_place(const struct leat_cli_arguments *arguments,
                      const struct leat_cli_place *place, int r, struct leat_error *err) {
    char text[LEAT_POSITION_TEXT_SIZE];
    int saved;

    leat_cli_place_print(place, text);
    saved = leat_cli_checkpoint_write(arguments, text, err);
    return r < 0 ? r : saved;
}

static int run_plan(struct leat_plan *plan, struct leat_run_options *options,
                    const struct leat_cli_arguments *arguments, const char *position,
                    struct leat_cli_report *report, struct leat_error *err) {
    struct slots slots = {.n_items = 0};
    struct leat_cli_place place;
    struct leat_run *run = NULL;
    int r = leat_cli_place_start(&place, position, arguments->accept_changes, plan, options, err);

    if (r == 0)
        r = leat_run_new(plan, options, &run, err);
    if (r < 0)
        return r;
    r = drive_run(run, plan, &slots, &place, report, err);
    leat_cli_report_stop(report);
    take_stats(run, report);
    free_slots(run, &slots);
    leat_run_free(run);
    return save_place(arguments, &place, r, err);
}

int leat_cli_inline_run(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                        const struct leat_ranks *ranks, const char *position,
                        struct leat_cli_report *report, struct leat_error *err) {
    struct leat_run_options options = {
        .n_epochs = arguments->epochs.is_given ? arguments->epochs.value : 1,
        .n_steps = arguments->batches.value,
        .first_rank = ranks->rank,
        .world_size = ranks->world_size,
        .has_seed = arguments->seed.is_given,
        .seed = arguments->seed.value,
        .max_map_jobs = MAX_MAP_JOBS,
        .now_ns = leat_now_ns,
        .opener = &leat_opener_operator,
        .is_unfused = arguments->no_fuse,
    };
    struct leat_plan *plan = NULL;
    int r = leat_pipeline_open(spec, &leat_opener_operator, &plan, err);

    if (r < 0)
        return r;
    r = run_plan(plan, &options, arguments, position, report, err);
    leat_plan_unref(plan);
    return r;
}

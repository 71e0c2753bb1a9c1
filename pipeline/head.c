/* head.c: see head.h. Runs the source and the MAP stages inline, block by block, without order and
 * without batches. */
#include "pipeline/head.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/job.h"

struct head {
    struct leat_plan *plan;
    struct leat_scan scan;
    struct leat_buffer buffer;
    struct leat_block_pool pool;
    struct leat_arena scratch;
    struct leat_workspace *workspace;
    int stop_after; /* index into plan->map; -1: the source */
    const uint32_t *columns;
    const char (*names)[LEAT_NAME_MAX + 1];
    size_t n_fields;
    uint64_t n_left;
    struct leat_text *text;
};

/* The schema and the last MAP stage at that point of the spec. Stages that are dead for the whole
 * stream are alive for head, so every column is marked as needed. */
static int place(struct head *head, int after_stage, struct leat_error *err) {
    struct leat_plan *plan = head->plan;

    if (after_stage >= (int)plan->n_stages)
        return leat_error_set(err, -EINVAL, "there is no stage %d: there are %zu, from 0",
                              after_stage, plan->n_stages);
    head->columns =
        after_stage < 0 ? plan->source_columns : plan->stages[after_stage].columns_after;
    head->names = (const char(*)[LEAT_NAME_MAX + 1])(
        after_stage < 0 ? plan->source_names : plan->stages[after_stage].names_after);
    head->n_fields =
        after_stage < 0 ? plan->n_source_fields : plan->stages[after_stage].n_fields_after;
    head->stop_after = -1;
    plan->n_map = 0;
    for (int i = 0; i <= after_stage; i++) {
        if (plan->stages[i].ops->kind != LEAT_STAGE_MAP || !plan->stages[i].ops->map)
            continue;
        plan->stages[i].filter_column = -1;
        head->stop_after = (int)plan->n_map;
        plan->map[plan->n_map++] = &plan->stages[i];
    }
    for (uint32_t i = 0; i < plan->n_columns; i++)
        plan->is_needed[i] = plan->is_kept[i] = true;
    return 0;
}

/* Of the records; each stage adds those that it found. NULL: none. */
static const struct leat_bad_record *first_bad(const struct leat_block *block) {
    const struct leat_bad_record *first = NULL;

    for (uint32_t i = 0; i < block->n_bad; i++)
        if (!first || block->bad[i].record < first->record)
            first = &block->bad[i];
    return first;
}

static void bad_to_error(const struct head *head, const struct leat_block *block,
                         const struct leat_bad_record *bad, struct leat_error *err) {
    leat_error_set(err, -EINVAL, "%s", bad->message);
    leat_error_locate(err, head->plan->source->files.paths[block->file], (uint32_t)bad->line,
                      bad->column);
    if (bad->field)
        leat_error_prefix(err, "%s", bad->field);
    if (bad->stage)
        leat_error_prefix(err, "%s", bad->stage);
}

static int render(struct head *head, const struct leat_block *block, struct leat_error *err) {
    const struct leat_bad_record *bad =
        head->plan->options.on_error == LEAT_ON_ERROR_FAIL ? first_bad(block) : NULL;

    for (uint32_t row = 0; row < block->n_rows && head->n_left > 0; row++, head->n_left--) {
        if (bad && block->records[row] > bad->record)
            break;
        leat_render_row(head->text, head->plan, block, row, head->columns, head->names,
                        head->n_fields);
        leat_text_add(head->text, "\n");
    }
    if (bad && head->n_left > 0) {
        bad_to_error(head, block, bad, err);
        return -EINVAL;
    }
    return head->text->failed ? leat_error_oom(err) : 0;
}

static int map_and_render(struct head *head, const struct leat_piece *piece,
                          struct leat_error *err) {
    struct leat_map_job job = {
        .plan = head->plan,
        .piece = *piece,
        .block = leat_block_pool_take(&head->pool),
        .scratch = &head->scratch,
        .workspace = head->workspace,
        .seed = (uint64_t)head->plan->options.seed,
        .stop_after = head->stop_after,
        .counts = calloc(head->plan->n_map + 1, sizeof(struct leat_stage_count)),
    };
    int r;

    if (!job.block || !job.counts)
        r = leat_error_oom(err);
    else
        r = leat_map_execute(&job, err);
    if (r == 0)
        r = render(head, job.block, err);
    free(job.counts);
    if (job.block)
        leat_block_unref(job.block, 1);
    leat_arena_reset(&head->scratch);
    return r;
}

static int read_on(struct head *head, struct leat_error *err) {
    bool has_ended = false;
    int r = 0;

    while (r == 0 && head->n_left > 0 && !has_ended) {
        struct leat_scan_job job = {.scan = &head->scan, .n_pieces = 1, .buffers = {&head->buffer}};
        uint64_t n_bytes = 0;

        r = leat_scan_execute(&job, &n_bytes, err);
        has_ended = job.has_ended;
        if (r == 0 && job.pieces[0].n_records > 0)
            r = map_and_render(head, &job.pieces[0], err);
    }
    return r;
}

int leat_head(const struct leat_spec *spec, const struct leat_opener *opener, int after_stage,
              uint64_t n_records, struct leat_text *text, struct leat_error *err) {
    struct head head = {.n_left = n_records, .text = text};
    int r = leat_plan_new_of_rows(spec, opener, &head.plan, err);

    if (r < 0)
        return r;
    leat_arena_init(&head.scratch);
    r = place(&head, after_stage, err);
    if (r == 0) {
        head.workspace = leat_workspace_new(head.plan);
        if (!head.workspace)
            r = leat_error_oom(err);
    }
    if (r == 0) {
        leat_scan_start(&head.scan, head.plan, opener, true);
        r = read_on(&head, err);
        leat_scan_stop(&head.scan);
    }
    leat_workspace_free(head.workspace, head.plan);
    leat_block_pool_deinit(&head.pool);
    leat_arena_deinit(&head.scratch);
    free(head.buffer.data);
    leat_plan_unref(head.plan);
    return r;
}

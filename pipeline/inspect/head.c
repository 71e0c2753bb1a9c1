#include "pipeline/inspect/head.h"

#include <errno.h>

#include "pipeline/inspect/row_reader.h"
#include "pipeline/run/bad_records.h"
#include "pipeline/run/pipeline.h"

struct head {
    const uint32_t *columns;
    const char (*names)[LEAT_NAME_MAX + 1];
    size_t n_fields;
    uint64_t n_left;
    struct leat_text *text;
    struct leat_head_bad *bad;
};

/* The schema at that point of the spec. */
static int place(struct head *head, const struct leat_plan *plan, int after_stage,
                 struct leat_error *err) {
    const struct leat_plan_stage *stage;

    if (after_stage >= (int)plan->n_stages)
        return leat_error_set(err, -EINVAL,
                              "stage %d does not exist: the stream has %zu stages, numbered from 0",
                              after_stage, plan->n_stages);
    stage = after_stage < 0 ? NULL : &plan->stages[after_stage];
    head->columns = stage ? stage->columns_after : plan->source_columns;
    head->names =
        (const char(*)[LEAT_NAME_MAX + 1])(stage ? stage->names_after : plan->source_names);
    head->n_fields = stage ? stage->n_fields_after : plan->n_source_fields;
    return 0;
}

/* Counts the bad records in front of the last row, of which n_taken were taken. */
static void count_bad(struct head *head, const struct leat_plan *plan,
                      const struct leat_block *block, uint32_t n_taken) {
    const struct leat_bad_record *first = leat_block_first_bad(block);

    for (uint32_t i = 0; i < block->n_bad; i++)
        head->bad->n_skipped +=
            head->n_left > 0 || block->bad[i].record < block->records[n_taken - 1];
    if (first && head->bad->n_skipped > 0 && !head->bad->first.code)
        leat_bad_record_error(plan, block->file, first, &head->bad->first);
}

static int render(void *user, const struct leat_plan *plan, const struct leat_block *block,
                  struct leat_error *err) {
    struct head *head = user;
    const struct leat_bad_record *bad =
        plan->options.on_error == LEAT_ON_ERROR_FAIL ? leat_block_first_bad(block) : NULL;

    uint32_t row;

    for (row = 0; row < block->n_rows && head->n_left > 0; row++, head->n_left--) {
        if (bad && block->records[row] > bad->record)
            break;
        leat_render_row(head->text, plan, block, row, head->columns, head->names, head->n_fields);
        leat_text_add(head->text, "\n");
    }
    if (bad && head->n_left > 0) {
        leat_bad_record_error(plan, block->file, bad, err);
        return -EBADMSG;
    }
    count_bad(head, plan, block, row);
    if (head->text->failed)
        return leat_error_oom(err);
    return head->n_left == 0;
}

int leat_head(const struct leat_spec *spec, const struct leat_opener *opener, int after_stage,
              uint64_t n_records, struct leat_text *text, struct leat_head_bad *ret_bad,
              struct leat_error *err) {
    struct head head = {.n_left = n_records, .text = text, .bad = ret_bad};
    struct leat_plan *plan = NULL;
    int r = leat_pipeline_open_rows(spec, opener, &plan, err);

    *ret_bad = (struct leat_head_bad){.first = LEAT_ERROR_INIT};
    if (r < 0)
        return r;
    r = place(&head, plan, after_stage, err);
    if (r == 0 && n_records > 0)
        r = leat_read_rows(plan, opener, after_stage, render, &head, err);
    leat_plan_unref(plan);
    return r;
}

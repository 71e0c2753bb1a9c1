/* row_reader.c: see row_reader.h. Runs the source and the MAP stages inline. */
#include "pipeline/inspect/row_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/work/map.h"
#include "proto/base/json_writer.h"

struct reader {
    struct leat_plan *plan;
    struct leat_scan scan;
    struct leat_buffer buffer;
    struct leat_block_pool pool;
    struct leat_arena scratch;
    struct leat_workspace *workspace;
    int stop_after; /* index into plan->map; -1: the source */
    leat_row_reader_fn *on_block;
    void *user;
};

static void add_stage(struct leat_plan *plan, struct leat_plan_stage *stage) {
    if (stage->ops->kind != LEAT_STAGE_MAP || !stage->ops->map)
        return;
    stage->filter_column = -1;
    plan->map[plan->n_map++] = stage;
}

static bool is_hidden(const struct leat_plan *plan, const struct leat_plan_link *made) {
    return plan->fields[made->column].name[0] == '(' && made->stage > 0 &&
           made->stage <= plan->n_stages;
}

/* Stages that the whole stream does not need run here, so every column with a name is marked as
 * needed. Of the others only those are that a stage reads on the way: to make them may fail. */
static void mark(struct leat_plan *plan, int after_stage) {
    for (uint32_t i = 0; i < plan->n_columns; i++)
        plan->is_needed[i] = plan->is_kept[i] = true;
    for (size_t i = 0; i < plan->n_makes; i++)
        if (is_hidden(plan, &plan->makes[i]))
            plan->is_needed[plan->makes[i].column] = false;
    for (uint32_t i = 0; i < plan->n_columns; i++)
        if (plan->is_needed[i])
            leat_plan_need(plan, i);
    for (int stage = after_stage + 1; stage > 0; stage--)
        for (size_t i = 0; i < plan->n_reads; i++) {
            const struct leat_plan_link *read = &plan->reads[i];

            if (read->stage == (uint32_t)stage &&
                (read->result < 0 || plan->is_needed[read->result]))
                leat_plan_need(plan, read->column);
        }
}

static void place(struct reader *reader, int after_stage) {
    struct leat_plan *plan = reader->plan;

    plan->n_map = 0;
    for (size_t i = plan->n_stages; i < plan->n_all_stages; i++)
        add_stage(plan, &plan->stages[i]);
    plan->n_source_map = plan->n_map;
    for (int i = 0; i <= after_stage; i++)
        add_stage(plan, &plan->stages[i]);
    reader->stop_after = (int)plan->n_map - 1;
    mark(plan, after_stage);
}

const struct leat_bad_record *leat_block_first_bad(const struct leat_block *block) {
    const struct leat_bad_record *first = NULL;

    for (uint32_t i = 0; i < block->n_bad; i++)
        if (!first || block->bad[i].record < first->record)
            first = &block->bad[i];
    return first;
}

static int map_piece(struct reader *reader, const struct leat_piece *piece,
                     struct leat_error *err) {
    struct leat_map_job job = {
        .plan = reader->plan,
        .piece = *piece,
        .load = {.fd = -1},
        .block = leat_block_pool_take(&reader->pool),
        .scratch = &reader->scratch,
        .workspace = reader->workspace,
        .seed = (uint64_t)reader->plan->options.seed,
        .stop_after = reader->stop_after,
        .counts = calloc(LEAT_COUNT_STAGES + reader->plan->n_map, sizeof(struct leat_stage_count)),
    };
    int r;

    if (!job.block || !job.counts)
        r = leat_error_oom(err);
    else
        r = leat_map_execute(&job, err);
    if (r == 0)
        r = reader->on_block(reader->user, reader->plan, job.block, err);
    free(job.counts);
    if (job.block)
        leat_block_unref(job.block, 1);
    leat_arena_reset(&reader->scratch);
    return r;
}

static int read_on(struct reader *reader, struct leat_error *err) {
    bool has_ended = false;
    int r = 0;

    while (r == 0 && !has_ended) {
        struct leat_scan_job job = {.max_bytes = SIZE_MAX,
                                    .scan = &reader->scan,
                                    .n_pieces = 1,
                                    .buffers = {&reader->buffer}};
        uint64_t n_bytes = 0;

        r = leat_scan_execute(&job, &n_bytes, err);
        has_ended = job.has_ended;
        if (r == 0 && job.pieces[0].buffer)
            r = map_piece(reader, &job.pieces[0], err);
    }
    return r < 0 ? r : 0;
}

int leat_read_rows(struct leat_plan *plan, const struct leat_opener *opener, int after_stage,
                   leat_row_reader_fn *on_block, void *user, struct leat_error *err) {
    struct reader reader = {.plan = plan, .on_block = on_block, .user = user};
    int r = 0;

    leat_arena_init(&reader.scratch);
    place(&reader, after_stage);
    reader.workspace = leat_workspace_new(plan);
    if (!reader.workspace)
        r = leat_error_oom(err);
    if (r == 0) {
        leat_scan_start(&reader.scan, plan, opener, true);
        r = read_on(&reader, err);
        leat_scan_stop(&reader.scan);
    }
    leat_workspace_free(reader.workspace, plan);
    leat_block_pool_deinit(&reader.pool);
    leat_arena_deinit(&reader.scratch);
    free(reader.buffer.data);
    return r;
}

/* ---- printing ---- */

const char *leat_making_text(enum leat_making made) {
    static const char *const texts[] = {
        [LEAT_MADE_OF_RECORDS] = "",
        [LEAT_MADE_AS_MASK] = "mask of",
        [LEAT_MADE_OF_PARTS] = "parts of",
        [LEAT_MADE_AS_LABELS] = "labels of",
        [LEAT_MADE_AS_START] = "start of documents in",
        [LEAT_MADE_AS_POSITIONS] = "positions in documents of",
        [LEAT_MADE_AS_SEGMENTS] = "document numbers of",
        [LEAT_MADE_AS_CU_SEQLENS] = "starts of documents of",
    };

    return texts[made];
}

static void add_made(struct leat_text *json, const char *key, enum leat_making made,
                     const char *name) {
    char buffer[LEAT_NAME_MAX + 64];

    (void)snprintf(buffer, sizeof(buffer), "(%s %s: only in batches)", leat_making_text(made),
                   name);
    leat_json_add_text(json, key, buffer);
}

void leat_render_row(struct leat_text *json, const struct leat_plan *plan,
                     const struct leat_block *block, uint32_t row, const uint32_t *columns,
                     const char (*names)[LEAT_NAME_MAX + 1], size_t n_fields) {
    leat_json_open(json, NULL, '{');
    for (size_t i = 0; i < n_fields; i++) {
        const struct leat_field *field = &plan->fields[columns[i]];
        const struct leat_column *column = &block->columns[columns[i]];

        if (field->made != LEAT_MADE_OF_RECORDS)
            add_made(json, names[i], field->made, plan->fields[field->of].name);
        else if (!column->values)
            leat_json_add_null(json, names[i]);
        else
            leat_render_value(json, names[i], field, column, row);
    }
    leat_json_close(json, '}');
}

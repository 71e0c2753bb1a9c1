/* graph/why.c: why each part of a stream runs where it does, in words. One thread. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/graph_internal.h"
#include "pipeline/inspect/graph/label.h"
#include "proto/base/text.h"

#define NAMES_MAX 8 /* fields that are named; the others are counted */

struct listed {
    struct leat_text text;
    size_t n;
};

static void list_name(struct listed *list, const char *name) {
    if (list->n++ < NAMES_MAX) {
        leat_text_add(&list->text, "%s", list->n > 1 ? ", " : "");
        leat_graph_add_name(&list->text, name);
    }
}

/* "a, b and 3 more"; "" and 0 names give nothing. */
static void add_list(struct leat_text *text, const char *before, struct listed *list,
                     const char *after) {
    if (list->n > 0) {
        leat_text_add(text, "%s%s%.*s", text->n_bytes > 0 ? "; " : "", before,
                      (int)list->text.n_bytes, list->text.data ? list->text.data : "");
        if (list->n > NAMES_MAX)
            leat_text_add(text, " and %zu more", list->n - NAMES_MAX);
        leat_text_add(text, "%s", after);
    }
    leat_text_end_part(text, &list->text);
}

/* ---- columns ---- */

/* Source fields that neither stages nor batches need. */
static void add_unread(struct leat_text *text, const struct leat_plan *plan) {
    struct listed list = {.n = 0};

    for (size_t i = 0; i < plan->n_source_fields; i++)
        if (!plan->is_needed[plan->source_columns[i]])
            list_name(&list, plan->source_names[i]);
    add_list(text, "does not read these fields, since no stage needs them: ", &list, "");
}

/* Columns that a stage could make and that are not needed. */
static void add_unmade(struct leat_text *text, const struct leat_graph *graph,
                       const struct leat_graph_node *node) {
    const struct leat_plan *plan = graph->plan;
    struct listed list = {.n = 0};

    for (size_t i = 0; i < plan->n_makes; i++) {
        uint32_t column = plan->makes[i].column;

        if (plan->makes[i].stage == (uint32_t)node->stage + 1 && !plan->is_needed[column])
            list_name(&list, plan->fields[column].name);
    }
    add_list(text, "does not compute this field, since no stage needs it: ", &list, "");
}

/* Columns that the step is the last to read. */
static void add_dropped(struct leat_text *text, struct leat_graph *graph, uint32_t step) {
    const struct leat_plan *plan = graph->plan;
    struct listed list = {.n = 0};

    leat_graph_name_columns(graph, step - 1);
    for (uint32_t i = 0; i < plan->n_columns; i++)
        if (leat_graph_is_live(graph, i, step - 1) && !leat_graph_is_live(graph, i, step))
            list_name(&list, graph->columns[i].name);
    add_list(text, "after this stage, leat drops ", &list, ", which no later stage reads");
}

/* ---- the map segment ---- */

/* ORDER stages in front of it. */
static void add_passed(struct leat_text *text, const struct leat_plan *plan, size_t index) {
    struct listed list = {.n = 0};

    for (size_t i = 0; i < plan->n_order; i++)
        if (plan->order[i]->index < index && plan->order[i]->filter_column < 0)
            list_name(&list, plan->order[i]->ops->name);
    add_list(text, "moved before ", &list,
             ": the result stays the same, because this stage processes each record alone, and "
             "order stages only select and reorder records");
}

static void explain_half(struct leat_text *text, const struct leat_plan_stage *stage) {
    if (stage->filter_column >= 0)
        leat_text_add(
            text,
            "it tests each record here, and drops rows later, together with the order stages");
    else if (stage->ops->kind == LEAT_STAGE_ORDER)
        leat_text_add(text, "it computes here the values that it needs from each record, since the "
                            "loop never reads data");
    else
        leat_text_add(text, "it computes here the values that it needs from each record, because "
                            "leat can report bad records only here");
}

/* A stage that says how lists are padded and makes none. */
static bool is_padding(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    for (size_t i = 0; i < plan->n_reads; i++)
        if (plan->reads[i].stage == stage->index + 1 &&
            plan->fields[plan->reads[i].column].is_padded && strcmp(stage->ops->name, "pad") == 0)
            return true;
    return false;
}

static void explain_map(struct leat_text *text, struct leat_graph *graph,
                        const struct leat_graph_node *node) {
    const struct leat_plan_stage *stage = &graph->plan->stages[node->stage];

    if (node->is_half)
        explain_half(text, stage);
    else if (node->is_hoisted)
        add_passed(text, graph->plan, stage->index);
    if (graph->is_unfused)
        leat_text_add(text, "%snot fused: --no-fuse makes it a separate job",
                      text->n_bytes > 0 ? "; " : "");
    else
        leat_text_add(
            text, "%sfused with the other stages, so it runs while the block is in the CPU's cache",
            text->n_bytes > 0 ? "; " : "");
    if (is_padding(graph->plan, stage))
        leat_text_add(text, "; it only checks lengths here; collation adds the padding");
    if (stage->ops->workspace_idle)
        leat_text_add(text, "; the job of a block waits for answers from programs");
    if (stage->ops->max_jobs && stage->ops->max_jobs(stage->config) < UINT32_MAX)
        leat_text_add(text, "; at most %u blocks at once", stage->ops->max_jobs(stage->config));
    if (stage->ops->varies && stage->ops->varies(stage->config))
        leat_text_add(text,
                      "; its random choices differ in each epoch, so its output cannot be cached");
    add_unmade(text, graph, node);
    add_dropped(text, graph, (uint32_t)node->step);
}

/* ---- the others ---- */

static void explain_idle(struct leat_text *text, const struct leat_plan_stage *stage) {
    if (stage->ops->map)
        leat_text_add(text, "not executed: no stage needs its output");
    else
        leat_text_add(text, "costs no time: it only selects or renames fields");
}

static void explain_order(struct leat_text *text, const struct leat_plan *plan,
                          const struct leat_plan_stage *stage) {
    if (stage->filter_column >= 0) {
        leat_text_add(text, "tests each record with the per-record stages, but drops rows only "
                            "here, because earlier stages need these rows");
        return;
    }
    leat_text_add(text, "not fused: it orders references to rows of all blocks, on the loop");
    if (leat_graph_places(plan, stage).step > 0)
        leat_text_add(text, "; its values are computed with the per-record stages");
}

static void explain_cache(struct leat_text *text, const struct leat_plan *plan) {
    struct listed list = {.n = 0};

    for (uint32_t i = 0; i < plan->n_columns; i++)
        if (plan->is_kept[i])
            list_name(&list, plan->fields[i].name);
    add_list(text,
             plan->blocks.block_size > 0
                 ? "leat builds the cache before the first epoch and then reads it in place of the "
                   "source; the cache has the fields "
                 : "leat writes the cache in the first epoch, and later epochs read it in place of "
                   "the source; the cache has the fields ",
             &list, "");
}

static void explain_cut(struct leat_text *text, const struct leat_plan *plan) {
    if (plan->blocks.block_size == 0) {
        leat_text_add(text, "cuts the data into pieces one after the other, because each piece "
                            "starts where the previous piece ends");
        return;
    }
    leat_text_add(text, "reads blocks of %llu records in random order",
                  (unsigned long long)plan->blocks.block_size);
    if (!plan->cache_path)
        leat_text_add(
            text, "; before the first epoch, leat reads the files once to find where blocks begin");
}

static void explain_collation(struct leat_text *text, const struct leat_plan *plan) {
    struct listed padded = {.n = 0}, made = {.n = 0};

    leat_text_add(text, "makes the only copy of the data: from blocks into slots");
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const struct leat_field *field = &plan->fields[plan->tensors[i].column];

        if (field->made != LEAT_MADE_OF_RECORDS && field->made != LEAT_MADE_OF_PARTS)
            list_name(&made, plan->tensors[i].name);
        else if (field->is_padded)
            list_name(&padded, plan->tensors[i].name);
    }
    add_list(text, "pads ", &padded, ", so the padding exists only here");
    add_list(text, "makes ", &made, ", which blocks do not have");
}

static const char *plain_words(enum leat_graph_role role) {
    static const char *const words[LEAT_GRAPH_N_ROLES] = {
        [LEAT_GRAPH_DECODE] =
            "workers decode independent frames and files in parallel, ahead of the reader",
        [LEAT_GRAPH_MIX] = "merges the rows of all sources; their order does not depend on which "
                           "source is ready first",
        [LEAT_GRAPH_BATCH] = "groups references to rows; the data stays in the blocks",
        [LEAT_GRAPH_PAD] = "not fused: leat pads rows while it copies them into their slot, so the "
                           "padding exists only there",
        [LEAT_GRAPH_QUARANTINE] = "receives each bad record, with its file, line and the reason",
    };

    return words[role] ? words[role] : "";
}

static void add_words(struct leat_text *text, struct leat_graph *graph,
                      const struct leat_graph_node *node) {
    const struct leat_plan *plan = graph->plan;
    char size[LEAT_SHOW_BYTES_MAX];

    switch (node->role) {
    case LEAT_GRAPH_PARSE:
        leat_text_add(text, "parses the needed fields");
        add_unread(text, plan);
        break;
    case LEAT_GRAPH_CUT:
        explain_cut(text, plan);
        break;
    case LEAT_GRAPH_MAP:
        explain_map(text, graph, node);
        break;
    case LEAT_GRAPH_ORDER:
        explain_order(text, plan, &plan->stages[node->stage]);
        break;
    case LEAT_GRAPH_CACHE:
        explain_cache(text, plan);
        break;
    case LEAT_GRAPH_COLLATE:
        explain_collation(text, plan);
        break;
    case LEAT_GRAPH_RING:
        leat_text_add(
            text, "%u slots of %s%s", plan->n_slots, leat_show_bytes(plan->slot_bytes, size),
            plan->is_bounded
                ? ""
                : " at first (slots can grow, because row lengths have no limit: set max_length)");
        break;
    case LEAT_GRAPH_IDLE:
        explain_idle(text, &plan->stages[node->stage]);
        break;
    default:
        leat_text_add(text, "%s", plain_words(node->role));
        break;
    }
}

int leat_graph_explain(struct leat_graph *graph, uint32_t index) {
    struct leat_graph_node *node = &graph->nodes[index];
    struct leat_text text = {.data = NULL};

    add_words(&text, graph, node);
    node->why = leat_graph_keep(graph, &text);
    return node->why ? 0 : -1;
}

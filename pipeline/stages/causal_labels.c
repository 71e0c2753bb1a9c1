/* causal_labels.c: labels for training causal language models: the token ids, and ignore_index
 * where there is to be no loss. Models shift labels by one token, so they are not shifted here.
 *
 * The stage that wrote the text knows what the model is to say (shared_loss.h). Labels are padded
 * as the ids are, with ignore_index. Behind chunk and pack, the labels of the whole record are made
 * and cut in step with the ids.
 */
#include <errno.h>

#include "pipeline/stage/planner.h"
#include "pipeline/stages/shared_loss.h"

enum { ALL, COMPLETION, ASSISTANT };
enum { KEEP, FAIL };

struct causal_labels {
    struct leat_config base;
    const char *input;
    const char *output;
    int64_t ignore_index;
    int loss_on;
    int dtype;
    int without;

    uint32_t ids, loss, labels; /* of records */
};

static const char *const places[] = {"all", "completion", "assistant", NULL};
static const char *const dtypes[] = {"int32", "int64", NULL};
static const char *const policies[] = {"keep", "fail", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(causal_labels, input, FIELD, "the token ids from `tokenize`", .fallback = "input_ids"),
    LEAT_ARG(causal_labels, output, FIELD, "name of the field with the labels",
             .fallback = "labels"),
    LEAT_ARG(causal_labels, ignore_index, INT, "the label of padding, and of tokens without loss",
             .fallback = "-100", .min = INT32_MIN, .max = INT32_MAX),
    LEAT_ARG(causal_labels, loss_on, CHOICE,
             "the tokens from which the model learns (the tokens with loss); `all`: every token; "
             "`completion`: the assistant's last message; `assistant`: all of the assistant's "
             "messages; for `completion` and `assistant`, the text must come directly from `chat` "
             "or `instruction`",
             .fallback = "all", .choices = places),
    LEAT_ARG(causal_labels, dtype, DTYPE, "dtype of the labels", .fallback = "int64",
             .choices = dtypes),
    LEAT_ARG_NAMED("without_loss", causal_labels, without, CHOICE,
                   "what happens to a record in which no token has loss, for example after "
                   "truncation; `keep`: leat keeps the record; `fail`: the record is bad",
                   .fallback = "keep", .choices = policies),
    LEAT_ARGS_END,
};

/* Finds the ids as they are here (*ret_here) and as records have them, and what says where there is
 * loss. */
static int find(struct causal_labels *self, struct leat_planner *planner, uint32_t *ret_here,
                struct leat_error *err) {
    const struct leat_config *config = &self->base;
    int r = leat_planner_find_made(planner, config, "input", self->input, ret_here, err);
    const struct leat_field *ids;

    if (r < 0)
        return r;
    ids = leat_planner_field(planner, *ret_here);
    self->ids = ids->made == LEAT_MADE_OF_PARTS ? ids->of : *ret_here;
    if (ids->made != LEAT_MADE_OF_PARTS && ids->made != LEAT_MADE_OF_RECORDS)
        return leat_config_error(config, "input", err,
                                 "\"%s\" exists only in batches, so `causal_labels` cannot read it",
                                 self->input);
    if (leat_planner_use(planner, self->ids) < 0)
        return leat_error_oom(err);
    if (ids->dtype != LEAT_DTYPE_INT32 || !ids->is_list)
        return leat_config_error(
            config, "input", err,
            "\"%s\" is %s%s, but `causal_labels` needs the int32[] from `tokenize`", self->input,
            leat_dtype_name(ids->dtype), ids->is_list ? "[]" : "");
    if (self->loss_on == ALL)
        return 0;
    if (ids->loss_column < 0)
        return leat_config_error(
            config, "loss_on", err,
            "leat cannot find the assistant's tokens in \"%s\": `tokenize` needs a "
            "`tokenizer`, no `pair`, and a text that comes directly from `chat` or `instruction`",
            self->input);
    self->loss = (uint32_t)ids->loss_column;
    return leat_planner_use(planner, self->loss) < 0 ? leat_error_oom(err) : 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct causal_labels *self = (struct causal_labels *)config;
    enum leat_dtype dtype = (enum leat_dtype)self->dtype;
    const struct leat_field *ids;
    struct leat_field *field;
    uint32_t here, output;
    bool is_cut;
    int r = find(self, planner, &here, err);

    if (r < 0)
        return r;
    is_cut = here != self->ids;
    if (is_cut)
        r = leat_planner_add_hidden(planner, config, "(labels)", dtype, true, &self->labels, err);
    if (r == 0)
        r = leat_planner_add(planner, config, "output", self->output, dtype, true, &output, &field,
                             err);
    if (r < 0)
        return r;
    if (is_cut) {
        field->made = planner->is_packed ? LEAT_MADE_AS_LABELS : LEAT_MADE_OF_PARTS;
        field->of = self->labels;
    } else {
        self->labels = output;
    }
    ids = leat_planner_field(planner, here);
    field->max_length = ids->max_length;
    field->width = ids->width;
    field->has_pad_value = true;
    field->pad_value = (double)self->ignore_index;
    field->is_annotation = field->is_labels = true;
    field->is_padded = ids->is_padded;
    field->pad_length = ids->pad_length;
    field->pad_multiple = ids->pad_multiple;
    field->pad_left = ids->pad_left;
    return 0;
}

static bool has_loss(const struct causal_labels *self, int32_t loss) {
    return self->loss_on == COMPLETION ? loss == LEAT_LOSS_COMPLETION : loss != LEAT_LOSS_NONE;
}

/* Labels one row; returns the number of tokens with loss. */
static uint32_t label_row(const struct causal_labels *self, const int32_t *ids, const int32_t *loss,
                          uint32_t n, void *labels, size_t at) {
    uint32_t n_loss = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool is_on = !loss || has_loss(self, loss[i]);
        int64_t label = is_on ? ids[i] : self->ignore_index;

        n_loss += is_on;
        if (self->dtype == LEAT_DTYPE_INT32)
            ((int32_t *)labels)[at + i] = (int32_t)label;
        else
            ((int64_t *)labels)[at + i] = label;
    }
    return n_loss;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct causal_labels *self = (const struct causal_labels *)config;
    const struct leat_column *ids = leat_map_column(map, self->ids);
    const struct leat_column *loss = self->loss_on == ALL ? NULL : leat_map_column(map, self->loss);
    struct leat_column *labels = leat_map_column(map, self->labels);
    size_t n = leat_map_n_items(map, self->ids), at = 0;
    size_t size = leat_dtype_size((enum leat_dtype)self->dtype);

    if (n > UINT32_MAX)
        return leat_error_set(
            err, -EOVERFLOW,
            "one block would have %zu labels, which is too many: lower block_bytes", n);
    labels->values = leat_map_alloc(map, self->labels, n * size);
    if (!labels->values || leat_map_make_views(map, self->labels) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        const int32_t *row_loss = loss ? (const int32_t *)loss->values + loss->starts[row] : NULL;

        labels->starts[row] = (uint32_t)at;
        labels->lengths[row] = ids->lengths[row];
        if (label_row(self, (const int32_t *)ids->values + ids->starts[row], row_loss,
                      ids->lengths[row], labels->values, at) == 0 &&
            self->without == FAIL)
            leat_map_reject(map, row, self->input, "none of the %u tokens has loss",
                            ids->lengths[row]);
        at += ids->lengths[row];
    }
    map->n_bytes_out += at * size;
    return 0;
}

const struct leat_stage_ops leat_stage_causal_labels = {
    LEAT_STAGE_BASE("causal_labels", causal_labels, MAP),
    .summary = "makes labels for a causal language model from token ids",
    .example = "{ input: input_ids, output: labels, loss_on: all }",
    .plan = plan,
    .map = map_rows,
};

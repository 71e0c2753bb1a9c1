/* pack.c: packs several documents into one row of fixed length, with little padding. Here are the
 * arguments and the plan; pack/packing.c chooses which documents share a row.
 *
 * A row leaves as a bundle of references. Its documents are copied side by side when the batch is
 * made, with positions, segments, masks and labels. A document is cut only if `split` is set. Only
 * the packed fields go on: a row of several documents has no single value of another.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/pack/packing.h"
#include "pipeline/stages/tokenize/tokenize.h"
#include "proto/base/scalar.h"

struct pack {
    struct leat_config base;
    struct leat_texts fields;
    int64_t length;
    int how;
    int64_t window;
    bool split;
    struct leat_token_value value;
    const char *labels;
    int64_t ignore_index;
    const char *mask;
    const char *position_ids;
    const char *segment_ids;
    const char *cu_seqlens;

    struct leat_parts parts;
    struct leat_packing packing;
    bool has_long_rows; /* documents may be too long for a row */
    bool has_labels;
    bool overrules; /* `value` replaces what the tokenizer says */
};

static const char *const hows[] = {"concat", "first_fit", "best_fit", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(pack, fields, FIELDS,
             "the lists to pack; leat cuts all of them at the same places, and drops all "
             "other fields",
             .is_required = true, .min = 1, .max = LEAT_PARTS_MAX),
    LEAT_ARG(pack, length, INT,
             "number of elements per row; a record with more elements is bad, unless "
             "`split` is true",
             .is_positional = true, .is_required = true, .min = 1, .max = LEAT_FIT_LENGTH_MAX),
    LEAT_ARG(pack, how, CHOICE,
             "how leat fills the rows; `concat`: in the order of the documents; "
             "`first_fit` and `best_fit`: leat sorts a `window` of documents from long to "
             "short; `first_fit`: each document then goes into the first row with room; "
             "`best_fit`: each document then goes into the fullest row with room",
             .fallback = "best_fit", .choices = hows),
    LEAT_ARG(pack, window, INT,
             "with `first_fit` or `best_fit`: the number of documents that leat sorts and packs at "
             "a time",
             .fallback = "4096", .min = 1, .max = 65536),
    LEAT_ARG(pack, split, BOOL,
             "true: leat may cut documents; with `concat`, leat cuts at the end of each "
             "row; with `first_fit` and `best_fit`, leat cuts only documents that are "
             "longer than a row",
             .fallback = "false"),
    LEAT_ARG(pack, value, TOKEN,
             "padding after the last document: a number, or a token of the tokenizer, such as "
             "\"[PAD]\"; default: the tokenizer's padding token"),
    LEAT_ARG(
        pack, labels, FIELD,
        "name of the labels: one of `fields`, or a new field, which becomes an int64 copy of "
        "the first of `fields`; the labels of padding and of the first element of each document "
        "are `ignore_index`, so no document predicts the next one; for labels from "
        "`causal_labels`, leat does this without `labels`"),
    LEAT_ARG(pack, ignore_index, INT,
             "the label of elements from which the model learns nothing; for labels from "
             "`causal_labels`, the default is the `ignore_index` of that stage",
             .fallback = "-100", .min = -9e15, .max = 9e15),
    LEAT_ARG(pack, mask, FIELD,
             "name of an int32 tensor with the shape of the rows: 1 for elements, 0 for "
             "padding"),
    LEAT_ARG(pack, position_ids, FIELD,
             "name of an int32 tensor with the shape of the rows: 0, 1, .. in each "
             "document, 0 in padding"),
    LEAT_ARG(pack, segment_ids, FIELD,
             "name of an int32 tensor with the shape of the rows: 1 in the first document "
             "of a row, 2 in the second, .., 0 in padding"),
    LEAT_ARG(pack, cu_seqlens, FIELD,
             "name of an int32 tensor with the offsets of all documents in the batch, as flash "
             "attention expects them; the offsets continue from row to row; the padding of a row "
             "counts as a document; the last offset is the end of the last row"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct pack *self = (const struct pack *)config;

    if (self->how == LEAT_PACK_CONCAT && leat_config_given(config, "window"))
        return leat_config_error(config, "window", err,
                                 "works only with `how: first_fit` and `how: best_fit`");
    return 0;
}

/* ---- plan ---- */

/* Pads a packed list to the row's length. */
static int finish_field(struct pack *self, struct leat_field *field, bool are_labels,
                        struct leat_error *err) {
    uint64_t element;

    field->is_padded = true;
    field->max_length = field->pad_length = (uint64_t)self->length;
    if (are_labels) {
        self->has_labels = true;
        field->made = LEAT_MADE_AS_LABELS;
        if (!field->is_labels && leat_dtype_is_integer(field->dtype))
            field->dtype = LEAT_DTYPE_INT64;
        if (!field->is_labels || leat_config_given(&self->base, "ignore_index"))
            field->pad_value = (double)self->ignore_index;
        field->is_annotation = field->is_labels = true;
    } else if (leat_config_given(&self->base, "value") &&
               !(field->is_annotation && field->has_pad_value)) {
        double own = field->has_pad_value ? field->pad_value : (double)NAN;
        int r = leat_fill_number(&self->base, "value", &self->value, field, &field->pad_value, err);

        if (r < 0)
            return r;
        self->overrules |= own == own && own != field->pad_value;
    } else if (!field->has_pad_value) {
        return leat_config_error(&self->base, NULL, err,
                                 "leat does not know the padding of \"%s\": set `value` to a "
                                 "number, or to a token such as \"[PAD]\" (0 is rarely right)",
                                 field->name);
    }
    field->has_pad_value = true;
    if (leat_scalar_store_double(&element, field->dtype, 0, field->pad_value) < 0)
        return leat_config_error(&self->base, are_labels ? "ignore_index" : "value", err,
                                 "%.17g is not a value of type %s, the type of \"%s\"",
                                 field->pad_value, leat_dtype_name(field->dtype), field->name);
    return 0;
}

/* Adds the packed fields. *ret_is_among: one of them is the field `labels`. */
static int plan_fields(struct pack *self, struct leat_planner *planner, bool *ret_is_among,
                       struct leat_error *err) {
    int r = 0;

    *ret_is_among = false;
    for (size_t i = 0; r == 0 && i < self->parts.n; i++) {
        bool are_labels = self->labels && strcmp(self->fields.items[i], self->labels) == 0;
        struct leat_field *field = NULL;

        r = leat_parts_add(&self->parts, planner, &self->base, &self->fields, i, &field, err);
        if (r == 0 && are_labels && i == 0)
            r = leat_config_error(&self->base, "labels", err,
                                  "\"%s\" is the first of `fields`: name another field of "
                                  "`fields`, or choose a new name for a copy of \"%s\"",
                                  self->labels, self->labels);
        if (r == 0)
            r = finish_field(self, field, are_labels || field->is_labels, err);
        *ret_is_among |= are_labels;
    }
    return r;
}

/* Adds a column that is made with the batch, like the first field. */
static int add_made(struct pack *self, struct leat_planner *planner, const char *arg,
                    const char *name, enum leat_making made, struct leat_error *err) {
    struct leat_field *field;
    uint32_t column;
    int r;

    if (!name)
        return 0;
    for (size_t i = 0; i < planner->n_names; i++)
        if (strcmp(planner->names[i].name, name) == 0)
            for (size_t k = 0; k < self->parts.n; k++)
                if (planner->names[i].column == self->parts.to[k])
                    return leat_config_error(&self->base, arg, err,
                                             "\"%s\" is one of `fields`: choose another name",
                                             name);
    r = leat_planner_add(planner, &self->base, arg, name, LEAT_DTYPE_INT32, true, &column, &field,
                         err);
    if (r < 0)
        return r;
    field->made = made;
    field->of = self->parts.to[0];
    if (made != LEAT_MADE_AS_LABELS)
        return 0;
    field->of = self->parts.of[0];
    field->dtype = leat_planner_field(planner, self->parts.to[0])->dtype;
    return finish_field(self, field, true, err);
}

/* Hides all fields that are not packed. */
static int leave_others(struct pack *self, struct leat_planner *planner, bool is_among,
                        struct leat_error *err) {
    const char *made[] = {is_among ? NULL : self->labels, self->mask, self->position_ids,
                          self->segment_ids, self->cu_seqlens};
    char *names[LEAT_PARTS_MAX + 5];
    struct leat_texts texts = {.items = names};

    for (size_t i = 0; i < self->fields.n_items; i++)
        names[texts.n_items++] = self->fields.items[i];
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        if (made[i])
            names[texts.n_items++] = (char *)(uintptr_t)made[i];
    return leat_planner_select(planner, &self->base, NULL, &texts, err);
}

static int plan_made(struct pack *self, struct leat_planner *planner, bool is_among,
                     struct leat_error *err) {
    int r =
        add_made(self, planner, "labels", is_among ? NULL : self->labels, LEAT_MADE_AS_LABELS, err);

    if (r == 0)
        r = add_made(self, planner, "mask", self->mask, LEAT_MADE_AS_MASK, err);
    if (r == 0)
        r = add_made(self, planner, "position_ids", self->position_ids, LEAT_MADE_AS_POSITIONS,
                     err);
    if (r == 0)
        r = add_made(self, planner, "segment_ids", self->segment_ids, LEAT_MADE_AS_SEGMENTS, err);
    if (r == 0)
        r = add_made(self, planner, "cu_seqlens", self->cu_seqlens, LEAT_MADE_AS_CU_SEQLENS, err);
    return r < 0 ? r : leave_others(self, planner, is_among, err);
}

/* Checks the known length of windows of chunk; documents are checked in the pass. */
static int plan_lengths(struct pack *self, const struct leat_planner *planner,
                        struct leat_error *err) {
    uint64_t longest = leat_planner_field(planner, self->parts.from[0])->max_length;

    self->has_long_rows = !self->split && !self->parts.are_cut;
    if (self->split || !self->parts.are_cut || longest <= (uint64_t)self->length)
        return 0;
    return leat_config_error(&self->base, "length", err,
                             "%lld is less than the %llu elements of a window of `chunk`: make "
                             "both lengths equal, or set `split: true`",
                             (long long)self->length, (unsigned long long)longest);
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct pack *self = (struct pack *)config;
    bool is_among;
    int r;

    if (planner->is_packed)
        return leat_config_error(config, NULL, err, "a stream can have only one `pack`");
    r = leat_parts_find(&self->parts, planner, config, &self->fields, err);
    if (r == 0)
        r = plan_lengths(self, planner, err);
    if (r == 0)
        r = plan_fields(self, planner, &is_among, err);
    if (r == 0)
        r = plan_made(self, planner, is_among, err);
    if (r == 0 && !self->has_labels && leat_config_given(config, "ignore_index"))
        r = leat_config_error(config, "ignore_index", err, "works only with `labels`");
    self->packing = (struct leat_packing){
        .how = (enum leat_packing_how)self->how,
        .column = self->parts.of[0],
        .length = (uint32_t)self->length,
        .window = (uint32_t)self->window,
        .splits = self->split,
    };
    planner->is_packed = true;
    return r;
}

/* Labels once had the dtype of the ids, those of causal_labels were packed as any list, and `value`
 * gave way to the tokenizer. */
static unsigned revision(const struct leat_config *config) {
    const struct pack *self = (const struct pack *)config;

    return self->has_labels || self->overrules ? 1 : 0;
}

/* ---- the half in the pass ---- */

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct pack *self = (const struct pack *)config;
    const struct leat_column *first = leat_map_column(map, self->parts.of[0]);

    (void)err;
    if (!self->parts.are_cut)
        leat_parts_check(&self->parts, map);
    for (uint32_t row = 0; self->has_long_rows && row < map->block->n_rows; row++)
        if (first->lengths[row] > (uint64_t)self->length)
            leat_map_reject(map, row, self->fields.items[0],
                            "has %u elements, more than pack.length %lld: cut it with max_length, "
                            "chunk or `split`",
                            first->lengths[row], (long long)self->length);
    return 0;
}

/* ---- the half on references ---- */

static int start(const struct leat_config *config, void *state, const struct leat_order_key *key,
                 struct leat_error *err) {
    (void)key;
    return leat_packer_start(state, &((const struct pack *)config)->packing, err);
}

static void holding(const struct leat_config *config, uint64_t *ret_rows, uint64_t *ret_bytes) {
    leat_packing_holds(&((const struct pack *)config)->packing, ret_rows, ret_bytes);
}

/* Rows that cut documents are all full. */
static bool counts_by_order(const struct leat_config *config) {
    const struct pack *self = (const struct pack *)config;

    return self->how != LEAT_PACK_CONCAT || !self->split;
}

const struct leat_stage_ops leat_stage_pack = {
    LEAT_STAGE_BASE("pack", pack, ORDER),
    .summary = "packs several documents into each row of a fixed length",
    .example = "{ fields: [input_ids], length: 4096, how: best_fit, position_ids: position_ids }",
    .counts_by_order = counts_by_order,
    .check = check,
    .plan = plan,
    .revision = revision,
    .map = map_rows,
    .state_size = sizeof(struct leat_packer),
    .holding = holding,
    .state_bytes = leat_packer_bytes,
    .start = start,
    .push = leat_packer_push,
    .finish = leat_packer_finish,
    .stop = leat_packer_stop,
};

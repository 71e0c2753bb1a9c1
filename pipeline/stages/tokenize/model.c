/* tokenize/model.c: text to token ids by a model's tokenizer (tokenizer/tokenizer.h).
 *
 * A workspace is a tokenizer's context, whose cache of words stays warm from block to block, and
 * the values of the output columns while they grow (values.h). Offsets are a list of twice as many
 * numbers: start, end, start, end.
 *
 * Overflow of truncation is not made, and padding is left to `pad`, which knows the batch. A text
 * that cannot be tokenized is a bad record.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/stages/shared_loss.h"
#include "pipeline/stages/tokenize/tokenize.h"
#include "pipeline/stages/tokenize/values.h"
#include "pipeline/tokenizer/tokenizer.h"

#define TYPES_NAME   "token_type_ids"
#define OFFSETS_NAME "offset_mapping"
#define MASKS_NAME   "assistant_masks"

enum { LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND, DO_NOT_TRUNCATE };

static const char *const args[] = {"add_special_tokens",
                                   "pair",
                                   "truncation",
                                   "bos",
                                   "eos",
                                   "return_offsets_mapping",
                                   "return_token_type_ids",
                                   "return_assistant_tokens_mask",
                                   NULL};

static int check(const struct leat_tokenize *self, struct leat_error *err) {
    const struct leat_config *config = &self->base;

    if (self->truncation == ONLY_SECOND && !self->pair)
        return leat_config_error(config, "truncation", err,
                                 "only_second needs a second text: give `pair`");
    if (self->truncation == DO_NOT_TRUNCATE && self->max_length)
        return leat_config_error(
            config, "max_length", err,
            "does not work with `truncation: do_not_truncate`: remove one of them");
    return 0;
}

/* ---- files, through the opener, so that its roots hold */

struct reading {
    const struct leat_opener *opener;
    struct leat_blake2b *contents;
    struct leat_contents *files;
};

static int read_file(void *context, const char *path, size_t max_bytes, char **ret_data,
                     size_t *ret_n, struct leat_error *err) {
    struct reading *reading = context;
    int r = leat_opener_read_optional(reading->opener, path, max_bytes, ret_data, ret_n, err);

    if (r < 0)
        return r;
    leat_blake2b_u64(reading->contents, *ret_n);
    leat_blake2b_update(reading->contents, *ret_data, *ret_n);
    leat_contents_add(reading->files, path, *ret_data, *ret_n);
    return 0;
}

static bool is_directory(void *context, const char *path) {
    const struct reading *reading = context;
    struct leat_error error = LEAT_ERROR_INIT;
    int fd = reading->opener->open_directory(reading->opener, path, &error);

    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
}

static int open_tokenizer(struct leat_tokenize *self, const struct leat_opener *opener,
                          struct leat_error *err) {
    const struct leat_config *config = &self->base;
    struct reading reading = {.opener = opener, .contents = &self->contents, .files = &self->files};
    const struct leat_tokenizer_reader reader = {.context = &reading,
                                                 .name = self->tokenizer_path,
                                                 .read = read_file,
                                                 .is_directory = is_directory};
    char *path = leat_config_path(config, self->tokenizer_path);
    int r;

    if (!path)
        return leat_error_oom(err);
    r = leat_tokenizer_open(path, &reader, &self->tokenizer, err);
    free(path);
    if (r < 0 && err->file[0])
        leat_error_prefix(err, "tokenizer");
    else if (r < 0)
        leat_config_place_error(config, "tokenizer", err);
    return r;
}

/* ---- tokens around it, and lengths */

/* Finds the id of a token to add in front or behind; -1 if the tokenizer adds it itself. */
static int find_end(struct leat_tokenize *self, const char *arg, const char *token, bool is_last,
                    int32_t *ret_id, struct leat_error *err) {
    int32_t id = -1;

    *ret_id = -1;
    if (!token)
        return 0;
    id = leat_tokenizer_id(self->tokenizer, token, strlen(token));
    if (id < 0)
        return leat_config_error(&self->base, arg, err, "the tokenizer has no token \"%.64s\"",
                                 token);
    if (!self->add_special_tokens ||
        leat_tokenizer_outer_id(self->tokenizer, self->pair != NULL, is_last) != id)
        *ret_id = id;
    return 0;
}

static int64_t n_ends(const struct leat_tokenize *self) {
    return (self->first_id >= 0) + (self->last_id >= 0);
}

/* Decides how a text is truncated: by the arguments, else by the tokenizer's file. */
static struct leat_truncation truncation_of(const struct leat_tokenize *self) {
    struct leat_truncation truncation = *leat_tokenizer_truncation(self->tokenizer);
    const struct leat_config *config = &self->base;

    if (self->max_length) {
        truncation.is_on = true;
        truncation.max_length = (uint32_t)self->max_length;
    }
    truncation.is_on = truncation.is_on && self->truncation != DO_NOT_TRUNCATE;
    if (leat_config_given(config, "truncation_side"))
        truncation.cuts_left = self->truncation_side == 1;
    if (leat_config_given(config, "truncation") && self->truncation != DO_NOT_TRUNCATE)
        truncation.strategy = self->truncation == ONLY_FIRST    ? LEAT_TRUNCATE_ONLY_FIRST
                              : self->truncation == ONLY_SECOND ? LEAT_TRUNCATE_ONLY_SECOND
                                                                : LEAT_TRUNCATE_LONGEST_FIRST;
    truncation.stride = 0; /* of overflow, which is dropped */
    return truncation;
}

/* Sets max_length, which is that of the whole row. */
static int set_length(struct leat_tokenize *self, struct leat_error *err) {
    struct leat_truncation truncation = truncation_of(self);
    int64_t n_around = n_ends(self);

    if (self->add_special_tokens)
        n_around += (int64_t)leat_tokenizer_n_added(self->tokenizer, self->pair != NULL);
    if (truncation.is_on && truncation.max_length <= n_around)
        return leat_config_error(
            &self->base, "max_length", err,
            "%u leaves no room for text, because special tokens take %lld: use at least %lld",
            truncation.max_length, (long long)n_around, (long long)n_around + 1);
    if (truncation.is_on && truncation.strategy == LEAT_TRUNCATE_ONLY_SECOND && !self->pair)
        return leat_config_error(&self->base, "tokenizer", err,
                                 "`truncation` cuts only the second of two texts, but `pair` is "
                                 "missing: give `pair`, or another `truncation`");
    self->max_length = truncation.is_on ? (int64_t)truncation.max_length : 0;
    return 0;
}

static int load(struct leat_tokenize *self, const struct leat_opener *opener,
                struct leat_error *err) {
    int r = open_tokenizer(self, opener, err);

    self->pad_id = r == 0 ? leat_tokenizer_pad_id(self->tokenizer) : -1;
    return r;
}

/* A text with special tokens of its own gets no others unless it is asked for, and never its first
 * token twice. */
static int plan_ends(struct leat_tokenize *self, const struct leat_field *input,
                     struct leat_error *err) {
    const struct leat_config *config = &self->base;
    int32_t bos = -1;
    int r;

    if (input->has_special_tokens && !leat_config_given(config, "add_special_tokens"))
        self->add_special_tokens = false;
    if (input->bos)
        bos = leat_tokenizer_id(self->tokenizer, input->bos, strlen(input->bos));
    if (bos >= 0 && self->add_special_tokens &&
        leat_tokenizer_outer_id(self->tokenizer, self->pair != NULL, false) == bos)
        return leat_config_error(config, "add_special_tokens", err,
                                 "\"%s\" already begins with %s, which the tokenizer would repeat: "
                                 "set `add_special_tokens: false`",
                                 self->input, input->bos);
    r = find_end(self, "bos", self->bos, false, &self->first_id, err);
    if (r == 0)
        r = find_end(self, "eos", self->eos, true, &self->last_id, err);
    if (r == 0 && bos >= 0 && self->first_id == bos)
        return leat_config_error(config, "bos", err, "\"%s\" already begins with %s: remove `bos`",
                                 self->input, input->bos);
    return r < 0 ? r : set_length(self, err);
}

/* Adds a list with n_per_token numbers a token. */
static int add_annotation(const struct leat_tokenize *self, struct leat_planner *planner,
                          const char *arg, const char *name, uint64_t n_per_token, int32_t pad,
                          uint32_t *ret_column, struct leat_error *err) {
    struct leat_field *field;
    int r = leat_planner_add(planner, &self->base, arg, name, LEAT_DTYPE_INT32, true, ret_column,
                             &field, err);

    if (r < 0)
        return r;
    field->max_length = n_per_token * (uint64_t)self->max_length;
    field->has_pad_value = field->is_annotation = true;
    field->pad_value = pad;
    return 0;
}

/* Adds the columns that say where there is loss. */
static int plan_loss(struct leat_tokenize *self, struct leat_planner *planner,
                     const struct leat_field *input, struct leat_error *err) {
    const char *arg = "return_assistant_tokens_mask";
    uint32_t parts;
    int r;

    self->parts_column = self->pair ? -1 : input->loss_column;
    if (self->parts_column < 0 && self->return_assistant_tokens_mask)
        return leat_config_error(
            &self->base, arg, err,
            "leat cannot find the assistant's words in \"%s\": the text must come directly from "
            "`chat` or `instruction`, without a `pair`",
            self->input);
    if (self->parts_column < 0)
        return 0;
    parts = (uint32_t)self->parts_column;
    r = leat_planner_add_hidden(planner, &self->base, "(loss)", LEAT_DTYPE_INT32, true,
                                &self->loss_column, err);
    if (r < 0)
        return r;
    leat_planner_edit(planner, self->output_column)->loss_column = (int32_t)self->loss_column;
    if (self->return_assistant_tokens_mask)
        r = add_annotation(self, planner, arg, MASKS_NAME, 1, 0, &self->masks_column, err);
    if (r == 0 && (leat_planner_use_for(planner, parts, self->loss_column) < 0 ||
                   (self->return_assistant_tokens_mask &&
                    leat_planner_use_for(planner, parts, self->masks_column) < 0)))
        r = leat_error_oom(err);
    return r;
}

static int plan(struct leat_tokenize *self, struct leat_planner *planner, struct leat_error *err) {
    const struct leat_padding *padding = leat_tokenizer_padding(self->tokenizer);
    const struct leat_field *input = leat_planner_field(planner, self->input_column);
    int32_t pad_type = padding->is_on ? (int32_t)padding->pad_type_id : 0;
    int r = plan_ends(self, input, err);

    if (r == 0)
        r = plan_loss(self, planner, input, err);
    if (r == 0 && self->return_token_type_ids)
        r = add_annotation(self, planner, "return_token_type_ids", TYPES_NAME, 1, pad_type,
                           &self->types_column, err);
    if (r == 0 && self->return_offsets_mapping)
        r = add_annotation(self, planner, "return_offsets_mapping", OFFSETS_NAME, 2, 0,
                           &self->offsets_column, err);
    return r;
}

/* ---- rows */

enum output { IDS, TYPES, OFFSETS, LOSS, MASKS, N_OUTPUTS };

#define REPEATS 256

struct workspace {
    struct leat_tokenize_workspace base;
    struct leat_tokenizer_context *context;
    struct leat_values values[N_OUTPUTS];
    uint32_t repeats[REPEATS]; /* rows of the block + 1, by repeat_slot() of their texts; 0: none */
};

/* One block. */
struct pass {
    const struct leat_tokenize *self;
    struct leat_map *map;
    struct workspace *workspace;
    struct leat_encode_options options;
    struct leat_truncation truncation;
    bool wants[N_OUTPUTS];
    uint32_t columns[N_OUTPUTS];
    size_t n_text_bytes; /* of all rows */
    bool repeats_ids;    /* equal texts have equal ids, and nothing else is made */
};

static void workspace_free(struct leat_tokenize_workspace *base) {
    struct workspace *workspace = (struct workspace *)base;

    leat_tokenizer_context_free(workspace->context);
    for (int i = 0; i < N_OUTPUTS; i++)
        leat_values_deinit(&workspace->values[i]);
    free(workspace);
}

static int workspace_new(const struct leat_tokenize *self,
                         struct leat_tokenize_workspace **ret_workspace, struct leat_error *err) {
    struct workspace *workspace = calloc(1, sizeof(*workspace));

    if (!workspace || leat_tokenizer_context_new(self->tokenizer, &workspace->context) < 0) {
        free(workspace);
        return leat_error_oom(err);
    }
    workspace->base.side = &leat_tokenize_model;
    *ret_workspace = &workspace->base;
    return 0;
}

static const uint8_t *text_of(const struct leat_map *map, uint32_t column, uint32_t row,
                              uint32_t *ret_n) {
    const struct leat_column *input = leat_map_column(map, column);

    *ret_n = input->lengths[row];
    return (const uint8_t *)input->values + input->starts[row];
}

static void want(struct pass *pass, enum output output, bool is_made, uint32_t column) {
    pass->wants[output] = is_made && pass->map->is_needed[column];
    pass->columns[output] = column;
}

/* Begins the values. Ids alone grow right in the arena, which nothing else may use meanwhile. */
static void begin_values(struct pass *pass) {
    const struct leat_tokenize *self = pass->self;
    bool is_alone = pass->wants[IDS];

    for (int i = IDS + 1; i < N_OUTPUTS; i++)
        is_alone &= !pass->wants[i];
    pass->n_text_bytes = leat_map_n_items(pass->map, self->input_column);
    if (self->pair)
        pass->n_text_bytes += leat_map_n_items(pass->map, self->pair_column);
    for (int i = 0; i < N_OUTPUTS; i++)
        leat_values_begin(&pass->workspace->values[i],
                          is_alone && i == IDS ? leat_map_arena(pass->map, pass->columns[i]) : NULL,
                          pass->n_text_bytes);
}

static int begin(struct pass *pass, struct leat_error *err) {
    const struct leat_tokenize *self = pass->self;
    static const struct leat_padding no_padding = {.is_on = false};

    want(pass, IDS, true, self->output_column);
    want(pass, TYPES, self->return_token_type_ids, self->types_column);
    want(pass, OFFSETS, self->return_offsets_mapping, self->offsets_column);
    want(pass, LOSS, self->parts_column >= 0, self->loss_column);
    want(pass, MASKS, self->return_assistant_tokens_mask, self->masks_column);
    pass->truncation = truncation_of(self);
    if (pass->truncation.is_on)
        pass->truncation.max_length -= (uint32_t)n_ends(self);
    pass->options = (struct leat_encode_options){
        .adds_special_tokens = self->add_special_tokens,
        .drops_overflow = true,
        .offsets_in_chars = true,
        .columns = (pass->wants[TYPES] ? LEAT_ENCODING_TYPE_IDS : 0U) |
                   (pass->wants[OFFSETS] ? LEAT_ENCODING_OFFSETS : 0U) |
                   (pass->wants[LOSS] || pass->wants[MASKS] ? LEAT_ENCODING_MARKS : 0U),
        .truncation = &pass->truncation,
        .padding = &no_padding,
    };
    for (int i = 0; i < N_OUTPUTS; i++)
        if (pass->wants[i] && leat_map_make_views(pass->map, pass->columns[i]) < 0)
            return leat_error_oom(err);
    begin_values(pass);
    pass->repeats_ids =
        pass->wants[IDS] && !self->pair && !leat_tokenizer_has_chance(self->tokenizer);
    for (int i = IDS + 1; i < N_OUTPUTS; i++)
        pass->repeats_ids &= !pass->wants[i];
    memset(pass->workspace->repeats, 0, sizeof(pass->workspace->repeats));
    return 0;
}

/* Marks the parts of the row's text that the model is to say. */
static void find_parts(struct pass *pass, uint32_t row) {
    const struct leat_column *parts;

    if (!(pass->options.columns & LEAT_ENCODING_MARKS))
        return;
    parts = leat_map_column(pass->map, (uint32_t)pass->self->parts_column);
    pass->options.marks =
        (const struct leat_range *)((const uint32_t *)parts->values + parts->starts[row]);
    pass->options.n_marks = parts->lengths[row] / 2;
}

static int encode(struct pass *pass, uint32_t row, const struct leat_encoding **ret_encoding,
                  struct leat_error *err) {
    const struct leat_tokenize *self = pass->self;
    uint32_t n_text, n_pair = 0;
    const uint8_t *text = text_of(pass->map, self->input_column, row, &n_text);
    const uint8_t *pair = self->pair ? text_of(pass->map, self->pair_column, row, &n_pair) : NULL;
    size_t n_encodings;

    find_parts(pass, row);
    pass->options.seed = leat_map_row_key(pass->map, row, (uint64_t)self->seed, LEAT_RNG_TOKENIZE);
    return leat_tokenizer_encode(self->tokenizer, pass->workspace->context, text, n_text, pair,
                                 n_pair, &pass->options, ret_encoding, &n_encodings, err);
}

static void push_ids(struct pass *pass, const struct leat_encoding *encoding) {
    struct leat_values *ids = &pass->workspace->values[IDS];

    if (pass->self->first_id >= 0)
        leat_values_push(ids, pass->self->first_id);
    if (encoding->n)
        memcpy(ids->items + ids->n, encoding->ids, encoding->n * sizeof(*ids->items));
    ids->n += encoding->n;
    if (pass->self->last_id >= 0)
        leat_values_push(ids, pass->self->last_id);
}

/* A token in front has type 0, one behind the type of what it follows. */
static void push_types(struct pass *pass, const struct leat_encoding *encoding) {
    struct leat_values *types = &pass->workspace->values[TYPES];

    if (pass->self->first_id >= 0)
        leat_values_push(types, 0);
    for (size_t i = 0; i < encoding->n; i++)
        leat_values_push(types, (int32_t)encoding->type_ids[i]);
    if (pass->self->last_id >= 0)
        leat_values_push(types, encoding->n ? (int32_t)encoding->type_ids[encoding->n - 1] : 0);
}

static void push_range(struct leat_values *offsets, struct leat_range range) {
    leat_values_push(offsets, (int32_t)range.start);
    leat_values_push(offsets, (int32_t)range.end);
}

static void push_offsets(struct pass *pass, const struct leat_encoding *encoding) {
    struct leat_values *offsets = &pass->workspace->values[OFFSETS];

    if (pass->self->first_id >= 0)
        push_range(offsets, (struct leat_range){0, 0});
    for (size_t i = 0; i < encoding->n; i++)
        push_range(offsets, encoding->offsets[i]);
    if (pass->self->last_id >= 0)
        push_range(offsets, (struct leat_range){0, 0});
}

static void push_mark(struct pass *pass, uint32_t mark) {
    struct leat_values *values = pass->workspace->values;

    if (pass->wants[MASKS])
        leat_values_push(&values[MASKS], mark > 0);
    if (pass->wants[LOSS])
        leat_values_push(&values[LOSS], mark == 0                       ? LEAT_LOSS_NONE
                                        : mark == pass->options.n_marks ? LEAT_LOSS_COMPLETION
                                                                        : LEAT_LOSS_ASSISTANT);
}

/* A token in front has no loss, one behind is as what it follows. */
static void push_marks(struct pass *pass, const struct leat_encoding *encoding) {
    if (pass->self->first_id >= 0)
        push_mark(pass, 0);
    for (size_t i = 0; i < encoding->n; i++)
        push_mark(pass, encoding->marks[i]);
    if (pass->self->last_id >= 0)
        push_mark(pass, encoding->n ? encoding->marks[encoding->n - 1] : 0);
}

static int push_row(struct pass *pass, const struct leat_encoding *encoding) {
    size_t n_tokens = encoding->n + (size_t)n_ends(pass->self);

    for (int i = 0; i < N_OUTPUTS; i++)
        if (pass->wants[i] && leat_values_reserve(&pass->workspace->values[i],
                                                  i == OFFSETS ? 2 * n_tokens : n_tokens) < 0)
            return -ENOMEM;
    if (pass->wants[IDS])
        push_ids(pass, encoding);
    if (pass->wants[TYPES])
        push_types(pass, encoding);
    if (pass->wants[OFFSETS])
        push_offsets(pass, encoding);
    if (pass->wants[LOSS] || pass->wants[MASKS])
        push_marks(pass, encoding);
    return 0;
}

/* Rejects the row; its message needs the arena. */
static int reject(struct pass *pass, uint32_t row, const struct leat_error *error,
                  struct leat_error *err) {
    if (leat_values_leave(&pass->workspace->values[IDS]) < 0)
        return leat_error_oom(err);
    leat_map_reject(pass->map, row, pass->self->input, "%s", error->message);
    return 0;
}

/* ---- texts that come again, as the few values of a dictionary do */

/* Texts of the same length, beginning and end have the same slot. */
static uint32_t *repeat_slot(const struct pass *pass, uint32_t row) {
    uint64_t first = 0, last = 0, mixed;
    uint32_t n_bytes;
    const uint8_t *text = text_of(pass->map, pass->self->input_column, row, &n_bytes);

    if (n_bytes >= sizeof(first)) {
        memcpy(&first, text, sizeof(first));
        memcpy(&last, text + n_bytes - sizeof(last), sizeof(last));
    } else if (n_bytes > 0) {
        memcpy(&first, text, n_bytes);
    }
    mixed = (first ^ (uint64_t)n_bytes << 40) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29 ^ last) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return &pass->workspace->repeats[mixed >> 56];
}

/* Gives the row the ids of an earlier row with the same text. 1; 0 if none is known; -ENOMEM. */
static int repeat_row(struct pass *pass, uint32_t row, uint32_t earlier) {
    const struct leat_column *ids = leat_map_column(pass->map, pass->columns[IDS]);
    struct leat_values *values = &pass->workspace->values[IDS];
    uint32_t column = pass->self->input_column, n_text, n_earlier;
    const uint8_t *text = text_of(pass->map, column, row, &n_text);
    const uint8_t *earlier_text = text_of(pass->map, column, earlier, &n_earlier);
    size_t n = ids->lengths[earlier];

    if (n_text != n_earlier || (n_text > 0 && memcmp(text, earlier_text, n_text) != 0))
        return 0;
    if (leat_values_reserve(values, n) < 0)
        return -ENOMEM;
    if (n > 0)
        memcpy(values->items + values->n, values->items + ids->starts[earlier],
               n * sizeof(*values->items));
    values->n += n;
    return 1;
}

/* ---- one row */

/* A bad row has no tokens; *ret_is_bad. */
static int encode_row(struct pass *pass, uint32_t row, bool *ret_is_bad, struct leat_error *err) {
    const struct leat_encoding *encoding;
    struct leat_error error = LEAT_ERROR_INIT;
    int r = encode(pass, row, &encoding, &error);

    if (r == 0)
        r = push_row(pass, encoding);
    *ret_is_bad = r < 0;
    if (r == -ENOMEM)
        return leat_error_oom(err);
    return r < 0 && reject(pass, row, &error, err) < 0 ? -ENOMEM : 0;
}

static int make_row(struct pass *pass, uint32_t row, struct leat_error *err) {
    uint32_t *slot = pass->repeats_ids ? repeat_slot(pass, row) : NULL;
    bool is_bad = false;
    int r = slot && *slot ? repeat_row(pass, row, *slot - 1) : 0;

    if (r < 0)
        return leat_error_oom(err);
    r = r > 0 ? 0 : encode_row(pass, row, &is_bad, err);
    if (slot)
        *slot = is_bad ? 0 : row + 1;
    return r;
}

static int map_row(struct pass *pass, uint32_t row, struct leat_error *err) {
    int r;

    for (int i = 0; i < N_OUTPUTS; i++)
        if (pass->wants[i])
            leat_map_column(pass->map, pass->columns[i])->starts[row] =
                (uint32_t)pass->workspace->values[i].n;
    r = make_row(pass, row, err);
    if (r < 0)
        return r;
    for (int i = 0; i < N_OUTPUTS; i++) {
        struct leat_column *column = leat_map_column(pass->map, pass->columns[i]);
        size_t n = pass->workspace->values[i].n;

        if (n > UINT32_MAX)
            return leat_error_set(err, -EOVERFLOW,
                                  "one block would have more than %u tokens: lower block_bytes",
                                  UINT32_MAX);
        if (pass->wants[i])
            column->lengths[row] = (uint32_t)n - column->starts[row];
    }
    return 0;
}

static int keep(struct pass *pass, enum output output) {
    struct leat_values *values = &pass->workspace->values[output];
    uint32_t column = pass->columns[output];
    int32_t *kept;

    if (!pass->wants[output])
        return 0;
    kept = leat_values_end(values, leat_map_arena(pass->map, column), pass->n_text_bytes);
    if (!kept)
        return -ENOMEM;
    leat_map_column(pass->map, column)->values = kept;
    pass->map->n_bytes_out += values->n * sizeof(*kept);
    return 0;
}

static int map_rows(const struct leat_tokenize *self, struct leat_map *map,
                    struct leat_error *err) {
    struct pass pass = {.self = self, .map = map, .workspace = map->workspace};
    int r = begin(&pass, err);

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++)
        r = map_row(&pass, row, err);
    for (enum output output = IDS; r == 0 && output < N_OUTPUTS; output++)
        r = keep(&pass, output) < 0 ? leat_error_oom(err) : 0;
    return r;
}

const struct leat_tokenize_side leat_tokenize_model = {
    .args = args,
    .check = check,
    .load = load,
    .plan = plan,
    .map = map_rows,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
};

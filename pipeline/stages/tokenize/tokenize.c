/* tokenize.c: text to token ids: by the tokenizer of a model, or by a vocabulary. What the two have
 * in common; see tokenize/tokenize.h.
 */
#include <string.h>

#include "pipeline/stages/tokenize/tokenize.h"
#include "pipeline/tokenizer/chartrie/chartrie.h"
#include "pipeline/tokenizer/tokenizer.h"

static const char *const encodings[] = {"raw", "byte_level", "metaspace", NULL};
static const char *const modes[] = {"shortest", "greedy", "random", NULL};
static const char *const unknowns[] = {"error", "skip", "unk", NULL};
static const char *const sides[] = {"right", "left", NULL};
static const char *const truncations[] = {"longest_first", "only_first", "only_second",
                                          "do_not_truncate", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(leat_tokenize, input, FIELD,
             "the field to tokenize; default: the text field that an earlier stage made most "
             "recently, or else the only text field of the source"),
    LEAT_ARG(leat_tokenize, output, FIELD,
             "name of the field that gets the token ids, a list of int32; default: "
             "input_ids"),
    LEAT_ARG(leat_tokenize, vocab, PATH,
             "a file with the tokens; a text file has one token per line, and the token on the "
             "first line has id 0; white space belongs to the token; a JSON file contains {token: "
             "id}; from a tokenizer.json, leat reads only the vocabulary; give either `vocab` or "
             "`tokenizer`"),
    LEAT_ARG_NAMED("tokenizer", leat_tokenize, tokenizer_path, PATH,
                   "a model's tokenizer: tokenizer.json, vocab.txt, vocab.json beside "
                   "merges.txt, or the folder of these files; the ids equal those of Hugging "
                   "Face tokenizers; give either `tokenizer` or `vocab`",
                   .is_positional = true),
    LEAT_ARG(leat_tokenize, vocab_encoding, CHOICE,
             "with `vocab`: how the tokens represent bytes; `raw`: as they are; `byte_level`: with "
             "GPT-2's alphabet (\"Ġthe\"); `metaspace`: U+2581 stands for a blank, and <0xNN> for "
             "a byte",
             .fallback = "raw", .choices = encodings),
    LEAT_ARG(leat_tokenize, mode, CHOICE,
             "with `vocab`: how leat splits a text; `shortest`: into the fewest tokens or, if the "
             "tokens have costs, with the least total cost; `greedy`: leat takes the longest token "
             "at each place; `random`: leat splits each text at random",
             .fallback = "shortest", .choices = modes),
    LEAT_ARG(leat_tokenize, unknown, CHOICE,
             "with `vocab`: what happens to a character that no token covers; `error`: "
             "the record is bad; `skip`: leat drops the character; `unk`: the character "
             "becomes the id `unk_id`",
             .fallback = "error", .choices = unknowns),
    LEAT_ARG(
        leat_tokenize, unk_id, INT,
        "with `vocab`: the id of an unknown character; default: the id that a tokenizer.json gives",
        .min = 0, .max = INT32_MAX),
    LEAT_ARG(leat_tokenize, scores, PATH,
             "with `vocab`: a file with the costs of the tokens, one cost per line, for "
             "ids 0, 1, and so on; leat chooses the split with the least total cost; a "
             "Unigram vocabulary has its own costs: minus the log probability of each "
             "token"),
    LEAT_ARG(leat_tokenize, bos_id, INT, "with `vocab`: the id to put before each text", .min = 0,
             .max = INT32_MAX),
    LEAT_ARG(leat_tokenize, eos_id, INT, "with `vocab`: the id to put after each text", .min = 0,
             .max = INT32_MAX),
    LEAT_ARG(leat_tokenize, max_length, INT,
             "the maximum number of ids per row; this number includes bos, eos and special tokens, "
             "which stay when leat cuts a text; with `tokenizer`, the default is the "
             "length in the tokenizer's file",
             .min = 1, .max = 1 << 28),
    LEAT_ARG(leat_tokenize, truncation_side, CHOICE,
             "the side at which leat cuts a long text; default: the side in the "
             "tokenizer's file, or else right",
             .choices = sides),
    LEAT_ARG(leat_tokenize, seed, INT,
             "for the mode `random`, and for tokenizers with dropout: the seed of the "
             "random splits; another seed gives other splits",
             .fallback = "0", .min = 0, .max = 9e15),
    LEAT_ARG(leat_tokenize, add_special_tokens, BOOL,
             "only with `tokenizer`: true adds the tokenizer's special tokens, such as "
             "[CLS]; for a text from `chat`, the default is false, because such a text "
             "has its own special tokens",
             .fallback = "true"),
    LEAT_ARG(leat_tokenize, pair, FIELD,
             "only with `tokenizer`: a second text field; leat tokenizes both texts as a "
             "pair"),
    LEAT_ARG(leat_tokenize, truncation, CHOICE,
             "only with `tokenizer`: which of two texts leat cuts; `do_not_truncate`: "
             "leat cuts no text; default: as in the tokenizer's file, or else "
             "`longest_first`",
             .choices = truncations),
    LEAT_ARG(leat_tokenize, bos, TEXT,
             "only with `tokenizer`: the token to put before each text, such as \"<s>\", "
             "if the tokenizer does not add this token itself"),
    LEAT_ARG(leat_tokenize, eos, TEXT,
             "only with `tokenizer`: the token to put after each text, if the tokenizer "
             "does not add this token itself"),
    LEAT_ARG(leat_tokenize, return_offsets_mapping, BOOL,
             "only with `tokenizer`: true adds the field `offset_mapping`, an int32 list; "
             "this list has the start and the end of each token in its text, in "
             "characters; a token without text has 0, 0",
             .fallback = "false"),
    LEAT_ARG(leat_tokenize, return_token_type_ids, BOOL,
             "only with `tokenizer`: true adds the field `token_type_ids`, an int32 list; this "
             "list has the tokenizer's type id of each token; the type ids tell the two texts of a "
             "pair apart",
             .fallback = "false"),
    LEAT_ARG(leat_tokenize, return_assistant_tokens_mask, BOOL,
             "only with `tokenizer`: true adds the field `assistant_masks`, an int32 "
             "list; this list has 1 for each token of the assistant's answers, and 0 for "
             "all other tokens; the text must come directly from `chat` or `instruction`",
             .fallback = "false"),
    LEAT_ARGS_END,
};

static const struct leat_tokenize_side *side_of(const struct leat_tokenize *self) {
    return self->tokenizer_path ? &leat_tokenize_model : &leat_tokenize_vocab;
}

/* Refuses arguments of the other side, which have no effect. */
static int check_args(const struct leat_tokenize *self, struct leat_error *err) {
    bool is_model = self->tokenizer_path;
    const struct leat_tokenize_side *other = is_model ? &leat_tokenize_vocab : &leat_tokenize_model;

    for (const char *const *arg = other->args; *arg; arg++)
        if (leat_config_given(&self->base, *arg))
            return leat_config_error(&self->base, *arg, err, "works only with `%s`, not with `%s`",
                                     is_model ? "vocab" : "tokenizer",
                                     is_model ? "tokenizer" : "vocab");
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    const struct leat_tokenize *self = (const struct leat_tokenize *)config;
    int r;

    if (!self->vocab && !self->tokenizer_path)
        return leat_config_error(config, NULL, err,
                                 "give `tokenizer` (a model's tokenizer.json or its directory) or "
                                 "`vocab` (a list of tokens)");
    if (self->vocab && self->tokenizer_path)
        return leat_config_error(config, "vocab", err,
                                 "`tokenizer` has its own vocabulary: give only one of the two");
    r = check_args(self, err);
    return r < 0 ? r : side_of(self)->check(self, err);
}

static int load(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err) {
    struct leat_tokenize *self = (struct leat_tokenize *)config;

    leat_blake2b_init(&self->contents);
    return side_of(self)->load(self, opener, err);
}

static void unload(struct leat_config *config) {
    struct leat_tokenize *self = (struct leat_tokenize *)config;

    self->trie = leat_chartrie_free(self->trie);
    self->tokenizer = leat_tokenizer_free(self->tokenizer);
}

static void digest(const struct leat_config *config, struct leat_blake2b *state) {
    struct leat_blake2b contents = ((const struct leat_tokenize *)config)->contents;
    uint8_t hash[LEAT_DIGEST_BYTES];

    leat_blake2b_final(&contents, hash);
    leat_blake2b_update(state, hash, sizeof(hash));
}

static const struct leat_contents *contents(const struct leat_config *config) {
    return &((const struct leat_tokenize *)config)->files;
}

/* Finds the column of a field that must be text. */
static int find_text(const struct leat_tokenize *self, struct leat_planner *planner,
                     const char *arg, const char *name, uint32_t *ret_column,
                     struct leat_error *err) {
    int r = leat_planner_find(planner, &self->base, arg, name, ret_column, err);
    enum leat_dtype dtype;

    if (r < 0)
        return r;
    dtype = leat_planner_field(planner, *ret_column)->dtype;
    if (dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(
            &self->base, arg, err,
            "`%s` is %s, but only text can be tokenized: turn it into text with `template`", name,
            leat_dtype_name(dtype));
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct leat_tokenize *self = (struct leat_tokenize *)config;
    struct leat_field *field;
    int r = leat_planner_default_text(planner, config, "input", &self->input, err);

    if (r == 0)
        r = leat_config_default(&self->output, "input_ids", err);
    if (r == 0)
        r = find_text(self, planner, "input", self->input, &self->input_column, err);
    if (r == 0 && self->pair)
        r = find_text(self, planner, "pair", self->pair, &self->pair_column, err);
    if (r == 0)
        r = leat_planner_add(planner, config, "output", self->output, LEAT_DTYPE_INT32, true,
                             &self->output_column, &field, err);
    if (r < 0)
        return r;
    field->tokenizer = config;
    field->has_pad_value = self->pad_id >= 0;
    field->pad_value = (double)self->pad_id;
    r = side_of(self)->plan ? side_of(self)->plan(self, planner, err) : 0;
    field->max_length = (uint64_t)self->max_length;
    return r;
}

static void reject_long(const struct leat_tokenize *self, struct leat_map *map) {
    const struct leat_column *ids = leat_map_column(map, self->output_column);

    for (uint32_t row = 0; row < map->block->n_rows; row++)
        if (ids->lengths[row] > map->max_tokens)
            leat_map_reject(map, row, self->input,
                            "the text has %u tokens, more than max_tokens (%llu): raise "
                            "max_tokens, or cut it with max_length",
                            ids->lengths[row], (unsigned long long)map->max_tokens);
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct leat_tokenize *self = (const struct leat_tokenize *)config;
    int r = side_of(self)->map(self, map, err);

    if (r == 0 && map->max_tokens)
        reject_long(self, map);
    return r;
}

static int workspace_new(const struct leat_config *config, void **ret_workspace,
                         struct leat_error *err) {
    const struct leat_tokenize *self = (const struct leat_tokenize *)config;
    struct leat_tokenize_workspace *workspace = NULL;
    int r = side_of(self)->workspace_new(self, &workspace, err);

    if (r == 0)
        *ret_workspace = workspace;
    return r;
}

static void workspace_free(void *memory) {
    struct leat_tokenize_workspace *workspace = memory;

    if (workspace)
        workspace->side->workspace_free(workspace);
}

static bool varies(const struct leat_config *config) {
    const struct leat_tokenize *self = (const struct leat_tokenize *)config;

    return self->tokenizer ? leat_tokenizer_has_chance(self->tokenizer)
                           : strcmp(modes[self->mode], "random") == 0;
}

static void memory(const struct leat_config *config, size_t *ret_loaded, size_t *ret_workspace) {
    const struct leat_tokenize *self = (const struct leat_tokenize *)config;

    if (self->trie)
        *ret_workspace =
            leat_chartrie_keeps_pieces(self->trie) ? leat_chartrie_pieces_max_bytes() : 0;
    if (!self->tokenizer)
        return;
    *ret_loaded = leat_tokenizer_n_bytes(self->tokenizer);
    *ret_workspace = leat_tokenizer_context_max_bytes(self->tokenizer);
}

const struct leat_stage_ops leat_stage_tokenize = {
    LEAT_STAGE_BASE("tokenize", leat_tokenize, MAP),
    .summary = "turns a text into token ids, with a model's tokenizer or a list of tokens",
    .example = "{ input: text, output: input_ids, tokenizer: tokenizer.json, max_length: 64 }",
    .check = check,
    .load = load,
    .unload = unload,
    .digest = digest,
    .contents = contents,
    .plan = plan,
    .map = map_rows,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .memory = memory,
    .varies = varies,
};

/* ---- what others fill rows with ---- */

int leat_fill_number(const struct leat_config *config, const char *arg,
                     const struct leat_token_value *value, const struct leat_field *field,
                     double *ret_number, struct leat_error *err) {
    const struct leat_tokenize *tokenize = (const struct leat_tokenize *)field->tokenizer;
    int32_t id;

    *ret_number = value->number;
    if (!value->name)
        return 0;
    if (!tokenize || !tokenize->tokenizer)
        return leat_config_error(
            config, arg, err,
            "\"%.64s\" is a token, but \"%s\" does not come from a `tokenizer`: give a number",
            value->name, field->name);
    id = leat_tokenizer_id(tokenize->tokenizer, value->name, strlen(value->name));
    if (id < 0)
        return leat_config_error(config, arg, err, "the tokenizer of \"%s\" has no token \"%.64s\"",
                                 field->name, value->name);
    *ret_number = (double)id;
    return 0;
}

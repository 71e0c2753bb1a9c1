/* tokenize/vocab.c: text to token ids by a vocabulary: see pipeline/tokenizer/chartrie/chartrie.h
 * for the modes and vocab.h for the files.
 *
 * All rows of a block go through the trie in one call; their ids lie one behind the other in one
 * region of the output column's arena. A row with an unknown character (unknown: error) is a bad
 * record. In random mode a row's stream of random numbers is keyed by leat_map_row_key(seed,
 * LEAT_RNG_TOKENIZE).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/tokenize/tokenize.h"
#include "pipeline/tokenizer/chartrie/chartrie.h"
#include "pipeline/tokenizer/token_encoding.h"
#include "proto/base/utf8.h"

#define SCORES_BYTES_MAX (UINT32_C(256) << 20)

static const char *const args[] = {"vocab_encoding", "mode",   "unknown", "unk_id",
                                   "scores",         "bos_id", "eos_id",  NULL};

static int check(const struct leat_tokenize *self, struct leat_error *err) {
    const struct leat_config *config = &self->base;
    int64_t n_ends = leat_config_given(config, "bos_id") + leat_config_given(config, "eos_id");

    if (self->max_length && self->max_length <= n_ends)
        return leat_config_error(
            config, "max_length", err,
            "%lld leaves no room for a token besides `bos_id` and `eos_id`: use at least %lld",
            (long long)self->max_length, (long long)n_ends + 1);
    if (self->scores && self->mode == LEAT_CHARTRIE_GREEDY)
        return leat_config_error(config, "scores", err,
                                 "`mode: greedy` does not use scores: remove `scores`, or set "
                                 "`mode: shortest` or `mode: random`");
    return 0;
}

/* Reads the file of argument `arg`, where errors are placed. */
static int read_file(struct leat_tokenize *self, const char *arg, const char *path,
                     size_t limit_bytes, const struct leat_opener *opener, char **ret_path,
                     char **ret_data, size_t *ret_size, struct leat_error *err) {
    const struct leat_config *config = &self->base;
    int r;

    *ret_path = leat_config_path(config, path);
    if (!*ret_path)
        return leat_error_oom(err);
    r = leat_opener_read(opener, *ret_path, limit_bytes, ret_data, ret_size, err);
    if (r < 0) {
        leat_config_place_error(config, arg, err);
        free(*ret_path);
        *ret_path = NULL;
        return r;
    }
    leat_blake2b_u64(&self->contents, *ret_size);
    leat_blake2b_update(&self->contents, *ret_data, *ret_size);
    leat_contents_add(&self->files, *ret_path, *ret_data, *ret_size);
    return 0;
}

static int load_scores(struct leat_tokenize *self, struct leat_vocab *vocab,
                       const struct leat_opener *opener, struct leat_error *err) {
    char *path, *data;
    size_t size;
    int r;

    r = read_file(self, "scores", self->scores, SCORES_BYTES_MAX, opener, &path, &data, &size, err);
    if (r < 0)
        return r;
    r = leat_vocab_read_costs(vocab, data, size, path, err);
    if (r < 0)
        leat_error_prefix(err, "scores");
    free(path);
    free(data);
    return r;
}

static int load_vocab(struct leat_tokenize *self, const struct leat_opener *opener,
                      struct leat_vocab **ret_vocab, struct leat_error *err) {
    char *path, *data;
    size_t size;
    int r;

    r = read_file(self, "vocab", self->vocab, LEAT_VOCAB_FILE_BYTES_MAX, opener, &path, &data,
                  &size, err);
    if (r < 0)
        return r;
    r = leat_vocab_new(data, size, (enum leat_token_encoding)self->vocab_encoding, path, ret_vocab,
                       err);
    if (r < 0)
        leat_error_prefix(err, "vocab");
    free(path);
    free(data);
    return r;
}

static int make_trie(struct leat_tokenize *self, const struct leat_vocab *vocab,
                     struct leat_error *err) {
    const struct leat_config *config = &self->base;
    struct leat_chartrie_options options = {
        .mode = (enum leat_chartrie_mode)self->mode,
        .unknown = (enum leat_chartrie_unknown)self->unknown,
        .unk_id = -1,
        .bos_id = leat_config_given(config, "bos_id") ? (int32_t)self->bos_id : -1,
        .eos_id = leat_config_given(config, "eos_id") ? (int32_t)self->eos_id : -1,
        .max_length = (uint32_t)self->max_length,
        .keeps_tail = self->truncation_side == 1};
    int r;

    if (leat_config_given(config, "unk_id"))
        options.unk_id = (int32_t)self->unk_id;
    else if (vocab->unk_id >= 0 && vocab->unk_id <= INT32_MAX)
        options.unk_id = (int32_t)vocab->unk_id;
    if (options.unknown == LEAT_CHARTRIE_UNK && options.unk_id < 0)
        return leat_config_error(
            config, "unknown", err,
            "`unk` needs the id of the unknown token, but the vocabulary does not give this id: "
            "set `unk_id`");
    r = leat_chartrie_new(vocab, &options, &self->trie, err);
    if (r < 0 && r != -ENOMEM)
        leat_error_prefix(err, self->scores ? "scores" : "vocab");
    return r;
}

static int load(struct leat_tokenize *self, const struct leat_opener *opener,
                struct leat_error *err) {
    struct leat_vocab *vocab = NULL;
    int r;

    r = load_vocab(self, opener, &vocab, err);
    if (r == 0 && self->scores)
        r = load_scores(self, vocab, opener, err);
    if (r == 0)
        r = make_trie(self, vocab, err);
    self->pad_id = r == 0 && vocab->pad_id <= INT32_MAX ? vocab->pad_id : -1;
    leat_vocab_free(vocab);
    return r;
}

/* The words of a vocabulary stay known from block to block. */
struct workspace {
    struct leat_tokenize_workspace base;
    struct leat_chartrie_pieces *pieces;
};

static void workspace_free(struct leat_tokenize_workspace *base) {
    struct workspace *workspace = (struct workspace *)base;

    leat_chartrie_pieces_free(workspace->pieces);
    free(workspace);
}

static int workspace_new(const struct leat_tokenize *self,
                         struct leat_tokenize_workspace **ret_workspace, struct leat_error *err) {
    struct workspace *workspace;

    if (!leat_chartrie_keeps_pieces(self->trie))
        return 0;
    workspace = calloc(1, sizeof(*workspace));
    if (!workspace || leat_chartrie_pieces_new(&workspace->pieces) < 0) {
        free(workspace);
        return leat_error_oom(err);
    }
    workspace->base.side = &leat_tokenize_vocab;
    *ret_workspace = &workspace->base;
    return 0;
}

/* The encoder's memory. The region of ids stays open while rows are encoded, unless it is in the
 * scratch arena, which the encoder uses at the same time. */
struct memory {
    struct leat_arena *scratch, *ids;
};

static void *allocate(void *context, size_t n_bytes) {
    struct memory *memory = context;

    return leat_arena_alloc(memory->scratch, n_bytes);
}

static void *reserve(void *context, size_t min_bytes, size_t *ret_size) {
    struct memory *memory = context;

    if (memory->ids != memory->scratch)
        return leat_arena_reserve(memory->ids, min_bytes, ret_size);
    *ret_size = min_bytes;
    return leat_arena_alloc(memory->scratch, min_bytes);
}

static void reject(const struct leat_tokenize *self, struct leat_map *map, uint32_t i,
                   const struct leat_encoder_row *row) {
    const uint8_t *at = row->text + row->unknown;
    uint32_t n_bytes = leat_utf8_length(at, row->n_bytes - row->unknown);
    char shown[LEAT_TOKEN_TEXT_MAX];

    leat_map_reject(map, i, self->input,
                    "no token of the vocabulary covers \"%s\" (byte %u of %u of the text): set "
                    "`unknown` to skip or unk",
                    leat_token_text(at, n_bytes, shown), row->unknown, row->n_bytes);
}

static void begin_rows(const struct leat_tokenize *self, const struct leat_map *map,
                       struct leat_encoder_row *rows) {
    const struct leat_column *input = leat_map_column(map, self->input_column);

    for (uint32_t i = 0; i < map->block->n_rows; i++) {
        rows[i].text = (const uint8_t *)input->values + input->starts[i];
        rows[i].n_bytes = input->lengths[i];
        if (self->mode == LEAT_CHARTRIE_RANDOM)
            rows[i].key = leat_map_row_key(map, i, (uint64_t)self->seed, LEAT_RNG_TOKENIZE);
    }
}

static void finish_rows(const struct leat_tokenize *self, struct leat_map *map,
                        const struct leat_encoder_row *rows) {
    struct leat_column *output = leat_map_column(map, self->output_column);

    for (uint32_t i = 0; i < map->block->n_rows; i++) {
        output->starts[i] = (uint32_t)rows[i].first_id;
        output->lengths[i] = (uint32_t)rows[i].n_ids;
        if (rows[i].unknown != LEAT_ENCODER_NO_UNKNOWN)
            reject(self, map, i, &rows[i]);
    }
}

static int map_rows(const struct leat_tokenize *self, struct leat_map *map,
                    struct leat_error *err) {
    struct memory memory = {.scratch = map->scratch,
                            .ids = leat_map_arena(map, self->output_column)};
    const struct workspace *workspace = map->workspace;
    struct leat_encoder encoder = {
        .memory = {.context = &memory, .allocate = allocate, .reserve = reserve},
        .pieces = workspace ? workspace->pieces : NULL};
    struct leat_encoder_row *rows =
        leat_arena_alloc(map->scratch, map->block->n_rows * sizeof(*rows));
    int r;

    if (!rows || leat_map_make_views(map, self->output_column) < 0)
        return leat_error_oom(err);
    begin_rows(self, map, rows);
    r = leat_chartrie_encode(self->trie, &encoder, rows, map->block->n_rows, err);
    if (r < 0)
        return r;
    if (encoder.n_ids > UINT32_MAX)
        return leat_error_set(
            err, -EOVERFLOW,
            "one block would have %zu tokens, which is too many: lower block_bytes", encoder.n_ids);
    leat_map_column(map, self->output_column)->values = encoder.ids;
    if (encoder.ids && memory.ids != memory.scratch)
        leat_arena_commit(memory.ids, encoder.n_ids * sizeof(*encoder.ids));
    map->n_bytes_out += encoder.n_ids * sizeof(*encoder.ids);
    finish_rows(self, map, rows);
    return 0;
}

const struct leat_tokenize_side leat_tokenize_vocab = {
    .args = args,
    .check = check,
    .load = load,
    .map = map_rows,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
};

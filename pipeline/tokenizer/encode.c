/* encode.c: a text through all parts of a tokenizer. See tokenizer.h.
 *
 *     bytes -> valid UTF-8 -> added tokens | pieces -> normalizer -> added tokens | pieces
 *           -> splitter -> words -> model -> ids -> truncation, special tokens, padding
 *
 * The text is copied once into a padded buffer, so that no later part has to watch its end. Words
 * are taken from the splitter in portions, and the model appends straight to the columns of the
 * sequence; only ids are computed unless more is asked for.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/surfaces.h"
#include "pipeline/tokenizer/tokenizer_internal.h"
#include "pipeline/tokenizer/user_text.h"
#include "proto/base/array.h"
#include "proto/base/utf8.h"

#define N_WORDS 2048 /* of a portion */

struct leat_tokenizer_context {
    struct leat_normalizer_context *normalizer;
    struct leat_splitter_context *splitter;
    struct leat_model_context *model;
    struct leat_text_buffer text, mapped;
    struct leat_token *tokens; /* of one word, where offsets are wanted */
    size_t tokens_capacity;
    bool is_full; /* the tokens reach the limit */
    struct leat_marks marks;
    struct leat_surfaces surfaces;
    struct leat_encoding sequences[2];
    struct leat_encoding *encodings;
    size_t n_encodings, encodings_capacity;
    struct leat_range words[N_WORDS];
};

/* One text under way. */
struct encoding_run {
    const struct leat_tokenizer *tokenizer;
    struct leat_tokenizer_context *context;
    const struct leat_encode_options *options;
    uint32_t columns; /* those of the options, and what they need */
    struct leat_encoding *out;
    struct leat_error *err;
    size_t limit;     /* a text needs no more tokens than these, see limit_of */
    uint32_t word;    /* the next one; constant within a text that is a given word */
    bool is_word;     /* the text is a given word */
    bool has_origins; /* the piece under way says where each byte comes from */
};

struct leat_tokenizer_context *leat_tokenizer_context_free(struct leat_tokenizer_context *context) {
    if (!context)
        return NULL;
    leat_normalizer_context_free(context->normalizer);
    leat_splitter_context_free(context->splitter);
    leat_model_context_free(context->model);
    leat_text_buffer_deinit(&context->text);
    leat_text_buffer_deinit(&context->mapped);
    free(context->tokens);
    leat_surfaces_deinit(&context->surfaces);
    leat_encoding_deinit(&context->sequences[0]);
    leat_encoding_deinit(&context->sequences[1]);
    for (size_t i = 0; i < context->encodings_capacity; i++)
        leat_encoding_deinit(&context->encodings[i]);
    free(context->encodings);
    free(context);
    return NULL;
}

int leat_tokenizer_context_new(const struct leat_tokenizer *tokenizer,
                               struct leat_tokenizer_context **ret_context) {
    struct leat_tokenizer_context *context = calloc(1, sizeof(*context));

    if (!context)
        return -ENOMEM;
    context->normalizer = leat_normalizer_context_new();
    if (!context->normalizer ||
        leat_splitter_context_new(tokenizer->splitter, &context->splitter) < 0 ||
        leat_model_context_new(tokenizer->model, &context->model) < 0) {
        leat_tokenizer_context_free(context);
        return -ENOMEM;
    }
    *ret_context = context;
    return 0;
}

static int fail(const struct encoding_run *run, int code) {
    if (code == -ENOMEM)
        return leat_error_oom(run->err);
    if (code == -E2BIG)
        return leat_error_set(run->err, code, "the text is longer than %u bytes",
                              LEAT_TEXT_BYTES_MAX);
    return leat_error_set(run->err, code, "the text cannot be tokenized");
}

/* ---- the copy, valid */

/* True if each token is needed with its bytes, so that words are encoded one at a time. */
static bool wants_offsets(const struct encoding_run *run) {
    return run->columns & (LEAT_ENCODING_OFFSETS | LEAT_ENCODING_SURFACES | LEAT_ENCODING_WORDS);
}

static bool wants_marks(const struct encoding_run *run) {
    return run->options->columns & LEAT_ENCODING_MARKS;
}

/* Where only marks are wanted, begin_piece makes the origins it needs, unless bytes move. */
static int copy_text(const struct encoding_run *run, const uint8_t *text, size_t n,
                     struct leat_text_view *ret_text) {
    struct leat_text_buffer *buffer = &run->context->text;
    bool is_valid, has_origins;
    int r;

    buffer->n_bytes = 0;
    if (n > LEAT_TEXT_BYTES_MAX)
        return fail(run, -E2BIG);
    is_valid = !wants_offsets(run) && leat_json_is_utf8(text, n);
    has_origins = wants_offsets(run) || (wants_marks(run) && !is_valid);
    r = leat_text_buffer_reserve(buffer, n, has_origins || wants_marks(run));
    if (r == 0 && is_valid) {
        if (n)
            memcpy(buffer->bytes, text, n);
        buffer->n_bytes = (uint32_t)n;
    } else if (r == 0) {
        r = leat_user_text_copy(buffer, text, n, has_origins);
    }
    if (r < 0)
        return fail(run, r);
    memset(buffer->bytes + buffer->n_bytes, 0, LEAT_TEXT_PADDING);
    *ret_text = leat_text_buffer_view(buffer, has_origins);
    return 0;
}

/* ---- words to tokens */

/* The other columns of tokens of one text, before special tokens are put around them. */
static void fill_columns(struct leat_encoding *out, size_t n, uint32_t mark) {
    if (out->type_ids)
        memset(out->type_ids + out->n, 0, n * sizeof(*out->type_ids));
    if (out->special)
        memset(out->special + out->n, 0, n);
    if (out->attention)
        memset(out->attention + out->n, 1, n);
    if (out->surfaces)
        memset(out->surfaces + out->n, 0, n * sizeof(*out->surfaces));
    for (size_t i = 0; out->marks && i < n; i++)
        out->marks[out->n + i] = mark;
}

static int encode_words(const struct encoding_run *run, const struct leat_text_view *text,
                        const struct leat_range *words, size_t n_words) {
    struct leat_tokenizer_context *context = run->context;
    uint32_t n_bytes = words[n_words - 1].end - words[0].start;
    size_t n_ids = 0;
    int r = leat_encoding_reserve(run->out, (size_t)n_bytes + LEAT_MODEL_IDS_SLACK);

    if (r < 0)
        return fail(run, r);
    r = leat_model_encode(context->model, text, words, n_words, run->out->ids + run->out->n, &n_ids,
                          run->err);
    if (r == 0)
        fill_columns(run->out, n_ids, context->marks.current);
    run->out->n += n_ids;
    return r;
}

/* The range of the user's text that a range of this text stands for. */
static struct leat_range origin_of(const struct leat_text_view *text, struct leat_range range) {
    if (range.start >= range.end || range.end > text->n_bytes)
        return (struct leat_range){0};
    return (struct leat_range){.start = text->origins[range.start].start,
                               .end = text->origins[range.end - 1].end};
}

static void push_token(const struct encoding_run *run, int32_t id, struct leat_range origin) {
    leat_encoding_push(run->out, id, 0, origin, false);
    if (run->out->marks)
        run->out->marks[run->out->n - 1] = leat_marks_of(&run->context->marks, origin);
    if (run->out->words)
        run->out->words[run->out->n - 1] = run->word;
}

/* Notes how the last token is spelled, if the vocabulary spells it otherwise. */
static int push_surface(const struct encoding_run *run, int32_t id, const uint8_t *text,
                        uint32_t n_bytes) {
    struct leat_encoding *out = run->out;
    uint32_t n;
    const uint8_t *usual = leat_tokenizer_token(run->tokenizer, id, &n);

    if (!out->surfaces || (usual && n == n_bytes && memcmp(usual, text, n) == 0))
        return 0;
    return leat_surfaces_add(&run->context->surfaces, text, n_bytes, &out->surfaces[out->n - 1]);
}

/* The same of bytes that stand for characters of GPT-2's alphabet. */
static int push_bytes_surface(const struct encoding_run *run, int32_t id, const uint8_t *bytes,
                              uint32_t n_bytes) {
    struct leat_text_buffer *mapped = &run->context->mapped;

    mapped->n_bytes = 0;
    if (leat_text_buffer_reserve(mapped, 2 * (size_t)n_bytes, false) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < n_bytes; i++)
        mapped->n_bytes += leat_byte_level_map(bytes[i], mapped->bytes + mapped->n_bytes);
    return push_surface(run, id, mapped->bytes, mapped->n_bytes);
}

/* The same of a token of the model. */
static int push_model_surface(const struct encoding_run *run, const struct leat_text_view *text,
                              const struct leat_token *token) {
    const struct leat_model *model = run->tokenizer->model;
    const uint8_t *spelling;
    uint32_t n;

    if (model->unknown_is_text && token->id == model->unknown_id) {
        spelling = text->bytes + token->range.start;
        n = token->range.end - token->range.start;
        return leat_splitter_is_byte_level(run->tokenizer->splitter)
                   ? push_bytes_surface(run, token->id, spelling, n)
                   : push_surface(run, token->id, spelling, n);
    }
    if (!run->tokenizer->added.changed.n_tokens)
        return 0;
    spelling = leat_token_table_text(&model->tokens, token->id, &n);
    return spelling ? push_surface(run, token->id, spelling, n) : 0;
}

/* Encodes one word with the bytes of each token. */
static int encode_word_tokens(const struct encoding_run *run, const struct leat_text_view *text,
                              struct leat_range word) {
    struct leat_tokenizer_context *context = run->context;
    size_t n_bytes = word.end - word.start, n = 0;
    int r;

    if (!leat_array_reserve(&context->tokens, n_bytes + LEAT_MODEL_IDS_SLACK,
                            &context->tokens_capacity))
        return fail(run, -ENOMEM);
    r = leat_encoding_reserve(run->out, n_bytes + LEAT_MODEL_IDS_SLACK);
    if (r < 0)
        return fail(run, r);
    r = leat_model_encode_tokens(context->model, text, word, context->tokens, &n, run->err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        push_token(run, context->tokens[i].id, origin_of(text, context->tokens[i].range));
        if (run->out->surfaces && push_model_surface(run, text, &context->tokens[i]) < 0)
            r = fail(run, -ENOMEM);
    }
    return r;
}

/* True if each token of the word is needed with its bytes. */
static bool is_divided(const struct encoding_run *run, const struct leat_text_view *text,
                       struct leat_range word) {
    return run->has_origins &&
           (wants_offsets(run) || !leat_marks_enter(&run->context->marks, origin_of(text, word)));
}

static void end_word(struct encoding_run *run) {
    run->word += !run->is_word;
    run->context->is_full = run->out->n >= run->limit;
}

static int encode_each_word(struct encoding_run *run, const struct leat_text_view *text,
                            const struct leat_range *words, size_t n) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < n && !run->context->is_full; i++) {
        r = is_divided(run, text, words[i]) ? encode_word_tokens(run, text, words[i])
                                            : encode_words(run, text, &words[i], 1);
        end_word(run);
    }
    return r;
}

/* Encodes words with the same mark together. */
static int encode_marked_words(const struct encoding_run *run, const struct leat_text_view *text,
                               const struct leat_range *words, size_t n) {
    struct leat_marks *marks = &run->context->marks;
    uint32_t mark = marks->current;
    size_t start = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        bool is_whole = !is_divided(run, text, words[i]);
        uint32_t next = marks->current;

        if (is_whole && next == mark)
            continue;
        marks->current = mark;
        if (i > start)
            r = encode_words(run, text, words + start, i - start);
        marks->current = mark = next;
        start = i + !is_whole;
        if (r == 0 && !is_whole)
            r = encode_word_tokens(run, text, words[i]);
        mark = marks->current;
    }
    if (r == 0 && n > start)
        r = encode_words(run, text, words + start, n - start);
    return r;
}

/* Words that are cut at once: not many more than the limit needs. */
static size_t n_words_at_once(const struct encoding_run *run) {
    return run->limit >= N_WORDS ? N_WORDS : run->limit + 1;
}

static int encode_piece(struct encoding_run *run, const struct leat_text_view *piece,
                        bool starts_document) {
    const struct leat_splitter *splitter = run->tokenizer->splitter;
    struct leat_tokenizer_context *context = run->context;
    const struct leat_text_view *text;
    size_t n;
    int r = leat_splitter_begin(splitter, context->splitter, piece, starts_document, run->err);

    if (r < 0)
        return fail(run, r);
    text = leat_splitter_text(context->splitter);
    while (r == 0 && !context->is_full &&
           (n = leat_splitter_next(splitter, context->splitter, context->words,
                                   n_words_at_once(run))) > 0) {
        if (wants_offsets(run)) {
            r = encode_each_word(run, text, context->words, n);
        } else {
            r = run->has_origins ? encode_marked_words(run, text, context->words, n)
                                 : encode_words(run, text, context->words, n);
            end_word(run);
        }
    }
    return r;
}

/* ---- pieces and added tokens */

/* Appends an added token that stands for all of `part`. */
static int push_added(struct encoding_run *run, const struct leat_text_view *part, int32_t id) {
    int r = leat_encoding_reserve(run->out, 1);

    if (r < 0)
        return fail(run, r);
    push_token(run, id,
               run->has_origins ? origin_of(part, (struct leat_range){0, part->n_bytes})
                                : (struct leat_range){0});
    run->word += !run->is_word;
    r = push_surface(run, id, part->bytes, part->n_bytes);
    return r < 0 ? fail(run, r) : 0;
}

static int encode_normalized(struct encoding_run *run, const struct leat_text_view *text,
                             bool starts_document) {
    const struct leat_added_tokens *added = &run->tokenizer->added;
    struct leat_added_walk walk;
    struct leat_added_piece piece;
    int r = 0;

    if (text->n_bytes == 0)
        return 0;
    if (added->normalized.is_empty)
        return encode_piece(run, text, starts_document);
    leat_added_walk_begin(&walk, added, &added->normalized, text,
                          run->options->encodes_special_tokens);
    while (r == 0 && !run->context->is_full && leat_added_walk_next(&walk, &piece)) {
        struct leat_text_view part = leat_text_view_part(text, piece.range);

        if (piece.id >= 0)
            r = push_added(run, &part, piece.id);
        else
            r = encode_piece(run, &part, starts_document && piece.range.start == 0);
    }
    return r;
}

static int normalize_and_encode(struct encoding_run *run, const struct leat_text_view *piece,
                                bool starts_document) {
    struct leat_text_view text;
    int r = leat_normalizer_run(run->tokenizer->normalizer, run->context->normalizer, piece, &text,
                                run->err);

    return r < 0 ? fail(run, r) : encode_normalized(run, &text, starts_document);
}

/* Origins of a piece of a text that was copied as it is. */
static void make_origins(struct leat_text_buffer *buffer, struct leat_range piece) {
    for (uint32_t at = piece.start, n; at < piece.end; at += n) {
        n = leat_utf8_length(buffer->bytes + at, piece.end - at);
        for (uint32_t i = at; i < at + n; i++)
            buffer->origins[i] = (struct leat_range){at, at + n};
    }
}

/* A piece of the copied text. Marks that do not change within it need no origins. */
static struct leat_text_view
begin_piece(struct encoding_run *run, const struct leat_text_view *text, struct leat_range range) {
    struct leat_text_buffer *buffer = &run->context->text;
    struct leat_text_view part = leat_text_view_part(text, range);

    run->has_origins = text->origins;
    if (!wants_marks(run) || run->has_origins || leat_marks_enter(&run->context->marks, range))
        return part;
    make_origins(buffer, range);
    run->has_origins = true;
    part.origins = buffer->origins + range.start;
    return part;
}

/* Behind a part of a text there are other bytes than zeros; they only have to be readable. */
static int encode_text(struct encoding_run *run, const struct leat_text_view *text) {
    const struct leat_added_tokens *added = &run->tokenizer->added;
    struct leat_added_walk walk;
    struct leat_added_piece piece;
    int r = 0;

    leat_added_walk_begin(&walk, added, &added->raw, text, run->options->encodes_special_tokens);
    while (r == 0 && !run->context->is_full && leat_added_walk_next(&walk, &piece)) {
        struct leat_text_view part = begin_piece(run, text, piece.range);

        if (piece.id >= 0)
            r = push_added(run, &part, piece.id);
        else
            r = normalize_and_encode(run, &part, piece.range.start == 0);
    }
    return r;
}

/* A text that is a word already. Its offsets are made what the result counts in, since they are not
 * those of the whole text. */
static int encode_given_word(struct encoding_run *run, const uint8_t *word, size_t n) {
    struct leat_char_count chars = {.text = word, .n_bytes = n};
    struct leat_encoding *out = run->out;
    size_t start = out->n;
    struct leat_text_view copy;
    int r = copy_text(run, word, n, &copy);

    if (r == 0)
        r = encode_text(run, &copy);
    if (out->offsets && run->options->offsets_in_chars)
        for (size_t i = start; i < out->n; i++)
            out->offsets[i] = leat_char_count_range(&chars, out->offsets[i]);
    return r;
}

static int encode_given_words(struct encoding_run *run, const uint8_t *text,
                              const struct leat_word_ends *words) {
    int r = 0;

    run->is_word = true;
    for (uint32_t i = 0, start = 0; r == 0 && i < words->n && !run->context->is_full; i++) {
        run->word = i;
        r = encode_given_word(run, text + start, words->ends[i] - start);
        start = words->ends[i];
    }
    run->is_word = false;
    return r;
}

static int encode_sequence(struct encoding_run *run, const void *text, size_t n, size_t n_marks,
                           struct leat_encoding *out) {
    const struct leat_word_ends *words = &run->options->words[out != run->context->sequences];
    struct leat_text_view copy;
    int r;

    run->out = out;
    run->word = 0;
    run->context->is_full = false;
    leat_marks_begin(&run->context->marks, run->options->marks, n_marks);
    leat_encoding_reset(out, run->columns);
    if (words->ends)
        return encode_given_words(run, text, words);
    r = copy_text(run, text, n, &copy);
    return r < 0 ? r : encode_text(run, &copy);
}

static const struct leat_truncation *truncation_of(const struct encoding_run *run) {
    return run->options->truncation ? run->options->truncation : &run->tokenizer->truncation;
}

/* A text whose tail is cut off is tokenized until it has more than max_length tokens, if nobody
 * wants that tail as overflow. Truncation is off where max_length has no room for the special
 * tokens. */
static size_t limit_of(const struct encoding_run *run, size_t n_added) {
    const struct leat_truncation *truncation = truncation_of(run);
    bool is_enough = truncation->is_on && truncation->max_length >= n_added &&
                     !truncation->cuts_left && run->options->drops_overflow;

    return is_enough ? (size_t)truncation->max_length + 1 : SIZE_MAX;
}

/* True if the result depends on which of two texts is the longer, and both were left before their
 * ends: the longer one gets the odd token of the room. */
static bool needs_lengths(const struct encoding_run *run, size_t n_added) {
    const struct leat_encoding *sequences = run->context->sequences;
    const struct leat_truncation *truncation = truncation_of(run);

    return run->limit != SIZE_MAX && truncation->strategy == LEAT_TRUNCATE_LONGEST_FIRST &&
           (truncation->max_length - n_added) % 2 && sequences[0].n >= run->limit &&
           sequences[1].n >= run->limit;
}

/* Encodes one text or two (pair NULL: one), as far as truncation needs. */
static int encode_sequences(struct encoding_run *run, const void *text, size_t n_text,
                            const void *pair, size_t n_pair) {
    struct leat_encoding *sequences = run->context->sequences;
    size_t n_marks = run->options->n_marks;
    size_t n_added = run->options->adds_special_tokens
                         ? leat_tokenizer_n_added(run->tokenizer, pair != NULL)
                         : 0;
    int r;

    run->limit = limit_of(run, n_added);
    r = encode_sequence(run, text, n_text, n_marks, &sequences[0]);
    if (r < 0 || !pair)
        return r;
    r = encode_sequence(run, pair, n_pair, 0, &sequences[1]);
    if (r < 0 || !needs_lengths(run, n_added))
        return r;
    run->limit = SIZE_MAX;
    r = encode_sequence(run, text, n_text, n_marks, &sequences[0]);
    return r < 0 ? r : encode_sequence(run, pair, n_pair, 0, &sequences[1]);
}

/* ---- offsets in characters, and how tokens are spelled */

/* The texts are the user's. */
struct spelling {
    const struct leat_tokenizer *tokenizer;
    const struct leat_surfaces *surfaces;
    const struct leat_word_ends *words; /* [2]; offsets of such a text are in characters already */
    struct leat_char_count texts[2];
};

static struct leat_range in_chars(void *context, bool is_second, struct leat_range offsets) {
    struct spelling *spelling = context;

    return spelling->words[is_second].ends
               ? offsets
               : leat_char_count_range(&spelling->texts[is_second], offsets);
}

const uint8_t *leat_tokenizer_surface(const struct leat_tokenizer_context *context,
                                      uint32_t surface, uint32_t *ret_n_bytes) {
    return leat_surfaces_get(&context->surfaces, surface, ret_n_bytes);
}

static const uint8_t *spell(const void *context, int32_t id, uint32_t surface,
                            uint32_t *ret_n_bytes) {
    const struct spelling *spelling = context;

    return surface ? leat_surfaces_get(spelling->surfaces, surface, ret_n_bytes)
                   : leat_tokenizer_token(spelling->tokenizer, id, ret_n_bytes);
}

static uint32_t columns_of(const struct leat_tokenizer *tokenizer,
                           const struct leat_encode_options *options) {
    bool trims = tokenizer->post->n_trims > 0 && options->columns & LEAT_ENCODING_OFFSETS;

    return options->columns | (trims ? LEAT_ENCODING_SURFACES : 0U);
}

int leat_tokenizer_encode(const struct leat_tokenizer *tokenizer,
                          struct leat_tokenizer_context *context, const void *text, size_t n_text,
                          const void *pair, size_t n_pair,
                          const struct leat_encode_options *options,
                          const struct leat_encoding **ret_encodings, size_t *ret_n_encodings,
                          struct leat_error *err) {
    struct encoding_run run = {.tokenizer = tokenizer,
                               .context = context,
                               .options = options,
                               .columns = columns_of(tokenizer, options),
                               .err = err};
    struct spelling spelling = {
        .tokenizer = tokenizer,
        .surfaces = &context->surfaces,
        .words = options->words,
        .texts = {{.text = text, .n_bytes = n_text}, {.text = pair, .n_bytes = n_pair}}};
    const struct leat_post_speller speller = {.context = &spelling,
                                              .text = spell,
                                              .in_chars =
                                                  options->offsets_in_chars ? in_chars : NULL};
    int r;

    context->model->random.state = options->seed;
    context->surfaces.n = 0;
    r = encode_sequences(&run, text, n_text, pair, n_pair);
    if (r == 0)
        r = leat_post_run(tokenizer->post, truncation_of(&run),
                          options->padding ? options->padding : &tokenizer->padding,
                          &context->sequences[0], pair ? &context->sequences[1] : NULL,
                          options->adds_special_tokens, &speller, &context->encodings,
                          options->drops_overflow ? NULL : &context->n_encodings,
                          &context->encodings_capacity, err);
    if (r < 0)
        return r;
    *ret_encodings = context->encodings;
    *ret_n_encodings = options->drops_overflow ? 1 : context->n_encodings;
    return 0;
}

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
#include <string.h>

#include "pipeline/tokenizer/tokenizer_plan.h"
#include "pipeline/tokenizer/utf8.h"

#define N_WORDS 2048 /* of a portion */

/* As many tokens of a text as truncation has use for. HF stops tokenizing once a text has
 * `max_length` of them, whole words, and only then looks how a pair must share; from the left, it
 * goes from the last word to the first. */
struct token_limit {
    size_t max; /* SIZE_MAX: none */
    bool from_left;
    bool is_reached;
    uint32_t *starts; /* from_left: where the tokens of each word begin */
    size_t n_starts, starts_capacity;
};

struct leat_tokenizer_context {
    struct leat_normalizer_context *normalizer;
    struct leat_splitter_context *splitter;
    struct leat_model_context *model;
    const struct leat_model_ops *ops;
    struct leat_text_buffer text;
    struct leat_token *tokens; /* of one word, where offsets are wanted */
    size_t tokens_capacity;
    struct token_limit limit;
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
    struct leat_encoding *out;
    struct leat_error *err;
};

struct leat_tokenizer_context *leat_tokenizer_context_free(struct leat_tokenizer_context *context) {
    if (!context)
        return NULL;
    leat_normalizer_context_free(context->normalizer);
    leat_splitter_context_free(context->splitter);
    if (context->model)
        context->ops->context_free(context->model);
    leat_text_buffer_deinit(&context->text);
    free(context->tokens);
    free(context->limit.starts);
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
    context->ops = tokenizer->model->ops;
    if (leat_normalizer_context_new(tokenizer->normalizer, &context->normalizer) < 0 ||
        leat_splitter_context_new(tokenizer->splitter, &context->splitter) < 0 ||
        context->ops->context_new(tokenizer->model, &context->model) < 0) {
        leat_tokenizer_context_free(context);
        return -ENOMEM;
    }
    *ret_context = context;
    return 0;
}

void leat_tokenizer_context_clear(struct leat_tokenizer_context *context) {
    context->ops->context_clear(context->model);
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

static bool wants_origins(const struct encoding_run *run) {
    return run->options->columns & LEAT_ENCODING_OFFSETS;
}

/* How many bytes from `at` on one U+FFFD stands for: the longest that begins a valid character, as
 * Unicode 3.9 ("substitution of maximal subparts") has it. */
static uint32_t invalid_length(const uint8_t *text, size_t n) {
    static const uint8_t tail[3] = {0x80, 0x80, 0x80};
    uint8_t trial[7];
    uint32_t n_taken = 1;

    for (; n_taken < 4 && n_taken < n; n_taken++) { /* would it be valid with more behind it? */
        bool is_prefix = false;

        for (uint32_t low = 0x80; low < 0xc0 && !is_prefix; low += 0x10) {
            memcpy(trial, text, n_taken + 1);
            memcpy(trial + n_taken + 1, tail, sizeof(tail));
            trial[n_taken + 1] = (uint8_t)low;
            is_prefix = leat_utf8_length(trial, sizeof(trial)) > n_taken + 1;
        }
        if (!is_prefix)
            break;
    }
    return n_taken;
}

static int copy_character(struct leat_text_buffer *buffer, const uint8_t *text, size_t at, size_t n,
                          bool has_origins, uint32_t *ret_n) {
    static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd};
    const uint8_t *bytes = text + at;
    uint32_t n_bytes = leat_utf8_length(bytes, n - at);
    int r;

    *ret_n = n_bytes;
    if (n_bytes == 1 && bytes[0] >= 0x80) {
        *ret_n = invalid_length(bytes, n - at);
        bytes = replacement;
        n_bytes = sizeof(replacement);
    }
    r = leat_text_buffer_reserve(buffer, n_bytes, has_origins);
    if (r < 0)
        return r;
    memcpy(buffer->bytes + buffer->n_bytes, bytes, n_bytes);
    if (has_origins)
        for (uint32_t i = 0; i < n_bytes; i++)
            buffer->origins[buffer->n_bytes + i] =
                (struct leat_range){.start = (uint32_t)at, .end = (uint32_t)at + *ret_n};
    buffer->n_bytes += n_bytes;
    return 0;
}

static int copy_by_character(struct leat_text_buffer *buffer, const uint8_t *text, size_t n,
                             bool has_origins) {
    uint32_t n_bytes;
    int r = 0;

    for (size_t at = 0; r == 0 && at < n; at += n_bytes)
        r = copy_character(buffer, text, at, n, has_origins, &n_bytes);
    return r;
}

static int copy_text(const struct encoding_run *run, const uint8_t *text, size_t n,
                     struct leat_text *ret_text) {
    struct leat_text_buffer *buffer = &run->context->text;
    bool has_origins = wants_origins(run);
    int r;

    buffer->n_bytes = 0;
    if (n > LEAT_TEXT_BYTES_MAX)
        return fail(run, -E2BIG);
    r = leat_text_buffer_reserve(buffer, n, has_origins);
    if (r == 0 && !has_origins && leat_json_is_utf8(text, n)) {
        if (n)
            memcpy(buffer->bytes, text, n);
        buffer->n_bytes = (uint32_t)n;
    } else if (r == 0) {
        r = copy_by_character(buffer, text, n, has_origins);
    }
    if (r < 0)
        return fail(run, r);
    memset(buffer->bytes + buffer->n_bytes, 0, LEAT_TEXT_PADDING);
    *ret_text = leat_text_buffer_view(buffer, has_origins);
    return 0;
}

/* ---- words to tokens */

/* The other columns of tokens of one text, before special tokens are put around them. */
static void fill_columns(struct leat_encoding *out, size_t n) {
    if (out->type_ids)
        memset(out->type_ids + out->n, 0, n * sizeof(*out->type_ids));
    if (out->special)
        memset(out->special + out->n, 0, n);
    if (out->attention)
        memset(out->attention + out->n, 1, n);
}

static int encode_words(const struct encoding_run *run, const struct leat_text *text,
                        const struct leat_range *words, size_t n_words) {
    struct leat_tokenizer_context *context = run->context;
    uint32_t n_bytes = words[n_words - 1].end - words[0].start;
    size_t n_ids = 0;
    int r = leat_encoding_reserve(run->out, (size_t)n_bytes + LEAT_MODEL_IDS_SLACK);

    if (r < 0)
        return fail(run, r);
    r = context->ops->encode(run->tokenizer->model, context->model, text, words, n_words,
                             run->out->ids + run->out->n, &n_ids, run->err);
    if (r == 0)
        fill_columns(run->out, n_ids);
    run->out->n += n_ids;
    return r;
}

/* The range of the user's text that a range of this text stands for. */
static struct leat_range origin_of(const struct leat_text *text, struct leat_range range) {
    if (range.start >= range.end || range.end > text->n_bytes)
        return (struct leat_range){0};
    return (struct leat_range){.start = text->origins[range.start].start,
                               .end = text->origins[range.end - 1].end};
}

static int reserve_tokens(struct leat_tokenizer_context *context, size_t n) {
    struct leat_token *tokens;

    if (n <= context->tokens_capacity)
        return 0;
    tokens = realloc(context->tokens, (n + n / 2) * sizeof(*tokens));
    if (!tokens)
        return -ENOMEM;
    context->tokens = tokens;
    context->tokens_capacity = n + n / 2;
    return 0;
}

/* With offsets: a word at a time, so that each token's bytes are known. */
static int encode_word_tokens(const struct encoding_run *run, const struct leat_text *text,
                              struct leat_range word) {
    struct leat_tokenizer_context *context = run->context;
    size_t n_bytes = word.end - word.start, n = 0;
    int r = reserve_tokens(context, n_bytes + LEAT_MODEL_IDS_SLACK);

    if (r == 0)
        r = leat_encoding_reserve(run->out, n_bytes + LEAT_MODEL_IDS_SLACK);
    if (r < 0)
        return fail(run, r);
    r = context->ops->encode_tokens(run->tokenizer->model, context->model, text, word,
                                    context->tokens, &n, run->err);
    for (size_t i = 0; r == 0 && i < n; i++)
        leat_encoding_push(run->out, context->tokens[i].id, 0,
                           origin_of(text, context->tokens[i].range), false);
    return r;
}

/* How many of the words cannot reach the limit together; at least one. A word has at most as many
 * tokens as bytes. */
static size_t count_safe_words(const struct token_limit *limit, size_t n_tokens,
                               const struct leat_range *words, size_t n_words) {
    size_t n_left = limit->max > n_tokens ? limit->max - n_tokens : 0, n_bytes = 0, n = 0;

    if (limit->max == SIZE_MAX)
        return n_words;
    while (n < n_words && (n_bytes += words[n].end - words[n].start) < n_left)
        n++;
    return n && !limit->from_left ? n : 1;
}

static int note_start(const struct encoding_run *run) {
    struct token_limit *limit = &run->context->limit;
    uint32_t *starts;

    if (!limit->from_left)
        return 0;
    if (limit->n_starts == limit->starts_capacity) {
        starts = realloc(limit->starts, (limit->n_starts * 2 + 64) * sizeof(*starts));
        if (!starts)
            return fail(run, -ENOMEM);
        limit->starts = starts;
        limit->starts_capacity = limit->n_starts * 2 + 64;
    }
    limit->starts[limit->n_starts++] = (uint32_t)run->out->n;
    return 0;
}

static int encode_portion(const struct encoding_run *run, const struct leat_text *text,
                          const struct leat_range *words, size_t n_words) {
    struct token_limit *limit = &run->context->limit;
    size_t n;
    int r = 0;

    for (size_t at = 0; r == 0 && at < n_words && !limit->is_reached; at += n) {
        n = wants_origins(run) ? 1 : count_safe_words(limit, run->out->n, words + at, n_words - at);
        r = note_start(run);
        if (r == 0)
            r = wants_origins(run) ? encode_word_tokens(run, text, words[at])
                                   : encode_words(run, text, words + at, n);
        limit->is_reached = !limit->from_left && run->out->n >= limit->max;
    }
    return r;
}

/* From the left: drops the words in front of those that reach the limit. */
static void drop_front(const struct token_limit *limit, struct leat_encoding *out) {
    size_t word = limit->n_starts, n;

    while (word > 0 && out->n - limit->starts[word - 1] < limit->max)
        word--;
    if (!limit->from_left || word == 0)
        return;
    n = limit->starts[word - 1];
    out->n -= n;
    memmove(out->ids, out->ids + n, out->n * sizeof(*out->ids));
    if (out->type_ids)
        memmove(out->type_ids, out->type_ids + n, out->n * sizeof(*out->type_ids));
    if (out->offsets)
        memmove(out->offsets, out->offsets + n, out->n * sizeof(*out->offsets));
    if (out->special)
        memmove(out->special, out->special + n, out->n);
    if (out->attention)
        memmove(out->attention, out->attention + n, out->n);
}

static int encode_piece(const struct encoding_run *run, const struct leat_text *piece,
                        bool starts_document) {
    const struct leat_splitter *splitter = run->tokenizer->splitter;
    struct leat_tokenizer_context *context = run->context;
    const struct leat_text *text;
    size_t n;
    int r = leat_splitter_begin(splitter, context->splitter, piece, starts_document, run->err);

    if (r < 0)
        return fail(run, r);
    text = leat_splitter_text(context->splitter);
    while (r == 0 && !context->limit.is_reached &&
           (n = leat_splitter_next(splitter, context->splitter, context->words, N_WORDS)) > 0)
        r = encode_portion(run, text, context->words, n);
    return r;
}

/* ---- pieces and added tokens */

static int push_added(const struct encoding_run *run, const struct leat_text *text,
                      const struct leat_added_piece *piece) {
    int r = leat_encoding_reserve(run->out, 1);

    if (r < 0)
        return fail(run, r);
    leat_encoding_push(run->out, piece->id, 0,
                       wants_origins(run) ? origin_of(text, piece->range) : (struct leat_range){0},
                       false);
    return 0;
}

static int encode_normalized(const struct encoding_run *run, const struct leat_text *text,
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
    while (r == 0 && !run->context->limit.is_reached && leat_added_walk_next(&walk, &piece)) {
        struct leat_text part = leat_text_part(text, piece.range);

        if (piece.id >= 0)
            r = push_added(run, text, &piece);
        else
            r = encode_piece(run, &part, starts_document && piece.range.start == 0);
    }
    return r;
}

static int normalize_and_encode(const struct encoding_run *run, const struct leat_text *piece,
                                bool starts_document) {
    struct leat_text text;
    int r = leat_normalizer_run(run->tokenizer->normalizer, run->context->normalizer, piece, &text,
                                run->err);

    return r < 0 ? fail(run, r) : encode_normalized(run, &text, starts_document);
}

/* A part of a text has other bytes behind it than zeros; all that matters is that they are there.
 */
static int encode_text(const struct encoding_run *run, const struct leat_text *text) {
    const struct leat_added_tokens *added = &run->tokenizer->added;
    struct leat_added_walk walk;
    struct leat_added_piece piece;
    int r = 0;

    leat_added_walk_begin(&walk, added, &added->raw, text, run->options->encodes_special_tokens);
    while (r == 0 && !run->context->limit.is_reached && leat_added_walk_next(&walk, &piece)) {
        struct leat_text part = leat_text_part(text, piece.range);

        if (piece.id >= 0)
            r = push_added(run, text, &piece);
        else
            r = normalize_and_encode(run, &part, piece.range.start == 0);
    }
    return r;
}

static int encode_sequence(struct encoding_run *run, const void *text, size_t n,
                           struct leat_encoding *out) {
    struct leat_text copy;
    int r;

    run->out = out;
    leat_encoding_reset(out, run->options->columns);
    run->context->limit.is_reached = false;
    run->context->limit.n_starts = 0;
    r = copy_text(run, text, n, &copy);
    if (r == 0)
        r = encode_text(run, &copy);
    if (r == 0)
        drop_front(&run->context->limit, out);
    return r;
}

/* ---- offsets in characters, and how tokens are spelled */

struct place {
    uint32_t at, n_chars;
};

/* A text that is gone through once, from left to right. */
struct char_count {
    const uint8_t *text;
    size_t n_bytes;
    struct place start, end; /* of the last range */
};

static void walk_to(const struct char_count *count, struct place *place, uint32_t offset) {
    while (place->at < offset && place->at < count->n_bytes) {
        const uint8_t *bytes = count->text + place->at;
        uint32_t n = leat_utf8_length(bytes, count->n_bytes - place->at);

        place->at +=
            n == 1 && bytes[0] >= 0x80 ? invalid_length(bytes, count->n_bytes - place->at) : n;
        place->n_chars++;
    }
}

/* Ranges come in ascending order, but for tokens that stand for parts of one character, which start
 * where the last one did, and for those that stand for nothing. */
static struct leat_range count_chars(struct char_count *count, struct leat_range range) {
    struct place *start = &count->start, *end = &count->end;

    if (range.end == 0)
        return range;
    if (range.start >= end->at)
        *start = *end;
    else if (range.start < start->at)
        *start = (struct place){0};
    walk_to(count, start, range.start);
    if (range.end < end->at || start->at > end->at)
        *end = *start;
    walk_to(count, end, range.end);
    return (struct leat_range){.start = start->n_chars, .end = end->n_chars};
}

/* The texts are the user's. */
struct spelling {
    const struct leat_tokenizer *tokenizer;
    struct char_count texts[2];
};

static struct leat_range in_chars(void *context, bool is_second, struct leat_range offsets) {
    struct spelling *spelling = context;

    return count_chars(&spelling->texts[is_second], offsets);
}

static const uint8_t *spell(const void *context, int32_t id, bool is_second,
                            struct leat_range offsets, uint32_t *ret_n_bytes) {
    const struct spelling *spelling = context;

    if (leat_added_tokens_find(&spelling->tokenizer->added, id) && offsets.start < offsets.end) {
        *ret_n_bytes = offsets.end - offsets.start;
        return spelling->texts[is_second].text + offsets.start;
    }
    return leat_tokenizer_token(spelling->tokenizer, id, ret_n_bytes);
}

int leat_tokenizer_encode(const struct leat_tokenizer *tokenizer,
                          struct leat_tokenizer_context *context, const void *text, size_t n_text,
                          const void *pair, size_t n_pair,
                          const struct leat_encode_options *options,
                          const struct leat_encoding **ret_encodings, size_t *ret_n_encodings,
                          struct leat_error *err) {
    struct encoding_run run = {
        .tokenizer = tokenizer, .context = context, .options = options, .err = err};
    struct spelling spelling = {
        .tokenizer = tokenizer,
        .texts = {{.text = text, .n_bytes = n_text}, {.text = pair, .n_bytes = n_pair}}};
    const struct leat_post_speller speller = {.context = &spelling,
                                              .text = spell,
                                              .in_chars =
                                                  options->offsets_in_chars ? in_chars : NULL};
    const struct leat_truncation *truncation =
        options->truncation ? options->truncation : &tokenizer->truncation;
    int r;

    context->limit.max = truncation->is_on ? truncation->max_length : SIZE_MAX;
    context->limit.from_left = truncation->is_on && truncation->cuts_left;
    if (context->ops->context_seed)
        context->ops->context_seed(context->model, options->seed);
    r = encode_sequence(&run, text, n_text, &context->sequences[0]);
    if (r == 0 && pair)
        r = encode_sequence(&run, pair, n_pair, &context->sequences[1]);
    if (r == 0)
        r = leat_post_run(tokenizer->post, truncation,
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

/* ---- decode */

int leat_tokenizer_decode(const struct leat_tokenizer *tokenizer, const int32_t *ids, size_t n_ids,
                          bool skips_special, char **ret_text, size_t *ret_n_bytes,
                          struct leat_error *err) {
    struct leat_decoder_token *tokens = calloc(n_ids + 1, sizeof(*tokens));
    struct leat_text_buffer text = {0};
    size_t n = 0;
    int r;

    if (!tokens)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_ids; i++) {
        tokens[n].bytes = leat_tokenizer_token(tokenizer, ids[i], &tokens[n].n_bytes);
        n += tokens[n].bytes && !(skips_special && leat_tokenizer_is_special(tokenizer, ids[i]));
    }
    r = leat_text_buffer_reserve(&text, 1, false);
    if (r == 0)
        r = leat_decoder_run(tokenizer->decoder, tokens, n, &text, err);
    free(tokens);
    if (r == -ENOMEM)
        leat_error_oom(err);
    if (r < 0) {
        leat_text_buffer_deinit(&text);
        return r;
    }
    text.bytes[text.n_bytes] = '\0';
    *ret_text = (char *)text.bytes;
    *ret_n_bytes = text.n_bytes;
    return 0;
}

/* splitter.c: the public face of this room. See splitter.h.
 *
 * The steps up to the last one that rewrites the text or may fail (a regex) are carried out when a
 * text begins: they make a list of pieces. The others cut as words are asked for, each level
 * feeding on the one before.
 */
#include "pipeline/tokenizer/split/splitter.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/split/cut.h"
#include "pipeline/tokenizer/split/spaced.h"
#include "proto/base/array.h"

#define LEVEL_WORDS 128

struct leat_splitter {
    struct leat_split_steps steps;
    uint32_t n_eager; /* steps that are carried out at once */
    bool is_spaced;   /* leat_spaced_is */
    char *description;
};

struct pieces {
    struct leat_range *items;
    size_t n, capacity;
};

/* A step that cuts when it is asked, on pieces from the level before. */
struct level {
    struct leat_split_cut cut;
    bool is_open;                         /* the cut is on a piece */
    struct leat_range words[LEVEL_WORDS]; /* for the next level */
    uint32_t n_words, at;
};

/* Owner: the job. */
struct leat_splitter_context {
    struct leat_text_view text;
    struct leat_writer_memory memory;
    struct pieces pieces, spare;
    size_t at; /* the next piece */
    struct leat_regex_context *regex;
    struct level *levels; /* of the steps that are not eager */
    bool is_cut;          /* the pieces are the words already */
};

int leat_splitter_new(const struct leat_component *component, struct leat_splitter **ret_splitter,
                      struct leat_error *err) {
    struct leat_splitter *splitter = calloc(1, sizeof(*splitter));
    int r = 0;

    *ret_splitter = NULL;
    if (!splitter)
        return leat_error_oom(err);
    if (component)
        r = leat_split_steps_read(component, &splitter->steps, err);
    if (r == 0) {
        splitter->description = leat_split_steps_describe(&splitter->steps);
        if (!splitter->description)
            r = leat_error_oom(err);
    }
    if (r < 0) {
        (void)leat_splitter_free(splitter);
        return r;
    }
    for (uint32_t i = 0; i < splitter->steps.n; i++)
        if (leat_split_step_rewrites(&splitter->steps.items[i]) || splitter->steps.items[i].regex)
            splitter->n_eager = i + 1;
    splitter->is_spaced = leat_spaced_is(&splitter->steps);
    *ret_splitter = splitter;
    return 0;
}

struct leat_splitter *leat_splitter_free(struct leat_splitter *splitter) {
    if (!splitter)
        return NULL;
    leat_split_steps_deinit(&splitter->steps);
    free(splitter->description);
    free(splitter);
    return NULL;
}

bool leat_splitter_is_byte_level(const struct leat_splitter *splitter) {
    return splitter->steps.is_byte_level;
}

const char *leat_splitter_describe(const struct leat_splitter *splitter) {
    return splitter->description;
}

size_t leat_splitter_n_bytes(const struct leat_splitter *splitter) {
    return sizeof(*splitter) + strlen(splitter->description) + 1 +
           leat_split_steps_n_bytes(&splitter->steps);
}

int leat_splitter_context_new(const struct leat_splitter *splitter,
                              struct leat_splitter_context **ret_context) {
    struct leat_splitter_context *context = calloc(1, sizeof(*context));
    uint32_t n_levels = splitter->steps.n - splitter->n_eager;
    int r = 0;

    *ret_context = NULL;
    if (!context)
        return -ENOMEM;
    for (uint32_t i = 0; i < splitter->n_eager && r == 0 && !context->regex; i++)
        if (splitter->steps.items[i].regex)
            r = leat_regex_context_new(&context->regex);
    context->levels = calloc(n_levels + 1, sizeof(*context->levels));
    if (r < 0 || !context->levels) {
        (void)leat_splitter_context_free(context);
        return -ENOMEM;
    }
    *ret_context = context;
    return 0;
}

struct leat_splitter_context *leat_splitter_context_free(struct leat_splitter_context *context) {
    if (!context)
        return NULL;
    leat_writer_memory_deinit(&context->memory);
    free(context->pieces.items);
    free(context->spare.items);
    (void)leat_regex_context_free(context->regex);
    free(context->levels);
    free(context);
    return NULL;
}

static int reserve(struct pieces *pieces, size_t n_more) {
    return leat_array_reserve(&pieces->items, pieces->n + n_more, &pieces->capacity) ? 0 : -ENOMEM;
}

/* Cuts all pieces; the words are the pieces of the next step. */
static int cut_all(struct leat_splitter_context *context, const struct leat_split_step *step,
                   struct leat_error *err) {
    struct pieces *words = &context->spare, done;
    struct leat_split_cut cut = {.regex = context->regex, .err = err};

    words->n = 0;
    for (size_t i = 0; i < context->pieces.n; i++) {
        leat_split_cut_begin(&cut, step, context->text.bytes, context->pieces.items[i]);
        do {
            if (reserve(words, 1) < 0)
                return leat_error_oom(err);
            words->n += leat_split_cut_next(&cut, step, words->items + words->n,
                                            words->capacity - words->n);
        } while (!leat_split_cut_is_done(&cut));
        if (cut.error < 0)
            return cut.error;
    }
    done = context->pieces;
    context->pieces = *words;
    context->spare = done;
    return 0;
}

static int rewrite_all(struct leat_splitter_context *context, const struct leat_split_step *step,
                       bool starts_document, struct leat_error *err) {
    int r = leat_split_step_rewrite(step, context->pieces.items, context->pieces.n, starts_document,
                                    &context->memory, &context->text);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r < 0)
        return leat_error_set(err, r, "the rewritten text would be longer than %u bytes",
                              (unsigned)LEAT_TEXT_BYTES_MAX);
    return 0;
}

/* 1: done; 0: there may not be enough room for it. */
static int cut_spaced(struct leat_splitter_context *context, struct leat_error *err) {
    struct leat_text_buffer *buffer;
    struct leat_writer writer;
    struct pieces *words = &context->pieces;
    size_t n_bytes = LEAT_SPACED_BYTES(context->text.n_bytes);
    uint32_t at = 0;

    if (n_bytes > LEAT_TEXT_BYTES_MAX)
        return 0;
    leat_writer_begin(&writer, &context->memory, &context->text);
    buffer = writer.target;
    if (leat_text_buffer_reserve(buffer, n_bytes, false) < 0)
        return leat_error_oom(err);
    for (words->n = 0; at < context->text.n_bytes;) {
        if (reserve(words, 1) < 0)
            return leat_error_oom(err);
        words->n += leat_spaced_next(&context->text, &at, buffer, words->items + words->n,
                                     words->capacity - words->n);
    }
    context->text = leat_text_buffer_view(buffer, false);
    context->is_cut = true;
    return 1;
}

static int run_eager(const struct leat_splitter *splitter, struct leat_splitter_context *context,
                     bool starts_document, struct leat_error *err) {
    int r = 0;

    if (splitter->is_spaced && !context->text.origins) {
        r = cut_spaced(context, err);
        if (r != 0)
            return r > 0 ? 0 : r;
    }
    for (uint32_t i = 0; i < splitter->n_eager && r == 0; i++) {
        const struct leat_split_step *step = &splitter->steps.items[i];
        r = leat_split_step_rewrites(step) ? rewrite_all(context, step, starts_document, err)
                                           : cut_all(context, step, err);
    }
    return r;
}

int leat_splitter_begin(const struct leat_splitter *splitter, struct leat_splitter_context *context,
                        const struct leat_text_view *source, bool starts_document,
                        struct leat_error *err) {
    int r;

    context->is_cut = false;
    context->text = *source;
    context->at = 0;
    context->pieces.n = 0;
    if (reserve(&context->pieces, 1) < 0)
        return leat_error_oom(err);
    if (source->n_bytes > 0)
        context->pieces.items[context->pieces.n++] = (struct leat_range){0, source->n_bytes};
    r = run_eager(splitter, context, starts_document, err);
    for (uint32_t i = splitter->n_eager; i < splitter->steps.n; i++) {
        struct level *level = &context->levels[i - splitter->n_eager];
        level->is_open = false;
        level->n_words = level->at = 0;
    }
    if (r < 0)
        context->pieces.n = 0;
    return r;
}

const struct leat_text_view *leat_splitter_text(const struct leat_splitter_context *context) {
    return &context->text;
}

static size_t copy_pieces(struct leat_splitter_context *context, struct leat_range *words,
                          size_t n_max) {
    size_t n = context->pieces.n - context->at;

    n = n < n_max ? n : n_max;
    memcpy(words, context->pieces.items + context->at, n * sizeof(*words));
    context->at += n;
    return n;
}

static size_t next_words(const struct leat_split_step *steps, struct leat_splitter_context *context,
                         uint32_t n_levels, struct leat_range *words, size_t n_max);

/* The next piece for the last of n_levels. */
static bool next_piece(const struct leat_split_step *steps, struct leat_splitter_context *context,
                       uint32_t n_levels, struct leat_range *ret_piece) {
    struct level *before;

    if (n_levels == 1)
        return copy_pieces(context, ret_piece, 1) > 0;
    before = &context->levels[n_levels - 2];
    if (before->at == before->n_words) {
        before->at = 0;
        before->n_words =
            (uint32_t)next_words(steps, context, n_levels - 1, before->words, LEVEL_WORDS);
    }
    if (before->at == before->n_words)
        return false;
    *ret_piece = before->words[before->at++];
    return true;
}

static size_t next_words(const struct leat_split_step *steps, struct leat_splitter_context *context,
                         uint32_t n_levels, struct leat_range *words, size_t n_max) {
    const struct leat_split_step *step = &steps[n_levels - 1];
    struct level *level = &context->levels[n_levels - 1];
    struct leat_range piece;
    size_t n = 0;

    while (n < n_max) {
        if (!level->is_open) {
            if (!next_piece(steps, context, n_levels, &piece))
                break;
            leat_split_cut_begin(&level->cut, step, context->text.bytes, piece);
        }
        n += leat_split_cut_next(&level->cut, step, words + n, n_max - n);
        level->is_open = !leat_split_cut_is_done(&level->cut);
    }
    return n;
}

size_t leat_splitter_next(const struct leat_splitter *splitter,
                          struct leat_splitter_context *context, struct leat_range *words,
                          size_t n_max) {
    uint32_t n_levels = splitter->steps.n - splitter->n_eager;

    if (n_levels == 0 || context->is_cut)
        return copy_pieces(context, words, n_max);
    return next_words(splitter->steps.items + splitter->n_eager, context, n_levels, words, n_max);
}

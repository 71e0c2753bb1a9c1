/* encoder.c: see encoder.h. Helper threads live as long as the call: starting one costs some 20 us,
 * a portion takes about a millisecond. They block signals, which the caller handles. */
#include "client/python/src/tokenizer/encoder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/encoding_columns.h"
#include "proto/base/array.h"
#include "proto/base/clock.h"

#define PORTION_BYTES    (32U << 10)
#define PORTION_TEXTS    4096
#define ASK_EVERY_NS     UINT64_C(50000000)
#define BYTES_OF_A_TOKEN 3 /* a guess on the low side, for the first reservation */

static size_t n_bytes_of(const struct leat_py_input *input) {
    return input->n_text + input->n_pair;
}

/* Returns the end of the portion that starts at `first`. */
static size_t find_end(const struct leat_py_encoder *encoder, size_t first, size_t n_inputs) {
    size_t end = first, n_bytes = 0;

    while (end < n_inputs && end - first < PORTION_TEXTS && n_bytes < PORTION_BYTES)
        n_bytes += n_bytes_of(&encoder->inputs[end++]);
    return end;
}

int leat_py_encoder_init(struct leat_py_encoder *encoder, size_t n_inputs) {
    size_t n = 0;

    for (size_t at = 0; at < n_inputs; at = find_end(encoder, at, n_inputs))
        n++;
    encoder->portions = calloc(n ? n : 1, sizeof(*encoder->portions));
    if (!encoder->portions)
        return -ENOMEM;
    for (size_t at = 0, end; at < n_inputs; at = end) {
        end = find_end(encoder, at, n_inputs);
        encoder->portions[encoder->n_portions++] =
            (struct leat_py_portion){.first = at, .n_inputs = end - at};
    }
    return 0;
}

void leat_py_portions_free(struct leat_py_portion *portions, size_t n_portions) {
    for (size_t i = 0; portions && i < n_portions; i++) {
        leat_encoding_deinit(&portions[i].tokens);
        leat_surfaces_deinit(&portions[i].surfaces);
        free(portions[i].rows);
    }
    free(portions);
}

/* ---- one portion */

static int add_row(struct leat_py_portion *portion, size_t input, size_t n) {
    if (!leat_array_reserve(&portion->rows, portion->n_rows + 1, &portion->rows_capacity))
        return -ENOMEM;
    portion->rows[portion->n_rows++] =
        (struct leat_py_row){.start = portion->tokens.n, .n = n, .input = input};
    return 0;
}

static void copy(void *column, const void *from, size_t at, size_t n, size_t item_bytes) {
    if (column && n)
        memcpy((char *)column + at * item_bytes, from, n * item_bytes);
}

/* Copies the surfaces of the context's last result to the portion. */
static int add_surfaces(struct leat_py_portion *portion, const struct leat_encoding *from,
                        const struct leat_tokenizer_context *context) {
    uint32_t *surfaces = portion->tokens.surfaces + portion->tokens.n;
    int r = 0;

    for (size_t i = 0; i < from->n && r == 0; i++) {
        uint32_t n;
        const uint8_t *text;

        surfaces[i] = 0;
        if (!from->surfaces[i])
            continue;
        text = leat_tokenizer_surface(context, from->surfaces[i], &n);
        r = leat_surfaces_add(&portion->surfaces, text, n, &surfaces[i]);
    }
    return r;
}

static int add_tokens(struct leat_py_portion *portion, size_t input,
                      const struct leat_encoding *from,
                      const struct leat_tokenizer_context *context) {
    struct leat_encoding *to = &portion->tokens;

    if (leat_encoding_reserve(to, from->n) < 0 || add_row(portion, input, from->n) < 0)
        return -ENOMEM;
    copy(to->ids, from->ids, to->n, from->n, sizeof(*to->ids));
    copy(to->type_ids, from->type_ids, to->n, from->n, sizeof(*to->type_ids));
    copy(to->offsets, from->offsets, to->n, from->n, sizeof(*to->offsets));
    copy(to->special, from->special, to->n, from->n, sizeof(*to->special));
    copy(to->marks, from->marks, to->n, from->n, sizeof(*to->marks));
    copy(to->words, from->words, to->n, from->n, sizeof(*to->words));
    copy(to->texts, from->texts, to->n, from->n, sizeof(*to->texts));
    if (to->surfaces && add_surfaces(portion, from, context) < 0)
        return -ENOMEM;
    to->n += from->n;
    return 0;
}

static int encode_input(const struct leat_py_encoder *encoder, struct leat_py_portion *portion,
                        size_t index, struct leat_tokenizer_context *context) {
    const struct leat_py_input *input = &encoder->inputs[index];
    struct leat_encode_options options = encoder->options;
    const struct leat_encoding *encodings;
    size_t n;
    int r;

    options.seed += index;
    options.marks = input->marks;
    options.n_marks = input->n_marks;
    options.words[0] = input->words[0];
    options.words[1] = input->words[1];
    r = leat_tokenizer_encode(encoder->tokenizer, context, input->text, input->n_text, input->pair,
                              input->n_pair, &options, &encodings, &n, &portion->error);
    for (size_t i = 0; r == 0 && i < (encoder->with_overflow ? n : 1); i++)
        if (add_tokens(portion, index, &encodings[i], context) < 0)
            r = leat_error_oom(&portion->error);
    if (r < 0)
        leat_error_prefix(&portion->error, "[%zu]", index);
    return r;
}

static int encode_portion(struct leat_py_encoder *encoder, struct leat_py_portion *portion,
                          struct leat_tokenizer_context *context) {
    size_t n_bytes = 0;
    int r = 0;

    for (size_t i = 0; i < portion->n_inputs; i++)
        n_bytes += n_bytes_of(&encoder->inputs[portion->first + i]);
    leat_encoding_reset(&portion->tokens, encoder->options.columns);
    if (leat_encoding_reserve(&portion->tokens, n_bytes / BYTES_OF_A_TOKEN + 16) < 0)
        r = leat_error_oom(&portion->error);
    for (size_t i = 0; r == 0 && i < portion->n_inputs; i++) {
        r = encode_input(encoder, portion, portion->first + i, context);
        if (atomic_load_explicit(&encoder->is_over, memory_order_relaxed))
            return -EINTR;
    }
    return r;
}

/* ---- threads */

struct helper {
    struct leat_py_encoder *encoder;
    struct leat_tokenizer_context *context;
    pthread_t thread;
};

static struct leat_py_portion *take_portion(struct leat_py_encoder *encoder) {
    size_t at = atomic_fetch_add_explicit(&encoder->next, 1, memory_order_relaxed);

    return at < encoder->n_portions &&
                   !atomic_load_explicit(&encoder->is_over, memory_order_relaxed)
               ? &encoder->portions[at]
               : NULL;
}

/* After a failure no further portions are begun, but earlier ones are finished, so that the threads
 * do not decide which error is reported. Returns false if the portion failed. */
static bool do_portion(struct leat_py_encoder *encoder, struct leat_py_portion *portion,
                       struct leat_tokenizer_context *context) {
    if (encode_portion(encoder, portion, context) == 0)
        return true;
    atomic_store_explicit(&encoder->next, encoder->n_portions, memory_order_relaxed);
    return false;
}

static void *help(void *argument) {
    struct helper *helper = argument;
    struct leat_py_portion *portion;

    while ((portion = take_portion(helper->encoder)))
        if (!do_portion(helper->encoder, portion, helper->context))
            break;
    return NULL;
}

static int work(struct leat_py_encoder *encoder, struct leat_tokenizer_context *context,
                bool (*is_interrupted)(void *asked), void *asked) {
    uint64_t asked_ns = leat_now_ns();
    struct leat_py_portion *portion;

    while ((portion = take_portion(encoder))) {
        if (!do_portion(encoder, portion, context))
            return 0;
        if (leat_now_ns() - asked_ns < ASK_EVERY_NS)
            continue;
        if (is_interrupted(asked)) {
            atomic_store(&encoder->is_over, true);
            return -EINTR;
        }
        asked_ns = leat_now_ns();
    }
    return 0;
}

static size_t start_helpers(struct leat_py_encoder *encoder, struct helper *helpers,
                            struct leat_tokenizer_context **contexts, size_t n) {
    sigset_t all, before;
    size_t n_started = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; n_started < n; n_started++) {
        helpers[n_started] = (struct helper){.encoder = encoder, .context = contexts[n_started]};
        if (pthread_create(&helpers[n_started].thread, NULL, help, &helpers[n_started]) != 0)
            break; /* the caller and the other threads do the work */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n_started;
}

int leat_py_encoder_run(struct leat_py_encoder *encoder, struct leat_tokenizer_context **contexts,
                        size_t n_contexts, bool (*is_interrupted)(void *asked), void *asked,
                        struct leat_error *err) {
    struct helper helpers[LEAT_PY_THREADS_MAX];
    size_t n_helpers = start_helpers(encoder, helpers, contexts + 1, n_contexts - 1);
    int r = work(encoder, contexts[0], is_interrupted, asked);

    for (size_t i = 0; i < n_helpers; i++)
        pthread_join(helpers[i].thread, NULL);
    if (r < 0)
        return leat_error_set(err, r, "interrupted");
    for (size_t i = 0; i < encoder->n_portions; i++)
        if (encoder->portions[i].error.code < 0) {
            *err = encoder->portions[i].error;
            return err->code;
        }
    return 0;
}

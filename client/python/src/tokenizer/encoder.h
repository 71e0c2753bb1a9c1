/* encoder.h: many texts to token ids, by several threads, without Python.
 *
 * Texts are cut into portions of about equal bytes; an idle thread takes the next one. A portion
 * has columns of its own, so nothing is merged afterwards: portion after portion, the encodings are
 * in the order of the texts.
 *
 * Owner: the call. A portion belongs to the thread that took it, until the call ends.
 */
#pragma once

#include <stdatomic.h>

#include "pipeline/tokenizer/surfaces.h"
#include "pipeline/tokenizer/tokenizer.h"

#define LEAT_PY_THREADS_MAX 64

struct leat_py_input {
    const char *text, *pair; /* UTF-8; pair NULL: none */
    size_t n_text, n_pair;
    const struct leat_range *marks; /* of the text, see struct leat_encode_options */
    size_t n_marks;
    struct leat_word_ends words[2];
};

/* One encoding; truncation may make several of a text. */
struct leat_py_row {
    size_t start; /* in the columns of its portion */
    size_t n;
    size_t input; /* the index of its text */
};

struct leat_py_portion {
    size_t first, n_inputs;
    struct leat_encoding tokens; /* of all its rows, one behind the other */
    struct leat_surfaces surfaces;
    struct leat_py_row *rows;
    size_t n_rows, rows_capacity;
    struct leat_error error; /* of the first text that failed; no rows follow it */
};

struct leat_py_encoder {
    const struct leat_tokenizer *tokenizer;
    const struct leat_py_input *inputs;
    struct leat_encode_options options; /* marks, words and seed are set for each text */
    bool with_overflow;
    struct leat_py_portion *portions;
    size_t n_portions;
    atomic_size_t next; /* portion */
    atomic_bool is_over;
};

/* Cuts the inputs. Returns 0 or -ENOMEM. The caller sets the first four members of `encoder`, and
 * zeroes the others. */
int leat_py_encoder_init(struct leat_py_encoder *encoder, size_t n_inputs);
void leat_py_portions_free(struct leat_py_portion *portions, size_t n_portions);

/* Encodes with one thread for each context; the caller is the first. The caller's thread polls
 * is_interrupted, which stops all of them. Returns 0, -EINTR, or the error of the first text that
 * failed. */
int leat_py_encoder_run(struct leat_py_encoder *encoder, struct leat_tokenizer_context **contexts,
                        size_t n_contexts, bool (*is_interrupted)(void *asked), void *asked,
                        struct leat_error *err);

/* encoder.h: many texts to token ids, by several threads, without Python.
 *
 * Texts are cut into portions of about as many bytes each; whoever has time takes the next one. A
 * portion's encodings lie in columns of its own, so that nothing is put together afterwards: read
 * portion after portion, they are in the order of the texts, whoever made them.
 *
 * Owner: the call, but for the portions, each of which is the thread's that took it until the end.
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
    size_t input; /* the text that it is of */
};

struct leat_py_portion {
    size_t first, n_inputs;
    struct leat_encoding tokens; /* of all its rows, one behind the other */
    struct leat_surfaces surfaces;
    struct leat_py_row *rows;
    size_t n_rows, rows_capacity;
    struct leat_error error; /* of the first text that failed; then it has no further rows */
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

/* Cuts the inputs. 0 or -ENOMEM. `encoder` is zeroed but for its first five members. */
int leat_py_encoder_init(struct leat_py_encoder *encoder, size_t n_inputs);
void leat_py_portions_free(struct leat_py_portion *portions, size_t n_portions);

/* Encodes with one thread for each context, of which the caller is the first. is_interrupted is
 * asked by the caller's thread now and then; if it says so, all stop: -EINTR. Else 0, or the error
 * of the first text that failed. */
int leat_py_encoder_run(struct leat_py_encoder *encoder, struct leat_tokenizer_context **contexts,
                        size_t n_contexts, bool (*is_interrupted)(void *asked), void *asked,
                        struct leat_error *err);

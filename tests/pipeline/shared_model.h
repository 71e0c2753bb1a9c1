/* shared_model.h: a model read from JSON, for the tests of models. */
#pragma once

#include "pipeline/tokenizer/model/model.h"

#define TEST_MODEL_TOKENS_MAX 64

struct test_model {
    struct leat_json *json;
    char *text; /* of the document, padded */
    struct leat_document document;
    struct leat_model *model;
    struct leat_model_context *context;
};

/* Loads {"model": `model_json`}. 0 or what `new` returned; deinit in both cases. */
int test_model_init(struct test_model *test, const struct leat_model_ops *ops,
                    const char *model_json, bool is_byte_level, struct leat_error *err);
void test_model_deinit(struct test_model *test);

/* Asserts that the model is refused, with this as the error's path and this in its message. */
void test_model_refuses(const struct leat_model_ops *ops, const char *model_json, const char *path,
                        const char *message);

/* The tokens of one word. Asserts that encode gives the same ids, twice (from a cold and from a
 * warm cache), or fails alike. tokens: room for n_bytes. Returns their number, or a negative
 * errno. */
int test_model_encode(struct test_model *test, const void *word, size_t n_bytes,
                      struct leat_token *tokens);

/* Asserts that the word's tokens are just these, {id, start, end}, n of them. */
void test_model_expect(struct test_model *test, const char *word, const struct leat_token *expected,
                       size_t n_expected);
#define TEST_MODEL_EXPECT(test, word, ...)                                                         \
    test_model_expect((test), (word), (const struct leat_token[]){__VA_ARGS__},                    \
                      sizeof((const struct leat_token[]){__VA_ARGS__}) /                           \
                          sizeof(struct leat_token))

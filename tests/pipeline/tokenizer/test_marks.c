/* test_marks.c: the marks of pipeline/tokenizer/user_text.c, and what encoding makes of them: the
 * same whether all tokens are known by their bytes or only those that must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/tokenizer.h"
#include "pipeline/tokenizer/user_text.h"
#include "proto/base/rng.h"

#define TEXT_MAX  400
#define MARKS_MAX 8

static void test_ranges(void **state) {
    static const struct leat_range ranges[] = {{2, 4}, {4, 6}, {9, 10}};
    struct leat_marks marks;

    (void)state;
    leat_marks_begin(&marks, ranges, 3);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){0, 0}), 0);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){0, 2}), 0);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){1, 3}), 1);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){3, 6}), 1);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){4, 5}), 2);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){5, 5}), 2);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){6, 9}), 0);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){8, 12}), 3);
    assert_int_equal(leat_marks_of(&marks, (struct leat_range){10, 12}), 0);
    leat_marks_begin(&marks, ranges, 3);
    assert_true(leat_marks_enter(&marks, (struct leat_range){0, 2}));
    assert_false(leat_marks_enter(&marks, (struct leat_range){1, 3}));
    assert_true(leat_marks_enter(&marks, (struct leat_range){2, 4}));
    assert_int_equal(marks.current, 1);
    assert_false(leat_marks_enter(&marks, (struct leat_range){3, 5}));
    assert_true(leat_marks_enter(&marks, (struct leat_range){6, 9}));
    assert_false(leat_marks_enter(&marks, (struct leat_range){8, 10}));
    leat_marks_begin(&marks, NULL, 0);
    assert_true(leat_marks_enter(&marks, (struct leat_range){0, 100}));
    assert_int_equal(marks.current, 0);
}

/* ---- encoding */

struct sample {
    char text[TEXT_MAX + 32];
    size_t n;
    struct leat_range marks[MARKS_MAX];
    size_t n_marks;
};

static void draw_text(struct sample *sample, struct leat_rng *rng) {
    static const char *const parts[] = {
        "the ",         "mill",   "er",       "\n",         "  ",  "<s>",    "</s>",
        "<|im_end|>\n", "\u6c34", "e\u0301",  "\U0001f642", "123", "[SEP]",  "<|end|>  ",
        "\u2581",       "don't",  "\xff\xe1", "A",          "\t",  "\ufb01", "<|eot_id|>",
    };
    size_t n_parts = leat_rng_below(rng, 30);

    sample->n = 0;
    for (size_t i = 0; i < n_parts && sample->n < TEXT_MAX; i++) {
        const char *part = parts[leat_rng_below(rng, sizeof(parts) / sizeof(*parts))];

        memcpy(sample->text + sample->n, part, strlen(part));
        sample->n += strlen(part);
    }
}

/* Some ranges between whole characters, or what begins like one. */
static void draw_marks(struct sample *sample, struct leat_rng *rng) {
    uint32_t at = 0;

    sample->n_marks = 0;
    while (sample->n_marks < MARKS_MAX && at < sample->n) {
        uint32_t ends[2];

        for (int i = 0; i < 2; i++) {
            at += (uint32_t)leat_rng_below(rng, 12);
            while (at < sample->n && ((uint8_t)sample->text[at] & 0xc0) == 0x80)
                at++;
            ends[i] = at;
        }
        if (ends[1] > sample->n || ends[0] == ends[1])
            continue;
        sample->marks[sample->n_marks++] = (struct leat_range){ends[0], ends[1]};
    }
}

static const struct leat_encoding *
encode(const struct leat_tokenizer *tokenizer, struct leat_tokenizer_context *context,
       const struct sample *sample, const struct leat_truncation *truncation, uint32_t columns) {
    const struct leat_encode_options options = {.drops_overflow = true,
                                                .adds_special_tokens = sample->n % 2,
                                                .columns = columns,
                                                .marks = sample->marks,
                                                .n_marks = sample->n_marks,
                                                .truncation = truncation};
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_encoding *encoding;
    size_t n;
    int r = leat_tokenizer_encode(tokenizer, context, sample->text, sample->n, NULL, 0, &options,
                                  &encoding, &n, &err);

    return r < 0 ? NULL : encoding;
}

/* By each token's bytes, as far as they are known: blanks may have been taken off. */
static void check_overlap(const struct sample *sample, const struct leat_encoding *slow) {
    for (size_t i = 0; i < slow->n; i++) {
        struct leat_range token = slow->offsets[i];
        uint32_t mark = slow->marks[i];

        for (size_t k = 0; k < sample->n_marks && token.start < token.end; k++)
            if (sample->marks[k].start < token.end && token.start < sample->marks[k].end)
                assert_true(mark > 0 && mark <= k + 1);
        assert_true(mark <= sample->n_marks);
    }
}

static void check_sample(const struct leat_tokenizer *tokenizer,
                         struct leat_tokenizer_context *contexts[3], const struct sample *sample,
                         const struct leat_truncation *truncation) {
    const struct leat_encoding *ids = encode(tokenizer, contexts[0], sample, truncation, 0);
    const struct leat_encoding *fast =
        encode(tokenizer, contexts[1], sample, truncation, LEAT_ENCODING_MARKS);
    const struct leat_encoding *slow = encode(tokenizer, contexts[2], sample, truncation,
                                              LEAT_ENCODING_MARKS | LEAT_ENCODING_OFFSETS);

    assert_true(!ids == !fast && !ids == !slow);
    if (!ids)
        return;
    assert_int_equal(ids->n, fast->n);
    assert_int_equal(ids->n, slow->n);
    for (size_t i = 0; i < ids->n; i++) {
        assert_int_equal(ids->ids[i], fast->ids[i]);
        assert_int_equal(ids->ids[i], slow->ids[i]);
        if (fast->marks[i] != slow->marks[i])
            fail_msg("%.*s: token %zu has the mark %u, not %u", (int)sample->n, sample->text, i,
                     fast->marks[i], slow->marks[i]);
    }
    check_overlap(sample, slow);
}

static void check_tokenizer(const char *name) {
    struct leat_rng rng = {.state = 5};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer *tokenizer;
    struct leat_tokenizer_context *contexts[3];
    struct leat_truncation truncation = {.is_on = false};
    struct sample sample;
    char path[128];

    (void)snprintf(path, sizeof(path), "tokenizer/data/%s.json", name);
    assert_int_equal(leat_tokenizer_open(path, NULL, &tokenizer, &err), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(leat_tokenizer_context_new(tokenizer, &contexts[i]), 0);
    for (int i = 0; i < 500; i++) {
        draw_text(&sample, &rng);
        draw_marks(&sample, &rng);
        truncation.is_on = leat_rng_below(&rng, 2);
        truncation.cuts_left = leat_rng_below(&rng, 2);
        truncation.max_length = (uint32_t)leat_rng_below(&rng, 40) + 8;
        check_sample(tokenizer, contexts, &sample, &truncation);
    }
    for (int i = 0; i < 3; i++)
        leat_tokenizer_context_free(contexts[i]);
    leat_tokenizer_free(tokenizer);
}

static void test_encoding(void **state) {
    static const char *const names[] = {
        "bert-uncased", "chatglm", "deepseek", "gemma",      "gpt2",       "llama2", "llama3",
        "mistral",      "phi3",    "qwen",     "modernbert", "t5",         "xlnet",  "tekken",
        "albert",       "marian",  "roberta",  "tinyllama",  "prefix-bpe", "clip"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        check_tokenizer(names[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_encoding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

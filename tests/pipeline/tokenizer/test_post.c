/* test_post.c: pipeline/tokenizer/post/: what Hugging Face `tokenizers` gives (data/post.jsonl,
 * from data/make_post.py), and files that are wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/post/post.h"

#define COLUMNS                                                                                    \
    (LEAT_ENCODING_TYPE_IDS | LEAT_ENCODING_OFFSETS | LEAT_ENCODING_SPECIAL |                      \
     LEAT_ENCODING_ATTENTION | LEAT_ENCODING_SURFACES)
#define SPELLINGS_MAX 256

/* The tokens of a text as the model gave them. */
struct text {
    struct leat_encoding encoding;
    const char *spellings[SPELLINGS_MAX];
    size_t spellings_n[SPELLINGS_MAX];
};

struct fixture {
    struct leat_json *json;
    struct text texts[2];
    struct leat_encoding *encodings;
    size_t n_encodings, capacity;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    return fixture ? leat_json_new(0, &fixture->json) : -1;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;

    leat_json_free(fixture->json);
    for (int i = 0; i < 2; i++)
        leat_encoding_deinit(&fixture->texts[i].encoding);
    for (size_t i = 0; i < fixture->capacity; i++)
        leat_encoding_deinit(&fixture->encodings[i]);
    free(fixture->encodings);
    free(fixture);
    return 0;
}

/* The surface of a token is 1 + its place in the first text, or behind all places of that one. */
static const uint8_t *spelling(const void *context, int32_t id, uint32_t surface,
                               uint32_t *ret_n_bytes) {
    const struct fixture *fixture = context;
    const struct text *text = &fixture->texts[surface > SPELLINGS_MAX];
    uint32_t at = (surface - 1) % SPELLINGS_MAX;

    assert_int_equal(text->encoding.ids[at], id);
    *ret_n_bytes = (uint32_t)text->spellings_n[at];
    return (const uint8_t *)text->spellings[at];
}

static struct leat_json_node item_of(struct leat_json_node array, size_t index) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;

    leat_json_iterate(array, &iterator);
    do
        assert_true(leat_json_next(&iterator, &item));
    while (index--);
    return item;
}

static int64_t int_of(struct leat_json_node array, size_t index) {
    return leat_json_int(item_of(array, index));
}

/* [[id, spelling, start, end]...] */
static void read_text(struct fixture *fixture, size_t index, struct leat_json_node tokens) {
    struct text *text = &fixture->texts[index];
    struct leat_json_iterator iterator;
    struct leat_json_node token;

    leat_encoding_reset(&text->encoding, COLUMNS);
    assert_int_equal(leat_encoding_reserve(&text->encoding, leat_json_n_items(tokens)), 0);
    leat_json_iterate(tokens, &iterator);
    while (leat_json_next(&iterator, &token)) {
        size_t at = text->encoding.n;
        struct leat_range range = {(uint32_t)int_of(token, 2), (uint32_t)int_of(token, 3)};
        assert_true(at < SPELLINGS_MAX);
        text->spellings[at] = leat_json_string(item_of(token, 1), &text->spellings_n[at]);
        leat_encoding_push(&text->encoding, (int32_t)int_of(token, 0), 7, range, false);
        text->encoding.surfaces[at] = (uint32_t)(index * SPELLINGS_MAX + at + 1);
    }
}

static void compare(const struct leat_encoding *encoding, const struct leat_component *expected) {
    static const char *const keys[] = {"ids", "type_ids", "special", "attention", "offsets"};
    struct leat_component column;

    for (size_t k = 0; k < 5; k++) {
        assert_true(leat_component_get(expected, keys[k], &column));
        assert_int_equal(leat_json_n_items(column.node), encoding->n);
        for (size_t i = 0; i < encoding->n; i++) {
            if (k == 4) {
                struct leat_json_node pair = item_of(column.node, i);
                assert_int_equal(int_of(pair, 0), encoding->offsets[i].start);
                assert_int_equal(int_of(pair, 1), encoding->offsets[i].end);
                continue;
            }
            assert_int_equal(int_of(column.node, i), k == 0   ? encoding->ids[i]
                                                     : k == 1 ? (int64_t)encoding->type_ids[i]
                                                     : k == 2 ? encoding->special[i]
                                                              : encoding->attention[i]);
        }
    }
}

static struct leat_component *optional(const struct leat_component *root, const char *key,
                                       struct leat_component *child) {
    return leat_component_get(root, key, child) ? child : NULL;
}

static int run(struct fixture *fixture, const struct leat_component *root, size_t n_texts,
               bool wants_overflow) {
    struct leat_post_speller speller = {.context = fixture, .text = spelling};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_truncation truncation;
    struct leat_padding padding;
    struct leat_component child;
    struct leat_post *post;
    bool adds;
    int r;

    assert_int_equal(leat_truncation_read(optional(root, "truncation", &child), &truncation, &err),
                     0);
    assert_int_equal(leat_padding_read(optional(root, "padding", &child), &padding, &err), 0);
    assert_int_equal(leat_component_bool(root, "adds_special_tokens", -1, &adds, &err), 0);
    assert_int_equal(leat_post_new(optional(root, "post_processor", &child), &post, &err), 0);
    r = leat_post_run(post, &truncation, &padding, &fixture->texts[0].encoding,
                      n_texts > 1 ? &fixture->texts[1].encoding : NULL, adds, &speller,
                      &fixture->encodings, wants_overflow ? &fixture->n_encodings : NULL,
                      &fixture->capacity, &err);
    assert_int_equal(r, err.code);
    leat_post_free(post);
    return r;
}

static void check_case(struct fixture *fixture, const struct leat_component *root) {
    struct leat_component expected, texts, item;
    struct leat_component_iterator iterator;
    size_t n_texts = 0, n = 0;
    int r;

    assert_true(leat_component_get(root, "texts", &texts));
    leat_component_iterate(&texts, &iterator);
    while (leat_component_next(&iterator, &item))
        read_text(fixture, n_texts++, item.node);
    r = run(fixture, root, n_texts, true);
    if (!leat_component_get(root, "expected", &expected)) {
        assert_int_equal(r, -EINVAL);
        return;
    }
    assert_int_equal(r, 0);
    leat_component_iterate(&expected, &iterator);
    while (leat_component_next(&iterator, &item)) {
        assert_true(n < fixture->n_encodings);
        compare(&fixture->encodings[n++], &item);
    }
    assert_int_equal(n, fixture->n_encodings);
    assert_int_equal(run(fixture, root, n_texts, false), 0);
    compare(&fixture->encodings[0], &(struct leat_component){.node = item_of(expected.node, 0)});
}

static void as_the_wheel(void **state) {
    struct fixture *fixture = *state;
    struct leat_json_node root;
    char *line = NULL;
    size_t size = 0, n_lines = 0;
    ssize_t n;
    FILE *file = fopen("pipeline/data/post.jsonl", "re");

    assert_non_null(file);
    while ((n = getline(&line, &size, file)) > 0) {
        struct leat_component component;
        assert_int_equal(
            leat_json_parse(fixture->json, line, (size_t)n, (size_t)n, &root, LEAT_ERROR_IGNORED),
            0);
        component = leat_component_root(NULL, root);
        n_lines++;
        check_case(fixture, &component);
    }
    assert_true(n_lines >= 100);
    free(line);
    (void)fclose(file);
}

enum part { POST, TRUNCATION, PADDING };

static void check_error(struct fixture *fixture, enum part part, const char *text,
                        const char *message) {
    struct leat_document document = {.data = text, .n_bytes = strlen(text), .file = "t.json"};
    struct leat_error err = LEAT_ERROR_INIT;
    char printed[LEAT_ERROR_PRINT_MAX];
    struct leat_truncation truncation;
    struct leat_padding padding;
    struct leat_post *post = NULL;
    struct leat_component root;
    struct leat_json_node node;
    int r;

    assert_int_equal(
        leat_json_parse(fixture->json, text, strlen(text), strlen(text), &node, LEAT_ERROR_IGNORED),
        0);
    root = leat_component_root(&document, node);
    r = part == POST         ? leat_post_new(&root, &post, &err)
        : part == TRUNCATION ? leat_truncation_read(&root, &truncation, &err)
                             : leat_padding_read(&root, &padding, &err);
    assert_true(r < 0);
    assert_int_equal(r, err.code);
    (void)leat_error_print(&err, printed, sizeof(printed));
    if (!strstr(printed, message))
        fail_msg("%s: %s", text, printed);
}

#define TEMPLATE(single, pair)                                                                     \
    "{\"type\":\"TemplateProcessing\",\"single\":" single ",\"pair\":" pair                        \
    ",\"special_tokens\":{\"s\":{\"ids\":[1]},\"bad\":{\"ids\":[-1]}}}"
#define TEXT(id)    "{\"Sequence\":{\"id\":\"" id "\",\"type_id\":0}}"
#define SPECIAL(id) "{\"SpecialToken\":{\"id\":\"" id "\",\"type_id\":0}}"

static void wrong_files(void **state) {
    static const struct {
        enum part part;
        const char *text, *message;
    } cases[] = {
        {POST, "3", "is an integer, but must be an object"},
        {POST, "{\"type\":\"Nope\"}", "is \"Nope\", but must be one of"},
        {POST, "{\"type\":\"ByteLevel\",\"trim_offsets\":true}", "`add_prefix_space` is missing"},
        {POST, "{\"type\":\"BertProcessing\",\"cls\":[\"a\",1]}", "`sep` is missing"},
        {POST, "{\"type\":\"BertProcessing\",\"cls\":[\"a\"],\"sep\":[\"a\",1]}",
         "cls: must be [token, id]"},
        {POST, "{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"a\",-1]}",
         "sep[1]: is -1, which is outside"},
        {POST, TEMPLATE("[]", "[3]"), "pair[0]: must be {\"Sequence\""},
        {POST, TEMPLATE("[" TEXT("B") "]", "[]"), "single[0].Sequence: `single` has only"},
        {POST, TEMPLATE("[" TEXT("C") "]", "[]"),
         "single[0].Sequence.id: is \"C\", but must be one of A, B"},
        {POST, TEMPLATE("[" SPECIAL("t") "]", "[]"), "\"t\" is not among `special_tokens`"},
        {POST, TEMPLATE("[" SPECIAL("bad") "]", "[]"), "special_tokens.bad.ids[0]: must be an"},
        {POST, TEMPLATE("[]", "{}"), "pair: is an object, but must be an array"},
        {POST, "{\"type\":\"TemplateProcessing\"}", "`special_tokens` is missing"},
        {POST,
         "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE("[]", "[]") "," TEMPLATE("[]",
                                                                                     "[]") "]}",
         "processors[1]: a second processor"},
        {TRUNCATION, "{\"max_length\":1,\"stride\":0}", "`strategy` is missing"},
        {TRUNCATION, "{\"max_length\":1.5,\"stride\":0,\"strategy\":\"OnlyFirst\"}",
         "max_length: is a number, but must be an integer"},
        {TRUNCATION, "{\"max_length\":1,\"stride\":0,\"strategy\":\"x\"}",
         "is \"x\", but must be one of"},
        {PADDING, "{\"strategy\":{\"Fixed\":1000000000}}",
         "strategy.Fixed: is 1000000000, which is outside"},
        {PADDING, "{\"strategy\":\"BatchLongest\",\"pad_id\":0}", "`direction` is missing"},
        {PADDING, "[]", "is an array, but must be an object"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_error(*state, cases[i].part, cases[i].text, cases[i].message);
}

/* Two long texts that are cut into single tokens would make billions of pairs. */
static void overflow_is_bounded(void **state) {
    struct leat_truncation truncation = {.is_on = true, .max_length = 2};
    struct fixture *fixture = *state;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_post *post;

    for (int i = 0; i < 2; i++) {
        struct leat_encoding *encoding = &fixture->texts[i].encoding;
        leat_encoding_reset(encoding, 0);
        assert_int_equal(leat_encoding_reserve(encoding, 100000), 0);
        for (int id = 0; id < 100000; id++)
            leat_encoding_push(encoding, id, 0, (struct leat_range){0, 0}, false);
    }
    assert_int_equal(leat_post_new(NULL, &post, &err), 0);
    assert_int_equal(leat_post_run(post, &truncation, NULL, &fixture->texts[0].encoding,
                                   &fixture->texts[1].encoding, true, NULL, &fixture->encodings,
                                   &fixture->n_encodings, &fixture->capacity, &err),
                     -E2BIG);
    leat_post_free(post);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_the_wheel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overflow_is_bounded, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

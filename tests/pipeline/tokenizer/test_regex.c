/* test_regex.c: pipeline/tokenizer/split/regex*.c: matches are those of Hugging Face `tokenizers`
 * (data/regex.jsonl, from data/make_splitter.py); what is refused, and why; limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/split/regex.h"

static struct leat_regex_context *context;

static int set_up(void **state) {
    (void)state;
    return leat_regex_context_new(&context);
}

static int tear_down(void **state) {
    (void)state;
    context = leat_regex_context_free(context);
    return 0;
}

/* "0-2 2-3": the matches, or with what is between them; neither with empty ones. */
static void print_matches(const char *pattern, size_t n_pattern, const char *text, size_t n_bytes,
                          bool has_gaps, char *ret_print) {
    struct leat_regex_search search = {.text = (const uint8_t *)text, .n_bytes = (uint32_t)n_bytes};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_range match;
    struct leat_regex *regex;
    uint32_t at = 0;

    if (leat_regex_new(pattern, n_pattern, &regex, &err) < 0)
        fail_msg("%s: %s", pattern, err.message);
    *ret_print = 0;
    while (leat_regex_next(regex, context, &search, &match, &err) > 0) {
        if (has_gaps && match.start > at)
            ret_print += sprintf(ret_print, "%u-%u ", at, match.start);
        if (match.end > match.start)
            ret_print += sprintf(ret_print, "%u-%u ", match.start, match.end);
        at = match.end;
    }
    if (has_gaps && at < n_bytes)
        (void)sprintf(ret_print, "%u-%u ", at, (unsigned)n_bytes);
    assert_int_equal(err.code, 0);
    assert_true(leat_regex_n_bytes(regex) > 0);
    (void)leat_regex_free(regex);
}

static void print_expected(struct leat_json_node ranges, char *ret_print) {
    struct leat_json_iterator iterator, pair;
    struct leat_json_node item, start = {0}, end = {0};

    *ret_print = 0;
    leat_json_iterate(ranges, &iterator);
    while (leat_json_next(&iterator, &item)) {
        leat_json_iterate(item, &pair);
        assert_true(leat_json_next(&pair, &start) && leat_json_next(&pair, &end));
        ret_print +=
            sprintf(ret_print, "%d-%d ", (int)leat_json_int(start), (int)leat_json_int(end));
    }
}

static struct leat_json_node get(struct leat_json_node object, const char *key) {
    struct leat_json_node value = {0};

    assert_true(leat_json_find(object, key, strlen(key), &value));
    return value;
}

static void check_line(struct leat_json_node line) {
    char found[1024], expected[1024];
    size_t n_pattern, n_bytes;
    const char *pattern = leat_json_string(get(line, "regex"), &n_pattern);
    const char *text = leat_json_string(get(line, "text"), &n_bytes);

    print_matches(pattern, n_pattern, text, n_bytes, false, found);
    print_expected(get(line, "matches"), expected);
    if (strcmp(found, expected) != 0)
        fail_msg("%s on \"%s\": %snot %s", pattern, text, found, expected);
    print_matches(pattern, n_pattern, text, n_bytes, true, found);
    print_expected(get(line, "isolated"), expected);
    if (strcmp(found, expected) != 0)
        fail_msg("%s on \"%s\", isolated: %snot %s", pattern, text, found, expected);
}

static void as_the_wheel(void **state) {
    FILE *file = fopen("pipeline/data/regex.jsonl", "re");
    struct leat_json *json;
    struct leat_json_node root;
    size_t size = 0, n_lines = 0;
    char *line = NULL;
    ssize_t n;

    (void)state;
    assert_non_null(file);
    assert_int_equal(leat_json_new(0, &json), 0);
    for (; (n = getline(&line, &size, file)) > 0; n_lines++) {
        assert_int_equal(
            leat_json_parse(json, line, (size_t)n, (size_t)n, &root, LEAT_ERROR_IGNORED), 0);
        check_line(root);
    }
    assert_true(n_lines >= 50);
    free(line);
    (void)leat_json_free(json);
    (void)fclose(file);
}

static void refused(void **state) {
    static const char *const cases[][2] = {
        {"(?i)(a)\\1", "at byte 8 of the regex: backreferences with (?i)"},
        {"(a|b\\1)+", "a backreference within its own group"},
        {"(a)\\9", "a backreference names group 9; the regex has groups 1 to 1"},
        {"(a)\\k<0>", "a backreference refers to no group"},
        {"(a)\\k<-2>", "a backreference refers to no group"},
        {"(a)\\k<1+0>", "backreferences with a level"},
        {"(?<n>a)\\1", "must use names, because the regex"},
        {"\\k<n>(?<n>a)", "there is no group <n> before its backreference"},
        {"\\k<n", "the name of a backreference is not closed"},
        {"(a?)\\1+", "a repeat of a part that can be empty"},
        {"(\\2)(\\1)*\\1+", "a repeat of a part that can be empty"},
        {"(?:\\2a)+(?:(?:\\2)+)(b(?:\\2)*)", "a repeat of a part that can be empty"},
        {"\\g<n>", "calls of groups"},
        {"a\\Kb", "\\K (keep)"},
        {"\\X", "text segments"},
        {"(?~a)", "this group or option is not supported"},
        {"(?W:a)", "this group or option is not supported"},
        {"(*FAIL)", "callout"},
        {"(?<=a+)b", "not fixed length"},
        {"(?i)ss", "U+0053 U+0053 with (?i) is not supported: in another case, it is a single "
                   "character"},
        {"(?i)f(?:f)", "is a single character"},
        {"(?i)[\xc3\x9f]", "U+00DF in brackets with (?i) is not supported"},
        {"(?i)\xc3\x9f", "U+00DF with (?i) is not supported: in its other case, it is several "
                         "characters"},
        {"(?:a?)+", "a repeat of a part that can be empty"},
        {"\\p{Nope}", "the property \\p{Nope} is unknown"},
        {"[[:nope:]]", "[:nope:] is not a POSIX class"},
        {"[b-a]", "the range U+0062-U+0061 in brackets is empty: its ends are in the wrong order"},
        {"[a-\\d]", "must end with one character, and not with a class such as \\d"},
        {"[\\w-z]", "must begin with one character, and not with a class"},
        {"[]", "brackets are empty"},
        {"[a", "brackets are not closed"},
        {"(a", "a group is not closed"},
        {"a)", "has no `(` before it"},
        {"*a", "nothing before it to repeat"},
        {"^*", "a repeated assertion is not supported"},
        {"a{2,1}", "wrong order: {2,1}"},
        {"a{70000}", "more than 65535 times"},
        {"\\", "ends with a backslash"},
        {"\\xc3\\xa9", "is a byte of UTF-8"},
        {"\\x{d800}", "U+D800 is not a character"},
        {"\\cA", "control or meta"},
        {"\\p{L", "not closed"},
        {"(?<n", "the name of a capture group is not closed"},
        {"(?:(?:(?:a{1000}){1000}){1000})", "not supported: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_regex *regex = (struct leat_regex *)&err;

        assert_int_equal(leat_regex_new(cases[i][0], strlen(cases[i][0]), &regex, &err), -EINVAL);
        assert_null(regex);
        if (!strstr(err.message, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], err.message);
    }
}

static void too_large(void **state) {
    static char text[LEAT_REGEX_BYTES_MAX + 2];
    struct leat_regex *regex;

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    assert_int_equal(leat_regex_new(text, sizeof(text) - 1, &regex, LEAT_ERROR_IGNORED), -EINVAL);
    memset(text, '(', sizeof(text) - 2);
    assert_int_equal(leat_regex_new(text, sizeof(text) - 2, &regex, LEAT_ERROR_IGNORED), -EINVAL);
    memset(text, '[', sizeof(text) - 2);
    assert_int_equal(leat_regex_new(text, sizeof(text) - 2, &regex, LEAT_ERROR_IGNORED), -EINVAL);
}

/* More kinds of characters than there are letters. */
static void too_many_letters(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_regex *regex;
    char text[1024];
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 300; i++) {
        text[n++] = (char)(0xe4 + i / 64 / 64);
        text[n++] = (char)(0x80 + i / 64);
        text[n++] = (char)(0x80 + i % 64);
    }
    assert_int_equal(leat_regex_new(text, n, &regex, &err), -EINVAL);
    assert_non_null(strstr(err.message, "more than 256 kinds of characters"));
}

static void gives_up(void **state) {
    static const char pattern[] = "(?:a|aa)+(?:b|bb)+c";
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_regex_search search = {0};
    struct leat_range match;
    struct leat_regex *regex;
    char text[4096];
    int r;

    (void)state;
    memset(text, 'a', sizeof(text));
    search.text = (const uint8_t *)text;
    search.n_bytes = sizeof(text);
    assert_int_equal(leat_regex_new(pattern, sizeof(pattern) - 1, &regex, LEAT_ERROR_IGNORED), 0);
    while ((r = leat_regex_next(regex, context, &search, &match, &err)) > 0)
        ;
    if (r < 0) {
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(err.message, "a regex failed"));
    }
    (void)leat_regex_free(regex);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_the_wheel, set_up, tear_down),
        cmocka_unit_test(refused),
        cmocka_unit_test(too_large),
        cmocka_unit_test(too_many_letters),
        cmocka_unit_test_setup_teardown(gives_up, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

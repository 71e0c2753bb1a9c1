/* test_error.c: proto/base/error.c and proto/message.c: first writer wins, places, paths, the
 * printed form, the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/message.h"

static const char *printed(const struct leat_error *err) {
    static char text[LEAT_ERROR_PRINT_MAX];

    size_t n = leat_error_print(err, text, sizeof(text));

    assert_int_equal(n, strlen(text));
    return text;
}

static void test_first_writer_wins(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    assert_int_equal(leat_error_set(&err, -EINVAL, "%d apples", 3), -EINVAL);
    assert_int_equal(leat_error_set(&err, -EIO, "pears"), -EINVAL);
    assert_int_equal(leat_error_oom(&err), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.message, "3 apples");
    assert_int_equal(leat_error_set(LEAT_ERROR_IGNORED, -EIO, "nobody listens"), -EIO);
    assert_int_equal(leat_error_oom(LEAT_ERROR_IGNORED), -ENOMEM);
}

static void test_agreement(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    assert_int_equal(leat_error_agree(&err, 3), 3);
    assert_int_equal(err.code, 0);
    assert_int_equal(leat_error_agree(&err, -ENOMEM), -ENOMEM);
    assert_int_equal(err.code, -ENOMEM);
    assert_string_equal(err.message, "out of memory");
    assert_int_equal(leat_error_agree(&err, -EIO), -ENOMEM);
    assert_int_equal(leat_error_agree(&err, 0), -ENOMEM);
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_error_agree(&err, -EIO), -EIO);
    assert_string_equal(err.message, "Input/output error");
}

static void test_printed_forms(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    leat_error_set(&err, -EINVAL, "0 is outside 1..9");
    assert_string_equal(printed(&err), "0 is outside 1..9");
    leat_error_prefix(&err, "buffer_size");
    leat_error_prefix(&err, "stages[%d].%s", 5, "shuffle");
    assert_string_equal(printed(&err), "stages[5].shuffle.buffer_size: 0 is outside 1..9");
    leat_error_locate(&err, "a.yaml", 0, 0);
    assert_string_equal(printed(&err), "a.yaml: stages[5].shuffle.buffer_size: 0 is outside 1..9");
    leat_error_locate(&err, NULL, 14, 0);
    assert_string_equal(printed(&err),
                        "a.yaml:14: stages[5].shuffle.buffer_size: 0 is outside 1..9");
    err.column = 20;
    assert_string_equal(printed(&err),
                        "a.yaml:14:20: stages[5].shuffle.buffer_size: 0 is outside 1..9");
}

static void test_control_bytes_are_shown(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    char text[9];

    (void)state;
    leat_error_set(&err, -EINVAL, "\"a\x1b[31m\r\n\xc3\xa4\" is no number\x7f");
    assert_string_equal(printed(&err), "\"a\\x1b[31m\\x0d\\x0a\xc3\xa4\" is no number\\x7f");
    assert_int_equal(leat_error_print(&err, text, sizeof(text)), 8);
    assert_string_equal(text, "\"a\\x1b[3");
    assert_int_equal(leat_error_print(&err, text, 6), 2); /* no half of one */
    assert_string_equal(text, "\"a");
    err = (struct leat_error)LEAT_ERROR_INIT;
    leat_error_set(&err, -EINVAL,
                   "\xc2\x9b"
                   "2J\xc2\xa0"); /* CSI in one character, and what is none */
    assert_string_equal(printed(&err), "\\xc2\\x9b"
                                       "2J\xc2\xa0");
}

static void test_index_needs_no_dot(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    leat_error_set(&err, -EINVAL, "x");
    leat_error_prefix(&err, "[%d]", 2);
    leat_error_prefix(&err, "paths");
    assert_string_equal(err.path, "paths[2]");
}

/* What is known about the place stays; a line is never put to another file. */
static void test_inner_place_counts(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    leat_error_set(&err, -EINVAL, "x");
    leat_error_locate(&err, NULL, 7, 3);
    leat_error_locate(&err, "spec.yaml", 2, 1);
    assert_string_equal(printed(&err), "spec.yaml:7:3: x");

    err = LEAT_ERROR_INIT;
    leat_error_set(&err, -EINVAL, "x");
    leat_error_locate(&err, "vocab.txt", 0, 0);
    leat_error_locate(&err, "spec.yaml", 2, 1);
    assert_string_equal(printed(&err), "vocab.txt: x");
    leat_error_locate(&err, "vocab.txt", 5, 0);
    assert_string_equal(printed(&err), "vocab.txt:5: x");
}

static void test_everything_is_cut(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    char large[2000], text[8];

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    leat_error_set(&err, -EINVAL, "%s", large);
    leat_error_locate(&err, large, 1, 1);
    for (int i = 0; i < 5; i++)
        leat_error_prefix(&err, "%s", large);
    assert_int_equal(strlen(err.message), LEAT_ERROR_MESSAGE_MAX - 1);
    assert_int_equal(strlen(err.file), LEAT_ERROR_FILE_MAX - 1);
    assert_int_equal(strlen(err.path), LEAT_ERROR_PATH_MAX - 1);
    assert_true(strlen(printed(&err)) < LEAT_ERROR_PRINT_MAX);
    assert_int_equal(leat_error_print(&err, text, sizeof(text)), sizeof(text) - 1);
    assert_string_equal(text, "xxxxxxx");
    assert_int_equal(leat_error_print(&err, text, 1), 0);
    assert_string_equal(text, "");
    assert_int_equal(leat_error_print(&err, NULL, 0), 0);
}

static void test_wire(void **state) {
    struct leat_error err = LEAT_ERROR_INIT, back = LEAT_ERROR_INIT;
    Leat__Error message, *unpacked;
    uint8_t bytes[LEAT_ERROR_PRINT_MAX + 64];
    size_t n;

    (void)state;
    leat_error_set(&err, -ENOENT, "no such stream");
    leat_error_locate(&err, "a.yaml", 3, 4);
    leat_error_prefix(&err, "streams.x");
    leat_error_to_message(&err, &message);
    n = leat__error__pack(&message, bytes);
    assert_true(n <= sizeof(bytes));
    unpacked = leat__error__unpack(NULL, n, bytes);
    leat_error_from_message(&back, unpacked);
    leat__error__free_unpacked(unpacked, NULL);
    assert_memory_equal(&err, &back, sizeof(err));
}

static void test_wire_is_not_believed(void **state) {
    static const int32_t codes[] = {0, 1, 5, -4096, INT32_MIN, INT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        Leat__Error message;

        leat__error__init(&message);
        message.code = codes[i];
        message.message = (char *)(uintptr_t) "%s%n is no format";
        leat_error_from_message(&err, &message);
        assert_int_equal(err.code, -EPROTO);
        assert_string_equal(err.message, "%s%n is no format");
        assert_string_equal(err.path, "");
        message.message = (char *)(uintptr_t) "";
        err = (struct leat_error)LEAT_ERROR_INIT;
        leat_error_from_message(&err, &message);
        assert_string_equal(err.message, "the other end gave no reason");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_writer_wins),    cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_printed_forms),        cmocka_unit_test(test_control_bytes_are_shown),
        cmocka_unit_test(test_index_needs_no_dot),   cmocka_unit_test(test_inner_place_counts),
        cmocka_unit_test(test_everything_is_cut),    cmocka_unit_test(test_wire),
        cmocka_unit_test(test_wire_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

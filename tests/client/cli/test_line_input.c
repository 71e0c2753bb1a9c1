/* Lines of the standard input: the same ones however they arrive, with their numbers and padding.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/cli/base/line_input.h"

struct writer {
    int fd;
    const char *data;
    size_t n, step; /* bytes of one write */
};

static void *write_all(void *argument) {
    const struct writer *writer = argument;

    for (size_t at = 0; at < writer->n; at += writer->step) {
        size_t n = writer->n - at < writer->step ? writer->n - at : writer->step;

        assert_int_equal(write(writer->fd, writer->data + at, n), n);
    }
    (void)close(writer->fd);
    return NULL;
}

/* What comes is what lies between the ends of lines. */
static void check(const char *data, size_t n, size_t step) {
    struct leat_cli_lines lines = {.fd = -1};
    struct leat_error err = LEAT_ERROR_INIT;
    struct writer writer = {.data = data, .n = n, .step = step};
    const char *line, *at = data;
    size_t n_line;
    uint64_t number = 0;
    pthread_t thread;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    lines.fd = ends[0];
    writer.fd = ends[1];
    assert_int_equal(pthread_create(&thread, NULL, write_all, &writer), 0);
    while (leat_cli_lines_next(&lines, &line, &n_line, &err) > 0) {
        const char *end = memchr(at, '\n', (size_t)(data + n - at));

        end = end ? end : data + n;
        assert_int_equal(n_line, end - at);
        assert_memory_equal(line, at, n_line);
        assert_int_equal(lines.number, ++number);
        for (size_t i = 0; i < LEAT_CLI_LINE_PADDING; i++) /* may be read: sanitizers look on */
            (void)*(const volatile char *)(line + n_line + i);
        at = end < data + n ? end + 1 : end;
    }
    assert_int_equal(err.code, 0);
    assert_ptr_equal(at, data + n);
    assert_int_equal(pthread_join(thread, NULL), 0);
    leat_cli_lines_deinit(&lines);
    (void)close(ends[0]);
}

static void test_pieces(void **state) {
    static const char *const texts[] = {"",          "\n", "a", "a\n", "\n\na", "one\ntwo\n\nthree",
                                        "\r\n\xff\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        for (size_t step = 1; step <= 5; step++)
            check(texts[i], strlen(texts[i]), step);
}

static void test_long_lines(void **state) {
    size_t n = 5U << 20;
    char *data = malloc(n);

    (void)state;
    assert_non_null(data);
    memset(data, 'x', n);
    for (size_t at = 0; at < n; at += 1 + at / 3)
        data[at] = '\n';
    check(data, n, 65536);
    check(data, n, 10007);
    free(data);
}

static void test_locate(void **state) {
    struct leat_cli_lines lines = {.fd = -1, .number = 7};
    struct leat_error err = LEAT_ERROR_INIT;
    char printed[LEAT_ERROR_PRINT_MAX];

    (void)state;
    leat_error_set(&err, -EINVAL, "wrong");
    leat_error_locate(&err, NULL, 1, 4);
    leat_cli_lines_locate(&lines, &err);
    (void)leat_error_print(&err, printed, sizeof(printed));
    assert_string_equal(printed, "stdin:7:4: wrong");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_locate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

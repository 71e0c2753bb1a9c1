/* Whatever a client calls itself, an event stays one line with the fields that it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log/log.h"

static size_t write_and_read(enum leat_log_format format, const struct leat_log_field *fields,
                             char *text, size_t size) {
    struct leat_log log;
    int ends[2];
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    leat_log_init(&log, ends[1], format, LEAT_LOG_DEBUG);
    leat_log_write(&log, LEAT_EVENT_BAD_CLIENT, fields);
    (void)close(ends[1]);
    n = read(ends[0], text, size - 1);
    (void)close(ends[0]);
    assert_true(n > 0);
    text[n] = '\0';
    return (size_t)n;
}

static unsigned count(const char *text, char letter) {
    unsigned n = 0;

    for (; *text; text++)
        n += *text == letter;
    return n;
}

static void test_every_byte(void **state) {
    (void)state;
    for (int format = LEAT_LOG_TEXT; format <= LEAT_LOG_JSON; format++) {
        for (int byte = 1; byte < 256; byte++) {
            char name[4] = {'a', (char)byte, 'b', 0}, line[LEAT_LOG_LINE_MAX];
            struct leat_log_field fields[] = {LEAT_LOG_F("client", name), LEAT_LOG_T("error", name),
                                              LEAT_LOG_N("uid", -5), LEAT_LOG_FIELDS_END};
            size_t n = write_and_read((enum leat_log_format)format, fields, line, sizeof(line));

            assert_int_equal(count(line, '\n'), 1);
            assert_int_equal(line[n - 1], '\n');
            for (size_t i = 0; i + 1 < n; i++)
                assert_in_range((unsigned char)line[i], 0x20, 0x7e);
            /* as many quotes as the form itself has, and the one that is in the text */
            assert_int_equal(count(line, '"'),
                             (format == LEAT_LOG_JSON ? 26 : 2) + (byte == '"' ? 1 : 0));
        }
    }
}

static void test_escapes(void **state) {
    char buffer[300], long_name[200];

    (void)state;
    (void)leat_log_escape_foreign("ok-1.2:_Z", buffer, sizeof(buffer));
    assert_string_equal(buffer, "ok-1.2:_Z");
    (void)leat_log_escape_foreign("x\n<2>kernel panic", buffer, sizeof(buffer));
    assert_string_equal(buffer, "x\\x0a\\x3c2\\x3ekernel\\x20panic");
    (void)leat_log_escape_plain("a \"b\"\\\xc3\xa9\x7f", buffer, sizeof(buffer));
    assert_string_equal(buffer, "a \"b\"\\x5c\\xc3\\xa9\\x7f");
    memset(long_name, '\n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(leat_log_escape_foreign(long_name, buffer, sizeof(buffer)),
                     LEAT_LOG_FOREIGN_MAX * 4);
    assert_true(leat_log_escape_foreign(long_name, buffer, 7) < 7);
}

static void test_long_lines_are_cut(void **state) {
    static char text[20000];
    char line[LEAT_LOG_LINE_MAX + 100];
    struct leat_log_field fields[] = {LEAT_LOG_T("error", text), LEAT_LOG_T("more", text),
                                      LEAT_LOG_T("most", text), LEAT_LOG_FIELDS_END};

    (void)state;
    memset(text, '\\', sizeof(text) - 1);
    for (int format = LEAT_LOG_TEXT; format <= LEAT_LOG_JSON; format++) {
        size_t n = write_and_read((enum leat_log_format)format, fields, line, sizeof(line));

        assert_in_range(n, 100, LEAT_LOG_LINE_MAX);
        assert_int_equal(line[n - 1], '\n');
        assert_int_equal(count(line, '\n'), 1);
    }
}

/* What is between quotes can be told from what is not. */
static void test_quotes(void **state) {
    char line[LEAT_LOG_LINE_MAX];
    struct leat_log_field fields[] = {LEAT_LOG_T("error", "unknown key \"a\\b\"\n"),
                                      LEAT_LOG_FIELDS_END};

    (void)state;
    (void)write_and_read(LEAT_LOG_TEXT, fields, line, sizeof(line));
    assert_non_null(strstr(line, " error=\"unknown key \\\"a\\x5cb\\\"\\x0a\"\n"));
    (void)write_and_read(LEAT_LOG_JSON, fields, line, sizeof(line));
    assert_non_null(strstr(line, "\"error\":\"unknown key \\\"a\\\\x5cb\\\"\\\\x0a\"}\n"));
}

/* Members that do not fit are left out, and the others are there. */
static void test_json_is_whole(void **state) {
    static char text[20000];
    char line[LEAT_LOG_LINE_MAX + 100];
    struct leat_log_field fields[] = {LEAT_LOG_T("error", text), LEAT_LOG_T("more", text),
                                      LEAT_LOG_N("uid", 7), LEAT_LOG_FIELDS_END};

    (void)state;
    memset(text, '"', sizeof(text) - 1);
    (void)write_and_read(LEAT_LOG_JSON, fields, line, sizeof(line));
    assert_non_null(strstr(line, "\"error\":\"\\\""));
    assert_null(strstr(line, "\"more\""));
    assert_non_null(strstr(line, "\\\"\",\"uid\":7}\n"));
}

/* Lines that were lost are told as soon as there is room. */
static void test_lost_lines(void **state) {
    struct leat_log log;
    struct leat_log_field fields[] = {LEAT_LOG_N("uid", 1), LEAT_LOG_FIELDS_END};
    char text[4096], wanted[64];
    int ends[2];
    ssize_t n;

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    leat_log_init(&log, ends[1], LEAT_LOG_TEXT, LEAT_LOG_DEBUG);
    leat_log_tell_lost(&log);
    for (int i = 0; i < 10000; i++)
        leat_log_write(&log, LEAT_EVENT_BAD_CLIENT, fields);
    leat_log_tell_lost(&log); /* lost too */
    while (read(ends[0], text, sizeof(text)) > 0)
        ;
    (void)snprintf(wanted, sizeof(wanted), "event=log-lost lines=%llu\n",
                   (unsigned long long)log.n_dropped);
    leat_log_tell_lost(&log);
    n = read(ends[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    assert_non_null(strstr(text, wanted));
    leat_log_tell_lost(&log);
    assert_int_equal(read(ends[0], text, 1), -1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Each can be searched for, and says what to do. */
static void test_events(void **state) {
    (void)state;
    for (int i = 0; i < LEAT_N_EVENTS; i++) {
        const struct leat_log_event *event = &leat_log_events[i];

        assert_int_equal(strlen(event->id), 32);
        assert_int_equal(strspn(event->id, "0123456789abcdef"), 32);
        assert_true(strlen(event->advice) > 20 && event->advice[strlen(event->advice) - 1] == '.');
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(event->id, leat_log_events[j].id);
            assert_string_not_equal(event->name, leat_log_events[j].name);
        }
    }
}

static void test_levels(void **state) {
    struct leat_log log;
    struct leat_log_field fields[] = {LEAT_LOG_FIELDS_END};
    char byte;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    leat_log_init(&log, ends[1], LEAT_LOG_TEXT, LEAT_LOG_ERROR);
    leat_log_write(&log, LEAT_EVENT_BAD_CLIENT, fields);
    assert_int_equal(read(ends[0], &byte, 1), -1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A pipe that nobody reads fills up; then lines are dropped, and the writer goes on. */
static void test_never_blocks(void **state) {
    struct leat_log log;
    struct leat_log_field fields[] = {LEAT_LOG_N("uid", 1), LEAT_LOG_FIELDS_END};
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    leat_log_init(&log, ends[1], LEAT_LOG_TEXT, LEAT_LOG_DEBUG);
    for (int i = 0; i < 10000; i++)
        leat_log_write(&log, LEAT_EVENT_BAD_CLIENT, fields);
    assert_true(log.n_dropped > 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_never_blocks),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_json_is_whole),
        cmocka_unit_test(test_lost_lines),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

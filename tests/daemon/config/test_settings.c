/* What the settings say, and what is said of them where they are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/config/settings.h"

static struct leat_settings *parse(const char *text, struct leat_error *err) {
    struct leat_settings *settings = NULL;

    *err = LEAT_ERROR_INIT;
    (void)leat_settings_parse(text, strlen(text), "dir/leatd.yaml", NULL, &settings, err);
    return settings;
}

static void test_defaults(void **state) {
    struct leat_error err;
    struct leat_settings *settings = parse("", &err);

    (void)state;
    assert_non_null(settings);
    assert_true(settings->workers >= 1);
    assert_int_equal(settings->window, 4);
    assert_int_equal(settings->roots.n_items, 0);
    assert_int_equal(settings->n_streams, 0);
    assert_null(settings->trainer_socket);
    leat_settings_free(settings);
}

static void test_values(void **state) {
    struct leat_error err;
    struct leat_settings *settings =
        parse("workers: 3\nroots: [data, /srv/data]\ncontrol_socket: run/c.sock\nwindow: 7\n"
              "log: json\nlog_level: debug\nmax_sessions: 10\n"
              "streams:\n  a:\n    source: { csv: { paths: [x.csv] } }\n"
              "    stages: [{ batch: { batch_size: 2 } }]\n",
              &err);

    (void)state;
    assert_non_null(settings);
    assert_int_equal(settings->workers, 3);
    assert_string_equal(settings->roots.items[0], "dir/data");
    assert_string_equal(settings->roots.items[1], "/srv/data");
    assert_string_equal(settings->control_socket, "dir/run/c.sock");
    assert_int_equal(settings->window, 7);
    assert_int_equal(settings->max_sessions, 10);
    assert_int_equal(settings->max_user_sessions, 10); /* a default gives way */
    assert_int_equal(settings->n_streams, 1);
    assert_string_equal(settings->streams[0]->name, "a");
    leat_settings_free(settings);
}

static void test_weights(void **state) {
    struct leat_error err;
    struct leat_settings *settings =
        parse("user_weights:\n  root: 3\n  \"1000\": 1000\n  4294967294: 1\n", &err);

    (void)state;
    assert_non_null(settings);
    assert_int_equal(settings->n_weights, 3);
    assert_int_equal(settings->weights[0].uid, 0);
    assert_int_equal(settings->weights[0].weight, 3);
    assert_int_equal(settings->weights[1].uid, 1000);
    assert_int_equal(settings->weights[1].weight, 1000);
    assert_true(settings->weights[2].uid == UINT32_MAX - 1);
    leat_settings_free(settings);
}

/* The groups of the package are the default, and need not exist; numbers are taken as they are. */
static void test_groups(void **state) {
    struct leat_error err;
    struct leat_settings *settings = parse("workers: 1\n", &err);

    (void)state;
    assert_non_null(settings);
    assert_string_equal(settings->control_groups.items[0], "leat-clients");
    leat_settings_free(settings);
    settings = parse("control_groups: [root, 12345]\nadmin_groups: []\n", &err);
    assert_non_null(settings);
    assert_int_equal(settings->control_groups.n_items, 2);
    leat_settings_free(settings);
}

/* Overrides count as if they had been written, and are checked as such. */
static void test_overrides(void **state) {
    static const char text[] = "workers: 3\nstreams: {a: {source: {csv: {paths: [x.csv]}}, "
                               "stages: [batch]}}\n";
    struct leat_settings_overrides overrides = {
        .n_items = 2, .items = {"workers=5", "streams.a.batch.batch_size=7"}};
    struct leat_settings *settings = NULL;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    assert_int_equal(
        leat_settings_parse(text, strlen(text), "leatd.yaml", &overrides, &settings, &err), 0);
    assert_int_equal(settings->workers, 5);
    assert_string_equal(leat_value_get(&settings->streams[0]->stages[0].args, "batch_size")->text,
                        "7");
    leat_settings_free(settings);
    settings = NULL;
    overrides.items[0] = "workers=5000";
    assert_true(leat_settings_parse(text, strlen(text), "leatd.yaml", &overrides, &settings, &err) <
                0);
    assert_non_null(strstr(err.message, "5000 is outside 1..1024"));
    assert_int_equal(err.line, 1);
    assert_null(settings);
}

static void test_complaints(void **state) {
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *says;
    } cases[] = {
        {"workers: 2\nwrokers: 3\n", 2, 1, "did you mean \"workers\""},
        {"stream: {}\n", 1, 1, "did you mean \"streams\""},
        {"xyzzy: 1\n", 1, 1, "unknown key"},
        {"workers: many\n", 1, 10, "whole number"},
        {"workers: 0\n", 1, 10, "outside 1..1024"},
        {"\nworkers: 99999\n", 2, 10, "outside 1..1024"},
        {"workers: \"2\"\n", 1, 10, "whole number"},
        {"window: 200\n", 1, 9, "outside"},
        {"max_window: 64\nwindow: 65\n", 2, 9, "max_window"},
        {"window: 9\nlog: text\nmax_window: 8\nstreams: {}\nworkers: 2\n", 1, 9, "max_window"},
        {"streams: {}\nmax_window: 8\nwindow: 9\n", 3, 9, "max_window"},
        {"max_sessions: 5\nmax_user_sessions: 6\n", 2, 20, "max_sessions"},
        {"log: loud\n", 1, 6, "not one of"},
        {"user_weights: 5\n", 1, 15, "map"},
        {"user_weights: {no-such-user-here: 2}\n", 1, 16, "not a user of this machine"},
        {"user_weights:\n  \"4294967295\": 2\n", 2, 3, "not a user of this machine"},
        {"user_weights:\n  \"-1\": 2\n", 2, 3, "not a user of this machine"},
        {"user_weights:\n  \"99999999999999999999\": 2\n", 2, 3, "not a user of this machine"},
        {"user_weights:\n  root: 0\n", 2, 9, "from 1 to 1000"},
        {"user_weights:\n  root: 1001\n", 2, 9, "from 1 to 1000"},
        {"user_weights:\n  root: much\n", 2, 9, "from 1 to 1000"},
        {"user_weights:\n  root: 2\n  \"0\": 3\n", 3, 3, "already has a weight"},
        {"control_groups: [root, no-such-group]\n", 1, 24, "\"no-such-group\" is not a group"},
        {"control_groups: [4294967295]\n", 1, 18, "is not a group of this machine"},
        {"admin_groups: [-1]\n", 1, 16, "is not a group of this machine"},
        {"admin_groups:\n  - \"\"\n", 2, 5, "is not a group of this machine"},
        {"roots: {a: b}\n", 1, 8, "list"},
        {"http_listen: 0.0.0.0:80\n", 1, 14, "not a loopback address"},
        {"http_listen: 9464\n", 1, 14, "unix:PATH"},
        {"- a\n", 1, 1, "map"},
        {"workers: 1\nworkers: 2\n", 2, 1, ""},
        {"streams: 5\n", 1, 10, ""},
        {"streams:\n  a: { stages: [] }\n", 2, 0, "source"},
        {"workers: [\n", 2, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err;

        if (parse(cases[i].text, &err))
            fail_msg("%s was accepted", cases[i].text);
        assert_string_equal(err.file, "dir/leatd.yaml");
        if (err.line != cases[i].line || (cases[i].column && err.column != cases[i].column) ||
            !strstr(err.message, cases[i].says))
            fail_msg("%s: %u:%u: %s", cases[i].text, err.line, err.column, err.message);
    }
}

static void test_streams_are_checked(void **state) {
    struct leat_error err;
    struct leat_settings *settings =
        parse("streams:\n  a:\n    source: { csv: { paths: [x.csv] } }\n"
              "    stages: [{ batch: { batch_sise: 2 } }]\n",
              &err);

    (void)state;
    assert_non_null(settings);
    assert_true(leat_settings_check_streams(settings, &err) < 0);
    assert_int_equal(err.line, 4);
    assert_non_null(strstr(err.path, "streams.a.stages[0]"));
    leat_settings_free(settings);
}

/* Every key has a help, and whatever is a number has a range. */
static void test_table(void **state) {
    (void)state;
    for (const struct leat_arg *arg = leat_settings_args; arg->name; arg++) {
        assert_non_null(arg->help);
        if (arg->type == LEAT_ARG_INT)
            assert_true(arg->max > arg->min);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_complaints),
        cmocka_unit_test(test_streams_are_checked),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

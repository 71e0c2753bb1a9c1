/* test_arguments.c: leatctl's command line: every table parses, helps and refuses as it says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/units.h"
#include "client/cli/program.h"
#include "client/leat.h"

#define MAX_WORDS 32

static const struct leat_cli_command *find(const char *name) {
    for (const struct leat_cli_command *const *at = leat_cli_commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    fail_msg("no command %s", name);
    return NULL;
}

/* Parses a line of words. */
static int parse(const char *name, const char *line, struct leat_cli_arguments *ret,
                 struct leat_error *err) {
    static char copy[512];
    char *words[MAX_WORDS], *rest = NULL;
    bool wants_help;
    int n = 0;

    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    *err = LEAT_ERROR_INIT;
    return leat_cli_parse(find(name), n, words, ret, &wants_help, err);
}

static void test_run(void **state) {
    struct leat_cli_arguments arguments;
    struct leat_error err;

    (void)state;
    assert_int_equal(parse("run",
                           "--epochs 2 a.yaml --batches=10 --workers 4 --rank 1 --world-size 8 "
                           "--seed 18446744073709551615 --delivery copy --digest --format jsonl "
                           "s --no-daemon",
                           &arguments, &err),
                     LEAT_CLI_OK);
    assert_string_equal(arguments.operand, "a.yaml");
    assert_int_equal(arguments.epochs.value, 2);
    assert_int_equal(arguments.batches.value, 10);
    assert_int_equal(arguments.workers.value, 4);
    assert_int_equal(arguments.rank.value, 1);
    assert_int_equal(arguments.world_size.value, 8);
    assert_true(arguments.seed.is_given);
    assert_true(arguments.seed.value == UINT64_MAX);
    assert_int_equal(arguments.delivery, LEAT_DELIVERY_COPY);
    assert_int_equal(arguments.format, LEAT_CLI_JSONL);
    assert_true(arguments.digest);
    assert_true(arguments.no_daemon);
    assert_string_equal(arguments.stream, "s");
    assert_false(arguments.json);
}

static void test_tokenize(void **state) {
    struct leat_cli_arguments arguments;
    struct leat_error err;

    (void)state;
    assert_int_equal(
        parse("tokenizer encode", "a/ --special --offsets --type-ids --jsonl", &arguments, &err),
        LEAT_CLI_OK);
    assert_string_equal(arguments.operand, "a/");
    assert_true(arguments.special && arguments.offsets && arguments.type_ids && arguments.jsonl);
    assert_int_equal(parse("tokenizer decode", "--skip-special b.json", &arguments, &err),
                     LEAT_CLI_OK);
    assert_string_equal(arguments.operand, "b.json");
    assert_true(arguments.skip_special && !arguments.special);
    assert_int_equal(parse("tokenizer show", "c.json --json", &arguments, &err), LEAT_CLI_OK);
    assert_string_equal(arguments.operand, "c.json");
}

static void test_forms(void **state) {
    struct leat_cli_arguments arguments;
    struct leat_error err;

    (void)state;
    assert_int_equal(parse("head", "f -n 7", &arguments, &err), LEAT_CLI_OK);
    assert_int_equal(arguments.records.value, 7);
    assert_int_equal(parse("head", "-n7 --after pad[2] -- -f", &arguments, &err), LEAT_CLI_OK);
    assert_int_equal(arguments.records.value, 7);
    assert_string_equal(arguments.after, "pad[2]");
    assert_string_equal(arguments.operand, "-f");
    assert_int_equal(parse("stats", "", &arguments, &err), LEAT_CLI_OK);
    assert_null(arguments.operand);
}

static void test_refusals(void **state) {
    static const struct {
        const char *command, *line, *message;
    } cases[] = {
        {"run", "", "FILE"},
        {"run", "a b c", "\"c\""},
        {"run", "a --stream b", "after its FILE"},
        {"run", "a --socket b", "does not connect to a daemon"},
        {"explain", "a.yaml --json --format dot", "also gave --format \"dot\""},
        {"explain", "titanic b", "leave out the argument \"b\""},
        {"explain", "titanic --workers 3", "is for a FILE"},
        {"trace", "a.yaml --socket b --no-fuse", "is for a FILE"},
        {"reload", "--wait", "--wait"},
        {"run", "a --epoch 1", "--epochs"},
        {"run", "a --epochs", "give a value after"},
        {"run", "a --epochs -1", "whole number"},
        {"run", "a --epochs 1x", "whole number"},
        {"run", "a --epochs 99999999999999999999", "whole number"},
        {"run", "a --workers 0", "1..1024"},
        {"run", "a --workers 1025", "1..1024"},
        {"run", "a --delivery mail", "shared, copy"},
        {"run", "a --digest=yes", "no value"},
        {"run", "a -x", "-x"},
        {"status", "x", "\"x\""},
        {"status", "--digest", "--digest"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_cli_arguments arguments;
        struct leat_error err;

        assert_int_equal(parse(cases[i].command, cases[i].line, &arguments, &err), LEAT_CLI_USAGE);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s %s: %s", cases[i].command, cases[i].line, err.message);
    }
}

static void test_global(void **state) {
    static const char *const words[] = {"--json",     "--socket", "d",
                                        "--socket=e", "status",   "--json"};
    struct leat_cli_arguments arguments;
    struct leat_error err;

    (void)state;
    assert_int_equal(leat_cli_count_leading(words, 6), 4);
    assert_int_equal(leat_cli_count_leading(words, 2), 1); /* without its value */
    assert_int_equal(leat_cli_count_leading(words + 4, 2), 0);
    assert_int_equal(parse("status", "--json --socket d", &arguments, &err), LEAT_CLI_OK);
    assert_true(arguments.json);
    assert_string_equal(arguments.socket, "d");
    assert_int_equal(parse("explain", "a.yaml --format json", &arguments, &err), LEAT_CLI_OK);
    assert_true(arguments.json && arguments.is_file);
}

/* FILE [STREAM] is the same for all that look at a file; where it may be a STREAM of the daemon,
 * too,
 * --socket tells. */
static void test_operands(void **state) {
    static const char *const commands[] = {"run",        "head",          "describe", "spec",
                                           "bench",      "dump",          "where",    "trace",
                                           "cache warm", "cache prepare", "prepare",  "cache merge",
                                           "cache ls",   "cache verify",  "cache rm", "explain"};
    struct leat_cli_arguments arguments;
    struct leat_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        assert_int_equal(parse(commands[i], "a.yaml s", &arguments, &err), LEAT_CLI_OK);
        assert_string_equal(arguments.operand, "a.yaml");
        assert_string_equal(arguments.stream, "s");
    }
    assert_int_equal(parse("where", "titanic", &arguments, &err), LEAT_CLI_OK);
    assert_false(arguments.is_file);
    assert_int_equal(parse("where", "./titanic", &arguments, &err), LEAT_CLI_OK);
    assert_true(arguments.is_file);
    assert_int_equal(parse("where", "./titanic --socket d", &arguments, &err), LEAT_CLI_OK);
    assert_false(arguments.is_file);
}

/* Every option of every command stands in its help, and parses. */
static void test_tables(void **state) {
    (void)state;
    for (const struct leat_cli_command *const *at = leat_cli_commands; *at; at++) {
        const struct leat_cli_command *command = *at;

        struct leat_text text = {.data = NULL};

        assert_non_null(command->run);
        assert_true(command->summary[0] != '\0');
        leat_cli_help(command, false, &text);
        assert_non_null(strstr(text.data, "exit status"));
        for (const struct leat_cli_option *option = command->options; option->name; option++) {
            const char *value = option->kind == LEAT_CLI_CHOICE ? option->choices[0] : "1";
            struct leat_cli_arguments arguments;
            struct leat_error err;
            char line[128];

            (void)snprintf(line, sizeof(line), "%s --%s %s", command->operand ? "x.yaml" : "",
                           option->name, option->kind == LEAT_CLI_FLAG ? "" : value);
            assert_int_equal(parse(command->name, line, &arguments, &err), LEAT_CLI_OK);
            (void)snprintf(line, sizeof(line), "  --%s", option->name);
            assert_non_null(strstr(text.data, line));
        }
        free(text.data);
    }
}

static void test_units(void **state) {
    char buffer[LEAT_CLI_UNIT_MAX];

    (void)state;
    assert_string_equal(leat_cli_count(0, buffer), "0");
    assert_string_equal(leat_cli_count(999, buffer), "999");
    assert_string_equal(leat_cli_count(1000, buffer), "1,000");
    assert_string_equal(leat_cli_count(UINT64_MAX, buffer), "18,446,744,073,709,551,615");
    assert_string_equal(leat_cli_bytes(1023, buffer), "1023 B");
    assert_string_equal(leat_cli_bytes(3 << 20, buffer), "3.0 MiB");
    assert_string_equal(leat_cli_duration(1500, buffer), "1.5 us");
    assert_string_equal(leat_cli_duration(UINT64_C(7380) * 1000000000, buffer), "2 h 03 min");
    assert_true(strlen(leat_cli_duration(UINT64_MAX, buffer)) < sizeof(buffer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),      cmocka_unit_test(test_forms),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_units),    cmocka_unit_test(test_tokenize),
        cmocka_unit_test(test_global),   cmocka_unit_test(test_operands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_complete.c: what completes a line: every command and option, the values that the tables
 * know, files where a file is meant; with any words, no crash and whole lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/help/complete.h"
#include "client/cli/help/help.h"
#include "client/cli/program.h"

#define MAX_WORDS 16

static struct leat_cli_completion completion;

/* Words by blanks; "." is an empty one. */
static const char *complete(const char *line) {
    static char copy[512];
    const char *words[MAX_WORDS];
    char *rest = NULL;
    size_t n = 0;

    free(completion.text.data);
    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[n++] = strcmp(word, ".") == 0 ? "" : word;
    leat_cli_complete(leat_cli_commands, words, n, &completion);
    return completion.text.data ? completion.text.data : "";
}

static bool has(const char *text, const char *word) {
    size_t n = strlen(word);

    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        if (strncmp(at, word, n) == 0 && at[n] == '\t')
            return true;
    return false;
}

static void test_commands(void **state) {
    (void)state;
    for (const struct leat_cli_command *const *at = leat_cli_commands; *at; at++) {
        const struct leat_cli_command *command = *at;

        const char *second = strchr(command->name, ' ');
        char word[64];

        (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(command->name, " "), command->name);
        assert_true(has(complete("."), word));
        if (second) {
            (void)strcat(word, " .");
            assert_true(has(complete(word), second + 1));
        }
    }
    assert_string_equal(complete("tokenizer"), "tokenizer\t\n");
    assert_string_equal(complete("tokenizer sh"), "show\tshow the parts of a tokenizer\n");
    assert_string_equal(complete("cac"), "cache\t\n");
    assert_true(has(complete("-"), "--version"));
    assert_true(has(complete("--json --socket x sta"), "status"));
    assert_true(has(complete("--json explain --format ."), "svg"));
    assert_true(has(complete("help ."), "cache"));
    assert_true(has(complete("help cache ."), "warm"));
    assert_string_equal(complete("nothing of that kind ."), "");
}

static void test_options(void **state) {
    (void)state;
    for (const struct leat_cli_command *const *at = leat_cli_commands; *at; at++) {
        const struct leat_cli_command *command = *at;

        for (const struct leat_cli_option *option = command->options; option->name; option++) {
            char line[128], word[64];

            (void)snprintf(line, sizeof(line), "%s --", command->name);
            (void)snprintf(word, sizeof(word), "--%s", option->name);
            assert_true(has(complete(line), word));
        }
    }
    assert_string_equal(complete("run a.yaml -- --"), "");
}

static void test_values(void **state) {
    (void)state;
    assert_string_equal(complete("explain --format j"), "json\t\n");
    assert_string_equal(complete("explain --format = j"), "json\t\n");
    assert_string_equal(complete("explain --format=j"), "--format=json\t\n");
    assert_true(has(complete("explain --format ="), "svg"));
    assert_true(has(complete("head x.yaml --after ."), "tokenize"));
    assert_true(has(complete("stages ."), "shuffle"));
    assert_true(has(complete("log-level ."), "notice"));
    assert_true(has(complete("completion ."), "zsh"));
    assert_string_equal(complete("run --epochs ."), "");
    assert_string_equal(complete("run --nonsense=."), "");
}

static void test_shells_own(void **state) {
    (void)state;
    (void)complete("check .");
    assert_int_equal(completion.with, LEAT_CLI_WITH_FILES);
    (void)complete("trace -o .");
    assert_int_equal(completion.with, LEAT_CLI_WITH_FILES);
    (void)complete("trace --socket .");
    assert_int_equal(completion.with, LEAT_CLI_WITH_FOLDERS);
    (void)complete("cache rm .");
    assert_int_equal(completion.with, LEAT_CLI_WITH_FILES);
    (void)complete("kick --user .");
    assert_int_equal(completion.with, LEAT_CLI_WITH_USERS);
    (void)complete("bench --find .");
    assert_int_equal(completion.with, LEAT_CLI_WITH_WORDS);
}

/* Any of these words in any order. */
static void test_any_words(void **state) {
    static const char *const pool[] = {
        "",      "-",        "--",    "=",    "--format",    "--format=", "explain", "cache",
        "rm",    "a.yaml",   "help",  "\n",   "\xff\xfe",    "-o",        "-n",      "--after",
        "x\ty=", "-o=a",     "stats", "kick", "completion",  "words",     "[",       "|",
        "%s%n",  "--vary=a", "head",  "--=",  "--workers=.", "=a"};
    uint32_t random = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const char *words[MAX_WORDS];
        size_t n;

        random = random * 1664525 + 1013904223;
        n = (random >> 16) % 6;
        for (size_t j = 0; j < n; j++) {
            random = random * 1664525 + 1013904223;
            words[j] = pool[(random >> 16) % (sizeof(pool) / sizeof(pool[0]))];
        }
        free(completion.text.data);
        leat_cli_complete(leat_cli_commands, words, n, &completion);
        for (const char *at = completion.text.data; at && *at; at += strcspn(at, "\n") + 1)
            assert_true(strcspn(at, "\t") < strcspn(at, "\n"));
    }
}

/* The table itself is fit for help and reference. */
static void test_table(void **state) {
    struct leat_text text = {.data = NULL};

    (void)state;
    for (const struct leat_cli_command *const *at = leat_cli_commands; *at; at++) {
        const struct leat_cli_command *command = *at;

        for (const struct leat_cli_option *option = command->options; option->name; option++)
            if (strcmp(option->name, "json") == 0 || strcmp(option->name, "socket") == 0)
                fail_msg("%s has a --%s of its own", command->name, option->name);
        if (!command->examples || !strstr(command->examples, command->name))
            fail_msg("%s has no example of itself", command->name);
        assert_non_null(command->summary);
        leat_cli_help(command, false, &text);
        assert_null(strchr(text.data, '\033'));
    }
    free(text.data);
    text = (struct leat_text){.data = NULL};
    leat_cli_help(leat_cli_commands[0], true, &text);
    assert_non_null(strstr(text.data, "\033[1musage:\033[0m"));
    free(text.data);
    free(completion.text.data);
    completion.text.data = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),  cmocka_unit_test(test_options),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_shells_own),
        cmocka_unit_test(test_any_words), cmocka_unit_test(test_table),
    };

    (void)setenv("LEAT_SOCKET", "/nonexistent", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_protocol.c: the reference of the control protocol has every verb, with whose right it is and
 * what it does, and every field of every message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/protocol.h"
#include "client/cli/schema.h"
#include "proto/leat.pb-c.h"

static struct leat_text text;

static int set_up(void **state) {
    (void)state;
    leat_cli_protocol_markdown(&text);
    assert_non_null(text.data);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(text.data);
    text = (struct leat_text){.data = NULL};
    return 0;
}

/* A row of the table of verbs: | `name` | right | request | reply | what | */
static void test_verbs(void **state) {
    const ProtobufCMessageDescriptor *request = &leat__control_request__descriptor;

    (void)state;
    for (unsigned i = 0; i < request->n_fields; i++) {
        char row[64], what[512] = "", reply[64], right[16];

        if (!(request->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
            continue;
        (void)snprintf(row, sizeof(row), "| `%s` | ", request->fields[i].name);
        assert_non_null(strstr(text.data, row));
        (void)sscanf(strstr(text.data, row) + strlen(row), "%15s | %*s | %63s | %511[^|\n]", right,
                     reply, what);
        if (strlen(what) < 10)
            fail_msg("%s is not described: %s", request->fields[i].name, what);
    }
    assert_non_null(strstr(text.data, "| `stats` | read | StatsRequest | StatsReply | "));
    assert_non_null(strstr(text.data, "| `drain` | operate | DrainRequest | Empty | "));
    assert_non_null(strstr(text.data, "| `subscribe` | read | SubscribeRequest | Update | "));
}

static void check_message(const ProtobufCMessageDescriptor *message, unsigned depth) {
    char head[128];
    const char *section, *end;

    if (depth > 8)
        return;
    (void)snprintf(head, sizeof(head), "\n### %s\n", message->short_name);
    section = strstr(text.data, head);
    assert_non_null(section);
    end = strstr(section + 1, "\n### ");
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];
        char row[128];
        const char *found;

        (void)snprintf(row, sizeof(row), "| `%s` | %u | ", field->name, field->id);
        found = strstr(section, row);
        if (!found || (end && found > end))
            fail_msg("%s.%s is not there", message->short_name, field->name);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE && field->descriptor != message)
            check_message(field->descriptor, depth + 1);
    }
}

static void test_fields(void **state) {
    (void)state;
    check_message(&leat__control_request__descriptor, 0);
    check_message(&leat__control_reply__descriptor, 0);
    assert_null(strstr(text.data, "| ? |"));
}

static void expect_comment(const char *message, const char *field, const char *expected) {
    struct leat_text comment = {.data = NULL};

    leat_cli_schema_comment(&comment, message, field);
    assert_string_equal(comment.data ? comment.data : "", expected);
    free(comment.data);
}

static void test_comments(void **state) {
    (void)state;
    expect_comment("Error", NULL,
                   "An error with its place; printed as file:line:column: path: message.");
    expect_comment("Error", "code", "negative errno");
    expect_comment("Error", "file", "");
    expect_comment("MetricsReply", "text", "OpenMetrics"); /* all in one line */
    expect_comment("Trainer", "unit",
                   "the control group of its process, which ends in its systemd unit; empty: not "
                   "known, as the daemon does not see that process (ProtectProc=) or it is of "
                   "another pid namespace");
    expect_comment("Nothing", NULL, "");
    expect_comment("Error", "nothing", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_verbs), TEST(test_fields), TEST(test_comments)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

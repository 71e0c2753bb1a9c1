/* members.c: see members.h. */
#include "client/cli/base/members.h"

#include <inttypes.h>
#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/units.h"
#include "proto/base/shown.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t number_of(const void *message, const struct leat_cli_member *member) {
    const char *at = (const char *)message + member->offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;

    if (member->kind == MEMBER_BOOL) {
        protobuf_c_boolean flag;

        memcpy(&flag, at, sizeof(flag));
        return flag != 0;
    }
    if (member->kind == MEMBER_U32) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, at, sizeof(wide));
    return wide;
}

static const char *text_of(const void *message, const struct leat_cli_member *member) {
    const char *text;

    memcpy(&text, (const char *)message + member->offset, sizeof(text));
    return text;
}

static const char *readable(const void *message, const struct leat_cli_member *member,
                            char buffer[LEAT_CLI_UNIT_MAX]) {
    if (member->kind == MEMBER_TEXT)
        return text_of(message, member);
    if (member->kind == MEMBER_BOOL)
        return number_of(message, member) ? "yes" : "no";
    if (member->kind == MEMBER_LIMIT && number_of(message, member) == 0)
        return "none";
    if (member->kind == MEMBER_BYTES || member->kind == MEMBER_LIMIT)
        return leat_cli_bytes(number_of(message, member), buffer);
    if (member->kind == MEMBER_NS)
        return leat_cli_duration(number_of(message, member), buffer);
    if (strcmp(member->name, "pid") == 0 || strcmp(member->name, "uid") == 0) {
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu64, number_of(message, member));
        return buffer;
    }
    return leat_cli_count(number_of(message, member), buffer);
}

static void add_cell(struct leat_text *text, const char *value, size_t width) {
    size_t start = text->n_bytes, n;

    leat_text_add_shown(text, value);
    n = text->n_bytes - start;
    leat_text_add(text, "%*s", (int)(n < width ? width - n : 0), "");
}

/* {"name": value, ... without the closing brace. */
void leat_cli_members_json(struct leat_text *text, const struct leat_cli_member *members,
                           const void *message) {
    for (const struct leat_cli_member *member = members; member->name; member++) {
        leat_text_add(text, "%s\"%s\": ", member == members ? "{" : ", ", member->name);
        if (member->kind == MEMBER_TEXT)
            leat_text_add_json(text, text_of(message, member), strlen(text_of(message, member)));
        else if (member->kind == MEMBER_BOOL)
            leat_text_add(text, "%s", number_of(message, member) ? "true" : "false");
        else
            leat_text_add(text, "%" PRIu64, number_of(message, member));
    }
}

/* One member a line. */
void leat_cli_members_list(struct leat_text *text, const struct leat_cli_member *members,
                           const void *message) {
    char buffer[LEAT_CLI_UNIT_MAX];

    for (const struct leat_cli_member *member = members; member->name; member++) {
        const char *value = readable(message, member, buffer);

        if (!member->label || !value[0])
            continue;
        leat_text_add(text, "  %-14s ", member->label);
        add_cell(text, value, 0);
        leat_text_add(text, "\n");
    }
}

/* One message a line, under the labels. */
void leat_cli_members_table(struct leat_text *text, const struct leat_cli_member *members,
                            const void *const *messages, size_t n_messages) {
    char buffer[LEAT_CLI_UNIT_MAX];

    for (size_t row = 0; row <= n_messages; row++) {
        leat_text_add(text, "   ");
        for (const struct leat_cli_member *member = members; member->name; member++) {
            size_t width = strlen(member->label);

            for (size_t i = 0; i < n_messages; i++) {
                size_t n = leat_show(NULL, 0, readable(messages[i], member, buffer));

                width = n > width ? n : width;
            }
            leat_text_add(text, " ");
            add_cell(text, row ? readable(messages[row - 1], member, buffer) : member->label,
                     member[1].name ? width + 1 : 0);
        }
        leat_text_add(text, "\n");
    }
}

static const struct leat_cli_member failure_members[] = {
    MEMBER(Leat__Failure, stream, MEMBER_TEXT, NULL),
    MEMBER(Leat__Failure, reason, MEMBER_TEXT, NULL),
    MEMBER(Leat__Failure, error, MEMBER_TEXT, NULL),
    MEMBER(Leat__Failure, unix_ns, MEMBER_U64, NULL),
    MEMBER(Leat__Failure, is_over, MEMBER_BOOL, NULL),
    MEMBERS_END,
};

void leat_cli_failure_json(struct leat_text *text, const Leat__Failure *failure) {
    if (failure)
        leat_cli_members_json(text, failure_members, failure);
    leat_text_add(text, failure ? "}" : "null");
}

void leat_cli_failure_text(struct leat_text *text, const Leat__Failure *failure) {
    time_t now = time(NULL), seconds = (time_t)(failure->unix_ns / SECOND_NS);
    uint64_t age_ns = now > seconds ? (uint64_t)(now - seconds) * SECOND_NS : 0;
    char when[32], age[LEAT_CLI_UNIT_MAX];
    struct tm parts;

    (void)localtime_r(&seconds, &parts);
    (void)strftime(when, sizeof(when), "%F %T", &parts);
    leat_text_add_shown(text, failure->reason);
    leat_text_add(text, ", %s (%s ago)%s: ", when, leat_cli_duration(age_ns, age),
                  failure->is_over ? ", it goes on since then" : "");
    leat_text_add_shown(text, failure->error);
}

void leat_cli_print_to(struct leat_text *text, FILE *file) {
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, file);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

void leat_cli_print(struct leat_text *text) {
    leat_cli_print_to(text, stdout);
}

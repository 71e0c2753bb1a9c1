#include "client/cli/base/members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/output.h"
#include "client/cli/base/units.h"

#define SECOND_NS UINT64_C(1000000000)

/* The member as people read it; `buffer` holds what is not a text of the message. */
static const char *show_member(const void *message, const struct leat_cli_member *member,
                               char buffer[LEAT_CLI_UNIT_MAX]) {
    union {
        const char *text;
        protobuf_c_boolean flag;
        uint32_t narrow;
        uint64_t wide;
    } value;

    memcpy(&value, (const char *)message + member->offset,
           member->kind == MEMBER_TEXT                               ? sizeof(value.text)
           : member->kind == MEMBER_BOOL                             ? sizeof(value.flag)
           : member->kind == MEMBER_ID || member->kind == MEMBER_U32 ? sizeof(value.narrow)
                                                                     : sizeof(value.wide));
    switch (member->kind) {
    case MEMBER_TEXT:
        return value.text;
    case MEMBER_BOOL:
        return value.flag ? "yes" : "no";
    case MEMBER_ID:
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu32, value.narrow);
        return buffer;
    case MEMBER_U32:
        return leat_cli_count(value.narrow, buffer);
    case MEMBER_U64:
        return leat_cli_count(value.wide, buffer);
    case MEMBER_LIMIT:
        return value.wide ? leat_cli_bytes(value.wide, buffer) : "none";
    case MEMBER_BYTES:
        return leat_cli_bytes(value.wide, buffer);
    case MEMBER_NS:
        return leat_cli_duration(value.wide, buffer);
    }
    return "";
}

void leat_cli_members_list(struct leat_text *text, const struct leat_cli_member *members,
                           const void *message) {
    char buffer[LEAT_CLI_UNIT_MAX];

    for (; members->label; members++) {
        const char *value = show_member(message, members, buffer);

        if (value[0])
            leat_text_add_line(text, "  %-14s %s", members->label, value);
    }
}

void leat_cli_members_table(struct leat_text *text, const struct leat_cli_member *members,
                            const void *const *messages, size_t n_messages) {
    char buffer[LEAT_CLI_UNIT_MAX];
    struct leat_cli_grid grid;
    size_t n_members = 0;

    while (members[n_members].label)
        n_members++;
    leat_cli_grid_init(&grid, n_members);
    grid.indent = 4;
    grid.is_left = true;
    for (size_t i = 0; i < n_members; i++)
        leat_cli_grid_add(&grid, members[i].label);
    for (size_t row = 0; row < n_messages; row++)
        for (size_t i = 0; i < n_members; i++)
            leat_cli_grid_add(&grid, show_member(messages[row], &members[i], buffer));
    leat_cli_grid_print(&grid, text);
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
                  failure->is_over ? ", but the stream works again" : "");
    leat_text_add_shown(text, failure->error);
}

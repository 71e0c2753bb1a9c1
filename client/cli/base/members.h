/* members.h: messages of the daemon, printed from tables of their members: for people and as JSON
 * alike. Owner: the one thread. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

enum leat_cli_member_kind {
    MEMBER_TEXT,
    MEMBER_BOOL,
    MEMBER_U32,
    MEMBER_U64,
    MEMBER_BYTES,
    MEMBER_LIMIT, /* bytes; 0: none */
    MEMBER_NS
};

/* A member of a message: its name in JSON, what people read (NULL: it is not for them), where it
 * is. */
struct leat_cli_member {
    const char *name, *label;
    enum leat_cli_member_kind kind;
    size_t offset;
};

#define MEMBER(type, member, kind_, label_)                                                        \
    { .name = #member, .label = label_, .kind = kind_, .offset = offsetof(type, member) }
#define MEMBERS_END                                                                                \
    { .name = NULL }

/* {"name": value, ... without the closing brace. */
void leat_cli_members_json(struct leat_text *text, const struct leat_cli_member *members,
                           const void *message);
/* One member a line. */
void leat_cli_members_list(struct leat_text *text, const struct leat_cli_member *members,
                           const void *message);
/* One message a line, under the labels. */
void leat_cli_members_table(struct leat_text *text, const struct leat_cli_member *members,
                            const void *const *messages, size_t n_messages);
/* An object, or null. */
void leat_cli_failure_json(struct leat_text *text, const Leat__Failure *failure);
/* "data, 2026-11-23 12:00:01 (4 s ago), over: what the error is". */
void leat_cli_failure_text(struct leat_text *text, const Leat__Failure *failure);
/* To the standard output, or there; freed. */
void leat_cli_print(struct leat_text *text);
void leat_cli_print_to(struct leat_text *text, FILE *file);

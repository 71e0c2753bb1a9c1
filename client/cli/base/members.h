/* members.h: messages of the daemon for people, by tables of their members. Owner: the one thread.
 */
#pragma once

#include <stddef.h>

#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

enum leat_cli_member_kind {
    MEMBER_TEXT,
    MEMBER_BOOL,
    MEMBER_ID, /* 32 bits, without commas */
    MEMBER_U32,
    MEMBER_U64,
    MEMBER_BYTES,
    MEMBER_LIMIT, /* bytes; 0: none */
    MEMBER_NS
};

struct leat_cli_member {
    const char *label;
    enum leat_cli_member_kind kind;
    size_t offset;
};

#define MEMBER(type, member, kind_, label_)                                                        \
    { .label = label_, .kind = kind_, .offset = offsetof(type, member) }
#define MEMBERS_END                                                                                \
    { .label = NULL }

/* One member a line; empty texts are left out. */
void leat_cli_members_list(struct leat_text *text, const struct leat_cli_member *members,
                           const void *message);
/* One message a line, below the labels. */
void leat_cli_members_table(struct leat_text *text, const struct leat_cli_member *members,
                            const void *const *messages, size_t n_messages);
/* "data, 2026-11-23 12:00:01 (4 s ago): what the error is". */
void leat_cli_failure_text(struct leat_text *text, const Leat__Failure *failure);

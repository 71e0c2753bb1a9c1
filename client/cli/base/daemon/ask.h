/* ask.h: a command that asks the daemon one question and prints its answer. */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "proto/base/text.h"

/* reply: the message of the verb, as Leat__StatusReply. */
typedef void leat_cli_answer(struct leat_text *text, const void *reply,
                             const struct leat_cli_arguments *arguments);

struct leat_cli_question {
    Leat__ControlRequest__VerbCase verb;
    void *message;             /* of the verb; NULL: an empty one */
    int timeout_ms;            /* 0: LEAT_CLI_CONTROL_TIMEOUT_MS */
    leat_cli_answer *add_text; /* for people */
    leat_cli_answer *add_json; /* for --json; NULL: the message's fields */
    bool is_list;              /* --json prints only the message's first field, an array */
};

/* An exit status; err says what failed. */
int leat_cli_ask(const struct leat_cli_question *question,
                 const struct leat_cli_arguments *arguments, struct leat_error *err);

#include "client/cli/base/daemon/ask.h"

#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"

int leat_cli_ask(const struct leat_cli_question *question,
                 const struct leat_cli_arguments *arguments, struct leat_error *err) {
    int timeout_ms = question->timeout_ms ? question->timeout_ms : LEAT_CLI_CONTROL_TIMEOUT_MS;
    struct leat_text text = {.data = NULL};
    int status;
    Leat__ControlReply *reply =
        leat_cli_control(NULL, question->verb, question->message, timeout_ms, &status, err);

    if (!reply)
        return status;
    /* The verbs' replies are a union of pointers. */
    if (!arguments->json)
        question->add_text(&text, reply->status, arguments);
    else if (question->add_json)
        question->add_json(&text, reply->status, arguments);
    else if (question->is_list)
        leat_cli_message_list_json(&text, reply->status);
    else
        leat_cli_message_json(&text, NULL, reply->status);
    if (arguments->json)
        leat_text_add(&text, "\n");
    if (text.failed)
        status = leat_error_oom(err) < 0 ? LEAT_CLI_FAILURE : status;
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

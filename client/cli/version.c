/* version.c: `leatctl version`. */
#include <stdio.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "client/leat.h"
#include "proto/base/json_writer.h"
#include "proto/packet.h"

static int version_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    char protocol[32];

    (void)err;
    (void)snprintf(protocol, sizeof(protocol), "%d.%d", LEAT_PROTOCOL_MAJOR, LEAT_PROTOCOL_MINOR);
    if (arguments->json) {
        leat_json_open(&text, NULL, '{');
        leat_json_add_text(&text, "version", leat_version());
        leat_json_add_text(&text, "protocol", protocol);
        leat_json_close(&text, '}');
        leat_text_add(&text, "\n");
    } else {
        leat_text_add(&text, "leatctl %s, protocol %s\n", leat_version(), protocol);
    }
    leat_cli_print(&text);
    return LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_version_command = {
    .name = "version",
    .group = LEAT_CLI_GROUP_LEATCTL,
    .summary = "show the versions of leatctl and of its protocol",
    .examples = "  leatctl version --json\n",
    .options = leat_cli_no_options,
    .run = version_main,
};

/* version.c: `leatctl version`. */
#include <stdio.h>

#include "client/cli/base/arguments.h"
#include "client/leat.h"
#include "proto/packet.h"

static int version_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    (void)err;
    printf(arguments->json ? "{\"version\": \"%s\", \"protocol\": \"%d.%d\"}\n"
                           : "leatctl %s, protocol %d.%d\n",
           leat_version(), LEAT_PROTOCOL_MAJOR, LEAT_PROTOCOL_MINOR);
    return LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_version_command = {
    .name = "version",
    .group = LEAT_CLI_GROUP_LEATCTL,
    .summary = "show versions",
    .examples = "  leatctl version --json\n",
    .options = leat_cli_no_options,
    .run = version_main,
};

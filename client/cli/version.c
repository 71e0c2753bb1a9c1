/* version.c: `leatctl version`. */
#include <stdio.h>

#include "client/cli/commands.h"
#include "client/leat.h"
#include "proto/packet.h"

int leat_cli_version(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    (void)err;
    printf(arguments->json ? "{\"version\": \"%s\", \"protocol\": \"%d.%d\"}\n"
                           : "leatctl %s, protocol %d.%d\n",
           leat_version(), LEAT_PROTOCOL_MAJOR, LEAT_PROTOCOL_MINOR);
    return LEAT_CLI_OK;
}

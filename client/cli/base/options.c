/* options.c: see options.h. */
#include "client/cli/base/options.h"

const char *const leat_cli_deliveries[] = {"shared", "copy", NULL};

/* error_json.h: the error value for programs, and the exit status that it means. */
#pragma once

#include "proto/base/error.h"
#include "proto/base/text.h"

/* {"code": -2, "file": ..., "line": ..., "column": ..., "path": ..., "message": ..., "text": ...}
 */
void leat_cli_error_json(struct leat_text *text, const struct leat_error *err);

/* LEAT_CLI_DATA if the error has a place in a file or configuration, else LEAT_CLI_FAILURE. */
int leat_cli_error_status(const struct leat_error *err);

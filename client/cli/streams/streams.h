/* streams.h: what `leatctl streams` shows besides streams. Each returns an exit status. */
#pragma once

#include "client/cli/base/arguments.h"

int leat_cli_streams_users(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_streams_trainers(const struct leat_cli_arguments *arguments, struct leat_error *err);

/* daemon.h: the caches that the running daemon sees. */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"

/* Lists them. An exit status. */
int leat_cli_cache_daemon_ls(bool as_json, struct leat_error *err);

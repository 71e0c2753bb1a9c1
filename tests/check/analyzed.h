/* analyzed.h: what analyze.py tells gcc of functions in other files: they return an error, never 0.
 */
#pragma once

#include "pipeline/spec/bind.h"
#include "proto/base/error.h"

#define leat_error_set(...)    ((void)leat_error_set(__VA_ARGS__), -1)
#define leat_error_oom(err)    ((void)leat_error_oom(err), -1)
#define leat_config_error(...) ((void)leat_config_error(__VA_ARGS__), -1)

/* stream_file.h: the streams of a YAML file, and one of them by name. */
#pragma once

#include "proto/spec.h"

struct leat_cli_streams {
    struct leat_spec **specs;
    size_t n_specs;
};

/* 0 or -errno. */
int leat_cli_streams_load(const char *file, struct leat_cli_streams *ret_streams,
                          struct leat_error *err);
void leat_cli_streams_deinit(struct leat_cli_streams *streams);

/* The stream of that name; name NULL: the only one. NULL with an error that tells which there are.
 */
const struct leat_spec *leat_cli_streams_find(const struct leat_cli_streams *streams,
                                              const char *file, const char *name,
                                              struct leat_error *err);

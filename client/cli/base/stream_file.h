/* stream_file.h: the streams of a YAML file, and one of them by name. */
#pragma once

#include "client/cli/base/arguments.h"
#include "proto/spec.h"

struct leat_cli_streams {
    struct leat_spec **specs;
    size_t n_specs;
};

/* The file as a tree of values. Deinit it in any case. 0 or -errno. */
int leat_cli_document_load(const char *file, struct leat_value *ret_document,
                           struct leat_error *err);
/* All streams of the file, with values in place of those in it (pipeline/spec/override.h). Deinit
 * them in any case. 0 or -errno. */
int leat_cli_streams_load(const char *file, const char *const *overrides, size_t n_overrides,
                          struct leat_cli_streams *ret_streams, struct leat_error *err);
void leat_cli_streams_deinit(struct leat_cli_streams *streams);
/* The stream of that name; name NULL: the only one. NULL with an error that lists the names. */
const struct leat_spec *leat_cli_streams_find(const struct leat_cli_streams *streams,
                                              const char *file, const char *name,
                                              struct leat_error *err);
/* Loads the file and finds one of its streams, which the caller frees. */
struct leat_spec *leat_cli_spec_load(const char *file, const char *name, struct leat_error *err);
/* The stream of the command line (FILE [STREAM]), given to `use`. Returns its exit status, or that
 * of the failure to load it. */
typedef int leat_cli_spec_use(const struct leat_spec *spec,
                              const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_spec_with(const struct leat_cli_arguments *arguments, leat_cli_spec_use *use,
                       struct leat_error *err);

/* Finds the index of a stage by its name, `name[2]` for the second of that name, or its index;
 * "source" is -1. LEAT_CLI_OK or LEAT_CLI_USAGE. */
int leat_cli_find_stage(const struct leat_spec *spec, const char *after, int *ret_stage,
                        struct leat_error *err);

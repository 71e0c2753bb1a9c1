/* spec.h: a stream as it was written: a source, stages, options, each with its arguments still
 * untyped.
 *
 * The same struct comes from YAML (pipeline/spec/yaml.h), from the builder in libleat and from the
 * wire (StreamSpec of leat.proto). Whether it makes sense is decided by pipeline/spec/bind.h alone.
 * Heap-owned; free with leat_spec_free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/value.h"

#define LEAT_SPEC_MAX_STAGES 256

struct leat_stage_spec {
    char *kind; /* "shuffle" */
    uint32_t line, column;
    struct leat_value args; /* a map, or NULL-kind for none */
};

struct leat_spec {
    char *name; /* of the stream */
    char *file; /* where it was written, for errors and relative paths; NULL: built in code */
    uint32_t line, column;
    struct leat_stage_spec source; /* kind "csv", "jsonl" */
    struct leat_value options;     /* a map of stream options (on_error, seed, ...), or NULL-kind */
    size_t n_stages;
    struct leat_stage_spec *stages;
};

struct leat_spec *leat_spec_free(struct leat_spec *spec);
int leat_spec_new(const char *name, const char *file, struct leat_spec **ret_spec);
int leat_spec_add_stage(struct leat_spec *spec, const char *kind,
                        struct leat_stage_spec **ret_stage);
int leat_spec_copy(const struct leat_spec *spec, struct leat_spec **ret_spec);
/* True if the same was written: source, options and stages. Equal paths may mean other files in
 * another folder. */
bool leat_spec_equal(const struct leat_spec *a, const struct leat_spec *b);

/* The wire: protobuf StreamSpec. Unpacking checks depth, counts and lengths; *ret_data is
 * malloc'ed. 0 or -errno. */
struct Leat__StreamSpec;
int leat_spec_pack(const struct leat_spec *spec, struct Leat__StreamSpec **ret_message);
void leat_spec_message_free(struct Leat__StreamSpec *message);
int leat_spec_unpack(const struct Leat__StreamSpec *message, struct leat_spec **ret_spec,
                     struct leat_error *err);

/* yaml.h: YAML text to values with lines and columns (libyaml). Sans-I/O.
 *
 * One document, at most LEAT_YAML_MAX_BYTES. Duplicate keys, anchors, aliases, tags and keys that
 * are not scalars are refused by line and column.
 */
#pragma once

#include "proto/spec.h"
#include "proto/value.h"

#define LEAT_YAML_MAX_BYTES (1U << 20)

/* Parses the whole text; *ret_value is a tree to leat_value_deinit(). An empty document is a
 * NULL-kind value. */
int leat_yaml_parse(const char *text, size_t n_bytes, const char *file,
                    struct leat_value *ret_value, struct leat_error *err);

/* Reads the spec of each stream under the key `streams` of a parsed document, in order. Checks the
 * shape of each stream (source: {KIND: {args}}, stages: [{KIND: {args}}], other keys are options).
 * *ret_specs is an array to free, with each spec. */
int leat_yaml_streams(const struct leat_value *document, const char *file,
                      struct leat_spec ***ret_specs, size_t *ret_n_specs, struct leat_error *err);

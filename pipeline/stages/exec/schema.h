/* exec/schema.h: what a helper is asked about a record, and what its answer must hold.
 *
 * A request is a line of JSON: an object with a tag and the fields of a record. An answer is an
 * object with every field of the schema in its exact type; other members are ignored. Owner: the
 * config; stores run in any thread.
 */
#pragma once

#include "pipeline/block/json_scalar.h"
#include "pipeline/spec/field_type.h"
#include "pipeline/stage/stage.h"
#include "pipeline/stages/exec/worker.h"

struct leat_exec_field {
    const char *name; /* of the config */
    struct leat_field_type type;
    uint32_t column;
};

struct leat_exec_schema {
    struct leat_exec_field *fields;
    size_t n_fields;
    uint32_t *inputs; /* columns */
    char **input_names;
    size_t n_inputs;
};

/* Texts and lists of one field, of all rows of a block, as answers come. */
struct leat_exec_values {
    uint8_t *data;
    size_t n_bytes, capacity;
};

#define LEAT_EXEC_VALUES_MAX (UINT32_C(1) << 30) /* bytes of one field in a block */

/* `name: type`, see field_type.h. Names and types are owned by the config. */
int leat_exec_schema_declare(struct leat_exec_schema *schema, const struct leat_config *config,
                             const char *arg, const struct leat_text_map *declared,
                             struct leat_error *err);
/* Finds the inputs (none: all fields) and adds the new columns. */
int leat_exec_schema_plan(struct leat_exec_schema *schema, const struct leat_config *config,
                          const struct leat_texts *inputs, struct leat_planner *planner,
                          struct leat_error *err);
void leat_exec_schema_deinit(struct leat_exec_schema *schema);

/* Adds the request of that row as a line whose tag is not set yet. -EINVAL: a text is not valid
 * UTF-8: *ret_input names it, and nothing is added. -ENOMEM. */
int leat_exec_schema_ask(const struct leat_exec_schema *schema, const struct leat_map *map,
                         uint32_t row, struct leat_text *text, const char **ret_input);
/* Sets the tag of the request that begins there. */
void leat_exec_schema_tag(char *request, uint32_t tag);
/* True if an object without a tag is meant as an answer: it has a field of the schema, or an error.
 */
bool leat_exec_schema_is_answer(const struct leat_exec_schema *schema, struct leat_json_node line);
/* True for {"error": "reason"}, if the schema has no field called error. */
bool leat_exec_schema_says_error(const struct leat_exec_schema *schema,
                                 struct leat_json_node answer, const char **ret_reason);

/* True for {"_drop": true}: the record is left out. */
bool leat_exec_schema_says_drop(struct leat_json_node answer);

/* Makes the needed columns, with empty values. values: [n_fields]. 0 or -ENOMEM. */
int leat_exec_schema_begin(const struct leat_exec_schema *schema, struct leat_map *map,
                           struct leat_exec_values *values);
/* Stores an answer. -EINVAL: it does not match the schema; *err says why, prefixed by the field.
 * -EOVERFLOW: too much for one block. -ENOMEM. */
int leat_exec_schema_store(const struct leat_exec_schema *schema, struct leat_map *map,
                           struct leat_exec_values *values, uint32_t row,
                           struct leat_json_node answer, struct leat_error *err);
/* Moves the values into the block. 0 or -ENOMEM. */
int leat_exec_schema_end(const struct leat_exec_schema *schema, struct leat_map *map,
                         struct leat_exec_values *values);

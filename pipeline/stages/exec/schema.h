/* exec/schema.h: what a helper is given of a record, and what its answer must hold.
 *
 * A request is a tag and the fields of one record as a JSON object in one line; an answer is an
 * object that has every field of the schema, with just its type. Others that it has are passed
 * over. Owner: the config; stores run in any thread.
 */
#pragma once

#include "pipeline/block/render.h"
#include "pipeline/spec/field_type.h"
#include "pipeline/stage/stage.h"
#include "pipeline/stages/exec/asked.h"
#include "pipeline/tokenizer/json.h"

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

/* Texts and lists of one field, of all rows of a block, while they come in. */
struct leat_exec_values {
    uint8_t *data;
    size_t n_bytes, capacity;
};

#define LEAT_EXEC_VALUES_MAX (UINT32_C(1) << 30) /* bytes of one field in a block */

/* `name: type`, see field_type.h. Names and types are owned by the config. */
int leat_exec_schema_declare(struct leat_exec_schema *schema, const struct leat_config *config,
                             const char *arg, const struct leat_text_map *declared,
                             struct leat_error *err);
/* The inputs (no items: all fields there are) and the new columns. */
int leat_exec_schema_plan(struct leat_exec_schema *schema, const struct leat_config *config,
                          const struct leat_texts *inputs, struct leat_planner *planner,
                          struct leat_error *err);
void leat_exec_schema_deinit(struct leat_exec_schema *schema);

/* Adds the request of that row and the end of its line. -EINVAL: a text is not valid UTF-8:
 * *ret_input names it, and nothing is added. -ENOMEM. */
int leat_exec_schema_ask(const struct leat_exec_schema *schema, const struct leat_map *map,
                         uint32_t row, uint32_t tag, struct leat_text *text,
                         const char **ret_input);
/* The same request with another tag; it begins at `request`. */
void leat_exec_schema_retag(char *request, uint32_t tag);
/* Whether an object without a tag is meant as an answer: it has a field of the schema, or an error.
 */
bool leat_exec_schema_is_answer(const struct leat_exec_schema *schema, struct leat_json_node line);
/* {"error": "reason"} is an answer too, where no field of the schema is called so. */
bool leat_exec_schema_says_error(const struct leat_exec_schema *schema,
                                 struct leat_json_node answer, const char **ret_reason);

/* {"_drop": true}: the record is to be left out. */
bool leat_exec_schema_says_drop(struct leat_json_node answer);

/* Memory for the columns that are needed, all of them empty; values: [n_fields]. 0 or -ENOMEM. */
int leat_exec_schema_begin(const struct leat_exec_schema *schema, struct leat_map *map,
                           struct leat_exec_values *values);
/* Takes an answer: 0; -EINVAL: not of the schema, *err says what, under the name of the field;
 * -EOVERFLOW: too much for one block; -ENOMEM. */
int leat_exec_schema_store(const struct leat_exec_schema *schema, struct leat_map *map,
                           struct leat_exec_values *values, uint32_t row,
                           struct leat_json_node answer, struct leat_error *err);
/* Puts the values where they belong. 0 or -ENOMEM. */
int leat_exec_schema_end(const struct leat_exec_schema *schema, struct leat_map *map,
                         struct leat_exec_values *values);

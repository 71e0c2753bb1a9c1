/* shared_jsonl_fields.h: which fields a source of JSON or columns has, and where they are in a
 * record.
 *
 * The paths of all fields form a tree of keys. A record is walked once, in its own order. Each
 * member is looked up among the children of its node, beginning behind the last one found: so
 * records with members in a steady order cost one comparison a member.
 *
 * Owner: the source's config; immutable once probed.
 */
#pragma once

#include "pipeline/stage/stage.h"
#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/range.h"

#define LEAT_JSONL_PATH_MAX 32 /* keys in a path */

struct leat_jsonl_field {
    char name[LEAT_NAME_MAX + 1];
    enum leat_dtype dtype; /* of the elements; NONE: only null was seen */
    bool is_list;
    uint64_t width, max_length; /* of a list, as they were declared; 0: any number */
    bool is_json;               /* TEXT: the value as it is written, of any kind */
    bool is_unusable;     /* inferred: an array of something else than numbers, or an object */
    bool is_left_out;     /* it is such an array, and not read */
    bool has_texts;       /* its first item is a text */
    uint32_t column;      /* of the planner */
    const char *fallback; /* its value where it is missing, or NULL; of the config */
};

/* A key of some path. Node 0 is the record itself. */
struct leat_jsonl_node {
    char *key;
    size_t n_key;
    uint32_t first_child, next; /* 0: none */
    int32_t field;              /* -1: none ends here */
};

struct leat_jsonl_fields {
    struct leat_jsonl_field *fields;
    struct leat_jsonl_node *nodes;
    uint32_t n_fields, n_nodes;
    size_t fields_capacity, nodes_capacity;
    bool has_json; /* a field is the JSON of its value */
};

/* One record's values. Owner: the job. */
struct leat_jsonl_values {
    const struct leat_jsonl_fields *fields;
    struct leat_json_node *values; /* [n_fields] */
    struct leat_range *ranges;     /* [n_fields]: of is_json: where in the record the value is */
    uint32_t *value_stamps;        /* [n_fields]: == stamp: there is a value */
    uint32_t *node_stamps;         /* [n_nodes]: == stamp: the key was met */
    uint32_t stamp;                /* of the record */
};

void leat_jsonl_fields_deinit(struct leat_jsonl_fields *fields);

/* Adds the fields of a map from names to declarations: a type (field_type.h), "json", or one of
 * these with a path and a space in front. Errors are placed at `arg`. */
int leat_jsonl_fields_declare(struct leat_jsonl_fields *fields, const struct leat_config *config,
                              const char *arg, const struct leat_text_map *declared,
                              struct leat_error *err);

/* Widens the fields by what one record holds. An error says which field does not fit. */
int leat_jsonl_fields_infer(struct leat_jsonl_fields *fields, struct leat_json_node record,
                            struct leat_error *err);

/* A number that each record raises that tells leat_jsonl_fields_infer() something. */
size_t leat_jsonl_fields_n_known(const struct leat_jsonl_fields *fields);

/* Sets the lengths of the planner's field as declared. */
void leat_jsonl_field_bound(const struct leat_jsonl_field *field, struct leat_field *planned);
/* Rejects the rows whose lists have more or fewer elements than were declared. */
void leat_jsonl_fields_check_lengths(const struct leat_jsonl_fields *fields, struct leat_map *map);

/* Adds a field without a path. 0 or -ENOMEM. */
int leat_jsonl_fields_add(struct leat_jsonl_fields *fields, const char *name,
                          struct leat_jsonl_field **ret_field);
/* Sets the fallbacks of fields from a map. Errors are placed at `arg`. */
int leat_jsonl_fields_set_missing(struct leat_jsonl_fields *fields,
                                  const struct leat_config *config, const char *arg,
                                  const struct leat_text_map *missing, struct leat_error *err);
/* Stores the fallback of a scalar (up to 8 bytes) as its dtype. False: it does not fit. */
bool leat_jsonl_field_fallback(const struct leat_jsonl_field *field, void *value);

/* Rejects a row whose field is missing and has no fallback. */
void leat_jsonl_field_reject_missing(const struct leat_jsonl_field *field, struct leat_map *map,
                                     uint32_t row);

/* Memory for values, in the arena; 0 or -ENOMEM. */
int leat_jsonl_values_init(struct leat_jsonl_values *values, const struct leat_jsonl_fields *fields,
                           struct leat_arena *arena);
/* Finds the fields of a record, an OBJECT. Of equal keys the last counts. `bytes` is what it was
 * parsed from. */
void leat_jsonl_values_find(struct leat_jsonl_values *values, struct leat_json_node record,
                            const uint8_t *bytes);
/* Where a found field's value is in the bytes. */
struct leat_range leat_jsonl_values_locate(struct leat_jsonl_values *values,
                                           struct leat_json_node record, const uint8_t *bytes,
                                           uint32_t field);
/* The value of a field, or NULL: missing or null. */
const struct leat_json_node *leat_jsonl_values_get(const struct leat_jsonl_values *values,
                                                   uint32_t field);

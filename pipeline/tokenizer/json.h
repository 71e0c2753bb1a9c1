/* json.h: JSON documents in memory, for JSON Lines records and tokenizer files.
 *
 * Strict: RFC 8259 and valid UTF-8, nothing else. A parser holds one document at a time; nodes are
 * small values that refer to it and are valid until the next parse or free. Integers that fit
 * int64_t are INT, larger ones that fit uint64_t are UINT, all other numbers DOUBLE (one beyond
 * these, and a string with half of a surrogate pair, is an error, or as for records). Of equal keys
 * the last one counts, as in Python's json.
 *
 * Owner: the caller; one parser is used by one thread at a time, parsers are independent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "pipeline/tokenizer/json_locate.h"
#include "proto/base/error.h"

#define LEAT_JSON_BYTES_MAX (UINT32_C(1) << 30) /* of one document */
#define LEAT_JSON_PADDING   64                  /* readable bytes that spare a copy, see parse */

enum leat_json_kind {
    LEAT_JSON_NULL,
    LEAT_JSON_BOOL,
    LEAT_JSON_INT,
    LEAT_JSON_UINT, /* above INT64_MAX */
    LEAT_JSON_DOUBLE,
    LEAT_JSON_STRING,
    LEAT_JSON_ARRAY,
    LEAT_JSON_OBJECT,
    LEAT_JSON_HALF_STRING, /* of a record: with half of a surrogate pair */
};

struct leat_json;

struct leat_json_node {
    const void *document;
    size_t index;
};

struct leat_json_iterator {
    struct leat_json_node at, end;
    bool is_object;
};

/* A parser with memory for documents of capacity_bytes (about 14 times as much); it grows when a
 * larger one comes. 0 or -ENOMEM. */
int leat_json_new(size_t capacity_bytes, struct leat_json **ret_json);
struct leat_json *leat_json_free(struct leat_json *json);

/* Parses one document. n_readable >= n_bytes: that many bytes at `data` may be read; with
 * LEAT_JSON_PADDING more than n_bytes (of any content) the input is not copied. -EINVAL: malformed,
 * with what is wrong and, in err's line and column, where (from 1, within data); -E2BIG: above
 * LEAT_JSON_BYTES_MAX; -ENOMEM. */
int leat_json_parse(struct leat_json *json, const void *data, size_t n_bytes, size_t n_readable,
                    struct leat_json_node *ret_root, struct leat_error *err);

/* The same of a record, in which a wrong value is an error only for callers that read it: a number
 * beyond the range of all kinds is DOUBLE, the nearest one or infinite; a string with half of a
 * surrogate pair is HALF_STRING, with U+FFFD in its place. */
int leat_json_parse_record(struct leat_json *json, const void *data, size_t n_bytes,
                           size_t n_readable, struct leat_json_node *ret_root,
                           struct leat_error *err);
/* True if the last record has such values. */
bool leat_json_is_odd(const struct leat_json *json);
/* True if a DOUBLE of a record is the nearest one of an integer, and not that integer. */
bool leat_json_is_rounded(struct leat_json_node node);
/* An integer that is written -0 is an INT; leat_json_is_minus_zero() knows it only after this call
 * with the bytes of its record. 0 or -ENOMEM. */
int leat_json_mark_zeros(struct leat_json *json, const void *data, size_t n_bytes);
bool leat_json_is_minus_zero(struct leat_json_node node);
/* True if documents may hold such a zero; fast. */
bool leat_json_may_have_minus_zero(const void *data, size_t n_bytes);

enum leat_json_kind leat_json_kind(struct leat_json_node node);
/* "null", "a boolean", "an integer", "a number", "a string", "an array", "an object". */
const char *leat_json_kind_name(enum leat_json_kind kind);

/* The value of a node of just that kind. */
bool leat_json_bool(struct leat_json_node node);
int64_t leat_json_int(struct leat_json_node node);
uint64_t leat_json_uint(struct leat_json_node node);
double leat_json_double(struct leat_json_node node); /* of INT and UINT too */
/* Also of a HALF_STRING. UTF-8, terminated; may hold NUL bytes; valid until the next parse. */
const char *leat_json_string(struct leat_json_node node, size_t *ret_n_bytes);

/* Items of an array, members of an object (equal keys counted each). */
size_t leat_json_n_items(struct leat_json_node node);

/* Items of an ARRAY, or members of an OBJECT in the order of the document:
 *     leat_json_iterate(array, &it);
 *     while (leat_json_next(&it, &item)) ...
 */
void leat_json_iterate(struct leat_json_node node, struct leat_json_iterator *ret_iterator);
bool leat_json_next(struct leat_json_iterator *iterator, struct leat_json_node *ret_item);
bool leat_json_next_member(struct leat_json_iterator *iterator, const char **ret_key,
                           size_t *ret_n_key, struct leat_json_node *ret_value);

/* The value of that key, false if there is none or the node is no object. */
bool leat_json_find(struct leat_json_node object, const char *key, size_t n_key,
                    struct leat_json_node *ret_value);

/* True if bytes are valid UTF-8, at some 20 GB/s. */
bool leat_json_is_utf8(const void *data, size_t n_bytes);

#ifdef __cplusplus
}
#endif

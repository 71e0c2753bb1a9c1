/* json_writer.h: a writer of JSON. Every JSON text of leat is written with it.
 *
 * Each function writes one value: with a key inside an object, with NULL in its place inside an
 * array or at the top. The writer puts the commas; it knows from the text's last byte whether one
 * is due. Running out of memory marks the text as failed (see text.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/text.h"

/* '{' opens an object and '[' an array; '}' and ']' close them. */
void leat_json_open(struct leat_text *json, const char *key, char bracket);
void leat_json_close(struct leat_text *json, char bracket);

/* Control characters and bytes that are not UTF-8 are escaped; a value of NULL is null. */
void leat_json_add_text(struct leat_text *json, const char *key, const char *value);
void leat_json_add_bytes(struct leat_text *json, const char *key, const void *bytes,
                         size_t n_bytes);
void leat_json_add_int(struct leat_text *json, const char *key, int64_t value);
void leat_json_add_uint(struct leat_text *json, const char *key, uint64_t value);
/* Nine digits; infinities and NaN are null. */
void leat_json_add_double(struct leat_text *json, const char *key, double value);
void leat_json_add_bool(struct leat_text *json, const char *key, bool value);
void leat_json_add_null(struct leat_text *json, const char *key);
/* An array of texts; values ends with NULL. */
void leat_json_add_texts(struct leat_text *json, const char *key, const char *const *values);
/* A value that is JSON already. */
void leat_json_add_raw(struct leat_text *json, const char *key, const char *value, size_t n_bytes);

/* Puts the next value on a line of its own. */
void leat_json_line(struct leat_text *json);

#include "proto/base/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool needs_comma(const struct leat_text *json) {
    return json->n_bytes > 0 && !strchr("{[ \n", json->data[json->n_bytes - 1]);
}

static void begin_value(struct leat_text *json, const char *key) {
    if (needs_comma(json))
        leat_text_add_bytes(json, ", ", 2);
    if (key) {
        leat_text_add_json(json, key, strlen(key));
        leat_text_add_bytes(json, ": ", 2);
    }
}

void leat_json_open(struct leat_text *json, const char *key, char bracket) {
    begin_value(json, key);
    leat_text_add_bytes(json, &bracket, 1);
}

void leat_json_close(struct leat_text *json, char bracket) {
    leat_text_add_bytes(json, &bracket, 1);
}

void leat_json_add_raw(struct leat_text *json, const char *key, const char *value, size_t n_bytes) {
    begin_value(json, key);
    leat_text_add_bytes(json, value, n_bytes);
}

void leat_json_add_null(struct leat_text *json, const char *key) {
    leat_json_add_raw(json, key, "null", 4);
}

void leat_json_add_bool(struct leat_text *json, const char *key, bool value) {
    leat_json_add_raw(json, key, value ? "true" : "false", value ? 4 : 5);
}

void leat_json_add_bytes(struct leat_text *json, const char *key, const void *bytes,
                         size_t n_bytes) {
    begin_value(json, key);
    leat_text_add_json(json, bytes, n_bytes);
}

void leat_json_add_text(struct leat_text *json, const char *key, const char *value) {
    if (value)
        leat_json_add_bytes(json, key, value, strlen(value));
    else
        leat_json_add_null(json, key);
}

void leat_json_add_int(struct leat_text *json, const char *key, int64_t value) {
    begin_value(json, key);
    leat_text_add(json, "%" PRId64, value);
}

void leat_json_add_uint(struct leat_text *json, const char *key, uint64_t value) {
    begin_value(json, key);
    leat_text_add(json, "%" PRIu64, value);
}

void leat_json_add_double(struct leat_text *json, const char *key, double value) {
    if (!isfinite(value)) {
        leat_json_add_null(json, key);
        return;
    }
    begin_value(json, key);
    leat_text_add(json, "%.9g", value);
}

void leat_json_add_texts(struct leat_text *json, const char *key, const char *const *values) {
    leat_json_open(json, key, '[');
    for (; *values; values++)
        leat_json_add_text(json, NULL, *values);
    leat_json_close(json, ']');
}

void leat_json_line(struct leat_text *json) {
    if (needs_comma(json))
        leat_text_add_bytes(json, ",", 1);
    leat_text_add_bytes(json, "\n", 1);
}

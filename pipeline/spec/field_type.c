#include "pipeline/spec/field_type.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/spec/bind.h"

static bool parse_dtype(const char *text, size_t n, struct leat_field_type *type) {
    char name[32];

    if (n >= sizeof(name))
        return false;
    memcpy(name, text, n);
    name[n] = '\0';
    type->dtype = leat_dtype_parse(name);
    return type->dtype != LEAT_DTYPE_NONE && !(type->is_list && type->dtype == LEAT_DTYPE_TEXT);
}

/* "]", "8]", "<=512]" */
static bool parse_length(const char *text, struct leat_field_type *type) {
    bool is_bound = text[0] == '<' && text[1] == '=';
    int64_t length;
    size_t n;

    text += is_bound ? 2 : 0;
    n = strlen(text);
    if (n == 0 || text[n - 1] != ']')
        return false;
    if (n == 1)
        return !is_bound;
    if (leat_parse_int(text, n - 1, &length) < 0 || length < 1 || length > LEAT_FIELD_LENGTH_MAX)
        return false;
    type->max_length = (uint64_t)length;
    type->width = is_bound ? 0 : (uint64_t)length;
    return true;
}

bool leat_field_type_parse(const char *text, struct leat_field_type *ret_type) {
    struct leat_field_type *type = ret_type;
    size_t n = strlen(text);
    const char *bracket = strchr(text, '[');

    *type = (struct leat_field_type){.dtype = LEAT_DTYPE_NONE};
    if (n > 6 && strncmp(text, "list<", 5) == 0 && text[n - 1] == '>') {
        type->is_list = true;
        return parse_dtype(text + 5, n - 6, type);
    }
    if (!bracket)
        return parse_dtype(text, n, type);
    type->is_list = true;
    return parse_dtype(text, (size_t)(bracket - text), type) && parse_length(bracket + 1, type);
}

const char *leat_field_type_print(enum leat_dtype dtype, bool is_list, char *buffer) {
    (void)snprintf(buffer, LEAT_FIELD_TYPE_TEXT_MAX, "%s%s", leat_dtype_name(dtype),
                   is_list ? "[]" : "");
    return buffer;
}

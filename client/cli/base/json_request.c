#include "client/cli/base/json_request.h"

#include <errno.h>
#include <string.h>

#include "client/cli/base/line_input.h"

_Static_assert(LEAT_CLI_LINE_PADDING >= LEAT_JSON_PADDING, "lines are parsed where they lie");

static const char *wanted_name(enum leat_json_kind kind) {
    return kind == LEAT_JSON_STRING   ? "a string"
           : kind == LEAT_JSON_BOOL   ? "a boolean"
           : kind == LEAT_JSON_ARRAY  ? "an array"
           : kind == LEAT_JSON_OBJECT ? "an object"
                                      : "another value";
}

int leat_cli_request_parse(struct leat_json *json, const char *line, size_t n_bytes,
                           struct leat_json_node *ret_object, struct leat_error *err) {
    int r = leat_json_parse(json, line, n_bytes, n_bytes + LEAT_JSON_PADDING, ret_object, err);

    if (r == 0 && leat_json_kind(*ret_object) != LEAT_JSON_OBJECT)
        r = leat_error_set(err, -EINVAL, "%s, but a line must be an object",
                           leat_json_kind_name(leat_json_kind(*ret_object)));
    return r;
}

int leat_cli_request_member(struct leat_json_node object, const char *key, enum leat_json_kind kind,
                            struct leat_json_node *ret_member, struct leat_error *err) {
    enum leat_json_kind found;

    if (!leat_json_find(object, key, strlen(key), ret_member))
        return 0;
    found = leat_json_kind(*ret_member);
    if (found == LEAT_JSON_NULL)
        return 0;
    if (found == kind)
        return 1;
    leat_error_set(err, -EINVAL, "%s, but it must be %s", leat_json_kind_name(found),
                   wanted_name(kind));
    leat_error_prefix(err, "%s", key);
    return -EINVAL;
}

int leat_cli_request_required(struct leat_json_node object, const char *key,
                              enum leat_json_kind kind, struct leat_json_node *ret_member,
                              struct leat_error *err) {
    int r = leat_cli_request_member(object, key, kind, ret_member, err);

    if (r != 0)
        return r < 0 ? r : 0;
    return leat_error_set(err, -EINVAL, "\"%s\" is missing: it must be %s", key, wanted_name(kind));
}

int leat_cli_request_bool(struct leat_json_node object, const char *key, bool *value,
                          struct leat_error *err) {
    struct leat_json_node member;
    int r = leat_cli_request_member(object, key, LEAT_JSON_BOOL, &member, err);

    if (r > 0)
        *value = leat_json_bool(member);
    return r < 0 ? r : 0;
}

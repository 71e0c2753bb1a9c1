#include "pipeline/stages/normalize/stats.h"

#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"

static bool find(struct leat_json_node object, const char *key, struct leat_json_node *ret_node) {
    return leat_json_find(object, key, strlen(key), ret_node);
}

static int read_number(struct leat_json_node column, const char *name, const char *key,
                       const char *file, double *ret_number, struct leat_error *err) {
    struct leat_json_node node;
    enum leat_json_kind kind;

    if (!find(column, key, &node))
        return leat_error_set(err, -EINVAL, "%s: columns.%s has no \"%s\": is it a number?", file,
                              name, key);
    kind = leat_json_kind(node);
    if (kind != LEAT_JSON_INT && kind != LEAT_JSON_UINT && kind != LEAT_JSON_DOUBLE)
        return leat_error_set(err, -EINVAL, "%s: columns.%s.%s is %s, not a number", file, name,
                              key, leat_json_kind_name(kind));
    *ret_number = leat_json_double(node);
    return 0;
}

static int read_column(struct leat_json_node root, const char *name, const char *file,
                       struct leat_normalization *ret_stats, struct leat_error *err) {
    struct leat_json_node columns, column;
    int r;

    if (!find(root, "columns", &columns))
        return leat_error_set(
            err, -EINVAL, "%s: has no \"columns\": give the output of `leatctl describe --json`",
            file);
    if (!find(columns, name, &column))
        return leat_error_set(err, -EINVAL, "%s: has no column \"%s\"", file, name);
    r = read_number(column, name, "mean", file, &ret_stats->mean, err);
    return r < 0 ? r : read_number(column, name, "std", file, &ret_stats->std, err);
}

int leat_normalization_read(const char *data, size_t n_bytes, const char *column, const char *file,
                            struct leat_normalization *ret_stats, struct leat_error *err) {
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    if (leat_json_new(n_bytes, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, data, n_bytes, n_bytes, &root, err);
    if (r < 0)
        leat_error_locate(err, file, err->line, err->column);
    else
        r = read_column(root, column, file, ret_stats, err);
    leat_json_free(json);
    return r;
}

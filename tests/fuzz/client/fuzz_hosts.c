/* fuzz_hosts.c: mlx.launch's host file, of which libleat counts the items. Of what is a JSON
 * list it counts what a parser of JSON finds. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "client/launcher_hosts.h"
#include "pipeline/tokenizer/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static bool has_deep(struct leat_json_node node, unsigned depth) {
    enum leat_json_kind kind = leat_json_kind(node);
    struct leat_json_iterator it;
    struct leat_json_node item;
    const char *key;
    size_t n_key;

    if (kind != LEAT_JSON_ARRAY && kind != LEAT_JSON_OBJECT)
        return false;
    if (depth == 32)
        return true;
    leat_json_iterate(node, &it);
    while (kind == LEAT_JSON_ARRAY ? leat_json_next(&it, &item)
                                   : leat_json_next_member(&it, &key, &n_key, &item))
        if (has_deep(item, depth + 1))
            return true;
    return false;
}

/* By a parser: the items of a list that libleat can count, or 0. */
static size_t count_parsed(const char *text, size_t n_bytes) {
    struct leat_json *json;
    struct leat_json_node root;
    size_t n = 0;

    if (leat_json_new(n_bytes + 1, &json) < 0)
        return 0;
    if (leat_json_parse(json, text, n_bytes, n_bytes, &root, LEAT_ERROR_IGNORED) == 0 &&
        leat_json_kind(root) == LEAT_JSON_ARRAY && !has_deep(root, 0))
        n = leat_json_n_items(root);
    leat_json_free(json);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    size_t n_parsed = count_parsed((const char *)data, n_bytes);
    uint32_t n_hosts;
    int r = leat_launcher_count_hosts((const char *)data, n_bytes, &n_hosts);

    if (r == 0 && (n_hosts == 0 || n_hosts > n_bytes))
        abort();
    if (n_parsed > 0 && (r != 0 || n_hosts != n_parsed))
        abort();
    return 0;
}

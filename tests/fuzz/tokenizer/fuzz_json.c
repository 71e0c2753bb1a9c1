/* fuzz_json.c: the parser behind json.h, held against the search for faults: they agree on what
 * JSON is, also of records, and every value of a good document can be read. */
#include <stdlib.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/json_locate.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(0, mutate_text(data, size, max_size, seed))

static void read_all(struct leat_json_node node) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    size_t n_key, n_items = 0;
    const char *key;

    leat_json_iterate(node, &iterator);
    while (leat_json_next(&iterator, &item)) {
        read_all(item);
        n_items++;
    }
    while (leat_json_next_member(&iterator, &key, &n_key, &item)) {
        struct leat_json_node found;
        if (!leat_json_find(node, key, n_key, &found))
            abort();
        read_all(item);
        n_items++;
    }
    if (n_items != leat_json_n_items(node))
        abort();
    (void)leat_json_string(node, &n_key);
    (void)leat_json_double(node);
}

/* is_good: the document has no oddities. */
static void parse_record(struct leat_json *json, const uint8_t *data, size_t size, bool is_good) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_odds odds;
    struct leat_json_fault fault;
    struct leat_json_node root;
    int r = leat_json_parse_record(json, data, size, size, &root, &err);

    if (leat_json_find_odds(data, size, NULL, &odds, &fault) != (r == 0) ||
        leat_json_is_odd(json) == is_good)
        abort();
    for (uint32_t i = 0; is_good && i < odds.n_items; i++)
        if (odds.items[i].oddity != LEAT_JSON_MINUS_ZERO)
            abort();
    free(odds.items);
    if (r == 0 && leat_json_mark_zeros(json, data, size) < 0)
        abort();
    if (r == 0)
        read_all(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_fault fault;
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    if (size > 65536 || leat_json_new(0, &json) < 0)
        return 0;
    r = leat_json_parse(json, data, size, size, &root, &err);
    if (leat_json_locate(data, size, &fault) != (r < 0))
        abort();
    if (r == 0)
        read_all(root);
    parse_record(json, data, size, r == 0);
    leat_json_free(json);
    return 0;
}

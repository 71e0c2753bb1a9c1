/* fuzz_json_path.c: the search for the place of a value. In a good document every value is found at
 * a byte that can begin it; on other bytes any path leads within them or nowhere. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/json_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct search {
    const uint8_t *data;
    size_t size;
    struct leat_json_step steps[LEAT_JSON_DEPTH_MAX];
    size_t n_steps;
};

static int byte_at(const struct search *search, uint32_t line, uint32_t column) {
    const uint8_t *at = search->data, *end = at + search->size;

    for (; line > 1; line--)
        at = (const uint8_t *)memchr(at, '\n', (size_t)(end - at)) + 1;
    if (column < 1 || (size_t)(end - at) < column)
        abort();
    return at[column - 1];
}

static void check(const struct search *search, struct leat_json_node node) {
    static const char *const firsts[] = {"n",           "tf", "-0123456789", "0123456789",
                                         "-0123456789", "\"", "[",           "{"};
    uint32_t line = 0, column = 0;

    if (!leat_json_locate_value(search->data, search->size, search->steps, search->n_steps, &line,
                                &column) ||
        !strchr(firsts[leat_json_kind(node)], byte_at(search, line, column)))
        abort();
}

static void check_all(struct search *search, struct leat_json_node node) {
    struct leat_json_step *step = &search->steps[search->n_steps];
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    size_t index = 0, n_key;
    const char *key;

    check(search, node);
    search->n_steps++;
    leat_json_iterate(node, &iterator);
    while (leat_json_next(&iterator, &item)) {
        *step = (struct leat_json_step){.index = index++};
        check_all(search, item);
    }
    while (leat_json_next_member(&iterator, &key, &n_key, &item)) {
        if (!leat_json_find(node, key, n_key, &item))
            abort();
        *step = (struct leat_json_step){.key = key, .n_key = n_key};
        check_all(search, item);
    }
    search->n_steps--;
}

static void check_any(struct search *search) {
    static const struct leat_json_step steps[] = {{.key = "a", .n_key = 1}, {.index = 1}};
    uint32_t line, column;

    for (unsigned path = 0; path < 16; path++) {
        for (size_t i = 0; i < 4; i++)
            search->steps[i] = steps[path >> i & 1];
        for (size_t n = 0; n <= 4; n++)
            if (leat_json_locate_value(search->data, search->size, search->steps, n, &line,
                                       &column))
                (void)byte_at(search, line, column);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct search search = {.data = data, .size = size};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node root;
    struct leat_json *json;

    if (size > 4096 || leat_json_new(0, &json) < 0)
        return 0;
    if (leat_json_parse(json, data, size, size, &root, &err) == 0)
        check_all(&search, root);
    else
        check_any(&search);
    leat_json_free(json);
    return 0;
}

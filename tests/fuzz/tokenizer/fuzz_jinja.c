/* fuzz_jinja.c: a chat template is refused with a message, or it renders the same UTF-8 twice, or
 * it fails with a message both times.
 *
 * The template comes first, then a NUL byte and a JSON object with its variables.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/jinja.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(0, mutate_text(data, size, max_size, seed))

static int set_variables(struct leat_jinja_render *render, struct leat_json_node root,
                         struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    const char *key;
    size_t n_key;
    int r = 0;

    leat_json_iterate(root, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &item)) {
        struct leat_jinja_value value;

        r = leat_jinja_render_json(render, item, &value, err);
        if (r == 0)
            r = leat_jinja_render_set(render, key, n_key, value, err);
    }
    return r;
}

/* The text that was rendered, malloc'ed; NULL: it failed. */
static char *render_once(struct leat_jinja_render *render, struct leat_json_node root,
                         size_t *ret_n) {
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_jinja_part *parts;
    const char *text;
    size_t n_parts;
    char *copy;
    int r = leat_jinja_render_begin(render, &err);

    if (r == 0)
        r = set_variables(render, root, &err);
    if (r == 0)
        r = leat_jinja_render_run(render, &text, ret_n, &parts, &n_parts, &err);
    if ((r < 0) != (err.message[0] != 0))
        abort();
    if (r < 0)
        return NULL;
    for (size_t i = 0; i < n_parts; i++)
        if (parts[i].start > parts[i].end)
            abort();
    if (*ret_n && !leat_json_is_utf8(text, *ret_n))
        abort();
    copy = malloc(*ret_n + 1);
    if (!copy)
        abort();
    if (*ret_n)
        memcpy(copy, text, *ret_n);
    return copy;
}

static void render_twice(const struct leat_jinja_template *template, struct leat_json_node root) {
    struct leat_jinja_render *render = leat_jinja_render_new(template);
    char *first, *second;
    size_t n_first = 0, n_second = 0;

    if (!render)
        abort();
    first = render_once(render, root, &n_first);
    second = render_once(render, root, &n_second);
    if (!first != !second || n_first != n_second || (first && memcmp(first, second, n_first) != 0))
        abort();
    free(first);
    free(second);
    leat_jinja_render_free(render);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_jinja_template *template;
    struct leat_json_node root;
    struct leat_json *json;
    size_t n = end ? (size_t)(end - data) : size, n_json = end ? size - n - 1 : 0;

    if (size > 65536)
        return 0;
    if (leat_jinja_compile((const char *)data, n, &template, &err) < 0) {
        if (!err.message[0] || template)
            abort();
        return 0;
    }
    if (leat_json_new(1 << 12, &json) < 0)
        abort();
    if (n_json == 0 || leat_json_parse_record(json, data + n + 1, n_json, n_json, &root, &err) < 0)
        (void)leat_json_parse(json, "{}", 2, 2, &root, LEAT_ERROR_IGNORED);
    render_twice(template, root);
    leat_json_free(json);
    leat_jinja_template_free(template);
    return 0;
}

/* template.c: see jinja.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/parser.h"
#include "pipeline/tokenizer/jinja/render.h"
#include "proto/base/utf8.h"

#define KEEP_BYTES (UINT32_C(4) << 20) /* of a text, from one conversation to the next */

static bool nodes_mark(const struct leat_jinja_nodes *nodes) {
    for (size_t i = 0; i < nodes->n_items; i++) {
        const struct leat_jinja_node *node = nodes->items[i];

        if (node->kind == LEAT_JINJA_GENERATION || nodes_mark(&node->list) ||
            (node->kind != LEAT_JINJA_WITH && nodes_mark(&node->other)) ||
            (node->macro && nodes_mark(&node->macro->body)))
            return true;
    }
    return false;
}

int leat_jinja_compile(const char *source, size_t n_bytes,
                       struct leat_jinja_template **ret_template, struct leat_error *err) {
    struct leat_jinja_template *template;
    size_t n = 0;
    int r;

    *ret_template = NULL;
    if (n_bytes > LEAT_JINJA_SOURCE_MAX)
        return leat_error_set(err, -E2BIG, "the chat template has more than %u bytes",
                              LEAT_JINJA_SOURCE_MAX);
    if (!leat_utf8_is_valid(source, n_bytes))
        return leat_error_set(err, -EINVAL, "the chat template is not UTF-8");
    template = calloc(1, sizeof(*template));
    if (template)
        template->source = malloc(n_bytes + 1);
    if (!template || !template->source) {
        (void)leat_jinja_template_free(template);
        return leat_error_oom(err);
    }
    for (size_t i = 0; i < n_bytes; i++) { /* all line ends become \n */
        template->source[n++] = source[i] == '\r' ? '\n' : source[i];
        if (source[i] == '\r' && i + 1 < n_bytes && source[i + 1] == '\n')
            i++;
    }
    if (n > 0 && template->source[n - 1] == '\n')
        n--;
    template->source[n] = '\0';
    r = leat_jinja_parse(template, n, err);
    if (r < 0)
        template = leat_jinja_template_free(template);
    *ret_template = template;
    return r;
}

struct leat_jinja_template *leat_jinja_template_free(struct leat_jinja_template *template) {
    if (template) {
        leat_jinja_heap_deinit(&template->heap);
        free(template->source);
        free(template);
    }
    return NULL;
}

bool leat_jinja_template_reads(const struct leat_jinja_template *template, const char *name) {
    uint32_t symbol;

    return leat_jinja_find_symbol(template, name, strlen(name), &symbol);
}

bool leat_jinja_template_marks(const struct leat_jinja_template *template) {
    return nodes_mark(&template->body);
}

struct leat_jinja_render *leat_jinja_render_new(const struct leat_jinja_template *template) {
    struct leat_jinja_render *render = calloc(1, sizeof(*render));

    if (render)
        render->template = template;
    return render;
}

struct leat_jinja_render *leat_jinja_render_free(struct leat_jinja_render *render) {
    if (render) {
        leat_jinja_heap_deinit(&render->heap);
        free(render->out.data);
        free(render->scratch.data);
        free(render->parts);
        free(render->turns);
        free(render);
    }
    return NULL;
}

static void empty_text(struct leat_text *text) {
    if (text->capacity > KEEP_BYTES) {
        free(text->data);
        *text = (struct leat_text){.data = NULL};
    }
    text->n_bytes = 0;
    text->failed = 0;
}

int leat_jinja_render_begin(struct leat_jinja_render *render, struct leat_error *err) {
    leat_jinja_heap_reset(&render->heap);
    return leat_jinja_render_rewind(render, err);
}

int leat_jinja_render_rewind(struct leat_jinja_render *render, struct leat_error *err) {
    render->heap.n_frames = 0;
    empty_text(&render->out);
    empty_text(&render->scratch);
    render->n_captures = render->n_parts = render->n_turns = 0;
    render->err = err;
    return leat_jinja_scope_push(render, NULL) ? 0 : err->code;
}

struct leat_jinja_heap *leat_jinja_render_heap(struct leat_jinja_render *render) {
    return &render->heap;
}

void leat_jinja_render_date(struct leat_jinja_render *render, const struct tm *date) {
    render->date = *date;
    render->has_date = true;
}

static int json_dict(struct leat_jinja_render *render, struct leat_json_node node,
                     struct leat_jinja_value *ret, struct leat_error *err) {
    struct leat_jinja_dict *dict = leat_jinja_dict_new(&render->heap, leat_json_n_items(node));
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    const char *key;
    size_t n_key;
    int r = dict ? 0 : leat_jinja_fail_memory(render);

    leat_json_iterate(node, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &item)) {
        struct leat_jinja_value name, value;

        r = leat_jinja_heap_spend(&render->heap, dict->n_pairs / 4, err);
        if (r == 0)
            r = leat_jinja_copy_string(render, key, n_key, &name);
        if (r == 0)
            r = leat_jinja_render_json(render, item, &value, err);
        if (r == 0 && !leat_jinja_dict_put(&render->heap, dict, name, value))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_DICT, .dict = dict};
    return r;
}

static int json_list(struct leat_jinja_render *render, struct leat_json_node node,
                     struct leat_jinja_value *ret, struct leat_error *err) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, leat_json_n_items(node));
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    int r = list ? 0 : leat_jinja_fail_memory(render);

    leat_json_iterate(node, &iterator);
    while (r == 0 && leat_json_next(&iterator, &item)) {
        struct leat_jinja_value value;

        r = leat_jinja_render_json(render, item, &value, err);
        if (r == 0 && !leat_jinja_list_add(&render->heap, list, value))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    return r;
}

/* JSON nests no deeper than its parser allows. */
int leat_jinja_render_json(struct leat_jinja_render *render, struct leat_json_node node,
                           struct leat_jinja_value *ret_value, struct leat_error *err) {
    const char *text;
    size_t n;

    render->err = err;
    switch (leat_json_kind(node)) {
    case LEAT_JSON_NULL:
        *ret_value = leat_jinja_none();
        return 0;
    case LEAT_JSON_BOOL:
        *ret_value = leat_jinja_bool(leat_json_bool(node));
        return 0;
    case LEAT_JSON_INT:
        *ret_value = leat_jinja_int(leat_json_int(node));
        return 0;
    case LEAT_JSON_DOUBLE:
        if (leat_json_is_rounded(node))
            return leat_jinja_fail(render, "integers beyond 64 bits are not supported");
        *ret_value = leat_jinja_float(leat_json_double(node));
        return 0;
    case LEAT_JSON_STRING:
        text = leat_json_string(node, &n);
        return leat_jinja_copy_string(render, text, n, ret_value);
    case LEAT_JSON_ARRAY:
        return json_list(render, node, ret_value, err);
    case LEAT_JSON_OBJECT:
        return json_dict(render, node, ret_value, err);
    case LEAT_JSON_HALF_STRING:
        return leat_jinja_fail(render, "half of a surrogate pair is not supported");
    default:
        return leat_jinja_fail(render, "integers beyond 64 bits are not supported");
    }
}

int leat_jinja_render_set(struct leat_jinja_render *render, const char *name, size_t n_name,
                          struct leat_jinja_value value, struct leat_error *err) {
    uint32_t symbol;

    render->err = err;
    if (!leat_jinja_find_symbol(render->template, name, n_name, &symbol) ||
        render->template->symbols[symbol].use == LEAT_JINJA_SET_FIRST)
        return 0;
    return leat_jinja_assign(render, symbol, value);
}

int leat_jinja_render_run(struct leat_jinja_render *render, const char **ret_text,
                          size_t *ret_n_bytes, const struct leat_jinja_part **ret_parts,
                          size_t *ret_n_parts, struct leat_error *err) {
    int r;

    render->err = err;
    r = leat_jinja_run(render, &render->template->body);
    *ret_text = render->out.data;
    *ret_n_bytes = render->out.n_bytes;
    *ret_parts = render->parts;
    *ret_n_parts = render->n_parts;
    return r;
}

const struct leat_jinja_turn *leat_jinja_render_turns(const struct leat_jinja_render *render,
                                                      size_t *ret_n) {
    *ret_n = render->n_turns;
    return render->turns;
}

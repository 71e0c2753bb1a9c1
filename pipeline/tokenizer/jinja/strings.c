#include "pipeline/tokenizer/jinja/strings.h"

#include <ctype.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/lexer.h"
#include "proto/base/utf8.h"

static bool is_one_of(const struct leat_jinja_value *characters, const char *text, size_t n) {
    for (size_t at = 0; at < characters->n_bytes;) {
        size_t length =
            leat_utf8_length((const uint8_t *)characters->text + at, characters->n_bytes - at);

        if (length == n && memcmp(characters->text + at, text, n) == 0)
            return true;
        at += length;
    }
    return false;
}

static size_t last_length(const char *text, size_t n_bytes) {
    size_t n = 1;

    while (n < n_bytes && ((unsigned char)text[n_bytes - n] & 0xc0) == 0x80)
        n++;
    return n;
}

LEAT_JINJA_BUILTIN(leat_jinja_strip) {
    const struct leat_jinja_value *characters = &arguments[0];
    size_t n, n_steps = 1 + characters->n_bytes / 8, length;
    struct leat_jinja_value text;
    const char *start;
    int r = leat_jinja_to_string(render, self, &text);

    if (r < 0)
        return r;
    start = text.text;
    n = text.n_bytes;
    if (!leat_jinja_is_some(characters)) {
        if (variant & LEAT_JINJA_STRIP_LEFT) {
            length = leat_jinja_leading_space(start, n);
            start += length;
            n -= length;
        }
        if (variant & LEAT_JINJA_STRIP_RIGHT)
            n -= leat_jinja_trailing_space(start, n);
        *ret = leat_jinja_string(start, n);
        return leat_jinja_heap_spend(&render->heap, text.n_bytes - n, render->err);
    }
    if (characters->kind != LEAT_JINJA_STRING)
        return leat_jinja_fail(render, "the characters to strip must be a text, not %s",
                               leat_jinja_kind_name(characters));
    while (r == 0 && (variant & LEAT_JINJA_STRIP_LEFT) && n > 0) {
        length = leat_utf8_length((const uint8_t *)start, n);
        if (!is_one_of(characters, start, length))
            break;
        start += length;
        n -= length;
        r = leat_jinja_heap_spend(&render->heap, n_steps, render->err);
    }
    while (r == 0 && (variant & LEAT_JINJA_STRIP_RIGHT) && n > 0) {
        length = last_length(start, n);
        if (!is_one_of(characters, start + n - length, length))
            break;
        n -= length;
        r = leat_jinja_heap_spend(&render->heap, n_steps, render->err);
    }
    *ret = leat_jinja_string(start, n);
    return r;
}

/* Python replaces an empty text between all characters. */
static int insert_between(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                          const struct leat_jinja_value *new, uint64_t max,
                          struct leat_jinja_value *ret) {
    size_t n_before = render->scratch.n_bytes, at = 0;

    for (uint64_t i = 0; i < max && at <= text->n_bytes; i++) {
        size_t length = at < text->n_bytes
                            ? leat_utf8_length((const uint8_t *)text->text + at, text->n_bytes - at)
                            : 0;

        leat_text_add_bytes(&render->scratch, new->text, new->n_bytes);
        leat_text_add_bytes(&render->scratch, text->text + at, length);
        if (render->scratch.n_bytes - n_before > LEAT_JINJA_OUTPUT_MAX)
            return leat_jinja_fail(render, "the text would be too long after the replacement");
        at += length ? length : 1;
    }
    if (at < text->n_bytes)
        leat_text_add_bytes(&render->scratch, text->text + at, text->n_bytes - at);
    return leat_jinja_take_scratch(render, n_before, ret);
}

int leat_jinja_replace(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       const struct leat_jinja_value *old, const struct leat_jinja_value *new,
                       const struct leat_jinja_value *count, struct leat_jinja_value *ret) {
    bool has_count = leat_jinja_is_some(count);
    uint64_t max = UINT64_MAX;
    size_t n_before = render->scratch.n_bytes, at = 0;
    const char *found;

    if (has_count && !leat_jinja_is_integral(count))
        return leat_jinja_fail(render, "a count must be an integer, not %s",
                               leat_jinja_kind_name(count));
    if (has_count && leat_jinja_integer(count) >= 0)
        max = (uint64_t)leat_jinja_integer(count);
    if (old->n_bytes == 0)
        return insert_between(render, text, new, max, ret);
    while (max-- > 0 && at < text->n_bytes &&
           (found = memmem(text->text + at, text->n_bytes - at, old->text, old->n_bytes))) {
        size_t n = (size_t)(found - text->text) - at;

        leat_text_add_bytes(&render->scratch, text->text + at, n);
        leat_text_add_bytes(&render->scratch, new->text, new->n_bytes);
        if (render->scratch.n_bytes - n_before > LEAT_JINJA_OUTPUT_MAX)
            return leat_jinja_fail(render, "the text would be too long after the replacement");
        at += n + old->n_bytes;
    }
    if (at == 0) {
        *ret = *text;
        return leat_jinja_heap_spend(&render->heap, text->n_bytes / 16, render->err);
    }
    leat_text_add_bytes(&render->scratch, text->text + at, text->n_bytes - at);
    return leat_jinja_take_scratch(render, n_before, ret);
}

static struct leat_jinja_value path_key(const char *name, size_t n_bytes) {
    int64_t index = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        if (!isdigit((unsigned char)name[i]) || n_bytes > 9)
            return leat_jinja_string(name, n_bytes);
        index = index * 10 + (name[i] - '0');
    }
    return n_bytes ? leat_jinja_int(index) : leat_jinja_string(name, 0);
}

static int item_or(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                   const struct leat_jinja_value *key, const struct leat_jinja_value *fallback,
                   struct leat_jinja_value *ret) {
    int r = leat_jinja_item(render, value, key, ret);

    if (r == 0 && fallback && fallback->kind != LEAT_JINJA_NONE &&
        ret->kind == LEAT_JINJA_UNDEFINED)
        *ret = *fallback;
    return r;
}

int leat_jinja_path(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                    const struct leat_jinja_value *path, const struct leat_jinja_value *fallback,
                    struct leat_jinja_value *ret) {
    struct leat_jinja_value at = *value;
    int r = 0;

    if (!leat_jinja_is_some(path)) {
        *ret = *value;
        return 0;
    }
    if (path->is_key || leat_jinja_is_integral(path))
        return item_or(render, value, path, fallback, ret);
    if (path->kind != LEAT_JINJA_STRING || memchr(path->text, ',', path->n_bytes))
        return leat_jinja_fail(render, "this attribute is not supported");
    for (size_t start = 0; r == 0 && start <= path->n_bytes;) {
        const char *dot =
            start < path->n_bytes ? memchr(path->text + start, '.', path->n_bytes - start) : NULL;
        size_t n = dot ? (size_t)(dot - path->text) - start : path->n_bytes - start;
        struct leat_jinja_value key = path_key(path->text + start, n);

        r = item_or(render, &at, &key, fallback, &at);
        start += n + 1;
    }
    *ret = at;
    return r;
}

int leat_jinja_pairs(struct leat_jinja_render *render, const struct leat_jinja_dict *dict,
                     struct leat_jinja_list **ret_list) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, dict->n_pairs);

    if (!list)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; i < dict->n_pairs; i++) {
        struct leat_jinja_list *pair = leat_jinja_list_new(&render->heap, 2);

        if (!pair)
            return leat_jinja_fail_memory(render);
        pair->items[0] = dict->pairs[i].key;
        pair->items[1] = dict->pairs[i].value;
        pair->n_items = 2;
        list->items[list->n_items++] =
            (struct leat_jinja_value){.kind = LEAT_JINJA_TUPLE, .list = pair};
    }
    *ret_list = list;
    return leat_jinja_heap_spend(&render->heap, 2 * dict->n_pairs, render->err);
}

int leat_jinja_list_value(struct leat_jinja_render *render, enum leat_jinja_kind kind,
                          const struct leat_jinja_value *items, size_t n_items,
                          struct leat_jinja_value *ret) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, n_items);

    if (!list)
        return leat_jinja_fail_memory(render);
    if (n_items)
        memcpy(list->items, items, n_items * sizeof(*items));
    list->n_items = n_items;
    *ret = (struct leat_jinja_value){.kind = (uint8_t)kind, .list = list};
    return leat_jinja_heap_spend(&render->heap, n_items, render->err);
}

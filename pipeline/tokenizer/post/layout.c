/* layout.c: see layout.h. */
#include "pipeline/tokenizer/post/layout.h"

#include <errno.h>
#include <stdlib.h>

#define ITEMS_MIN 8 /* a power of two */

static int grow(struct leat_post_layout *layout, struct leat_error *err) {
    size_t n = layout->n_items;
    struct leat_post_item *items;

    if (n && (n < ITEMS_MIN || (n & (n - 1))))
        return 0;
    items = reallocarray(layout->items, n ? 2 * n : ITEMS_MIN, sizeof(*items));
    if (!items)
        return leat_error_oom(err);
    layout->items = items;
    return 0;
}

int leat_post_layout_push(struct leat_post_layout *layout, struct leat_post_item item,
                          struct leat_error *err) {
    int r;

    if (layout->n_items == LEAT_POST_ITEMS_MAX)
        return leat_error_set(err, -E2BIG, "more than %d items", LEAT_POST_ITEMS_MAX);
    if (item.id < 0 && layout->n_texts == LEAT_POST_TEXTS_MAX)
        return leat_error_set(err, -E2BIG, "texts at more than %d places", LEAT_POST_TEXTS_MAX);
    r = grow(layout, err);
    if (r < 0)
        return r;
    layout->items[layout->n_items++] = item;
    layout->n_texts += item.id < 0;
    layout->n_added += item.id >= 0;
    return 0;
}

void leat_post_layout_clear(struct leat_post_layout *layout) {
    free(layout->items);
    *layout = (struct leat_post_layout){.items = NULL};
}

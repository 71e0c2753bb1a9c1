/* layout.h: filling the layouts of a post-processor. Owner: the thread that loads. */
#pragma once

#include "pipeline/tokenizer/post.h"

/* Appends an item. 0, -ENOMEM, -E2BIG above LEAT_POST_ITEMS_MAX or LEAT_POST_TEXTS_MAX. */
int leat_post_layout_push(struct leat_post_layout *layout, struct leat_post_item item,
                          struct leat_error *err);

/* Empties it. */
void leat_post_layout_clear(struct leat_post_layout *layout);

/* shared_text_index.c: see shared_text_index.h. Shorter texts come first, so that most comparisons
 * are of lengths. */
#include "pipeline/stages/shared_text_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    const struct leat_text_entry *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->n == 0 ? 0 : memcmp(x->text, y->text, x->n);
}

int leat_text_index_init(struct leat_text_index *index, char *const *texts, size_t n_texts) {
    index->entries = calloc(n_texts ? n_texts : 1, sizeof(*index->entries));
    if (!index->entries)
        return -ENOMEM;
    for (size_t i = 0; i < n_texts; i++)
        index->entries[i] =
            (struct leat_text_entry){.text = texts[i], .n = strlen(texts[i]), .item = i};
    index->n_entries = n_texts;
    qsort(index->entries, n_texts, sizeof(*index->entries), compare);
    return 0;
}

void leat_text_index_deinit(struct leat_text_index *index) {
    free(index->entries);
    *index = (struct leat_text_index){.entries = NULL};
}

ptrdiff_t leat_text_index_find(const struct leat_text_index *index, const char *text, size_t n) {
    const struct leat_text_entry wanted = {.text = text, .n = n};
    const struct leat_text_entry *found;

    if (index->n_entries == 0)
        return -1;
    found = bsearch(&wanted, index->entries, index->n_entries, sizeof(*index->entries), compare);
    return found ? (ptrdiff_t)found->item : -1;
}

/* shared_text_index.h: finds a text among many, by bisection. Immutable after init; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct leat_text_entry {
    const char *text;
    size_t n;
    size_t item; /* its place in the list */
};

struct leat_text_index {
    struct leat_text_entry *entries;
    size_t n_entries;
};

/* Refers to the texts, which must outlive it. 0 or -ENOMEM. */
int leat_text_index_init(struct leat_text_index *index, char *const *texts, size_t n_texts);
void leat_text_index_deinit(struct leat_text_index *index);

/* The place of an equal text, any of several; -1: there is none. */
ptrdiff_t leat_text_index_find(const struct leat_text_index *index, const char *text, size_t n);

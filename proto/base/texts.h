/* texts.h: a list of texts. */
#pragma once

#include <stddef.h>

struct leat_texts {
    char **items;
    size_t n_items;
};

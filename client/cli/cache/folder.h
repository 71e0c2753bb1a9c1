/* folder.h: the folders of caches that a command is about, and the caches that are named. */
#pragma once

#include "client/cli/base/arguments.h"
#include "pipeline/cache/store.h"

struct leat_cli_cache {
    const char *folder; /* lives in the list */
    struct leat_cache_entry entry;
};

struct leat_cli_caches {
    char **folders;
    size_t n_folders;
    struct leat_cli_cache *items;
    size_t n_items;
};

/* The operand is a folder, or a FILE whose streams (or the one that is named) name folders; --key
 * gives the beginnings of keys, each of one cache; none: all. An exit status. */
int leat_cli_caches_load(const struct leat_cli_arguments *arguments,
                         struct leat_cli_caches *ret_caches, struct leat_error *err);
void leat_cli_caches_deinit(struct leat_cli_caches *caches);

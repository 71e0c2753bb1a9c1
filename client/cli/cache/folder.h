/* folder.h: the folders of caches that a command line names, and the caches in them. */
#pragma once

#include "client/cli/base/arguments.h"
#include "pipeline/cache/store.h"

struct leat_cli_cache {
    const char *folder; /* borrowed from folders */
    struct leat_cache_entry entry;
};

struct leat_cli_caches {
    char **folders;
    size_t n_folders;
    struct leat_cli_cache *items;
    size_t n_items;
};

/* The operand is a folder, or a FILE whose streams (or the named one) have cache folders. --key
 * gives the beginning of a cache's key; without it, all caches. An exit status. */
int leat_cli_caches_load(const struct leat_cli_arguments *arguments,
                         struct leat_cli_caches *ret_caches, struct leat_error *err);
void leat_cli_caches_deinit(struct leat_cli_caches *caches);

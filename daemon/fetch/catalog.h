/* catalog.h: what is known of objects: which version they are of, and in which order they are going
 * to be read. Owner: the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/fetch.h"

#define LEAT_CATALOG_MAX 2000000 /* objects; with more all are forgotten, and looked for anew */

struct leat_fetch_object {
    char *url, *version; /* version: see leat_answer_version(); NULL: not known */
    uint64_t n_bytes;
    uint8_t identity[LEAT_FETCH_IDENTITY];
    uint64_t looked_at_ns;
    uint64_t n_asked; /* blocks from its start that were asked for, one after the other */
    struct leat_fetch_object *before, *after; /* in the order of reading; NULL: none */
};

struct leat_catalog {
    struct leat_fetch_object **slots; /* a hash table with open addressing */
    size_t n_slots, n_objects;
};

/* Forgets all. No object may be in use. */
void leat_catalog_deinit(struct leat_catalog *catalog);
/* The object of that URL, which may be a new one; NULL: no memory. */
struct leat_fetch_object *leat_catalog_get(struct leat_catalog *catalog, const char *url);
/* Records version and size, which a store has just named. 0 or -ENOMEM. */
int leat_fetch_object_set(struct leat_fetch_object *object, const char *version, uint64_t n_bytes);
/* Its version is not known any more. */
void leat_fetch_object_forget(struct leat_fetch_object *object);

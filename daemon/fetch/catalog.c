#include "daemon/fetch/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/clock.h"
#include "proto/base/xxh3.h"

#define SLOTS_MIN 1024

static void free_object(struct leat_fetch_object *object) {
    if (!object)
        return;
    free(object->url);
    free(object->version);
    free(object);
}

void leat_catalog_deinit(struct leat_catalog *catalog) {
    for (size_t i = 0; i < catalog->n_slots; i++)
        free_object(catalog->slots[i]);
    free(catalog->slots);
    *catalog = (struct leat_catalog){.slots = NULL};
}

/* The slot of that URL, which may be empty. */
static struct leat_fetch_object **find_slot(struct leat_fetch_object **slots, size_t n_slots,
                                            const char *url) {
    size_t at = XXH3_64bits(url, strlen(url)) & (n_slots - 1);

    while (slots[at] && strcmp(slots[at]->url, url) != 0)
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static bool grow(struct leat_catalog *catalog) {
    size_t n = catalog->n_slots ? 2 * catalog->n_slots : SLOTS_MIN;
    struct leat_fetch_object **slots = calloc(n, sizeof(struct leat_fetch_object *));

    if (!slots)
        return false;
    for (size_t i = 0; i < catalog->n_slots; i++)
        if (catalog->slots[i])
            *find_slot(slots, n, catalog->slots[i]->url) = catalog->slots[i];
    free(catalog->slots);
    catalog->slots = slots;
    catalog->n_slots = n;
    return true;
}

struct leat_fetch_object *leat_catalog_get(struct leat_catalog *catalog, const char *url) {
    struct leat_fetch_object **slot, *object;

    if (2 * catalog->n_objects >= catalog->n_slots && !grow(catalog))
        return NULL;
    slot = find_slot(catalog->slots, catalog->n_slots, url);
    if (*slot)
        return *slot;
    object = calloc(1, sizeof(*object));
    if (object && !(object->url = strdup(url))) {
        free(object);
        object = NULL;
    }
    *slot = object;
    catalog->n_objects += object != NULL;
    return object;
}

int leat_fetch_object_set(struct leat_fetch_object *object, const char *version, uint64_t n_bytes) {
    XXH128_canonical_t canonical;
    char *copy = strdup(version);

    if (!copy)
        return -ENOMEM;
    free(object->version);
    object->version = copy;
    object->n_bytes = n_bytes;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(version, strlen(version)));
    memcpy(object->identity, canonical.digest, sizeof(object->identity));
    object->looked_at_ns = leat_now_ns();
    return 0;
}

void leat_fetch_object_forget(struct leat_fetch_object *object) {
    free(object->version);
    object->version = NULL;
}

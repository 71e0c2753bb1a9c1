/* cuda_rings.c: see cuda_rings.h. A list, since a process has a ring or two for each stream. The
 * mutex is held while CUDA registers, so that no two threads do so at once, and never while it
 * copies. */
#include "client/python/src/cuda_rings.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct entry {
    struct entry *next;
    const struct leat_cuda_driver *driver;
    void *context;
    uint64_t number;
    const void *memory;
    bool is_registered;
    bool is_ours; /* to unregister */
    pid_t pid;    /* a forked child has neither the ring nor CUDA */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

static struct entry **find(uint64_t number) {
    struct entry **place = &entries;

    while (*place && (*place)->number != number)
        place = &(*place)->next;
    return place;
}

static struct entry *add(const struct leat_cuda_driver *driver, void *context, unsigned flags,
                         const struct leat_ring *ring, leat_cuda_result *ret_result) {
    struct entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    *ret_result = driver->host_register((void *)ring->shared, (size_t)ring->size_bytes, flags);
    *entry = (struct entry){
        .next = entries,
        .driver = driver,
        .context = context,
        .number = ring->number,
        .memory = ring->shared,
        .is_registered = *ret_result == 0 || *ret_result == LEAT_CUDA_ALREADY_REGISTERED,
        .is_ours = *ret_result == 0,
        .pid = getpid(),
    };
    if (entry->is_registered)
        *ret_result = 0;
    entries = entry;
    return entry;
}

bool leat_cuda_rings_register(const struct leat_cuda_driver *driver, void *context, unsigned flags,
                              const struct leat_ring *ring, leat_cuda_result *ret_result) {
    struct entry *entry;
    bool is_registered;

    *ret_result = 0;
    (void)pthread_mutex_lock(&mutex);
    entry = *find(ring->number);
    if (!entry)
        entry = add(driver, context, flags, ring, ret_result);
    is_registered = entry && entry->is_registered;
    (void)pthread_mutex_unlock(&mutex);
    return is_registered;
}

static void unregister(const struct entry *entry) {
    void *popped;

    if (!entry->is_ours || entry->pid != getpid() || entry->driver->push(entry->context) != 0)
        return;
    (void)entry->driver->host_unregister((void *)entry->memory);
    (void)entry->driver->pop(&popped);
}

void leat_cuda_rings_forget(const struct leat_ring *ring) {
    struct entry **place, *entry;

    (void)pthread_mutex_lock(&mutex);
    place = find(ring->number);
    entry = *place;
    if (entry)
        *place = entry->next;
    (void)pthread_mutex_unlock(&mutex);
    if (entry)
        unregister(entry);
    free(entry);
}

size_t leat_cuda_rings_count(void) {
    size_t n = 0;

    (void)pthread_mutex_lock(&mutex);
    for (const struct entry *entry = entries; entry; entry = entry->next)
        n += entry->is_registered;
    (void)pthread_mutex_unlock(&mutex);
    return n;
}

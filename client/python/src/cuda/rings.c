/* rings.c: see rings.h. A list, since a process has a ring or two for each stream. The mutex is
 * held while CUDA registers a ring, so that no two threads register the same one, and never while
 * it copies. */
#include "client/python/src/cuda/rings.h"

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
    bool is_ours; /* registered here, and to be unregistered */
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

static struct entry *add(const struct leat_cuda_driver *driver, void *context,
                         const struct leat_ring *ring) {
    struct entry *entry = calloc(1, sizeof(*entry));
    leat_cuda_result result;

    if (!entry)
        return NULL;
    result = driver->host_register((void *)ring->shared, (size_t)ring->size_bytes,
                                   LEAT_CUDA_REGISTER_PORTABLE | LEAT_CUDA_REGISTER_READ_ONLY);
    *entry = (struct entry){
        .next = entries,
        .driver = driver,
        .context = context,
        .number = ring->number,
        .memory = ring->shared,
        .is_registered = result == 0 || result == LEAT_CUDA_ALREADY_REGISTERED,
        .is_ours = result == 0,
        .pid = getpid(),
    };
    entries = entry;
    return entry;
}

bool leat_cuda_rings_register(const struct leat_cuda_driver *driver, void *context,
                              const struct leat_ring *ring) {
    struct entry *entry;
    bool is_registered;

    (void)pthread_mutex_lock(&mutex);
    entry = *find(ring->number);
    if (!entry)
        entry = add(driver, context, ring);
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

void leat_cuda_rings_forget(void *user, const struct leat_ring *ring) {
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

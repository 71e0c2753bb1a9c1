#include "pipeline/tokenizer/jinja/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN       16
#define CHUNK_BYTES (UINT32_C(256) << 10)
#define KEEP_BYTES  (UINT32_C(4) << 20)

struct leat_jinja_chunk {
    struct leat_jinja_chunk *next;
    size_t n_bytes;
    _Alignas(ALIGN) uint8_t bytes[];
};

void leat_jinja_heap_deinit(struct leat_jinja_heap *heap) {
    while (heap->chunks) {
        struct leat_jinja_chunk *next = heap->chunks->next;

        free(heap->chunks);
        heap->chunks = next;
    }
    *heap = (struct leat_jinja_heap){.chunks = NULL};
}

void leat_jinja_heap_reset(struct leat_jinja_heap *heap) {
    struct leat_jinja_chunk *keep = heap->chunks;

    if (keep && keep->n_bytes <= KEEP_BYTES)
        heap->chunks = keep->next;
    else
        keep = NULL;
    leat_jinja_heap_deinit(heap);
    if (keep) {
        keep->next = NULL;
        *heap = (struct leat_jinja_heap){
            .chunks = keep, .n_free = keep->n_bytes, .n_bytes = keep->n_bytes};
    }
}

void *leat_jinja_heap_alloc(struct leat_jinja_heap *heap, size_t n_bytes) {
    struct leat_jinja_chunk *chunk = heap->chunks;

    if (n_bytes > LEAT_JINJA_HEAP_MAX) {
        heap->is_full = true;
        return NULL;
    }
    n_bytes = (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!chunk || heap->n_free < n_bytes) {
        size_t size = n_bytes > CHUNK_BYTES / 4 ? n_bytes + CHUNK_BYTES : CHUNK_BYTES;

        if (heap->n_bytes + size > LEAT_JINJA_HEAP_MAX) {
            heap->is_full = true;
            return NULL;
        }
        chunk = malloc(sizeof(*chunk) + size);
        if (!chunk)
            return NULL;
        *chunk = (struct leat_jinja_chunk){.next = heap->chunks, .n_bytes = size};
        heap->chunks = chunk;
        heap->n_bytes += size;
        heap->n_free = size;
    }
    heap->n_free -= n_bytes;
    return chunk->bytes + (chunk->n_bytes - heap->n_free - n_bytes);
}

bool leat_jinja_heap_grow(struct leat_jinja_heap *heap, void *items, size_t item_bytes,
                          size_t n_items, size_t *capacity) {
    size_t wanted = *capacity ? 2 * *capacity : 4;
    void *old, *grown;

    if (n_items < *capacity)
        return true;
    grown = leat_jinja_heap_alloc(heap, wanted * item_bytes);
    if (!grown)
        return false;
    memcpy(&old, items, sizeof(old));
    if (n_items)
        memcpy(grown, old, n_items * item_bytes);
    memcpy(items, &grown, sizeof(grown));
    *capacity = wanted;
    return true;
}

int leat_jinja_heap_error(const struct leat_jinja_heap *heap, struct leat_error *err) {
    if (!heap->is_full)
        return leat_error_oom(err);
    return leat_error_set(err, -E2BIG, "the chat template needs more than %u bytes of memory",
                          LEAT_JINJA_HEAP_MAX);
}

int leat_jinja_heap_fail_steps(struct leat_error *err) {
    return leat_error_set(err, -E2BIG, "the chat template needs more than %llu steps",
                          (unsigned long long)LEAT_JINJA_STEPS_MAX);
}

int leat_jinja_heap_fail_frames(struct leat_error *err) {
    return leat_error_set(err, -E2BIG, "the chat template nests more than %d levels",
                          LEAT_JINJA_FRAMES_MAX);
}

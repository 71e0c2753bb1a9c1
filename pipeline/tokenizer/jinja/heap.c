#include "pipeline/tokenizer/jinja/heap.h"

#include <errno.h>
#include <stdlib.h>

#define ALIGN       16
#define CHUNK_BYTES (UINT32_C(256) << 10)
#define KEEP_BYTES  (UINT32_C(4) << 20)

struct leat_jinja_chunk {
    struct leat_jinja_chunk *next;
    size_t n_bytes;
    _Alignas(ALIGN) uint8_t bytes[];
};

static void drop_chunks(struct leat_jinja_heap *heap, const struct leat_jinja_chunk *last) {
    while (heap->chunks && heap->chunks != last) {
        struct leat_jinja_chunk *next = heap->chunks->next;

        heap->n_bytes -= heap->chunks->n_bytes;
        free(heap->chunks);
        heap->chunks = next;
    }
}

void leat_jinja_heap_deinit(struct leat_jinja_heap *heap) {
    drop_chunks(heap, NULL);
    heap->n_free = 0;
}

void leat_jinja_heap_reset(struct leat_jinja_heap *heap) {
    if (heap->chunks) {
        struct leat_jinja_chunk *keep = heap->chunks->n_bytes <= KEEP_BYTES ? heap->chunks : NULL;

        if (keep) {
            heap->chunks = keep->next;
            drop_chunks(heap, NULL);
            keep->next = NULL;
            heap->chunks = keep;
        } else {
            drop_chunks(heap, NULL);
        }
        heap->n_free = keep ? keep->n_bytes : 0;
        heap->n_bytes = heap->n_free;
    }
    heap->n_steps = 0;
    heap->n_frames = 0;
    heap->is_full = false;
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

#include "pipeline/cache/shards_index.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/cache/index.h"
#include "pipeline/cache/key.h"

struct indexing {
    const struct leat_plan *plan;
    struct leat_index_schema schema;
    struct leat_block_pool pool;
    struct leat_arena scratch;
    struct leat_cache_file *file;
    struct leat_cache_bytes block, stored; /* of the index */
    struct leat_error *err;
};

static int load(struct indexing *indexing, const struct leat_cache_file *shard,
                const struct leat_cache_frame *frame, struct leat_block *block) {
    struct leat_cache_schema schema = {.fields = indexing->plan->fields,
                                       .is_kept = indexing->plan->is_kept,
                                       .n_columns = indexing->plan->n_columns};
    uint8_t *bytes = leat_arena_alloc(&block->kept, frame->n_bytes);
    uint8_t *stored = frame->is_lz4 ? leat_arena_alloc(&indexing->scratch, frame->n_stored) : bytes;
    int r;

    if (!bytes || !stored)
        return leat_error_oom(indexing->err);
    r = shard->object
            ? leat_cache_file_read_object(shard->object, false, frame, stored, indexing->err)
            : leat_cache_file_read(shard->fd, frame, stored, indexing->err);
    if (r == 0 && frame->is_lz4 && !leat_cache_frame_expand(frame, stored, bytes))
        r = leat_error_set(indexing->err, -EBADMSG, "the block at byte %llu is not valid LZ4",
                           (unsigned long long)frame->position);
    return r < 0 ? r
                 : leat_cache_block_decode(&schema, bytes, (size_t)frame->n_bytes,
                                           frame->span.n_records, LEAT_CACHE_UNPACK, &block->kept,
                                           block, indexing->err);
}

static int add(struct indexing *indexing, const struct leat_cache_frame *of,
               const struct leat_block *block) {
    enum leat_cache_compression compression =
        (enum leat_cache_compression)indexing->plan->options.cache.compression;
    struct leat_cache_frame frame = {.span = of->span, .n_rows = block->n_rows};
    const uint8_t *bytes;
    int r;

    indexing->block.n_bytes = 0;
    r = leat_index_block_encode(&indexing->schema, block, &indexing->scratch, &indexing->block,
                                indexing->err);
    if (r == 0)
        r = leat_cache_frame_store(&frame, compression, &indexing->block, &indexing->stored, &bytes,
                                   indexing->err);
    if (r < 0)
        return r;
    leat_cache_file_place(indexing->file, &frame);
    r = leat_cache_file_write(indexing->file->fd, indexing->file->seed, &frame, bytes,
                              indexing->err);
    return r == 0 && leat_cache_file_add(indexing->file, &frame) < 0 ? leat_error_oom(indexing->err)
                                                                     : r;
}

static int copy(struct indexing *indexing, const struct leat_cache_shard_file *shard,
                const struct leat_cache_frame *frame) {
    struct leat_block *block = leat_block_pool_take(&indexing->pool);
    int r = block ? load(indexing, shard->file, frame, block) : leat_error_oom(indexing->err);

    if (r < 0 && r != -ENOMEM)
        leat_error_prefix(indexing->err, "%s", shard->path);
    if (r == 0)
        r = add(indexing, frame, block);
    if (block)
        leat_block_unref(block, 1);
    leat_arena_reset(&indexing->scratch);
    return r;
}

static int build(struct indexing *indexing, const struct leat_cache_shards *shards) {
    int r = leat_cache_file_clear(indexing->file, indexing->err);

    for (size_t i = 0; r == 0 && i < shards->n_items; i++)
        for (size_t k = 0; r == 0 && k < shards->items[i].file->n_frames; k++)
            r = copy(indexing, &shards->items[i], &shards->items[i].file->frames[k]);
    return r;
}

static int build_all(struct indexing *indexing, const struct leat_cache_shards *shards) {
    int r;

    if (leat_index_schema_init(&indexing->schema, indexing->plan,
                               leat_index_has_columns(indexing->plan)) < 0)
        return leat_error_oom(indexing->err);
    leat_arena_init(&indexing->scratch);
    r = build(indexing, shards);
    leat_block_pool_deinit(&indexing->pool);
    leat_arena_deinit(&indexing->scratch);
    leat_cache_bytes_deinit(&indexing->block);
    leat_cache_bytes_deinit(&indexing->stored);
    leat_index_schema_deinit(&indexing->schema);
    return r;
}

static int open_index(const struct leat_plan *plan, const struct leat_opener *opener,
                      const char *folder, struct leat_cache_found *ret_found,
                      char ret_name[LEAT_CACHE_NAME_MAX], struct leat_error *err) {
    static const struct leat_cache_limits no_limits = {.max_size = 0};
    struct leat_cache_identity identity;
    struct leat_data *data = NULL;
    char *description = leat_cache_describe(plan);
    int r = description ? leat_cache_key(plan, opener, &data, &identity, err) : leat_error_oom(err);

    if (r == 0) {
        leat_index_key(plan, leat_index_has_columns(plan), &identity);
        leat_cache_store_name(&identity, ret_name);
        r = leat_cache_store_open(folder, &identity, description, &no_limits, true, ret_found, err);
    }
    leat_data_unref(data);
    free(description);
    return r;
}

int leat_cache_shards_index(const struct leat_cache_shards *shards, const struct leat_plan *plan,
                            const struct leat_opener *opener, const char *folder,
                            char ret_name[LEAT_CACHE_NAME_MAX], struct leat_error *err) {
    struct indexing indexing = {.plan = plan, .err = err};
    struct leat_cache_found found = {.file = NULL};
    int r = open_index(plan, opener, folder, &found, ret_name, err);

    if (r == 0 && found.is_builder) {
        indexing.file = found.file;
        found.file->is_cheap = true;
        r = build_all(&indexing, shards);
        if (r == 0)
            r = leat_cache_store_finish(folder, found.file, err);
        if (r < 0)
            leat_cache_store_discard(folder, found.file);
    }
    leat_cache_file_unref(found.file);
    return r;
}

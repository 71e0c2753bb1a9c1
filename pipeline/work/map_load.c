/* map_load.c: the MAP job of a block in a cache, which is loaded instead of made. Any thread.
 *
 * A block that is damaged or cannot be read is made again from its piece of the source. If it has
 * the bytes of the frame again, they are written to its place. Other processes may read or write
 * there at the same time, as the checksum shows a block that is not whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/cache/sealed.h"
#include "pipeline/work/map.h"

#define COLUMN_SLACK (4 * LEAT_ARENA_ALIGN) /* what its parts are rounded up by */

struct leat_cache_schema leat_map_schema(const struct leat_plan *plan) {
    return (struct leat_cache_schema){
        .fields = plan->fields, .is_kept = plan->is_kept, .n_columns = plan->n_columns};
}

int leat_load_encode(const struct leat_map_job *job, struct leat_cache_bytes *bytes,
                     struct leat_error *err) {
    struct leat_cache_schema schema = leat_map_schema(job->plan);

    if (job->index_schema)
        return leat_index_block_encode(job->index_schema, job->block, job->scratch, bytes, err);
    return leat_cache_block_encode(&schema, job->block, bytes, err);
}

struct leat_cache_load leat_cache_load(const struct leat_cache_file *file,
                                       const struct leat_cache_frame *frame) {
    const struct leat_cache_file *part = file ? leat_cache_file_part(file, frame) : NULL;

    return (struct leat_cache_load){.is_there = part && (part->fd >= 0 || part->object),
                                    .fd = part ? part->fd : -1,
                                    .object = part ? part->object : NULL,
                                    .seed = part ? part->seed : 0,
                                    .frame = *frame};
}

int leat_load_read(const struct leat_plan *plan, const struct leat_cache_load *load,
                   struct leat_arena *arena, struct leat_arena *scratch, const uint8_t **ret_data,
                   struct leat_error *err) {
    const struct leat_cache_frame *frame = &load->frame;
    uint8_t *block = leat_arena_alloc(arena, frame->n_bytes);
    uint8_t *stored = frame->is_lz4 ? leat_arena_alloc(scratch, frame->n_stored) : block;
    int r;

    if (!block || !stored)
        return leat_error_oom(err);
    r = load->object ? leat_cache_file_read_object(load->object, plan->blocks.block_size > 0, frame,
                                                   stored, err)
                     : leat_cache_file_read(load->fd, frame, stored, err);
    if (r == 0 && frame->is_lz4 && !leat_cache_frame_expand(frame, stored, block))
        r = leat_error_set(err, -EBADMSG, "the block at byte %llu is not valid LZ4",
                           (unsigned long long)frame->position);
    *ret_data = block;
    return r;
}

/* ---- what the order and collation rely on ---- */

/* Lists that stages cut together: references have one range for all of them. */
static bool are_cut_alike(const struct leat_plan *plan, const struct leat_block *block) {
    const uint32_t *first = NULL;

    for (uint32_t i = 0; block->n_rows > 0 && i < plan->n_columns; i++) {
        const struct leat_field *field = &plan->fields[i];
        const uint32_t *lengths =
            field->made == LEAT_MADE_OF_PARTS ? block->columns[field->of].lengths : NULL;

        if (lengths && first && memcmp(lengths, first, block->n_rows * sizeof(*first)) != 0)
            return false;
        first = lengths ? lengths : first;
    }
    return true;
}

/* A row takes so many tokens of a batch as its list has, or as all rows have. */
static bool has_tokens(const struct leat_field *field, uint32_t length, uint64_t max_tokens) {
    if (!field->is_padded && field->width > 0 && length != field->width)
        return false;
    return leat_field_padded(field, length) <= max_tokens;
}

/* No row has more tokens than a batch, whose slot has room for just these. */
static bool fit_batches(const struct leat_plan *plan, const struct leat_block *block) {
    for (size_t i = 0; i < plan->n_counted; i++) {
        const struct leat_field *field = &plan->fields[plan->counted[i]];
        const uint32_t *lengths = block->columns[plan->counted[i]].lengths;

        for (uint32_t row = 0; field->made == LEAT_MADE_OF_RECORDS && row < block->n_rows; row++)
            if (!has_tokens(field, lengths[row], plan->max_tokens))
                return false;
    }
    return true;
}

/* Stages check this in the pass, but the bytes of a block may be forged. */
static int check_lengths(const struct leat_plan *plan, const struct leat_block *block,
                         struct leat_error *err) {
    if (!are_cut_alike(plan, block))
        return leat_error_set(err, -EBADMSG,
                              "the cached block is damaged: lists that are cut together have "
                              "different lengths");
    if (!fit_batches(plan, block))
        return leat_error_set(err, -EBADMSG,
                              "the cached block is damaged: a row has an impossible length");
    return 0;
}

/* ---- loading ---- */

/* Scalars that are packed get their dtype; lists lose all but their lengths. */
static int keep_order(struct leat_map_job *job, struct leat_error *err) {
    struct leat_block *block = job->block;

    for (uint32_t i = 0; i < block->n_columns; i++) {
        const struct leat_field *field = &job->plan->fields[i];
        struct leat_column *column = &block->columns[i];
        void *values;

        if (!job->plan->is_kept[i])
            continue;
        if (field->is_list) {
            *column = (struct leat_column){.lengths = column->lengths};
            continue;
        }
        values = leat_arena_alloc(&block->kept, block->n_rows * leat_dtype_size(field->dtype));
        if (!values)
            return leat_error_oom(err);
        leat_cache_copy(column, field->dtype, 0, block->n_rows, values);
        *column = (struct leat_column){.values = values};
    }
    return 0;
}

static int decode_order(struct leat_map_job *job, const struct leat_cache_schema *schema,
                        const uint8_t *data, struct leat_error *err) {
    const struct leat_cache_frame *frame = &job->load.frame;
    struct leat_block *block = job->block;
    int r = leat_cache_block_decode(schema, data, (size_t)frame->n_bytes, frame->span.n_records,
                                    LEAT_CACHE_PACK_ALL, &block->kept, block, err);

    return r == 0 ? keep_order(job, err) : r;
}

/* Bytes that a block out of the cache takes at most, unless its frame lies. */
static size_t loaded_bytes(const struct leat_plan *plan, const struct leat_cache_frame *frame) {
    size_t n = (size_t)frame->n_bytes + frame->n_rows * sizeof(uint32_t) +
               plan->n_columns * (sizeof(struct leat_column) + COLUMN_SLACK);

    for (uint32_t i = 0; i < plan->n_columns; i++)
        if (plan->is_kept[i])
            n += frame->n_rows * (plan->fields[i].is_list ? 2 * sizeof(uint32_t)
                                                          : leat_dtype_size(plan->fields[i].dtype));
    return n;
}

/* Loads into the block's own memory, which is made to fit: it need not move afterwards. */
static int fit_memory(struct leat_map_job *job, struct leat_error *err) {
    struct leat_arena lent = job->block->kept;

    if (!job->spare || job->index_schema || job->without_values)
        return 0;
    job->block->kept = *job->spare;
    *job->spare = lent;
    return leat_arena_fit(&job->block->kept, loaded_bytes(job->plan, &job->load.frame)) < 0
               ? leat_error_oom(err)
               : 0;
}

int leat_load_execute(struct leat_map_job *job, struct leat_error *err) {
    struct leat_cache_schema schema = leat_map_schema(job->plan);
    const struct leat_cache_frame *frame = &job->load.frame;
    const uint8_t *data = NULL;
    int r = fit_memory(job, err);

    if (r == 0)
        r = leat_load_read(job->plan, &job->load, &job->block->kept, job->scratch, &data, err);
    if (r == 0 && job->index_schema)
        r = leat_index_block_decode(job->index_schema, data, (size_t)frame->n_bytes,
                                    frame->span.n_records, job->block, err);
    else if (r == 0 && job->without_values)
        r = decode_order(job, &schema, data, err);
    else if (r == 0)
        r = leat_cache_block_decode(&schema, data, (size_t)frame->n_bytes, frame->span.n_records,
                                    LEAT_CACHE_PACK_LISTS, &job->block->kept, job->block, err);
    if (r == 0 && !job->index_schema)
        r = check_lengths(job->plan, job->block, err);
    if (r < 0 && job->plan->set)
        leat_sealed_name_shard(job->plan, frame->record, err);
    return r;
}

int leat_load_make(struct leat_map_job *job, struct leat_error *err) {
    struct leat_cache_item *item = job->item;

    item->block.n_bytes = 0;
    item->frame.span = job->piece.span;
    item->frame.n_rows = job->block->n_rows;
    if (leat_load_encode(job, &item->block, err) < 0)
        return -1;
    return leat_cache_frame_store(&item->frame,
                                  (enum leat_cache_compression)job->plan->options.cache.compression,
                                  &item->block, &item->stored, &item->bytes, err);
}

/* Opens the file again for writing, if that is allowed. */
static int reopen(int fd) {
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_CLOEXEC);
}

void leat_load_repair(struct leat_map_job *job) {
    const struct leat_cache_frame *frame = &job->load.frame;
    struct leat_cache_bytes block = {.data = NULL}, stored = {.data = NULL};
    struct leat_cache_frame made = *frame;
    const uint8_t *bytes = NULL;
    int fd = -1;

    if (leat_load_encode(job, &block, LEAT_ERROR_IGNORED) == 0 &&
        leat_cache_frame_store(&made, frame->is_lz4 ? LEAT_CACHE_LZ4 : LEAT_CACHE_RAW, &block,
                               &stored, &bytes, LEAT_ERROR_IGNORED) == 0 &&
        made.n_stored == frame->n_stored &&
        memcmp(made.checksum, frame->checksum, sizeof(made.checksum)) == 0)
        job->load.is_same = true;
    if (job->load.is_same && job->load.is_there && !job->plan->set)
        fd = reopen(job->load.fd);
    if (fd >= 0) {
        job->load.is_repaired =
            leat_cache_file_write(fd, job->load.seed, frame, bytes, LEAT_ERROR_IGNORED) == 0;
        (void)close(fd);
    }
    leat_cache_bytes_deinit(&block);
    leat_cache_bytes_deinit(&stored);
}

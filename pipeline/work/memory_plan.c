#include "pipeline/work/memory_plan.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/io/files.h"
#include "pipeline/order/batcher.h"
#include "pipeline/plan/data_digest.h"
#include "pipeline/work/collate.h"

#define KEPT_FACTOR      2    /* columns of a block, in units of its source */
#define SCRATCH_FACTOR   3    /* what is made on the way to them, besides those themselves */
#define FIT_FACTOR       1.25 /* memory of a block that fits over what it needs */
#define BLOCK_BYTES      1024 /* of a block besides its rows */
#define LOAD_FACTOR      20   /* of a file being parsed: text, a DOM of 14 times that, results */
#define LARGE_FACTOR     6    /* of a piece that is one large record */
#define LARGE_TOKENIZED  20   /* the same, where the tokenizer of a model is loaded */
#define LARGE_MARK_BYTES 40
#define WAITING_BYTES    (2U << 20) /* of batches that wait for slots */
#define EVICTING_BYTES   (4U << 20) /* least memory of a full shuffle with a cache */

static void add_stages(const struct leat_plan *plan, struct leat_memory_plan *memory) {
    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];
        size_t loaded = 0, workspace = 0;

        if (stage->ops->memory)
            stage->ops->memory(stage->config, &loaded, &workspace);
        memory->loaded_bytes += loaded;
        memory->workspace_bytes += leat_plan_runs_in_map(plan, stage) ? workspace : 0;
    }
}

/* Names and states of files. */
static uint64_t names_bytes(const struct leat_plan *plan) {
    const struct leat_files *files = &plan->source->files;
    uint64_t n_bytes = files->n_paths * (sizeof(char *) * 4 + 2 * sizeof(struct leat_file_state) +
                                         LEAT_DATA_DIGEST_BYTES);

    for (size_t i = 0; i < files->n_paths; i++)
        n_bytes += strlen(files->paths[i]);
    return n_bytes;
}

/* Arenas grow by chunks. */
static uint64_t at_least_a_chunk(uint64_t n_bytes) {
    return n_bytes > LEAT_ARENA_CHUNK_BYTES ? n_bytes : LEAT_ARENA_CHUNK_BYTES;
}

/* ---- what order stages hold ---- */

/* A block that order stages hold is in memory that fits it (fit.h). The mean size of text records
 * is known from the first ones. */
struct held {
    double rows;        /* of a block */
    double block_bytes; /* of what is kept of it */
    double most_rows;   /* of all blocks */
};

/* Bytes of the kept columns; 0: unknown. A list without a largest length is a part of its record.
 */
static uint64_t row_bytes(const struct leat_plan *plan) {
    uint64_t n_bytes = sizeof(uint32_t), most = KEPT_FACTOR * plan->record_bytes;
    bool has_unbounded = false;

    for (uint32_t i = 0; i < plan->n_columns; i++) {
        const struct leat_field *field = &plan->fields[i];
        uint64_t n_list = field->max_length * leat_dtype_size(field->dtype);

        if (!plan->is_kept[i])
            continue;
        n_bytes += field->is_list ? 2 * sizeof(uint32_t) : leat_dtype_size(field->dtype);
        n_bytes += !field->is_list ? 0 : most > 0 && n_list > most ? most : n_list;
        has_unbounded |= field->is_list && n_list == 0;
    }
    return has_unbounded && most == 0 ? 0 : n_bytes + (has_unbounded ? most : 0);
}

/* Rows of a pass over uncompressed text, if records are at least half as large as the first ones.
 */
static double rows_of_data(const struct leat_plan *plan) {
    if (plan->has_n_rows)
        return (double)plan->n_rows;
    return plan->n_data_bytes > 0 && plan->record_bytes > 0 && plan->decoder_bytes == 0
               ? 2 * (double)plan->n_data_bytes / (double)plan->record_bytes + 1
               : INFINITY;
}

static struct held plan_held(const struct leat_plan *plan) {
    double batch_row = (double)plan->slot_bytes / (double)(plan->batch_size ? plan->batch_size : 1);
    double record = plan->record_bytes > 0 ? (double)plan->record_bytes : batch_row;
    double row = (double)row_bytes(plan), block = (double)plan->options.block_bytes;
    struct held held = {.most_rows = rows_of_data(plan)};

    held.rows = block / (record > 1 ? record : 1);
    held.rows = held.rows > 1 ? held.rows : 1;
    held.block_bytes = BLOCK_BYTES + FIT_FACTOR * (row > 0 ? held.rows * row : KEPT_FACTOR * block);
    return held;
}

/* A full shuffle holds at most all rows, and references to them, whose array doubles. */
static uint64_t set_bytes(const struct leat_plan *plan, uint64_t most) {
    struct held held = plan_held(plan);
    double bytes = held.most_rows * (2 * sizeof(struct leat_ref)) +
                   (held.most_rows / held.rows + 1) * held.block_bytes;

    return bytes < (double)most ? (uint64_t)bytes : most;
}

static bool is_full_shuffle(const struct leat_plan_stage *stage) {
    return stage->ops->evicts_above && stage->ops->evicts_above(stage->config) > 0;
}

/* Bytes of a stage that may be evicted when memory is short. */
static uint64_t evictable_of(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    uint64_t bytes = plan->cache_path && is_full_shuffle(stage)
                         ? set_bytes(plan, stage->ops->evicts_above(stage->config))
                         : 0;

    return bytes > EVICTING_BYTES ? bytes - EVICTING_BYTES : 0;
}

/* Rows that order stages hold, and the bytes of the stages. A stage holds at most the rows of a
 * pass, unless passes follow each other in front of it. */
static void add_held(const struct leat_plan *plan, double most_rows, double *n_rows,
                     uint64_t *n_bytes) {
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t rows, bytes;

        leat_plan_holding(plan, stage, &rows, &bytes);
        if (is_full_shuffle(stage))
            bytes = set_bytes(plan, bytes);
        *n_rows += (plan->has_repeat && plan->repeat_at < i) || (double)rows < most_rows
                       ? (double)rows
                       : most_rows;
        *n_bytes += bytes - evictable_of(plan, stage);
    }
}

/* Batches that wait for slots, and those of one job. */
static uint64_t n_closed_batches(const struct leat_plan *plan) {
    return (LEAT_READY_JOBS + 1) * leat_collate_max(plan);
}

/* A held row keeps its block. If each of the r rows of a block stays for a geometrically
 * distributed time with mean n, the last one leaves after n times the r-th harmonic number. So the
 * held blocks have n times that many rows, at most all rows. Rows of pending batches are
 * neighbours. */
static uint64_t order_bytes(const struct leat_plan *plan) {
    struct held held = plan_held(plan);
    double batch_row = (double)plan->slot_bytes / (double)(plan->batch_size ? plan->batch_size : 1);
    double n_waiting = (double)plan->batch_size + (double)leat_batcher_holds(plan), n_held = 0;
    double n_blocks, most_blocks = held.most_rows / held.rows + 1;
    uint64_t n_bytes = 0;

    add_held(plan, held.most_rows, &n_held, &n_bytes);
    if (n_waiting * batch_row < WAITING_BYTES)
        n_waiting = WAITING_BYTES / (batch_row > 1 ? batch_row : 1);
    n_bytes += leat_batcher_max_bytes(plan, n_closed_batches(plan));
    n_blocks = n_held / held.rows * (log(held.rows) + 1);
    if (n_blocks > most_blocks && !plan->has_repeat)
        n_blocks = most_blocks;
    return n_bytes + (uint64_t)((n_blocks + n_waiting / held.rows + 2) * held.block_bytes);
}

void leat_memory_plan(const struct leat_plan *plan, uint32_t window,
                      struct leat_memory_plan *ret_memory) {
    uint64_t source = (uint64_t)plan->options.block_bytes;
    uint32_t n_lanes = plan->mixing ? (uint32_t)plan->mixing->n_lanes : 1;

    *ret_memory = (struct leat_memory_plan){
        .block_bytes = source + at_least_a_chunk(source * KEPT_FACTOR),
        .scratch_bytes =
            at_least_a_chunk(source * SCRATCH_FACTOR) + at_least_a_chunk(source * KEPT_FACTOR),
        .slot_bytes = plan->slot_bytes,
        .n_slots = plan->n_slots + window,
        .n_min_slots = (uint32_t)plan->prefetch_size + window,
        .n_min_blocks = LEAT_MEMORY_MIN_BLOCKS * n_lanes,
        .decoder_bytes = plan->decoder_bytes,
        .order_bytes = order_bytes(plan),
    };
    if (ret_memory->n_min_slots > ret_memory->n_slots)
        ret_memory->n_min_slots = ret_memory->n_slots;
    add_stages(plan, ret_memory);
    ret_memory->loaded_bytes += names_bytes(plan);
}

void leat_memory_plan_of_lanes(const struct leat_plan *plan, size_t n_lanes, uint32_t window,
                               struct leat_memory_plan *ret_memory) {
    struct leat_plan own = *plan;

    if (own.blocks.n_lanes > n_lanes) {
        own.n_rows = n_lanes * (plan->n_rows / plan->blocks.n_lanes + plan->blocks.block_size);
        own.blocks.n_lanes = n_lanes;
    }
    leat_memory_plan(&own, window, ret_memory);
}

/* Arenas double. A parser has the texts and the places of all values, a list of numbers eight bytes
 * a value, a tokenizer the text, the origin of each byte, and tokens. */
uint64_t leat_memory_plan_map_large(const struct leat_plan *plan, uint64_t n_bytes,
                                    uint64_t n_marks) {
    struct leat_memory_plan memory = {.workspace_bytes = 0};

    add_stages(plan, &memory);
    return n_bytes * (memory.loaded_bytes > 0 ? LARGE_TOKENIZED : LARGE_FACTOR) +
           n_marks * LARGE_MARK_BYTES;
}

uint64_t leat_memory_plan_load_large(uint64_t n_bytes) {
    return 3 * n_bytes;
}

uint64_t leat_memory_plan_least(const struct leat_memory_plan *memory) {
    return memory->n_min_blocks * memory->block_bytes + memory->scratch_bytes +
           memory->decoder_bytes + memory->order_bytes + memory->loaded_bytes +
           memory->workspace_bytes;
}

/* ---- files ---- */

static uint64_t directory_bytes(const char *path) {
    DIR *directory = opendir(path);
    struct dirent *entry;
    uint64_t n_bytes = 0;

    while (directory && (entry = readdir(directory))) {
        const char *ending = strrchr(entry->d_name, '.');
        struct stat status;

        if (ending && (strcmp(ending, ".json") == 0 || strcmp(ending, ".txt") == 0) &&
            fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode))
            n_bytes += (uint64_t)status.st_size;
    }
    if (directory)
        (void)closedir(directory);
    return n_bytes;
}

static uint64_t path_bytes(const char *base, const char *path) {
    char *joined = leat_files_join(base, path);
    struct stat status;
    uint64_t n_bytes = 0;

    if (joined && stat(joined, &status) == 0) {
        if (S_ISREG(status.st_mode))
            n_bytes = (uint64_t)status.st_size;
        else if (S_ISDIR(status.st_mode))
            n_bytes = directory_bytes(joined);
    }
    free(joined);
    return n_bytes;
}

static uint64_t stage_bytes(const char *base, const char *kind, const struct leat_value *args) {
    const struct leat_stage_ops *ops = leat_stage_find(kind ? kind : "");
    uint64_t n_bytes = 0;

    for (const struct leat_arg *arg = ops ? ops->args : NULL; arg && arg->name; arg++) {
        const struct leat_value *value =
            arg->type == LEAT_ARG_PATH ? leat_value_get(args, arg->name) : NULL;

        if (value && value->kind == LEAT_VALUE_SCALAR)
            n_bytes += path_bytes(base, value->text);
    }
    return n_bytes;
}

/* Bytes that stages of single sources load. */
static uint64_t sources_bytes(const char *base, const struct leat_value *args) {
    const struct leat_value *sources = leat_value_get(args, "sources");
    uint64_t n_bytes = 0;

    for (size_t i = 0; sources && i < sources->n_items; i++) {
        const struct leat_value *stages = leat_value_get(&sources->items[i], "stages");

        for (size_t k = 0; stages && k < stages->n_items; k++)
            if (stages->items[k].kind == LEAT_VALUE_MAP && stages->items[k].n_items == 1)
                n_bytes +=
                    stage_bytes(base, stages->items[k].keys[0].name, &stages->items[k].items[0]);
        for (size_t k = 0;
             sources->items[i].kind == LEAT_VALUE_MAP && k < sources->items[i].n_items; k++)
            n_bytes += sources_bytes(base, &sources->items[i].items[k]);
    }
    return n_bytes;
}

uint64_t leat_memory_plan_load(const struct leat_spec *spec) {
    char *base = spec->file ? leat_files_directory(spec->file) : NULL;
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < spec->n_stages; i++)
        n_bytes += stage_bytes(base, spec->stages[i].kind, &spec->stages[i].args);
    n_bytes += sources_bytes(base, &spec->source.args);
    free(base);
    return n_bytes * LOAD_FACTOR;
}

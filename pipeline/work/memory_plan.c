/* memory_plan.c: see memory_plan.h. */
#include "pipeline/work/memory_plan.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/io/files.h"
#include "pipeline/order/batcher.h"
#include "pipeline/plan/data_digest.h"
#include "pipeline/work/job.h"

#define KEPT_FACTOR      2  /* columns of a block, in units of its source */
#define SCRATCH_FACTOR   3  /* what is made on the way to them, besides those themselves */
#define LOAD_FACTOR      20 /* a file being parsed: its text, a DOM of 14 times that, results */
#define LARGE_FACTOR     6  /* of a piece that is one large record */
#define LARGE_TOKENIZED  20
#define LARGE_MARK_BYTES 40
#define WAITING_BYTES    (2U << 20) /* batches that wait for slots */
#define EVICTING_BYTES   (4U << 20) /* what a full shuffle can do with, where there is a cache */

static bool runs(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i] == stage)
            return true;
    return false;
}

static void add_stages(const struct leat_plan *plan, struct leat_memory_plan *memory) {
    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];
        size_t loaded = 0, workspace = 0;

        if (stage->ops->memory)
            stage->ops->memory(stage->config, &loaded, &workspace);
        memory->loaded_bytes += loaded;
        memory->workspace_bytes += runs(plan, stage) ? workspace : 0;
    }
}

/* Names of files, and what is kept of each. */
static uint64_t names_bytes(const struct leat_plan *plan) {
    const struct leat_files *files = &plan->source->files;
    uint64_t n_bytes =
        files->n_paths *
        (sizeof(char *) * 4 + 2 * sizeof(struct leat_data_identity) + LEAT_DATA_DIGEST_BYTES);

    for (size_t i = 0; i < files->n_paths; i++)
        n_bytes += strlen(files->paths[i]);
    return n_bytes;
}

/* Arenas grow by chunks. */
static uint64_t at_least_a_chunk(uint64_t n_bytes) {
    return n_bytes > LEAT_ARENA_CHUNK_BYTES ? n_bytes : LEAT_ARENA_CHUNK_BYTES;
}

/* What may be evicted when memory is short, of the bytes that a stage holds. */
static uint64_t evictable_of(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    uint64_t bytes =
        plan->cache_path && stage->ops->evicts_above ? stage->ops->evicts_above(stage->config) : 0;

    return bytes > EVICTING_BYTES ? bytes - EVICTING_BYTES : 0;
}

static uint64_t evictable_bytes(const struct leat_plan *plan) {
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < plan->n_order; i++)
        n_bytes += evictable_of(plan, plan->order[i]);
    return n_bytes;
}

/* Rows that order stages hold, and the bytes of those stages themselves. */
static void add_held(const struct leat_plan *plan, uint64_t *n_rows, uint64_t *n_bytes) {
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t rows = 0, bytes = 0;

        if (stage->filter_column >= 0 || !stage->ops->holding)
            continue;
        stage->ops->holding(stage->config, &rows, &bytes);
        *n_rows += rows;
        *n_bytes += bytes - evictable_of(plan, stage);
    }
}

/* Those that wait for slots, and those of one job. */
static uint64_t n_closed_batches(const struct leat_plan *plan) {
    return (LEAT_READY_JOBS + 1) * leat_collate_max(plan);
}

/* Records of that size in a block. */
static double rows_of_block(const struct leat_plan *plan, double row) {
    double n = (double)plan->options.block_bytes / (row > 1 ? row : 1);

    return n > 1 ? n : 1;
}

/* A row that is held keeps its block. Of a block of r rows, each of which stays for a time of
 * geometric distribution with mean n, the last one leaves after n times the r-th harmonic number:
 * so blocks with as many rows as n times that are there. r: as if all records were like the first
 * ones; of data that nobody has seen, and of rows that wait in batches, which are neighbours, as if
 * they were as large there as here. */
static uint64_t order_bytes(const struct leat_plan *plan) {
    double row = (double)plan->slot_bytes / (double)(plan->batch_size ? plan->batch_size : 1);
    double r = rows_of_block(plan, plan->record_bytes > 0 ? (double)plan->record_bytes : row);
    double block = (double)at_least_a_chunk((uint64_t)plan->options.block_bytes);
    double n_waiting = (double)plan->batch_size + (double)leat_batcher_holds(plan);
    uint64_t n_held = 0, n_bytes = 0;

    add_held(plan, &n_held, &n_bytes);
    if (plan->record_bytes > 0)
        block *= KEPT_FACTOR;
    if (n_waiting * row < WAITING_BYTES)
        n_waiting = WAITING_BYTES / (row > 1 ? row : 1);
    n_bytes += leat_batcher_max_bytes(plan, n_closed_batches(plan));
    return n_bytes + (uint64_t)(((double)n_held / r * (log(r) + 1) +
                                 n_waiting / rows_of_block(plan, row) + 2) *
                                block);
}

void leat_memory_plan(const struct leat_plan *plan, uint32_t window, uint32_t n_blocks,
                      uint32_t n_threads, struct leat_memory_plan *ret_memory) {
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
        .n_blocks = n_blocks + LEAT_MEMORY_MIN_BLOCKS * (n_lanes - 1),
        .n_jobs = n_threads,
        .decoder_bytes = plan->decoder_bytes,
        .order_bytes = order_bytes(plan),
        .evictable_bytes = evictable_bytes(plan),
    };
    if (ret_memory->n_min_slots > ret_memory->n_slots)
        ret_memory->n_min_slots = ret_memory->n_slots;
    add_stages(plan, ret_memory);
    ret_memory->loaded_bytes += names_bytes(plan);
}

/* Arenas double; a parser has the texts and for each value its places; lists of numbers take eight
 * bytes a value; a tokenizer has the text, where each byte came from, and tokens. */
uint64_t leat_memory_plan_map_large(const struct leat_plan *plan, uint64_t n_bytes,
                                    uint64_t n_marks) {
    struct leat_memory_plan memory = {.workspace_bytes = 0};

    add_stages(plan, &memory);
    return n_bytes * (memory.workspace_bytes > 0 ? LARGE_TOKENIZED : LARGE_FACTOR) +
           n_marks * LARGE_MARK_BYTES;
}

/* With what is stored. */
uint64_t leat_memory_plan_load_large(uint64_t n_bytes) {
    return 3 * n_bytes;
}

uint64_t leat_memory_plan_least(const struct leat_memory_plan *memory) {
    return memory->n_min_blocks * memory->block_bytes + memory->scratch_bytes +
           memory->decoder_bytes + memory->order_bytes + memory->loaded_bytes +
           memory->workspace_bytes;
}

uint64_t leat_memory_plan_wanted(const struct leat_memory_plan *memory) {
    return memory->n_blocks * memory->block_bytes + memory->n_jobs * memory->scratch_bytes +
           memory->decoder_bytes + memory->order_bytes + memory->evictable_bytes +
           memory->loaded_bytes + memory->n_jobs * memory->workspace_bytes;
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

/* What the stages of single sources load. */
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

/* arena.h: bump allocation for one block or one job. Owner: the job (or whoever holds the block).
 *
 * Chunks are kept across resets, so that a warm arena never asks the system for memory and never
 * touches a fresh page. A chunk larger than LEAT_ARENA_KEEP_BYTES is given back at reset, so that
 * one huge record does not stay for ever.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_ARENA_ALIGN       64
#define LEAT_ARENA_CHUNK_BYTES (256U << 10)
#define LEAT_ARENA_KEEP_BYTES  (4U << 20)

#define LEAT_ARENA_FIT_PART                                                                        \
    16 /* an arena that is made to fit gets this part as slack, so that it fits others too */

struct leat_arena_chunk;

struct leat_arena {
    struct leat_arena_chunk *first, *current;
    size_t n_bytes;        /* handed out since the last reset */
    size_t capacity_bytes; /* held from the system */
};

void leat_arena_init(struct leat_arena *arena);
/* Gives an empty arena memory for just n_bytes; each allocation is rounded up to LEAT_ARENA_ALIGN.
 * 0 or -ENOMEM. */
int leat_arena_init_exact(struct leat_arena *arena, size_t n_bytes);
/* Gives an empty or reset arena memory for n_bytes in one piece. It keeps what it has if that is
 * not much more. 0, or -ENOMEM and the arena has none. */
int leat_arena_fit(struct leat_arena *arena, size_t n_bytes);
void leat_arena_deinit(struct leat_arena *arena);
struct leat_leftovers;
/* The same, but leaves its memory there. */
void leat_arena_leave(struct leat_arena *arena, struct leat_leftovers *leftovers);
void leat_arena_reset(struct leat_arena *arena);

/* n_bytes at a multiple of 64; NULL when memory is out. n_bytes may be 0. Contents are undefined.
 */
void *leat_arena_alloc(struct leat_arena *arena, size_t n_bytes);

/* An open-ended region: at least min_bytes at the returned pointer, *ret_size of them usable;
 * leat_arena_commit(n) keeps the first n. Nothing else may be allocated in between. */
void *leat_arena_reserve(struct leat_arena *arena, size_t min_bytes, size_t *ret_size);
void leat_arena_commit(struct leat_arena *arena, size_t n_bytes);

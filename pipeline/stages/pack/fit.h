/* pack/fit.h: into which row a document goes (pack): the first with room for it, or the one where
 * the least room is left. Owner: the run, for one window of documents.
 *
 * First fit asks a segment tree over the rows for the leftmost with room enough: O(log n). Best fit
 * keeps the rows of each amount of room on a stack, and finds the least amount that is enough in a
 * bitmap of three levels: O(1). Of rows with the same room the one that was filled last is taken.
 * (Johnson, Demers, Ullman, Garey, Graham: Worst-case performance bounds for simple one-dimensional
 * packing algorithms, 1974.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_FIT_LENGTH_MAX (1U << 20)

struct leat_fit;

/* Makes room for n_max rows of `length` elements. NULL: memory ran out. */
struct leat_fit *leat_fit_new(bool is_best, uint32_t length, uint32_t n_max);
struct leat_fit *leat_fit_free(struct leat_fit *fit);
/* Places n elements (1..length), and returns their row; a new one if no row had room. */
uint32_t leat_fit_place(struct leat_fit *fit, uint32_t n);
uint32_t leat_fit_n_rows(const struct leat_fit *fit);
/* Forgets all rows. */
void leat_fit_reset(struct leat_fit *fit);
/* The bytes that it takes. */
uint64_t leat_fit_bytes(bool is_best, uint32_t length, uint32_t n_max);

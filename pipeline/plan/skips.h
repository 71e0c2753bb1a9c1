/* skips.h: steps (`skip_steps`) and records (`skip_records`) that are removed at the very end of a
 * sequence. All other batches keep their numbers and bytes, all other rows their places.
 *
 * A step is written as 0:17 (epoch:step) or 17 (of every epoch). A record is written as data.csv:17
 * (file:line), or as its number in a pass, from 0, as `leatctl where` tells it. Ranges are written
 * as 100-120. Lines become numbers when the plan is made, by counting the records before them. A
 * file is named as in `paths`, or by the end of that. For mixed sources, numbers mean nothing, but
 * lines do.
 *
 * Ranges are sorted, and none touches another. Immutable once the plan is made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/blake2b.h"
#include "proto/base/error.h"

#define LEAT_SKIPS_NUMBER_MAX UINT64_C(1000000000000000)
#define LEAT_SKIPS_EVERY      UINT64_MAX /* as epoch: every one */

struct leat_skip_range {
    uint64_t group; /* steps: the epoch, or LEAT_SKIPS_EVERY; records: the lane of the source */
    uint64_t first, last;
};

struct leat_skip_list {
    struct leat_skip_range *ranges;
    size_t n_ranges, capacity;
};

struct leat_skips {
    struct leat_skip_list steps, records;
    bool has_records; /* `records` is filled (work/skip_records.h). */
};

struct leat_plan;
struct leat_opener;
struct leat_value;
struct leat_config;

/* Reads one step or range of steps. 0, or -EINVAL without a message. For records: *ret_n_file is
 * the length of the file's name, 0 if it is a number. */
int leat_skips_parse_step(const char *text, struct leat_skip_range *ret_range);
int leat_skips_parse_record(const char *text, size_t *ret_n_file,
                            struct leat_skip_range *ret_range);

/* Checks what can be checked without data, and takes the steps. Errors are at the item. */
int leat_skips_bind(struct leat_skips *skips, const struct leat_config *options,
                    struct leat_error *err);
void leat_skips_deinit(struct leat_skips *skips);
void leat_skips_digest(const struct leat_skips *skips, uint8_t ret_digest[LEAT_DIGEST_BYTES]);

bool leat_skips_has_step(const struct leat_skips *skips, uint64_t epoch, uint64_t step);
bool leat_skips_has_record(const struct leat_skips *skips, uint64_t lane, uint64_t record);
/* Checks that all of several ranks lose the same number of steps: of a round all or none. phase: of
 * the rounds of that epoch (run.h). The message says what would be right. */
int leat_skips_check_rounds(const struct leat_skips *skips, uint64_t world_size, uint64_t epoch,
                            uint64_t phase, struct leat_error *err);

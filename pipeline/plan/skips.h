/* skips.h: what is taken out of a sequence at its very end: steps (`skip_steps`) and records
 * (`skip_records`). All other batches keep their numbers and bytes, all other rows their places.
 *
 * Written are a step as 0:17 (epoch:step) or 17 (of every epoch), a record as data.csv:17
 * (file:line) or by its number in a pass, from 0, as `leatctl where` tells it; and ranges of them,
 * 100-120. Lines become numbers when the plan is made, by counting the records in front of them. A
 * file is named as in `paths`, or by the end of that. Of sources that are mixed, numbers mean
 * nothing: lines do.
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
#define LEAT_SKIPS_EVERY      UINT64_MAX /* epoch: each */

struct leat_skip_range {
    uint64_t group; /* steps: the epoch, or LEAT_SKIPS_EVERY; records: the lane of the source */
    uint64_t first, last;
};

struct leat_skip_list {
    struct leat_skip_range *ranges;
    size_t n_ranges;
};

struct leat_skips {
    struct leat_skip_list steps, records;
};

struct leat_plan;
struct leat_opener;
struct leat_value;
struct leat_config;

/* Reads one step or range of steps: 0 or -EINVAL, without a message. For records: *ret_n_file is
 * the length of the file's name, 0 if it is a number. */
int leat_skips_parse_step(const char *text, struct leat_skip_range *ret_range);
int leat_skips_parse_record(const char *text, size_t *ret_n_file,
                            struct leat_skip_range *ret_range);

/* Checks what can be without data, and takes the steps. Errors are at the item. */
int leat_skips_bind(struct leat_skips *skips, const struct leat_config *options,
                    struct leat_error *err);
/* Once the files are known: takes the records. Reads the data that stands before lines, if any are
 * named: it may block. */
int leat_skips_load(struct leat_plan *plan, const struct leat_opener *opener,
                    struct leat_error *err);
void leat_skips_deinit(struct leat_skips *skips);
void leat_skips_digest(const struct leat_skips *skips, uint8_t ret_digest[LEAT_DIGEST_BYTES]);

bool leat_skips_has_step(const struct leat_skips *skips, uint64_t epoch, uint64_t step);
bool leat_skips_has_record(const struct leat_skips *skips, uint64_t lane, uint64_t record);
/* Of several ranks, whether all of them are left out of the same number of steps: of a round all,
 * or none. phase: of the rounds of that epoch (run.h). The message has what would be right. */
int leat_skips_check_rounds(const struct leat_skips *skips, uint64_t world_size, uint64_t epoch,
                            uint64_t phase, struct leat_error *err);

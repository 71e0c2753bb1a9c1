/* data_watch.h: tells if the files of a plan are still as they were when the plan was made.
 *
 * A file has changed if its bytes have (as data_digest.h looks at them): one that was only touched,
 * or replaced by a file with the same bytes, has not. A change is reported once, unless it fails
 * the run. A FIFO is not watched.
 *
 * Owner: the SCAN or CACHE job that is out (only one of them looks), else the run.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/plan/data_digest.h"

#define LEAT_DATA_WATCH_TEXTS 16
#define LEAT_DATA_WATCH_FILES 1024 /* that one SCAN job looks at */

struct leat_data_watch {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    bool fails;                         /* a change is an error */
    struct leat_data *known;            /* NULL: the files are as in plan->data */
    size_t first_file, end_file;        /* the files that are watched; none if there is no data */
    size_t next_file;                   /* the next file to look at in this pass */
    uint64_t n_changes;                 /* found and not taken yet */
    char *texts[LEAT_DATA_WATCH_TEXTS]; /* the first changes */
    size_t n_texts;
};

void leat_data_watch_init(struct leat_data_watch *watch, const struct leat_plan *plan,
                          const struct leat_opener *opener, bool fails);
/* Watches only the files from first_file up to end_file. */
void leat_data_watch_limit(struct leat_data_watch *watch, size_t first_file, size_t end_file);
void leat_data_watch_deinit(struct leat_data_watch *watch);
/* Begins a pass: all files are to be looked at again. */
void leat_data_watch_next_pass(struct leat_data_watch *watch);
/* True if files of this pass were not looked at yet. */
bool leat_data_watch_is_due(const struct leat_data_watch *watch);
/* Looks at the next max_files files. 0; -ESTALE if `fails` and one of them has changed; -errno.
 * Blocks. */
int leat_data_watch_check(struct leat_data_watch *watch, size_t max_files, struct leat_error *err);
/* Looks once more at a file that was read to its end. As leat_data_watch_check. */
int leat_data_watch_end_file(struct leat_data_watch *watch, size_t file,
                             const struct leat_input *input, struct leat_error *err);
/* Takes the number of changes that were found since it was last taken. */
uint64_t leat_data_watch_take_changes(struct leat_data_watch *watch);
/* Takes the oldest text, which the caller frees; NULL: none. */
char *leat_data_watch_take_text(struct leat_data_watch *watch);

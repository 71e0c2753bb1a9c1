/* data_kept.h: keeps what files are (data_digest.h) in a folder of state, so that a later process
 * need not read them again: many files would cost it much.
 *
 * A file is taken for the one that was read if path, inode, size and both times are the same. The
 * device is not compared, as it differs between machines that mount the same folder. A file that
 * was changed less than two seconds before its identity was kept is read again, since a later
 * change within one tick of the clock could not be told.
 *
 * The bytes that are kept may be damaged, or written by somebody else: those of other users are not
 * read, and a checksum tells the rest. Then all files are read again. Immutable once initialised;
 * any thread, and several processes may keep the same files at once.
 */
#pragma once

#include "pipeline/io/state_folder.h"
#include "pipeline/plan/plan.h"

#define LEAT_DATA_KEPT_FROM  (1U << 20)   /* bytes that were read; less is not worth keeping */
#define LEAT_DATA_KEPT_BYTES (128U << 20) /* of a file of the folder; more is not kept */
#define LEAT_DATA_KEPT_FILES 256

struct leat_data_kept {
    struct leat_state_folder folder;
};

/* The folder `files` in that of the state: see leat_state_folder_init. */
void leat_data_kept_init(struct leat_data_kept *kept, const char *state_directory);
/* As leat_plan_identify_data, where `known` may be NULL: then what is kept is known, and what was
 * read is kept. ret_failure: why it could not be kept or read; the plan has its data then, too. */
int leat_data_kept_identify(const struct leat_data_kept *kept, struct leat_plan *plan,
                            const struct leat_opener *opener, const struct leat_data *known,
                            struct leat_error *ret_failure, struct leat_error *err);

/* The bytes that are kept of the data, malloc'ed; NULL: no memory. */
uint8_t *leat_data_kept_pack(const struct leat_files *files, const struct leat_data *data,
                             size_t *ret_n_bytes);
/* Reads what the bytes say of these files, for leat_data_new(). The bytes may be any.
 * written_ns: when they were written. -EBADMSG: they were not made by leat_data_kept_pack(). */
int leat_data_kept_unpack(const struct leat_files *files, bool is_full, const uint8_t *bytes,
                          size_t n_bytes, int64_t written_ns, struct leat_data **ret_data);

/* tuner_store.h: the folder where tuners keep what they found: a file for each (stream, machine).
 *
 * The key is the digest of the spec with what is pinned, and of CPU model, CPUs that may be used,
 * workers and the size of memory_limit. Immutable once open; reading and writing block, and may be
 * called by any thread.
 */
#pragma once

#include "daemon/stream/tuner_file.h"
#include "pipeline/io/state_folder.h"

#define LEAT_TUNER_STORE_FILES 256

struct leat_tuner_store {
    struct leat_state_folder folder;
    uint8_t machine[LEAT_DIGEST_BYTES];
};

/* The folder `tuner` in directory; NULL: in $STATE_DIRECTORY, $XDG_STATE_HOME/leat or
 * ~/.local/state/leat.
 * memory_limit 0: none. */
void leat_tuner_store_init(struct leat_tuner_store *store, const char *directory,
                           uint32_t n_workers, uint64_t memory_limit);
void leat_tuner_store_key(const struct leat_tuner_store *store,
                          const uint8_t spec_digest[LEAT_DIGEST_BYTES],
                          const bool is_pinned[LEAT_N_KNOBS], struct leat_tuner_key *ret_key);
/* 0, -ENOENT: nothing was kept; else why it cannot be used. */
int leat_tuner_store_read(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err);
int leat_tuner_store_write(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                           const struct leat_tuner_memory *memory, struct leat_error *err);

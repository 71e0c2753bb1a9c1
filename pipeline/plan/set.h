/* set.h: what the set.json of a prepared set says: everything that a plan needs of its source, so
 * that a stream can be trained without it, and the checksums of the blocks.
 *
 * The file is foreign: whatever its bytes are, parsing ends in a set whose numbers agree with each
 * other, or in an error. It has no time and no inode, so it is the same wherever it is sealed.
 * Immutable once parsed; any thread.
 */
#pragma once

#include "pipeline/io/files.h"
#include "pipeline/plan/data_digest.h"

#define LEAT_SET_NAME           "set.json"
#define LEAT_SET_BYTES_MAX      (UINT32_C(1) << 28) /* enough for 8 million blocks */
#define LEAT_SET_SHARDS_MAX     100000
#define LEAT_SET_HEAD_MAX       (UINT32_C(1) << 26)
#define LEAT_SET_CHECKSUM_BYTES 16

/* The bytes of the first file of a source in which its fields are found. */
struct leat_set_head {
    uint8_t *bytes;
    size_t n_bytes;
    size_t n_files;
    uint64_t record_bytes; /* the mean of the first records; 0: unknown */
};

struct leat_set_file {
    char *name; /* as the spec would name it */
    uint64_t n_bytes;
    uint8_t digest[LEAT_DATA_DIGEST_BYTES];
};

struct leat_set_shard {
    uint64_t n_records, n_rows;
    size_t n_blocks;
    uint8_t *checksums; /* [n_blocks][LEAT_SET_CHECKSUM_BYTES] */
};

struct leat_set {
    char *folder;
    uint8_t spec[LEAT_DIGEST_BYTES]; /* plan->record_digest */
    uint8_t data[LEAT_DIGEST_BYTES]; /* of the shards' identity */
    bool is_full;                    /* the digests of files are of all of their bytes */
    uint64_t n_records, n_rows;
    struct leat_set_head *heads; /* [n_heads]: one for each source */
    size_t n_heads;
    struct leat_set_file *files; /* [n_files] */
    size_t n_files;
    struct leat_set_shard *shards; /* [n_shards], at least 2 */
    size_t n_shards;
};

/* -EBADMSG: it is no set.json. folder is copied. */
int leat_set_parse(const char *folder, const char *text, size_t n_bytes, struct leat_set **ret_set,
                   struct leat_error *err);
/* Reads set.json in the folder. -ESTALE: there is none, so the set is not sealed. */
int leat_set_open(const char *folder, const char *spec_file, const struct leat_opener *opener,
                  struct leat_set **ret_set, struct leat_error *err);
struct leat_set *leat_set_free(struct leat_set *set);
/* Writes what leat_set_parse() reads. False: no memory. */
bool leat_set_write(const struct leat_set *set, struct leat_text *text);

/* The data of the files, as the set says. NULL: no memory. */
struct leat_data *leat_set_data(const struct leat_set *set, const struct leat_data_scope *scope);
/* -ESTALE: the file is not the one that the set was made of. */
int leat_set_check_file(const struct leat_set *set, size_t file, const char *path,
                        const struct leat_opener *opener, struct leat_error *err);

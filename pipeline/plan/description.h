/* description.h: keeps what was served in words, to tell later why a position does not fit: the
 * text of a spec (spec_text.h) and that of data (data_text.h), each by its digest.
 *
 * A file has a first line with the version, the text, and a checksum of all before; a damaged file
 * is not believed. The number and size of files are limited, and the oldest go first. Digests alone
 * decide if a position fits. Owner: as the folder; any thread may use it, and it blocks.
 */
#pragma once

#include "pipeline/io/state_folder.h"
#include "pipeline/plan/plan.h"
#include "proto/position.h"

#define LEAT_DESCRIPTION_FILES 512
#define LEAT_DESCRIPTION_BYTES (64U << 20) /* of all of them */

struct leat_descriptions {
    struct leat_state_folder folder;
};

/* The digests of a position. */
struct leat_claim {
    bool has_spec, has_data; /* it says it */
    uint8_t spec[LEAT_POSITION_DIGEST_BYTES], data[LEAT_POSITION_DIGEST_BYTES];
};

/* The folder `positions` in that of the state: see leat_state_folder_init. */
void leat_descriptions_init(struct leat_descriptions *descriptions, const char *state_directory);
/* Keeps the description of the plan, unless it is there. 0, or why it cannot be kept. */
int leat_descriptions_keep(const struct leat_descriptions *descriptions,
                           const struct leat_plan *plan, struct leat_error *err);
/* Checks that the plan has the digests of the claim. 0, or -ESTALE with what differs. */
int leat_descriptions_check(const struct leat_descriptions *descriptions,
                            const struct leat_plan *plan, const struct leat_claim *claim,
                            struct leat_error *err);

/* The file of a description: malloc'ed, NULL when memory is out; and its text, which lies in
 * `file` and is terminated there, or NULL: it is none, or damaged. kind: "spec", "data". */
char *leat_description_pack(const char *kind, const char *text);
const char *leat_description_unpack(const char *kind, char *file, size_t n_bytes);

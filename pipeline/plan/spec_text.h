/* spec_text.h: a bound spec as text. The same stream has the same text, however it was written. Its
 * digest is that of the spec, and two texts tell what differs.
 *
 * A line for the source, each stage, and each of their arguments and of the stream's options:
 *
 *     <mark><key> TAB <value>        =stages[3] TAB shuffle
 *                                    =stages[3].shuffle.buffer_size TAB 1000
 *
 * The mark says if the line counts in the digest. '=': it does. '.': it does not, as it is the
 * default (so that an argument that a later version adds changes no digest). '~': it does not, as
 * the batches are the same with any value: names of files, whose contents count instead, and all
 * that only changes speed and memory (leat_arg.is_aside). Where the data lies does not count; the
 * data has a digest of its own (data_digest.h).
 */
#pragma once

#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

#define LEAT_SPEC_TEXT_MAX      (4U << 20) /* bytes of a text that is read back */
#define LEAT_SPEC_TEXT_CONTENTS "contents" /* KEY contents: the digest of what its files say */
#define LEAT_SPEC_TEXT_FILE     "file"     /* KEY file NAME: that of one of them */

/* malloc'ed; NULL when memory is out. The plan is bound and loaded. */
char *leat_spec_text(const struct leat_plan *plan);
/* Adds the lines of one stage or source, with `place` as its key. */
void leat_spec_text_add_stage(struct leat_text *text, const struct leat_config *config,
                              const char *place);
void leat_spec_text_digest(const char *text, uint8_t ret_digest[LEAT_DIGEST_BYTES]);

/* Adds in words what changed from `old` to `new`, the first differences of those that count:
 * "stages[3].shuffle.buffer_size was 1000, is 2000". Adds nothing if there is none. Both may be any
 * text. */
void leat_spec_text_compare(const char *old, const char *new, struct leat_text *text);

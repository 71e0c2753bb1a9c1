/* variant.h: a variation of a declared stream that a trainer asks for: another part of its data, or
 * its data unshuffled.
 *
 * A trainer may only vary what the operator's stream declares: the `part` of its `split`, and
 * whether its `shuffle`s are there. The variation reads the same files with the same rights. To
 * positions and sharing it is a stream of its own, since its spec has another digest.
 */
#pragma once

#include <stdbool.h>

#include "proto/spec.h"

struct leat_variant {
    const char *split; /* "train", "validation", "test"; "": as declared */
    int shuffle;       /* enum leat_variant_shuffle */
};

enum leat_variant_shuffle {
    LEAT_VARIANT_SHUFFLE_AS_DECLARED,
    LEAT_VARIANT_SHUFFLE_ON, /* as declared; the stream must have a shuffle */
    LEAT_VARIANT_SHUFFLE_OFF,
    LEAT_N_VARIANT_SHUFFLES
};

static inline bool leat_variant_is_any(const struct leat_variant *variant) {
    return variant->split[0] || variant->shuffle != LEAT_VARIANT_SHUFFLE_AS_DECLARED;
}

/* Makes a changed copy of the spec, with a name like "titanic.validation" or "titanic.unshuffled".
 * -EINVAL: the stream has no such stage. */
int leat_variant_make(const struct leat_spec *declared, const struct leat_variant *variant,
                      struct leat_spec **ret_spec, struct leat_error *err);

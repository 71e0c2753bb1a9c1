/* variant.h: a declared stream as a trainer wants it: another part of its data, or in the order of
 * the data.
 *
 * What may be changed is what the operator's stream says itself: the `part` of its `split`, and
 * whether its `shuffle`s are there. It reads the same files with the same rights, and is a stream
 * of its own to positions and to those it is shared with: its spec has another digest.
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
    LEAT_VARIANT_SHUFFLE_ON, /* as declared, and there must be one */
    LEAT_VARIANT_SHUFFLE_OFF,
    LEAT_N_VARIANT_SHUFFLES
};

static inline bool leat_variant_is_any(const struct leat_variant *variant) {
    return variant->split[0] || variant->shuffle != LEAT_VARIANT_SHUFFLE_AS_DECLARED;
}

/* A copy of the spec, changed, with a name that says how: "titanic.validation", or
 * "titanic.unshuffled". -EINVAL: the stream has no such thing to change. */
int leat_variant_make(const struct leat_spec *declared, const struct leat_variant *variant,
                      struct leat_spec **ret_spec, struct leat_error *err);

/* builder.h: the spec that a builder has built. */
#pragma once

#include "proto/spec.h"

struct leat_builder;

/* *ret_spec belongs to the builder. 0, or the builder's failure, copied to err. */
int leat_builder_spec(const struct leat_builder *builder, const struct leat_spec **ret_spec,
                      struct leat_error *err);

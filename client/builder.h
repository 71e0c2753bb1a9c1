/* builder.h: what a builder has built, for the client. */
#pragma once

#include "proto/spec.h"

struct leat_builder;

/* The spec, owned by the builder. 0, or the builder's failure copied to err. */
int leat_builder_spec(const struct leat_builder *builder, const struct leat_spec **ret_spec,
                      struct leat_error *err);

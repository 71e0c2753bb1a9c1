/* builder.h: what a builder has built, for the client, and how it opens that. */
#pragma once

#include "proto/spec.h"

struct leat_builder;
struct leat_client;
struct leat_open_options;
struct leat_stream;

/* The spec, owned by the builder. 0, or the builder's failure copied to err. */
int leat_builder_spec(const struct leat_builder *builder, const struct leat_spec **ret_spec,
                      struct leat_error *err);

/* As leat_client_open_built(), of a spec that came otherwise. */
int leat_client_open_spec(struct leat_client *client, const struct leat_spec *spec,
                          const struct leat_open_options *options, struct leat_stream **ret_stream);

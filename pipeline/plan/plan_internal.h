/* plan_internal.h: the steps of building a plan, in their order; only files of plan/ include it. */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/stage/planner.h"

/* Binds all that the spec says (plan/bind.c). */
int leat_plan_bind_spec(struct leat_plan *plan, struct leat_error *err);
/* Puts the place of the stage in the spec in front of the path of an error: "stages[I].KIND", or
 * "source.mix.sources[K].NAME.stages[I].KIND". */
void leat_plan_prefix_stage(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                            struct leat_error *err);
/* Binds a stage or source; sets *ret_config also if it fails. */
int leat_plan_bind(const struct leat_spec *spec, const struct leat_stage_ops *ops,
                   const struct leat_value *args, uint32_t line, uint32_t column,
                   struct leat_config **ret_config, struct leat_error *err);
struct leat_config *leat_plan_config_free(struct leat_config *config);
int leat_plan_unknown_kind(const struct leat_spec *spec, const char *kind, uint32_t line,
                           uint32_t column, const char *what,
                           const struct leat_stage_ops *const *table, struct leat_error *err);
/* Lets the source declare its fields (plan.c). */
int leat_plan_probe(struct leat_plan *plan, struct leat_plan_source *source,
                    struct leat_planner *planner, const struct leat_opener *opener,
                    struct leat_error *err);

/* Binds the source, or the sources that it is composed of (plan/sources.c). */
int leat_plan_bind_sources(struct leat_plan *plan, struct leat_error *err);
int leat_plan_load_sources(struct leat_plan *plan, const struct leat_opener *opener,
                           struct leat_error *err);
int leat_plan_probe_sources(struct leat_plan *plan, struct leat_planner *planner,
                            const struct leat_opener *opener, struct leat_error *err);
/* Plans the stages of one source, whose schema the planner has (plan.c). */
int leat_plan_source_stages(struct leat_plan *plan, size_t source, struct leat_planner *planner,
                            struct leat_error *err);
/* Marks those columns of the sources as needed whose joined columns are. */
void leat_plan_need_sources(struct leat_plan *plan);
/* After leat_plan_arrange: decides which columns of each source are kept, and how it is cut. */
int leat_plan_arrange_sources(struct leat_plan *plan, struct leat_error *err);
void leat_plan_free_sources(struct leat_plan *plan);
/* Puts "source.NAME" in front of the path of an error. */
void leat_plan_prefix_source(const struct leat_plan *plan, size_t index, struct leat_error *err);

/* Decides which stages are dead, which columns are needed and kept, what runs in MAP and what in
 * ORDER (plan/layout.c). */
int leat_plan_arrange(struct leat_plan *plan, const struct leat_planner *planner,
                      struct leat_error *err);
/* Lays out tensors, batch and slot sizes (plan/layout.c). */
int leat_plan_lay_out(struct leat_plan *plan, const struct leat_planner *planner,
                      struct leat_error *err);
/* Decides in which order the source is read, and checks that it can be (plan/layout.c). After
 * leat_plan_arrange. */
int leat_plan_find_blocks(struct leat_plan *plan, struct leat_error *err);
/* Makes the text of the bound spec and its digests (plan/spec_text.c). */
int leat_plan_digest(struct leat_plan *plan, struct leat_error *err);

/* faults.h: all that is wrong with what was written, not only the first.
 *
 * What is judged stops at its first fault. So that fault is told and taken out of a copy, and the
 * copy is judged again: an argument goes, a stage that stays wrong is passed over. What follows
 * from an argument's having been taken out is not told. For messages: what runs is judged whole.
 */
#pragma once

#include <stddef.h>

#include "proto/base/error.h"
#include "proto/spec.h"

#define LEAT_FAULTS_MAX 100 /* that are told of one stream, or of the settings */

typedef void leat_fault_report(void *data, const struct leat_error *err);

/* The key of the map that the place is in, of those at the top: its index, or -1. */
int leat_faults_find_key(const struct leat_value *map, uint32_t line, uint32_t column);
/* The same map without that key: 0 or -ENOMEM. */
int leat_faults_drop_key(struct leat_value *map, size_t index);

/* leat_yaml_streams() of all streams that have the shape of one; those that have not are reported,
 * and go from the document. Returns how many these are. */
size_t leat_faults_read_streams(struct leat_value *document, const char *file,
                                struct leat_spec ***ret_specs, size_t *ret_n_specs,
                                leat_fault_report *report, void *data);
/* Reports what leat_plan_check() finds wrong with the stream; returns how many faults there are. */
size_t leat_plan_faults(const struct leat_spec *spec, leat_fault_report *report, void *data);

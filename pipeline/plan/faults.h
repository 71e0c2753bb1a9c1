/* faults.h: finds all that is wrong with what was written, not only the first fault.
 *
 * A check stops at its first fault. So that fault is reported and removed from a copy, which is
 * checked again: an argument is removed, a stage that stays wrong is passed over. Faults that
 * follow from a removed argument are not reported. For messages only: what runs is checked as a
 * whole.
 */
#pragma once

#include <stddef.h>

#include "proto/base/error.h"
#include "proto/spec.h"

#define LEAT_FAULTS_MAX 100 /* reported of one stream, or of the settings */

typedef void leat_fault_report(void *data, const struct leat_error *err);

/* The index of the top-level key of the map that the place is in, or -1. */
int leat_faults_find_key(const struct leat_value *map, uint32_t line, uint32_t column);
/* Removes that key from the map. 0 or -ENOMEM. */
int leat_faults_drop_key(struct leat_value *map, size_t index);

/* leat_yaml_streams() of all streams that have the shape of one. The others are reported and
 * removed from the document. Returns how many these are. */
size_t leat_faults_read_streams(struct leat_value *document, const char *file,
                                struct leat_spec ***ret_specs, size_t *ret_n_specs,
                                leat_fault_report *report, void *data);
/* Reports what leat_plan_check() finds wrong with the stream; returns how many faults there are. */
size_t leat_plan_faults(const struct leat_spec *spec, leat_fault_report *report, void *data);

/* skips_internal.h: what skips.c and work/skip_records.c share. */
#pragma once

#include "pipeline/plan/skips.h"

int leat_skip_list_add(struct leat_skip_list *list, const struct leat_skip_range *range);
/* Sorts by group and number, and joins ranges that touch. */
void leat_skip_list_sort(struct leat_skip_list *list);
/* Sets an error at item `index` of that option. Returns -EINVAL. */
int leat_skips_error(const struct leat_config *options, const char *arg, size_t index,
                     const char *text, const char *wrong, struct leat_error *err);

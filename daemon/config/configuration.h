/* configuration.h: the configuration, read and judged: all that a start, a reload and
 * --check-config refuse of it.
 *
 * Whatever is its fault is an error with a file, and with a line where there is one; an error
 * without a file (memory, descriptors) is the machine's.
 */
#pragma once

#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "pipeline/plan/faults.h"

struct leat_configuration {
    struct leat_settings *settings;
    struct leat_limits limits;
    bool is_lowered; /* max_ring_bytes, which nobody gave, is less than its default */
    struct leat_roots *roots;
};

/* Nothing of it is left on failure. May block. */
int leat_configuration_read(const char *file, const struct leat_settings_overrides *overrides,
                            struct leat_configuration *ret_configuration, struct leat_error *err);
/* Reports all that is wrong with it, and returns how much that is. Files of `include` are judged
 * up to the first fault; so is all if there are overrides. */
size_t leat_configuration_faults(const char *file, const struct leat_settings_overrides *overrides,
                                 leat_fault_report *report, void *data);
void leat_configuration_deinit(struct leat_configuration *configuration);

/* How much memory there is for all, and for a user. is_private: there is one user only. */
void leat_configuration_fit_budget(const struct leat_settings *settings, bool is_private,
                                   struct leat_budget *budget);

/* Says that the error, if there is one, is of that setting, where it was written. */
void leat_configuration_blame(const struct leat_settings *settings, const char *name,
                              struct leat_error *err);

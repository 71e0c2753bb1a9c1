/* configuration.h: reads and checks the configuration, for a start, a reload and --check-config.
 *
 * An error that the configuration caused has a file, and a line if there is one. An error without a
 * file has another cause, such as a lack of memory or descriptors.
 */
#pragma once

#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "pipeline/plan/faults.h"

struct leat_configuration {
    struct leat_settings *settings;
    struct leat_limits limits;
    bool is_lowered; /* max_ring_bytes is not given, and less than its default */
    struct leat_roots *roots;
};

/* On failure nothing has to be freed. May block. */
int leat_configuration_read(const char *file, const struct leat_settings_overrides *overrides,
                            struct leat_configuration *ret_configuration, struct leat_error *err);
/* Reports all faults and returns their number. Files of `include` are checked up to the first
 * fault; with overrides, everything is. */
size_t leat_configuration_faults(const char *file, const struct leat_settings_overrides *overrides,
                                 leat_fault_report *report, void *data);
void leat_configuration_deinit(struct leat_configuration *configuration);

/* Sets the limits of memory, for all and for one user. is_private: only one user can connect. */
void leat_configuration_fit_budget(const struct leat_settings *settings, bool is_private,
                                   struct leat_budget *budget);

/* Adds to the error, if there is one, that setting and its place in the file. */
void leat_configuration_blame(const struct leat_settings *settings, const char *name,
                              struct leat_error *err);

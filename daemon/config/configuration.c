#include "daemon/config/configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/system/process.h"
#include "pipeline/spec/yaml.h"
#include "proto/base/text.h"

#define SPARE_FDS     64 /* of the process itself */
#define FDS_A_SESSION 5  /* socket, pidfd, two rings, a data file */

#define MEMORY_LEAST (UINT64_C(32) << 20)

/* ---- limits ----
 *
 * Every page of a ring is charged to the daemon, so no more may be promised than there is. A limit
 * in the file that is too high is an error at its place; a default is lowered. */

static int fit_memory(const struct leat_settings *settings, struct leat_limits *limits,
                      bool *ret_is_lowered, struct leat_error *err) {
    uint64_t memory = leat_process_memory_limit(), most = memory / 20 * 17;
    uint64_t *total = &limits->total[LEAT_CHARGE_RING_BYTES];
    uint64_t *user = &limits->user[LEAT_CHARGE_RING_BYTES];
    char asked[LEAT_SHOW_BYTES_MAX], there[LEAT_SHOW_BYTES_MAX];

    *ret_is_lowered = memory > 0 && *total > most;
    if (!*ret_is_lowered)
        return 0;
    if (leat_config_given(&settings->base, "max_ring_bytes"))
        return leat_config_error(
            &settings->base, "max_ring_bytes", err,
            "%s is too much: it may be at most 85 %% of the %s of memory that the daemon may use",
            leat_show_bytes(*total, asked), leat_show_bytes(memory, there));
    *total = memory / 2;
    if (*user > *total)
        *user = *total;
    return 0;
}

/* Also raises the number of descriptors that the process may have. */
static int fit_limits(const struct leat_settings *settings, struct leat_limits *ret_limits,
                      bool *ret_is_lowered, struct leat_error *err) {
    uint64_t n_fds = leat_process_raise_descriptors();
    uint64_t n_sessions = n_fds > 2 * SPARE_FDS ? (n_fds - SPARE_FDS) / FDS_A_SESSION : 8;

    leat_settings_limits(settings, ret_limits);
    if (ret_limits->total[LEAT_CHARGE_SESSIONS] > n_sessions)
        ret_limits->total[LEAT_CHARGE_SESSIONS] = n_sessions;
    return fit_memory(settings, ret_limits, ret_is_lowered, err);
}

static int check_memory(const struct leat_settings *settings, struct leat_error *err) {
    uint64_t memory = leat_process_memory_limit(), limit = (uint64_t)settings->memory_limit;
    char asked[LEAT_SHOW_BYTES_MAX], there[LEAT_SHOW_BYTES_MAX];

    if (memory == 0 || limit <= memory)
        return 0;
    return leat_config_error(&settings->base, "memory_limit", err,
                             "%s is too much: the daemon may use only %s of memory",
                             leat_show_bytes(limit, asked), leat_show_bytes(memory, there));
}

/* The default is three quarters of the memory. The rest is for what is not counted, and for other
 * processes. */
static uint64_t memory_limit(const struct leat_settings *settings) {
    uint64_t memory = leat_process_memory_limit();

    if (settings->memory_limit)
        return (uint64_t)settings->memory_limit;
    if (memory == 0)
        return UINT64_MAX;
    return memory / 4 * 3 > MEMORY_LEAST ? memory / 4 * 3 : MEMORY_LEAST;
}

void leat_configuration_fit_budget(const struct leat_settings *settings, bool is_private,
                                   struct leat_budget *budget) {
    budget->limit_bytes = memory_limit(settings);
    budget->user_limit_bytes =
        settings->max_user_memory ? (uint64_t)settings->max_user_memory : UINT64_MAX;
    budget->is_shared = !is_private && (budget->user_limit_bytes == UINT64_MAX ||
                                        budget->user_limit_bytes < budget->limit_bytes);
}

/* ---- all of it ---- */

void leat_configuration_blame(const struct leat_settings *settings, const char *name,
                              struct leat_error *err) {
    const struct leat_value *value = leat_value_get(&settings->values, name);

    if (!err->code || !value)
        return;
    leat_error_prefix(err, "%s", name);
    leat_error_locate(err, settings->file, value->line, value->column);
}

static int judge(struct leat_configuration *configuration, struct leat_error *err) {
    const struct leat_settings *settings = configuration->settings;
    int r = leat_settings_check_streams(settings, err);

    if (r == 0)
        r = fit_limits(settings, &configuration->limits, &configuration->is_lowered, err);
    if (r == 0)
        r = check_memory(settings, err);
    if (r < 0)
        return r;
    r = leat_roots_new((const char *const *)settings->roots.items, settings->roots.n_items,
                       &configuration->roots, err);
    if (r < 0 && r != -ENOMEM)
        leat_configuration_blame(settings, "roots", err);
    return r;
}

int leat_configuration_read(const char *file, const struct leat_settings_overrides *overrides,
                            struct leat_configuration *ret_configuration, struct leat_error *err) {
    struct leat_configuration configuration = {.settings = NULL};
    int r = leat_settings_load(file, overrides, &configuration.settings, err);

    if (r == 0)
        r = judge(&configuration, err);
    if (r < 0)
        leat_configuration_deinit(&configuration);
    else
        *ret_configuration = configuration;
    return r;
}

void leat_configuration_deinit(struct leat_configuration *configuration) {
    leat_roots_unref(configuration->roots);
    leat_settings_free(configuration->settings);
    *configuration = (struct leat_configuration){.settings = NULL};
}

/* ---- all that is wrong ---- */

static size_t report_first(const char *file, const struct leat_settings_overrides *overrides,
                           leat_fault_report *report, void *data) {
    struct leat_configuration configuration;
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_configuration_read(file, overrides, &configuration, &err) == 0) {
        leat_configuration_deinit(&configuration);
        return 0;
    }
    report(data, &err);
    return 1;
}

struct fault {
    leat_fault_report *report;
    void *data;
    struct leat_error last;
};

static void keep(void *data, const struct leat_error *err) {
    struct fault *fault = data;

    fault->last = *err;
    fault->report(fault->data, err);
}

/* Reports one fault after the other, each time without the settings that were wrong before. */
static size_t report_settings(const char *file, const struct leat_value *document,
                              leat_fault_report *report, void *data) {
    struct leat_settings_overrides overrides = {.n_dropped = 1, .dropped = {"streams"}};
    struct fault fault = {.report = report, .data = data};
    size_t n = 0;

    while (report_first(file, &overrides, keep, &fault) > 0) {
        int key = strcmp(fault.last.file, file) == 0
                      ? leat_faults_find_key(document, fault.last.line, fault.last.column)
                      : -1;

        n++;
        if (key < 0 || overrides.n_dropped > LEAT_ARG_MAX)
            break;
        overrides.dropped[overrides.n_dropped++] = document->keys[key].name;
    }
    return n;
}

static size_t report_streams(const char *file, struct leat_value *document,
                             leat_fault_report *report, void *data) {
    struct leat_spec **specs = NULL;
    size_t n_specs = 0;
    size_t n = leat_faults_read_streams(document, file, &specs, &n_specs, report, data);

    for (size_t i = 0; i < n_specs; i++) {
        n += leat_plan_faults(specs[i], report, data);
        leat_spec_free(specs[i]);
    }
    free(specs);
    return n;
}

size_t leat_configuration_faults(const char *file, const struct leat_settings_overrides *overrides,
                                 leat_fault_report *report, void *data) {
    struct leat_value document = {.kind = LEAT_VALUE_NULL};
    struct leat_error none = LEAT_ERROR_INIT;
    char *text = NULL;
    size_t n_bytes = 0, n = 0;

    if (overrides->n_items == 0 &&
        leat_settings_read_text(file, LEAT_YAML_MAX_BYTES, &text, &n_bytes, &none) == 0) {
        if (leat_yaml_parse(text, n_bytes, file, &document, &none) == 0) {
            n = report_settings(file, &document, report, data);
            n += report_streams(file, &document, report, data);
        }
        free(text);
    }
    leat_value_deinit(&document);
    return n > 0 ? n : report_first(file, overrides, report, data);
}

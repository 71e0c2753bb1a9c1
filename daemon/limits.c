/* limits.c: see limits.h. */
#include "daemon/limits.h"

#include "daemon/process.h"

#define SPARE_FDS     64 /* of the process itself */
#define FDS_A_SESSION 5  /* socket, pidfd, two rings, a data file */

static int fit_memory(const struct leat_settings *settings, struct leat_limits *limits,
                      bool *ret_is_lowered, struct leat_error *err) {
    uint64_t memory = leat_process_memory_limit(), most = memory / 20 * 17;
    uint64_t *total = &limits->total[LEAT_CHARGE_RING_BYTES];
    uint64_t *user = &limits->user[LEAT_CHARGE_RING_BYTES];

    *ret_is_lowered = memory > 0 && *total > most;
    if (!*ret_is_lowered)
        return 0;
    if (leat_config_given(&settings->base, "max_ring_bytes"))
        return leat_config_error(&settings->base, "max_ring_bytes", err,
                                 "%llu is more than 85 %% of the %llu bytes of memory that the "
                                 "daemon can have",
                                 (unsigned long long)*total, (unsigned long long)memory);
    *total = memory / 2;
    if (*user > *total)
        *user = *total;
    return 0;
}

int leat_limits_fit(const struct leat_settings *settings, struct leat_limits *ret_limits,
                    bool *ret_is_lowered, struct leat_error *err) {
    uint64_t n_fds = leat_process_raise_descriptors();
    uint64_t n_sessions = n_fds > 2 * SPARE_FDS ? (n_fds - SPARE_FDS) / FDS_A_SESSION : 8;

    leat_settings_limits(settings, ret_limits);
    if (ret_limits->total[LEAT_CHARGE_SESSIONS] > n_sessions)
        ret_limits->total[LEAT_CHARGE_SESSIONS] = n_sessions;
    return fit_memory(settings, ret_limits, ret_is_lowered, err);
}

int leat_limits_check_memory(const struct leat_settings *settings, struct leat_error *err) {
    uint64_t memory = leat_process_memory_limit(), limit = (uint64_t)settings->memory_limit;

    if (memory == 0 || limit <= memory)
        return 0;
    return leat_config_error(&settings->base, "memory_limit", err,
                             "%llu is more than the %llu bytes of memory that the daemon can have",
                             (unsigned long long)limit, (unsigned long long)memory);
}

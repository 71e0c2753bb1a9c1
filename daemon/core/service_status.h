/* service_status.h: what `systemctl status` says of the daemon, in one line. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_SERVICE_STATUS_MAX 256

struct leat_service_figures {
    uint32_t n_streams, n_streams_used, n_trainers;
    uint32_t n_held; /* batches that trainers hold */
    uint32_t n_stalled;
    uint64_t n_batches, elapsed_ns; /* since the line before */
    bool is_draining, is_stopping, is_stuck;
    uint64_t drain_ns; /* that are left of it */
};

/* Numbers only: nothing that a client has chosen. Returns buffer. */
const char *leat_service_status_print(const struct leat_service_figures *figures,
                                      char buffer[LEAT_SERVICE_STATUS_MAX]);

/* service_status.c: see service_status.h. */
#include "daemon/core/service_status.h"

#include <stdio.h>
#include <string.h>

#define NS_A_SECOND 1e9

static const char *plural(uint32_t n) {
    return n == 1 ? "" : "s";
}

static void add_stalled(const struct leat_service_figures *figures, char *buffer) {
    size_t n = strlen(buffer);

    if (figures->n_stalled > 0)
        (void)snprintf(buffer + n, LEAT_SERVICE_STATUS_MAX - n, "; %u task%s stalled",
                       figures->n_stalled, plural(figures->n_stalled));
}

static void print_serving(const struct leat_service_figures *figures, char *buffer) {
    double rate = figures->elapsed_ns > 0
                      ? (double)figures->n_batches / ((double)figures->elapsed_ns / NS_A_SECOND)
                      : 0;

    if (figures->n_trainers == 0)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX, "ready: %u stream%s, no trainers",
                       figures->n_streams, plural(figures->n_streams));
    else
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX,
                       "%u stream%s, %u in use; %u trainer%s; %.1f batches/s", figures->n_streams,
                       plural(figures->n_streams), figures->n_streams_used, figures->n_trainers,
                       plural(figures->n_trainers), rate);
}

const char *leat_service_status_print(const struct leat_service_figures *figures,
                                      char buffer[LEAT_SERVICE_STATUS_MAX]) {
    if (figures->is_stuck)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX, "stuck: workers cannot go on");
    else if (figures->is_stopping)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX, "stopping: %u trainer%s",
                       figures->n_trainers, plural(figures->n_trainers));
    else if (figures->is_draining)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX,
                       "draining: %u trainer%s, %u batch%s held, %.0f s left", figures->n_trainers,
                       plural(figures->n_trainers), figures->n_held,
                       figures->n_held == 1 ? "" : "es", (double)figures->drain_ns / NS_A_SECOND);
    else
        print_serving(figures, buffer);
    if (!figures->is_stuck)
        add_stalled(figures, buffer);
    return buffer;
}

/* metrics.h: a reading as text for Prometheus, in OpenMetrics 1.0 or in its own text format 0.0.4.
 *
 * The two announce counters and units, and end, in different ways. Labels are `stream` and
 * `owner` (settings, trainer or other), and of stages `stage` and `role`, of failures `reason`:
 * their number is bounded by reading.h. Pure; any thread.
 */
#pragma once

#include "daemon/metrics/reading.h"
#include "proto/base/text.h"

enum leat_metrics_format { LEAT_METRICS_OPENMETRICS, LEAT_METRICS_PROMETHEUS };

/* Their names on the wire and the command line. */
#define LEAT_METRICS_NAME_OPENMETRICS "openmetrics"
#define LEAT_METRICS_NAME_PROMETHEUS  "prometheus"

/* A metric that is no figure. */
#define LEAT_METRICS_BUILD_INFO      "leat_build_info"
#define LEAT_METRICS_BUILD_INFO_HELP "Always 1. The label `version` is the version of the daemon."

/* Adds the name with its suffixes: leat_stage_busy_seconds_total. */
void leat_metrics_name(struct leat_text *text, const struct leat_figure *figure);
void leat_metrics_spread_name(struct leat_text *text, const struct leat_figure_spread *spread);

/* Complete unless `text` has failed. */
void leat_metrics_render(struct leat_text *text, const struct leat_reading *reading,
                         enum leat_metrics_format format);

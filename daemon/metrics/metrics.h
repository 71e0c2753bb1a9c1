/* metrics.h: a reading as text for Prometheus, in OpenMetrics 1.0 or in its own text format 0.0.4.
 *
 * The two differ in how counters are announced, in units, and in the end. Labels are `stream` and
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

/* What is told besides the meters. */
#define LEAT_METRICS_BUILD_INFO      "leat_build_info"
#define LEAT_METRICS_BUILD_INFO_HELP "1; its version is a label."

/* As it is called with its suffixes: leat_stage_busy_seconds_total. */
void leat_metrics_name(struct leat_text *text, const struct leat_meter *meter);
void leat_metrics_spread_name(struct leat_text *text, const struct leat_spread_meter *meter);

/* `text` has not failed: all is there. */
void leat_metrics_render(struct leat_text *text, const struct leat_reading *reading,
                         enum leat_metrics_format format);

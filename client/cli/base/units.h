/* units.h: numbers with units, for people. */
#pragma once

#include <stdint.h>

#include "pipeline/run/profile/figures.h"

#define LEAT_CLI_UNIT_MAX 40

/* "1,234,567" */
const char *leat_cli_count(uint64_t value, char buffer[LEAT_CLI_UNIT_MAX]);
/* "512 B", "3.4 KiB", "1.2 GiB" */
const char *leat_cli_bytes(uint64_t n_bytes, char buffer[LEAT_CLI_UNIT_MAX]);
/* "12.3 us", "4.56 s", "2 h 03 min" */
const char *leat_cli_duration(uint64_t ns, char buffer[LEAT_CLI_UNIT_MAX]);
/* A figure in its unit. */
const char *leat_cli_figure(const struct leat_figure *figure, uint64_t value,
                            char buffer[LEAT_CLI_UNIT_MAX]);

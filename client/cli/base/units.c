#include "client/cli/base/units.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/base/text.h"

const char *leat_cli_count(uint64_t value, char buffer[LEAT_CLI_UNIT_MAX]) {
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    char *out = buffer;

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buffer;
}

const char *leat_cli_bytes(uint64_t n_bytes, char buffer[LEAT_CLI_UNIT_MAX]) {
    return leat_show_bytes(n_bytes, buffer);
}

const char *leat_cli_duration(uint64_t ns, char buffer[LEAT_CLI_UNIT_MAX]) {
    uint64_t s = ns / 1000000000U;

    if (ns < 1000)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.1f ms", (double)ns / 1e6);
    else if (s < 120)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%.2f s", (double)ns / 1e9);
    else if (s < 7200)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu64 " min %02" PRIu64 " s", s / 60,
                       s % 60);
    else
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu64 " h %02" PRIu64 " min", s / 3600,
                       s / 60 % 60);
    return buffer;
}

const char *leat_cli_figure(const struct leat_figure *figure, uint64_t value,
                            char buffer[LEAT_CLI_UNIT_MAX]) {
    switch (figure->unit) {
    case LEAT_FIGURE_NS:
        return leat_cli_duration(value, buffer);
    case LEAT_FIGURE_BYTES:
        return leat_cli_bytes(value, buffer);
    default:
        return leat_cli_count(value, buffer);
    }
}

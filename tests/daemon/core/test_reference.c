/* test_reference.c: the reference has every setting, event and metric, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/settings.h"
#include "daemon/core/reference.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics.h"

static struct leat_text text;

/* From there on; behind it. */
static const char *expect_name(const char *from, const char *name) {
    char member[96];
    const char *at;

    (void)snprintf(member, sizeof(member), "{\"name\": \"%s\"", name);
    at = strstr(from, member);
    if (!at)
        fail_msg("%s is not there, or not in its order", name);
    return at ? at + 1 : from;
}

static const char *expect_figures(const char *at, const struct leat_figure *table) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        struct leat_text name = {.data = NULL};

        if (!leat_figure_is_first(figure))
            continue;
        leat_metrics_name(&name, figure);
        at = expect_name(at, name.data);
        free(name.data);
    }
    return at;
}

static void test_all_in_order(void **state) {
    const char *at;

    (void)state;
    leat_reference_json(&text);
    assert_false(text.failed);
    at = text.data;
    for (const struct leat_arg *arg = leat_settings_args; arg->name; arg++)
        at = expect_name(at, arg->name);
    for (size_t i = 0; leat_settings_at_start[i]; i++)
        assert_non_null(strstr(at, leat_settings_at_start[i]));
    for (size_t i = 0; i < LEAT_N_EVENTS; i++) {
        at = expect_name(at, leat_log_events[i].name);
        assert_non_null(strstr(at, leat_log_events[i].id));
    }
    at = expect_figures(at, leat_daemon_figure_table);
    at = expect_figures(at, leat_stream_figure_table);
    (void)expect_figures(at, leat_stage_figure_table);
    free(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_in_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

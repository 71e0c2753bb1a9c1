/* shared_source_cases.c: see shared_source_cases.h. */
#include "tests/pipeline/shared_source_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/pipeline/shared_source.h"

static void check_refused(const struct source_case *one, const struct leat_error *err) {
    char message[LEAT_ERROR_PRINT_MAX];

    leat_error_print(err, message, sizeof(message));
    if (!strstr(message, one->rows))
        fail_msg("%s\n%s\nthe error was: %s\nwanted: %s", one->args, one->text, message, one->rows);
}

static void check_accepted(const struct source_case *one, struct source *source) {
    struct leat_text schema = {.data = NULL};

    source_schema(source, &schema);
    if (strcmp(schema.data, one->schema) != 0)
        fail_msg("%s\n%s\nthe schema was: %s", one->args, one->text, schema.data);
    for (size_t piece = 0; piece < 20; piece++) {
        struct leat_text text = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        int r = source_parse(source, one->text, strlen(one->text), piece, false, &text, &err);
        if (r < 0 || strcmp(text.data ? text.data : "", one->rows) != 0)
            fail_msg("%s\n%s\nin pieces of %zu the rows were:\n%s%s", one->args, one->text, piece,
                     text.data ? text.data : "", err.message);
        free(text.data);
    }
    free(schema.data);
}

static void check_head(const struct source_case *one, const struct source *source, const char *kind,
                       const char *args) {
    size_t n_bytes = strlen(one->text);

    free(source_shorten(source, kind, args, one->text, &n_bytes, true));
}

void check_source_cases(const char *kind, const struct source_case *cases, size_t n_cases) {
    for (size_t i = 0; i < n_cases; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct source source;
        char args[1024];
        int r;
        (void)snprintf(args, sizeof(args), "{ paths: in%s%s }", cases[i].args[0] ? ", " : "",
                       cases[i].args);
        r = source_init(&source, kind, args, &err);
        if (r == 0)
            r = source_probe(&source, cases[i].text, strlen(cases[i].text), true, &err);
        if ((r == 0) != (cases[i].schema != NULL))
            fail_msg("%s\n%s\n%d %s", args, cases[i].text, r, err.message);
        if (r < 0)
            check_refused(&cases[i], &err);
        else
            check_accepted(&cases[i], &source);
        if (r == 0)
            check_head(&cases[i], &source, kind, args);
        source_deinit(&source);
    }
}

/* error_json.c: see error_json.h. */
#include "client/cli/base/error_json.h"

#include <string.h>

#include "client/cli/base/exit_status.h"

static void add_member(struct leat_text *text, const char *name, const char *value) {
    leat_text_add(text, ", \"%s\": ", name);
    leat_text_add_json(text, value, strlen(value));
}

void leat_cli_error_json(struct leat_text *text, const struct leat_error *err) {
    char line[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, line, sizeof(line));
    leat_text_add(text, "{\"code\": %d, \"line\": %u, \"column\": %u", err->code, err->line,
                  err->column);
    add_member(text, "file", err->file);
    add_member(text, "path", err->path);
    add_member(text, "message", err->message);
    add_member(text, "text", line);
    leat_text_add(text, "}");
}

int leat_cli_error_status(const struct leat_error *err) {
    return err->file[0] || err->path[0] ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
}

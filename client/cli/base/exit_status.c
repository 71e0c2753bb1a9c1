#include "client/cli/base/exit_status.h"

#include "proto/base/json_writer.h"

const struct leat_cli_exit leat_cli_exits[] = {
    {LEAT_CLI_OK, "ok"},
    {LEAT_CLI_FAILURE, "failure"},
    {LEAT_CLI_USAGE, "usage"},
    {LEAT_CLI_DATA, "a file has an error"},
    {LEAT_CLI_NO_DAEMON, "no daemon answers"},
    {LEAT_CLI_NO_RIGHT, "permission denied"},
    {LEAT_CLI_INTERRUPTED, "interrupted"},
    {0, NULL},
};

int leat_cli_error_status(const struct leat_error *err) {
    return err->file[0] || err->path[0] ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
}

void leat_cli_error_json(struct leat_text *json, const char *key, const struct leat_error *err) {
    char line[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, line, sizeof(line));
    leat_json_open(json, key, '{');
    leat_json_add_int(json, "code", err->code);
    leat_json_add_uint(json, "line", err->line);
    leat_json_add_uint(json, "column", err->column);
    leat_json_add_text(json, "file", err->file);
    leat_json_add_text(json, "path", err->path);
    leat_json_add_text(json, "message", err->message);
    leat_json_add_text(json, "text", line);
    leat_json_close(json, '}');
}

/* show.c: `leatctl tokenizer show`: the parts of a tokenizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "client/cli/tokenizer/text.h"
#include "pipeline/tokenizer/tokenizer.h"
#include "proto/base/json_writer.h"

/* Adds lines of `name: value` as an object; "load time" has the key load_time. */
static void add_object(struct leat_text *json, const char *lines) {
    leat_json_open(json, NULL, '{');
    while (*lines) {
        size_t n = strcspn(lines, "\n"), n_name = strcspn(lines, ":\n");
        const char *value = lines + n_name + strspn(lines + n_name, ": ");
        char key[64];

        (void)snprintf(key, sizeof(key), "%.*s", (int)n_name, lines);
        for (char *at = key; (at = strpbrk(at, " -")) != NULL;)
            *at = '_';
        leat_json_add_bytes(json, key, value, value < lines + n ? (size_t)(lines + n - value) : 0);
        lines += n + (lines[n] == '\n');
    }
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

static int print_description(const struct leat_tokenizer *tokenizer, bool as_json,
                             struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    char *lines = leat_tokenizer_describe(tokenizer);

    if (!lines)
        return leat_error_oom(err);
    if (as_json)
        add_object(&text, lines);
    else
        leat_text_add_bytes(&text, lines, strlen(lines));
    free(lines);
    if (text.failed)
        leat_error_oom(err);
    leat_cli_print(&text);
    return err->code;
}

static int tokenizer_show_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_tokenizer *tokenizer = NULL;
    int r = leat_tokenizer_open(arguments->operand, NULL, &tokenizer, err);

    if (r == 0)
        r = print_description(tokenizer, arguments->json, err);
    leat_tokenizer_free(tokenizer);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_tokenizer_show_command = {
    .name = "tokenizer show",
    .group = LEAT_CLI_GROUP_TOKENIZERS,
    .summary = "show the parts of a tokenizer",
    .description = TOKENIZER_TEXT "Prints the parts of the tokenizer, its memory use and its "
                                  "loading time. Also prints which algorithm leat chose, and why.",
    .operand = "TOKENIZER",
    .examples = "  leatctl tokenizer show models/gpt2/\n"
                "  leatctl tokenizer show tokenizer.json --json\n",
    .options = leat_cli_no_options,
    .run = tokenizer_show_main,
};

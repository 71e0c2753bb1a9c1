/* show.c: `leatctl tokenizer show`: what a tokenizer is made of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/error_json.h"
#include "client/cli/tokenizer/text.h"
#include "pipeline/tokenizer/tokenizer.h"

/* "load time" as a key: load_time. */
static void add_key(struct leat_text *text, const char *name, size_t n) {
    leat_text_add(text, "\"");
    for (size_t i = 0; i < n; i++)
        leat_text_add(text, "%c", name[i] == ' ' || name[i] == '-' ? '_' : name[i]);
    leat_text_add(text, "\": ");
}

/* Lines of `name: value` as an object. */
static void add_object(struct leat_text *text, const char *lines) {
    leat_text_add(text, "{");
    while (*lines) {
        size_t n = strcspn(lines, "\n"), n_name = strcspn(lines, ":\n");
        const char *value = lines + n_name + strspn(lines + n_name, ": ");

        if (text->n_bytes > 1)
            leat_text_add(text, ", ");
        add_key(text, lines, n_name);
        leat_text_add_json(text, value, value < lines + n ? (size_t)(lines + n - value) : 0);
        lines += n + (lines[n] == '\n');
    }
    leat_text_add(text, "}\n");
}

static int describe(const struct leat_tokenizer *tokenizer, bool as_json, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    char *lines = leat_tokenizer_describe(tokenizer);

    if (!lines)
        return leat_error_oom(err);
    if (as_json)
        add_object(&text, lines);
    else
        leat_text_add_bytes(&text, lines, strlen(lines));
    free(lines);
    if (text.failed) {
        free(text.data);
        return leat_error_oom(err);
    }
    (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
    return 0;
}

static int tokenizer_show_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_tokenizer *tokenizer = NULL;
    int r = leat_tokenizer_open(arguments->operand, NULL, &tokenizer, err);

    if (r == 0)
        r = describe(tokenizer, arguments->json, err);
    leat_tokenizer_free(tokenizer);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_tokenizer_show_command = {
    .name = "tokenizer show",
    .group = LEAT_CLI_GROUP_TOKENIZERS,
    .summary = "show what a tokenizer is made of",
    .description = TOKENIZER_TEXT
    "Its parts, the algorithm that was chosen and why, sizes, and how long it took "
    "to load.",
    .operand = "TOKENIZER",
    .examples = "  leatctl tokenizer show models/gpt2/\n"
                "  leatctl tokenizer show tokenizer.json --json\n",
    .options = leat_cli_no_options,
    .run = tokenizer_show_main,
};

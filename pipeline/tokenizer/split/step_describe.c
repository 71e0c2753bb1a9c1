/* step_describe.c: steps in words, for people. */
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/split/step.h"

static const char *const behaviors[] = {
    [LEAT_BEHAVIOR_REMOVED] = "removed",
    [LEAT_BEHAVIOR_ISOLATED] = "isolated",
    [LEAT_BEHAVIOR_MERGED_WITH_PREVIOUS] = "merged with the word before",
    [LEAT_BEHAVIOR_MERGED_WITH_NEXT] = "merged with the word behind",
    [LEAT_BEHAVIOR_CONTIGUOUS] = "isolated in runs",
};

static void describe_behavior(const struct leat_split_step *step, FILE *out) {
    (void)fprintf(out, ", %s%s", behaviors[step->behavior], step->is_inverted ? ", inverted" : "");
}

static void describe_metaspace(const struct leat_split_step *step, FILE *out) {
    static const char *const places[] = {
        [LEAT_SCHEME_ALWAYS] = "and always in front",
        [LEAT_SCHEME_FIRST] = "and in front of the document",
        [LEAT_SCHEME_NEVER] = "never in front",
    };

    (void)fprintf(out, "blanks to \"%.*s\", %s", (int)step->n_bytes, (const char *)step->bytes,
                  places[step->scheme]);
}

static void describe(const struct leat_split_step *step, FILE *out) {
    switch (step->kind) {
    case LEAT_SPLIT_STEP_SCAN:
        (void)fprintf(out, "%s (scanner)", step->scanner->name);
        break;
    case LEAT_SPLIT_STEP_REGEX:
        (void)fputs("regex (PCRE2)", out);
        describe_behavior(step, out);
        break;
    case LEAT_SPLIT_STEP_STRING:
        (void)fprintf(out, "\"%.*s\"", step->n_bytes < 40 ? (int)step->n_bytes : 40,
                      (const char *)step->bytes);
        describe_behavior(step, out);
        break;
    case LEAT_SPLIT_STEP_CLASS:
        (void)fputs("signs", out);
        describe_behavior(step, out);
        break;
    case LEAT_SPLIT_STEP_LENGTH:
        (void)fprintf(out, "words of %u characters", (unsigned)step->n_length);
        break;
    case LEAT_SPLIT_STEP_SCRIPTS:
        (void)fputs("scripts", out);
        break;
    case LEAT_SPLIT_STEP_PREFIX:
        (void)fputs("blank in front", out);
        break;
    case LEAT_SPLIT_STEP_METASPACE:
        describe_metaspace(step, out);
        break;
    case LEAT_SPLIT_STEP_BYTES:
        (void)fputs("byte alphabet", out);
        break;
    }
}

char *leat_split_steps_describe(const struct leat_split_steps *steps) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);

    if (!out)
        return NULL;
    for (uint32_t i = 0; i < steps->n; i++) {
        (void)fputs(i > 0 ? "; " : "", out);
        describe(&steps->items[i], out);
    }
    if (steps->is_byte_level)
        (void)fputs(steps->n > 0 ? "; byte alphabet" : "byte alphabet", out);
    else if (steps->n == 0)
        (void)fputs("none", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

size_t leat_split_steps_n_bytes(const struct leat_split_steps *steps) {
    size_t n_bytes = 0;

    for (uint32_t i = 0; i < steps->n; i++) {
        n_bytes += steps->items[i].n_bytes;
        if (steps->items[i].regex)
            n_bytes += leat_regex_n_bytes(steps->items[i].regex);
    }
    return n_bytes;
}

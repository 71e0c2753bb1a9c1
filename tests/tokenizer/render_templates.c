/* render_templates.c: renders chat templates for test_templates.py.
 *
 * Reads a line of JSON a case: {"template": TEXT, "variables": {..}, "date": [YEAR, MONTH, DAY]}; a
 * case without a template is rendered with the one before. Writes a line a case: {"text": TEXT,
 * "parts": [[START, END], ..]} with places in bytes, or {"error": TEXT, "line": N, "column": N}.
 * With --repeat N it renders each case N times and writes the seconds of all to standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipeline/tokenizer/jinja/jinja.h"
#include "proto/base/text.h"

struct program {
    struct leat_json *json;
    struct leat_jinja_template *template;
    struct leat_jinja_render *render;
    long repeat;
    double seconds;
};

static struct leat_json_node member(struct leat_json_node object, const char *key,
                                    bool *ret_found) {
    struct leat_json_node found = object;

    *ret_found = leat_json_find(object, key, strlen(key), &found);
    return found;
}

static void print_error(const struct leat_error *err) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "{\"error\": ");
    leat_text_add_json(&text, err->message, strlen(err->message));
    leat_text_add(&text, ", \"line\": %u, \"column\": %u}\n", err->line, err->column);
    fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
}

static int compile(struct program *program, struct leat_json_node root, struct leat_error *err) {
    bool is_found;
    struct leat_json_node node = member(root, "template", &is_found);
    size_t n;
    const char *text;
    int r;

    if (!is_found && !program->render)
        return leat_error_set(err, -EINVAL, "there is no template");
    if (!is_found)
        return 0;
    program->render = leat_jinja_render_free(program->render);
    program->template = leat_jinja_template_free(program->template);
    text = leat_json_string(node, &n);
    r = leat_jinja_compile(text, n, &program->template, err);
    if (r < 0)
        return r;
    program->render = leat_jinja_render_new(program->template);
    return program->render ? 0 : leat_error_oom(err);
}

static int set_variables(struct program *program, struct leat_json_node root,
                         struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    const char *key;
    size_t n_key;
    bool is_found;
    struct leat_json_node variables = member(root, "variables", &is_found);
    int r = leat_jinja_render_begin(program->render, err);

    leat_json_iterate(variables, &iterator);
    while (r == 0 && is_found && leat_json_next_member(&iterator, &key, &n_key, &item)) {
        struct leat_jinja_value value;

        r = leat_jinja_render_json(program->render, item, &value, err);
        if (r == 0)
            r = leat_jinja_render_set(program->render, key, n_key, value, err);
    }
    return r;
}

static void set_date(struct program *program, struct leat_json_node root) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    struct tm date = {.tm_hour = 12};
    bool is_found;
    struct leat_json_node node = member(root, "date", &is_found);
    int *const fields[] = {&date.tm_year, &date.tm_mon, &date.tm_mday};

    if (!is_found || !program->render)
        return;
    leat_json_iterate(node, &iterator);
    for (size_t i = 0; i < 3 && leat_json_next(&iterator, &item); i++)
        *fields[i] = (int)leat_json_int(item);
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    (void)timegm(&date);
    leat_jinja_render_date(program->render, &date);
}

struct rendered {
    const char *text;
    size_t n, n_parts;
    const struct leat_jinja_part *parts;
};

static int render(struct program *program, struct leat_json_node root, struct rendered *rendered,
                  struct leat_error *err) {
    int r = set_variables(program, root, err);

    return r < 0 ? r
                 : leat_jinja_render_run(program->render, &rendered->text, &rendered->n,
                                         &rendered->parts, &rendered->n_parts, err);
}

static void print_rendered(const struct rendered *rendered) {
    struct leat_text line = {.data = NULL};

    leat_text_add(&line, "{\"text\": ");
    leat_text_add_json(&line, rendered->n ? rendered->text : "", rendered->n);
    leat_text_add(&line, ", \"parts\": [");
    for (size_t i = 0; i < rendered->n_parts; i++)
        leat_text_add(&line, "%s[%zu, %zu]", i ? ", " : "", rendered->parts[i].start,
                      rendered->parts[i].end);
    leat_text_add(&line, "]}\n");
    fwrite(line.data, 1, line.n_bytes, stdout);
    free(line.data);
}

static void run_case(struct program *program, const char *text, size_t n) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct rendered rendered = {.text = NULL};
    struct timespec start, end;
    struct leat_json_node root;
    int r = leat_json_parse(program->json, text, n, n, &root, &err);

    if (r == 0)
        r = compile(program, root, &err);
    if (r == 0)
        set_date(program, root);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (long i = 0; r == 0 && i < program->repeat; i++)
        r = render(program, root, &rendered, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    program->seconds +=
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    if (r < 0)
        print_error(&err);
    else
        print_rendered(&rendered);
}

int main(int argc, char **argv) {
    struct program program = {.repeat = 1};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    if (argc == 3 && strcmp(argv[1], "--repeat") == 0)
        program.repeat = atol(argv[2]);
    if (leat_json_new(1 << 20, &program.json) < 0)
        return 1;
    while ((n = getline(&line, &capacity, stdin)) > 0)
        run_case(&program, line, (size_t)n);
    free(line);
    leat_jinja_render_free(program.render);
    leat_jinja_template_free(program.template);
    leat_json_free(program.json);
    if (program.repeat > 1)
        fprintf(stderr, "%.6f\n", program.seconds);
    return 0;
}

/* fuzz_exec.c: what a helper program writes: lines of any bytes against questions and a schema. An
 * answer is of a question that was pending; what is stored of it lies within what was read, and has
 * the lengths that the schema allows.
 *
 * The first byte chooses the schema; the rest is the program's output.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/exec/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_FIELDS 3
#define N_ROWS   64

static char *names[N_FIELDS] = {(char[]){"a"}, (char[]){"b"}, (char[]){"c"}};
static char *types[][N_FIELDS] = {
    {(char[]){"text"}, (char[]){"int32"}, (char[]){"float32[]"}},
    {(char[]){"uint8[3]"}, (char[]){"bool"}, (char[]){"text"}},
    {(char[]){"uint8[2]"}, (char[]){"float16"}, (char[]){"list<int64>"}},
    {(char[]){"int64[<=4]"}, (char[]){"uint16"}, (char[]){"bool[]"}},
};

struct answers {
    struct leat_exec_pending pending;
    struct leat_exec_schema schema;
    struct leat_block block;
    struct leat_map map;
    struct leat_arena scratch;
    struct leat_exec_values values[N_FIELDS];
    struct leat_column columns[N_FIELDS];
};

static const bool all[N_FIELDS] = {true, true, true};

static void check_column(const struct leat_exec_field *field, const struct leat_column *column,
                         uint32_t row, size_t n_elements) {
    uint32_t length = column->lengths[row];

    if (column->starts[row] > n_elements || length > n_elements - column->starts[row] ||
        (field->type.width > 0 && length != field->type.width) ||
        (field->type.max_length > 0 && length > field->type.max_length))
        abort();
}

static void match_line(struct leat_exec_pending *pending, struct leat_json_node line) {
    uint32_t place = UINT32_MAX, n = pending->n;
    enum leat_exec_match match = leat_exec_pending_match(pending, line, &place);

    if ((match == LEAT_EXEC_ANSWER) != (place < n))
        abort();
    for (uint32_t i = 0; match == LEAT_EXEC_ANSWER && i <= place; i++)
        (void)leat_exec_pending_take(pending);
    if (match == LEAT_EXEC_ANSWER &&
        leat_exec_pending_match(pending, line, &place) != LEAT_EXEC_AGAIN)
        abort();
}

static void take_line(struct answers *answers, struct leat_json *json, const uint8_t *line,
                      size_t n_bytes, uint32_t row) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct leat_json_node answer;
    int r = leat_json_parse(json, line, n_bytes, n_bytes, &answer, &fault);

    if (r < 0)
        return;
    match_line(&answers->pending, answer);
    if (leat_json_kind(answer) != LEAT_JSON_OBJECT)
        return;
    (void)leat_exec_schema_is_answer(&answers->schema, answer);
    r = leat_exec_schema_store(&answers->schema, &answers->map, answers->values, row, answer,
                               &fault);
    if (r < 0) {
        if (r == -EINVAL && !fault.message[0])
            abort();
        return;
    }
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct leat_exec_field *field = &answers->schema.fields[i];
        size_t size = field->type.dtype == LEAT_DTYPE_TEXT ? 1 : leat_dtype_size(field->type.dtype);

        if (answers->columns[i].starts)
            check_column(field, &answers->columns[i], row, answers->values[i].n_bytes / size);
    }
}

static void take_lines(struct answers *answers, const uint8_t *data, size_t size) {
    const uint8_t *at = data, *end = data + size, *line_end;
    struct leat_json *json;

    if (leat_json_new(0, &json) < 0)
        abort();
    for (uint32_t row = 0; row < N_ROWS && at < end; row++, at = line_end + 1) {
        while (answers->pending.n < answers->pending.capacity)
            (void)leat_exec_pending_add(&answers->pending, row);
        line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end)
            line_end = end;
        take_line(answers, json, at, (size_t)(line_end - at), row);
    }
    leat_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_text_map declared = {.keys = names, .n_items = N_FIELDS};
    struct answers answers = {.block = {.n_rows = N_ROWS, .n_columns = N_FIELDS}};
    struct leat_config config = {.args = NULL};
    struct leat_error err = LEAT_ERROR_INIT;

    if (size < 1 || size > 65536)
        return 0;
    declared.values = types[data[0] % (sizeof(types) / sizeof(*types))];
    if (leat_exec_schema_declare(&answers.schema, &config, "schema", &declared, &err) < 0) {
        leat_exec_schema_deinit(&answers.schema);
        return 0;
    }
    for (uint32_t i = 0; i < N_FIELDS; i++)
        answers.schema.fields[i].column = i;
    if (leat_exec_pending_init(&answers.pending, 3) < 0)
        abort();
    leat_arena_init(&answers.scratch);
    leat_arena_init(&answers.block.kept);
    answers.block.columns = answers.columns;
    answers.map = (struct leat_map){
        .block = &answers.block, .is_needed = all, .is_kept = all, .scratch = &answers.scratch};
    if (leat_exec_schema_begin(&answers.schema, &answers.map, answers.values) < 0)
        abort();
    take_lines(&answers, data + 1, size - 1);
    if (leat_exec_schema_end(&answers.schema, &answers.map, answers.values) < 0)
        abort();
    for (size_t i = 0; i < N_FIELDS; i++)
        free(answers.values[i].data);
    leat_exec_pending_deinit(&answers.pending);
    leat_exec_schema_deinit(&answers.schema);
    leat_arena_deinit(&answers.scratch);
    leat_arena_deinit(&answers.block.kept);
    return 0;
}

/* instruction.c: a prompt and its answer as one text, of which the model is to say the answer: the
 * format of Alpaca, or texts with fields in braces.
 *
 * Alpaca's prompt is another where there is no input. The preset is nothing but such texts; what
 * their fields are called in the data is said by `fields`.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_dialogue.h"
#include "pipeline/stages/shared_text_part.h"
#include "proto/base/scalar.h"

#define ALPACA(inputs, input)                                                                      \
    "Below is an instruction that describes a task" inputs ". Write a response that "              \
    "appropriately completes the request.\n\n### Instruction:\n{instruction}\n\n" input            \
    "### Response:\n"

struct instruction {
    struct leat_config base;
    struct leat_dialogue dialogue;
    int preset;
    struct leat_text_map fields;
    const char *prompt, *response;
    const char *eos;

    struct leat_text_part prompt_part, short_part, response_part;
    bool has_input;
    int32_t input; /* the column of Alpaca's input; -1: there is none */
};

static const char *const presets[] = {"alpaca", NULL};
static const char *const alpaca_fields[] = {"instruction", "input", "output"};

static const struct leat_arg args[] = {
    LEAT_DIALOGUE_ARG(instruction, dialogue),
    LEAT_ARG(instruction, preset, CHOICE,
             "a predefined format; `alpaca` uses the fields `instruction`, `input` and `output`; "
             "`input` may be missing or empty; give either `preset`, or both `prompt` and "
             "`response`",
             .is_positional = true, .choices = presets),
    LEAT_ARG(instruction, fields, MAP,
             "with `preset`: the names of the preset's fields in your data, such as `{instruction: "
             "question, output: answer}`",
             .min = 1, .max = 3),
    LEAT_ARG(instruction, prompt, TEXT,
             "the text that the model gets; `{NAME}` stands for the value of the field "
             "NAME; for braces, write {{ and }}"),
    LEAT_ARG(instruction, response, TEXT,
             "the text that the model learns to write; `{NAME}` stands for the value of "
             "the field NAME"),
    LEAT_ARG(instruction, eos, TEXT,
             "a token after the response, such as \"</s>\"; the model learns to write "
             "this token too; the stage `tokenize` can add the token instead"),
    LEAT_ARGS_END,
};

static int check_fields(const struct instruction *self, struct leat_error *err) {
    for (size_t i = 0; i < self->fields.n_items; i++) {
        bool is_known = false;

        for (size_t k = 0; k < 3; k++)
            is_known |= strcmp(self->fields.keys[i], alpaca_fields[k]) == 0;
        if (!is_known)
            return leat_config_error(&self->base, "fields", err,
                                     "`alpaca` has no field \"%.64s\", only instruction, input and "
                                     "output",
                                     self->fields.keys[i]);
    }
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct instruction *self = (struct instruction *)config;
    bool has_preset = leat_config_given(config, "preset");
    bool has_texts = self->prompt && self->response;

    if (has_preset && (self->prompt || self->response))
        return leat_config_error(config, self->prompt ? "prompt" : "response", err,
                                 "does not work with `preset`: remove one of the two");
    if (!has_preset && !has_texts)
        return leat_config_error(config, NULL, err,
                                 "give either `preset`, or `prompt` and `response`");
    if (!has_preset && self->fields.n_items > 0)
        return leat_config_error(config, "fields", err, "works only with `preset`");
    return check_fields(self, err);
}

/* ---- plan */

/* True if the data has Alpaca's input. A field that `fields` names for it must exist. */
static bool has_input(const struct instruction *self, const struct leat_planner *planner) {
    for (size_t i = 0; i < self->fields.n_items; i++)
        if (strcmp(self->fields.keys[i], "input") == 0)
            return true;
    return leat_planner_has(planner, "input");
}

static int compile(struct instruction *self, struct leat_text_part *part, const char *arg,
                   const char *text, struct leat_planner *planner, struct leat_error *err) {
    return leat_text_part_compile(part, &self->base, arg, 0, text, &self->fields, planner, err);
}

static int plan_alpaca(struct instruction *self, struct leat_planner *planner,
                       struct leat_error *err) {
    static const char with_input[] =
        ALPACA(", paired with an input that provides further context", "### Input:\n{input}\n\n");
    static const char without_input[] = ALPACA("", "");
    int r = compile(self, &self->short_part, "preset", without_input, planner, err);

    if (r == 0)
        r = compile(self, &self->response_part, "preset", "{output}", planner, err);
    self->has_input = has_input(self, planner);
    if (r == 0 && self->has_input)
        r = compile(self, &self->prompt_part, "preset", with_input, planner, err);
    if (r == 0 && self->has_input)
        self->input = self->prompt_part.pieces[1].column;
    return r;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct instruction *self = (struct instruction *)config;
    struct leat_field *field;
    int r;

    if (!self->prompt) {
        r = plan_alpaca(self, planner, err);
    } else {
        r = compile(self, &self->prompt_part, "prompt", self->prompt, planner, err);
        if (r == 0)
            r = compile(self, &self->response_part, "response", self->response, planner, err);
    }
    return r < 0 ? r : leat_dialogue_plan(config, &self->dialogue, planner, &field, err);
}

static void unload(struct leat_config *config) {
    struct instruction *self = (struct instruction *)config;

    leat_text_part_deinit(&self->prompt_part);
    leat_text_part_deinit(&self->short_part);
    leat_text_part_deinit(&self->response_part);
}

/* ---- rows */

static void workspace_free(void *memory) {
    if (memory)
        leat_dialogue_writer_deinit(memory);
    free(memory);
}

static int workspace_new(const struct leat_config *config, void **ret_workspace,
                         struct leat_error *err) {
    (void)config;
    *ret_workspace = calloc(1, sizeof(struct leat_dialogue_writer));
    return *ret_workspace ? 0 : leat_error_oom(err);
}

static void put_field(struct leat_dialogue_writer *writer, const struct leat_map *map,
                      uint32_t index, uint32_t row) {
    const struct leat_column *column = &map->block->columns[index];
    enum leat_dtype dtype = map->fields[index].dtype;
    char number[LEAT_SCALAR_TEXT_MAX];

    if (dtype == LEAT_DTYPE_TEXT)
        leat_dialogue_put(writer, (const uint8_t *)column->values + column->starts[row],
                          column->lengths[row]);
    else
        leat_dialogue_put(writer, number, leat_scalar_print(column->values, dtype, row, number));
}

static void put_part(struct leat_dialogue_writer *writer, const struct leat_text_part *part,
                     const struct leat_map *map, uint32_t row) {
    for (size_t i = 0; i < part->n_pieces; i++) {
        leat_dialogue_put(writer, part->pieces[i].literal, part->pieces[i].n_literal);
        if (part->pieces[i].column >= 0)
            put_field(writer, map, (uint32_t)part->pieces[i].column, row);
    }
}

/* Chooses one of Alpaca's two prompts; other formats have one. */
static const struct leat_text_part *prompt_of(const struct instruction *self,
                                              const struct leat_map *map, uint32_t row) {
    const struct leat_column *input;

    if (self->prompt)
        return &self->prompt_part;
    if (!self->has_input)
        return &self->short_part;
    input = &map->block->columns[self->input];
    return input->lengths && input->lengths[row] == 0 ? &self->short_part : &self->prompt_part;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct instruction *self = (const struct instruction *)config;
    struct leat_dialogue_writer *writer = map->workspace;
    int r = 0;

    if (leat_dialogue_begin(&self->dialogue, writer, map) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        leat_dialogue_begin_row(writer);
        put_part(writer, prompt_of(self, map, row), map, row);
        leat_dialogue_open_part(writer);
        put_part(writer, &self->response_part, map, row);
        leat_dialogue_put_text(writer, self->eos);
        leat_dialogue_close_part(writer);
        r = leat_dialogue_end_row(&self->dialogue, writer, map, row, false, err);
    }
    return r < 0 ? r : leat_dialogue_end(&self->dialogue, writer, map, err);
}

const struct leat_stage_ops leat_stage_instruction = {
    LEAT_STAGE_BASE("instruction", instruction, MAP),
    .summary = "writes a prompt and its answer as text, in Alpaca's format or your own",
    .example = "{ preset: alpaca }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
};

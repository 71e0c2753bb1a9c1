/* where.c: `leatctl where`: where the records of a batch come from. This process computes the order
 * again with the rights of its user, for a stream of a FILE, or by the spec of the daemon's stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/output.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/places.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/json_writer.h"

/* ---- printing ---- */

static bool is_wanted(const struct leat_cli_arguments *arguments, const struct leat_place *place) {
    return !arguments->row.is_given || place->row == arguments->row.value;
}

static void add_row(struct leat_text *text, const struct leat_plan *plan,
                    const struct leat_place *place) {
    leat_text_add(text, "%6u", place->row);
    if (place->length == LEAT_PLACE_WHOLE)
        leat_text_add(text, "  %-15s", "");
    else
        leat_text_add(text, "  %6u..%-7u", place->start, place->start + place->length);
    leat_text_add(text, "  %10llu  %llu-%llu  ", (unsigned long long)place->record,
                  (unsigned long long)place->offset,
                  (unsigned long long)(place->offset + place->n_bytes));
    leat_text_add_shown(text, plan->source->files.paths[place->file]);
    leat_text_add(text, ":%llu", (unsigned long long)place->line);
    if (place->n_lines > 1)
        leat_text_add(text, "-%llu", (unsigned long long)(place->line + place->n_lines - 1));
    leat_text_add(text, "\n");
}

static void print_text(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                       const struct leat_places *places) {
    struct leat_text text = {.data = NULL};

    leat_text_add(
        &text,
        "epoch %llu, step %llu: %u rows\n   row  elements             record  bytes  file:line\n",
        (unsigned long long)arguments->epoch.value, (unsigned long long)arguments->step.value,
        places->n_rows);
    for (size_t i = 0; i < places->n_places; i++)
        if (is_wanted(arguments, &places->places[i]))
            add_row(&text, plan, &places->places[i]);
    leat_cli_print(&text);
}

static void add_place(struct leat_text *json, const struct leat_plan *plan,
                      const struct leat_place *place) {
    leat_json_line(json);
    leat_json_open(json, NULL, '{');
    leat_json_add_uint(json, "row", place->row);
    leat_json_add_uint(json, "part", place->part);
    leat_json_add_uint(json, "record", place->record);
    leat_json_add_text(json, "file", plan->source->files.paths[place->file]);
    leat_json_add_uint(json, "line", place->line);
    leat_json_add_uint(json, "n_lines", place->n_lines);
    leat_json_add_uint(json, "offset", place->offset);
    leat_json_add_uint(json, "n_bytes", place->n_bytes);
    if (place->length == LEAT_PLACE_WHOLE) {
        leat_json_add_uint(json, "start", 0);
        leat_json_add_null(json, "length");
    } else {
        leat_json_add_uint(json, "start", place->start);
        leat_json_add_uint(json, "length", place->length);
    }
    leat_json_close(json, '}');
}

static int print_json(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                      const struct leat_places *places, struct leat_error *err) {
    struct leat_text json = {.data = NULL};

    leat_json_open(&json, NULL, '{');
    leat_json_add_text(&json, "stream", plan->spec->name);
    leat_json_add_uint(&json, "epoch", arguments->epoch.value);
    leat_json_add_uint(&json, "step", arguments->step.value);
    leat_json_add_uint(&json, "n_rows", places->n_rows);
    leat_json_open(&json, "places", '[');
    for (size_t i = 0; i < places->n_places; i++)
        if (is_wanted(arguments, &places->places[i]))
            add_place(&json, plan, &places->places[i]);
    leat_json_close(&json, ']');
    leat_json_close(&json, '}');
    leat_text_add(&json, "\n");
    if (json.failed)
        leat_error_oom(err);
    leat_cli_print(&json);
    return err->code;
}

static int print_places(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                        const struct leat_places *places, struct leat_error *err) {
    if (arguments->row.is_given && arguments->row.value >= places->n_rows)
        return leat_error_set(err, -ERANGE, "--row: there is no row %llu; the batch has %u rows",
                              (unsigned long long)arguments->row.value, places->n_rows);
    if (arguments->json)
        return print_json(plan, arguments, places, err);
    print_text(plan, arguments, places);
    return 0;
}

/* ---- the spec ---- */

static int print_where(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                       struct leat_error *err) {
    struct leat_places_options options = {.epoch = arguments->epoch.value,
                                          .step = arguments->step.value,
                                          .world_size = arguments->world_size.value,
                                          .has_seed = arguments->seed.is_given,
                                          .seed = arguments->seed.value};
    struct leat_places places = {.places = NULL};
    struct leat_plan *plan = NULL;
    int r = leat_pipeline_open(spec, &leat_opener_operator, &plan, err);

    if (r == 0)
        r = leat_places_find(plan, &leat_opener_operator, &options, &places, err);
    if (r == 0)
        r = print_places(plan, arguments, &places, err);
    leat_places_deinit(&places);
    leat_plan_unref(plan);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int where_of_stream(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__SpecRequest wanted = LEAT__SPEC_REQUEST__INIT;
    Leat__ControlReply *reply;
    struct leat_spec *spec = NULL;
    int status;

    wanted.stream = (char *)(uintptr_t)arguments->operand;
    reply = leat_cli_control(NULL, LEAT__CONTROL_REQUEST__VERB_SPEC, &wanted,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    status = leat_spec_unpack(reply->spec, &spec, err) == 0 ? print_where(spec, arguments, err)
                                                            : LEAT_CLI_FAILURE;
    leat_spec_free(spec);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

static int where_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    if (!arguments->step.is_given) {
        leat_error_set(err, -EINVAL,
                       "leatctl where: say which batch you mean: give --epoch E --step S");
        return LEAT_CLI_USAGE;
    }
    return arguments->is_file ? leat_cli_spec_with(arguments, print_where, err)
                              : where_of_stream(arguments, err);
}

static const struct leat_cli_option where_options[] = {
    LEAT_CLI_OPTION(NUMBER, "epoch", epoch, "epoch of the batch, from 0 (default 0)", .value = "E",
                    .max = UINT64_MAX),
    LEAT_CLI_OPTION(NUMBER, "step", step,
                    "step of the batch, from 0; steps count the batches of all ranks", .value = "S",
                    .max = UINT64_MAX),
    LEAT_CLI_OPTION(NUMBER, "row", row, "show only row R of the batch; rows count from 0",
                    .value = "R", .max = UINT32_MAX),
    LEAT_CLI_OPTION(NUMBER, "seed", seed,
                    "seed of the trainer, if it differs from the stream's own seed", .value = "N",
                    .max = UINT64_MAX),
    LEAT_CLI_OPTION(
        NUMBER, "world-size", world_size,
        "number of ranks (default 1); needed only for steps that the option `uneven: pad` adds",
        .value = "W", .min = 1, .max = 1048576),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_where_command = {
    .name = "where",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show where the records of a batch come from",
    .description =
        "Prints a line for each row of a batch. It shows the number of the record, the range\n"
        "of its bytes in the decompressed file, and file:line. Records count from 0, as in the\n"
        "option `skip_records`. A packed row has a line for each of its parts.\n"
        "\n"
        "The command computes the order of the records again in its own process. It reads the\n"
        "data with your permissions. For a STREAM, it gets the spec from the daemon. It writes\n"
        "nothing, not even a cache.",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl where titanic --epoch 3 --step 17\n"
                "  leatctl where titanic.yaml --step 17 --row 5 --json\n",
    .asks_daemon = true,
    .options = where_options,
    .run = where_main,
};

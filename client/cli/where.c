/* where.c: `leatctl where`: where the records of a batch come from. The order is computed again in
 * this process, with the rights of who asks: of a stream of a FILE, or of the daemon's, which tells
 * its spec. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/options.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/places.h"

/* ---- printing ---- */

static bool is_asked(const struct leat_cli_arguments *arguments, const struct leat_place *place) {
    return !arguments->row.is_given || place->row == arguments->row.value;
}

static void print_place(const struct leat_plan *plan, const struct leat_place *place) {
    struct leat_text path = {.data = NULL};

    leat_text_add_shown(&path, plan->source->files.paths[place->file]);
    printf("%6u", place->row);
    if (place->length == LEAT_PLACE_WHOLE)
        printf("  %-15s", "");
    else
        printf("  %6u..%-7u", place->start, place->start + place->length);
    printf("  %10llu  %llu-%llu  %s:%llu", (unsigned long long)place->record,
           (unsigned long long)place->offset, (unsigned long long)(place->offset + place->n_bytes),
           path.data ? path.data : "", (unsigned long long)place->line);
    free(path.data);
    if (place->n_lines > 1)
        printf("-%llu", (unsigned long long)(place->line + place->n_lines - 1));
    printf("\n");
}

static void print_text(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                       const struct leat_places *places) {
    printf(
        "epoch %llu, step %llu: %u rows\n   row  elements             record  bytes  file:line\n",
        (unsigned long long)arguments->epoch.value, (unsigned long long)arguments->step.value,
        places->n_rows);
    for (size_t i = 0; i < places->n_places; i++)
        if (is_asked(arguments, &places->places[i]))
            print_place(plan, &places->places[i]);
}

static void add_place(struct leat_text *text, const struct leat_plan *plan,
                      const struct leat_place *place) {
    const char *path = plan->source->files.paths[place->file];

    leat_text_add(text, "{\"row\": %u, \"part\": %u, \"record\": %llu, \"file\": ", place->row,
                  place->part, (unsigned long long)place->record);
    leat_text_add_json(text, path, strlen(path));
    leat_text_add(text, ", \"line\": %llu, \"n_lines\": %llu, \"offset\": %llu, \"n_bytes\": %llu",
                  (unsigned long long)place->line, (unsigned long long)place->n_lines,
                  (unsigned long long)place->offset, (unsigned long long)place->n_bytes);
    if (place->length == LEAT_PLACE_WHOLE)
        leat_text_add(text, ", \"start\": 0, \"length\": null}");
    else
        leat_text_add(text, ", \"start\": %u, \"length\": %u}", place->start, place->length);
}

static int print_json(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                      const struct leat_places *places, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    bool is_first = true;

    leat_text_add(&text, "{\"stream\": ");
    leat_text_add_json(&text, plan->spec->name, strlen(plan->spec->name));
    leat_text_add(&text, ", \"epoch\": %llu, \"step\": %llu, \"n_rows\": %u, \"places\": [",
                  (unsigned long long)arguments->epoch.value,
                  (unsigned long long)arguments->step.value, places->n_rows);
    for (size_t i = 0; i < places->n_places; i++) {
        if (!is_asked(arguments, &places->places[i]))
            continue;
        leat_text_add(&text, "%s\n", is_first ? "" : ",");
        add_place(&text, plan, &places->places[i]);
        is_first = false;
    }
    leat_text_add(&text, "]}\n");
    if (text.failed)
        return leat_error_oom(err);
    (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
    return 0;
}

static int print(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                 const struct leat_places *places, struct leat_error *err) {
    if (arguments->row.is_given && arguments->row.value >= places->n_rows)
        return leat_error_set(err, -ERANGE, "there is no row %llu: the batch has %u",
                              (unsigned long long)arguments->row.value, places->n_rows);
    if (arguments->json)
        return print_json(plan, arguments, places, err);
    print_text(plan, arguments, places);
    return 0;
}

/* ---- the spec ---- */

static int where(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                 struct leat_error *err) {
    struct leat_places_options options = {.epoch = arguments->epoch.value,
                                          .step = arguments->step.value,
                                          .world_size = arguments->world_size.value,
                                          .has_seed = arguments->seed.is_given,
                                          .seed = arguments->seed.value};
    struct leat_places places = {.places = NULL};
    struct leat_plan *plan = NULL;
    int r = leat_plan_new(spec, &leat_opener_operator, &plan, err);

    if (r == 0)
        r = leat_places_find(plan, &leat_opener_operator, &options, &places, err);
    if (r == 0)
        r = print(plan, arguments, &places, err);
    leat_places_deinit(&places);
    leat_plan_unref(plan);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int where_of_file(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    status = spec ? where(spec, arguments, err) : leat_cli_error_status(err);
    leat_cli_streams_deinit(&streams);
    return status;
}

static int where_of_stream(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__SpecRequest wanted = LEAT__SPEC_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    struct leat_spec *spec = NULL;
    int status;

    wanted.stream = (char *)(uintptr_t)arguments->operand;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SPEC;
    request.spec = &wanted;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_SPEC,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    status = leat_spec_unpack(reply->spec, &spec, err) == 0 ? where(spec, arguments, err)
                                                            : LEAT_CLI_FAILURE;
    leat_spec_free(spec);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

static int where_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    if (!arguments->step.is_given) {
        leat_error_set(err, -EINVAL, "leatctl where: which step? --epoch E --step S");
        return LEAT_CLI_USAGE;
    }
    return arguments->is_file ? where_of_file(arguments, err) : where_of_stream(arguments, err);
}

static const struct leat_cli_option where_options[] = {
    {.name = "epoch",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(epoch),
     .value = "E",
     .max = UINT64_MAX,
     .help = "from 0 (default 0)"},
    {.name = "step",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(step),
     .value = "S",
     .max = UINT64_MAX,
     .help = "from 0, over all ranks"},
    {.name = "row",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(row),
     .value = "R",
     .max = UINT32_MAX,
     .help = "that row of the batch alone, from 0"},
    {.name = "seed",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(seed),
     .value = "N",
     .max = UINT64_MAX,
     .help = "that its trainer gave in place of the stream's own"},
    {.name = "world-size",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(world_size),
     .value = "W",
     .min = 1,
     .max = 1048576,
     .help = "for a step that `uneven: pad` adds (default 1)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_where_command = {
    .name = "where",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show where the records of a batch come from",
    .description =
        "Prints for every row of a batch, and every part of packed ones, the number of the record "
        "(from 0, as\nskip_records takes it), its bytes in the file's text, and file:line. The "
        "order is computed again in this\nprocess, which reads the data with the rights of who "
        "asks; of a STREAM of the daemon the spec comes from\nthere. Nothing is written, no cache "
        "either.",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl where titanic --epoch 3 --step 17\n"
                "  leatctl where titanic.yaml --step 17 --row 5 --json\n",
    .asks_daemon = true,
    .options = where_options,
    .run = where_main,
};

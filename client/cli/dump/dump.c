/* dump.c: `leatctl dump`: batches as files or lines, from a private daemon for a FILE, or from the
 * running daemon for a STREAM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/consumer.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/pulling.h"
#include "client/cli/base/units.h"
#include "client/cli/dump/target.h"
#include "proto/base/container_of.h"
#include "proto/base/json_writer.h"

struct dump {
    struct leat_cli_consumer consumer; /* first */
    struct leat_cli_pulling pulling;
    struct leat_cli_dump_target target;
    int r; /* of the last batch */
    struct leat_error *err;
};

static bool put_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    struct dump *dump = (struct dump *)consumer;

    dump->r = leat_cli_dump_target_put(&dump->target, batch, dump->err);
    return dump->r == 0;
}

static int put_batches(struct dump *dump, struct leat_stream *stream, struct leat_error *err) {
    int r = leat_cli_dump_target_open(&dump->target, err);

    if (r == 0)
        r = leat_cli_consume(&dump->consumer, stream, err);
    if (r >= 0)
        r = dump->r < 0 ? dump->r : 0;
    return leat_cli_dump_target_close(&dump->target, r, err);
}

static void print_report_json(const struct leat_cli_dump_target *target) {
    struct leat_text json = {.data = NULL};

    leat_json_open(&json, NULL, '{');
    leat_json_add_text(&json, "path", target->path);
    leat_json_add_uint(&json, "batches", target->n_batches);
    leat_json_add_uint(&json, "rows", target->n_rows);
    leat_json_add_uint(&json, "bytes", target->n_bytes);
    leat_json_close(&json, '}');
    leat_text_add(&json, "\n");
    leat_cli_print(&json);
}

static void print_report(const struct dump *dump) {
    const struct leat_cli_dump_target *target = &dump->target;
    char batches[LEAT_CLI_UNIT_MAX], rows[LEAT_CLI_UNIT_MAX], bytes[LEAT_CLI_UNIT_MAX];

    if (target->kind == LEAT_CLI_DUMP_PRINTED)
        return;
    if (dump->pulling.arguments->json)
        print_report_json(target);
    else
        printf("%s: %s %s, %s rows, %s\n", target->path, leat_cli_count(target->n_batches, batches),
               target->n_batches == 1 ? "batch" : "batches", leat_cli_count(target->n_rows, rows),
               leat_cli_bytes(target->n_bytes, bytes));
}

static int dump_stream(struct leat_cli_pulling *pulling, struct leat_error *err) {
    struct dump *dump = LEAT_CONTAINER_OF(pulling, struct dump, pulling);
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    int r;

    if (leat_client_new(pulling->address, &client) < 0) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    r = leat_cli_pulling_open(pulling, client, &stream, err);
    leat_client_free(client);
    if (r < 0)
        return leat_cli_pulling_status(r, err, false);
    r = put_batches(dump, stream, err);
    leat_stream_close(stream);
    if (r == 0)
        print_report(dump);
    return leat_cli_pulling_status(r, err, true);
}

static int check_arguments(struct dump *dump, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = dump->pulling.arguments;
    int status = leat_cli_dump_target_init(&dump->target, arguments, err);

    if (status == LEAT_CLI_OK && arguments->position &&
        (arguments->epoch.is_given || arguments->step.is_given)) {
        leat_error_set(err, -EINVAL, "leatctl dump: give either --position, or --epoch and --step");
        return LEAT_CLI_USAGE;
    }
    return status == LEAT_CLI_OK ? leat_cli_pulling_check(&dump->pulling, err) : status;
}

static int dump_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct dump dump = {
        .consumer = {.on_batch = put_batch},
        .pulling = {.arguments = arguments, .stream = arguments->operand},
        .err = err,
    };
    int status = check_arguments(&dump, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    (void)signal(SIGPIPE, SIG_IGN); /* a private daemon must be stopped */
    return arguments->is_file ? leat_cli_pulling_file(&dump.pulling, dump_stream, err)
                              : dump_stream(&dump.pulling, err);
}

static const char *const save_formats[] = {"auto", "safetensors", "npz", "jsonl", NULL};
static const struct leat_cli_option dump_options[] = {
    LEAT_CLI_OPTION(STRING, "output", output,
                    "where to write: a folder, or NAME.jsonl; for one batch also NAME.safetensors "
                    "or NAME.npz (default: print JSONL)",
                    .letter = 'o', .value = "PATH"),
    LEAT_CLI_OPTION(
        CHOICE, "format", save_format,
        "file format; with auto, the suffix of PATH decides, and a folder gets safetensors",
        .value = "F", .choices = save_formats),
    LEAT_CLI_OPTION(FLAG, "compress", compress, "compress the arrays in .npz"),
    LEAT_CLI_OPTION(NUMBER, "epoch", epoch, "epoch of the first batch, from 0 (default 0)",
                    .value = "E", .max = UINT64_MAX),
    LEAT_CLI_OPTION(
        NUMBER, "step", step,
        "step of the first batch, from 0; steps count the batches of all ranks (default 0)",
        .value = "S", .max = UINT64_MAX),
    LEAT_CLI_OPTIONS_CHOOSING,
    LEAT_CLI_OPTION_DELIVERY,
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_dump_command = {
    .name = "dump",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "write batches as safetensors, .npz or JSONL",
    .description =
        "Writes the batches of a stream. For a FILE, a private daemon makes them, as with\n"
        "`leatctl run`. For a STREAM, they come from the running daemon. If the PATH of\n"
        "--output is a folder, each batch gets its own file, such as\n"
        "epoch-0000-step-00000017.safetensors. If PATH is NAME.jsonl, this file gets all\n"
        "batches. Each file appears only when it is complete.\n"
        "\n"
        "In JSONL, each line is a row, such as {\"_epoch\": 0, \"_step\": 17, \"_row\": 3,\n"
        "...}, which also has the values of all tensors by name. NaN and infinities become\n"
        "null. In .npz, bfloat16 has the dtype \"V2\": to get the numbers, call\n"
        ".view(ml_dtypes.bfloat16).",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl dump titanic.yaml --batches 1\n"
                "  leatctl dump titanic.yaml --batches 1 | jq -c .labels\n"
                "  leatctl dump titanic -o batches/ --format npz --compress\n"
                "  leatctl dump titanic --epoch 3 --step 17 --batches 1 -o bad.safetensors\n",
    .asks_daemon = true,
    .options = dump_options,
    .run = dump_main,
};

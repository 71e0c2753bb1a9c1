/* dump.c: `dump`: batches as files or lines, of a FILE's stream from a daemon of our own, or of a
 * STREAM of the running one. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/consumer.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/options.h"
#include "client/cli/base/pulling.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/base/units.h"
#include "client/cli/dump/target.h"

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

static void report_json(const struct leat_cli_dump_target *target) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "{\"path\": ");
    leat_text_add_json(&text, target->path, strlen(target->path));
    leat_text_add(&text,
                  ", \"batches\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
                  target->n_batches, target->n_rows, target->n_bytes);
    if (text.data)
        (void)fputs(text.data, stdout);
    free(text.data);
}

static void report(const struct dump *dump) {
    const struct leat_cli_dump_target *target = &dump->target;
    char batches[LEAT_CLI_UNIT_MAX], rows[LEAT_CLI_UNIT_MAX], bytes[LEAT_CLI_UNIT_MAX];

    if (target->kind == LEAT_CLI_DUMP_PRINTED)
        return;
    if (dump->pulling.arguments->json)
        report_json(target);
    else
        printf("%s: %s %s, %s rows, %s\n", target->path, leat_cli_count(target->n_batches, batches),
               target->n_batches == 1 ? "batch" : "batches", leat_cli_count(target->n_rows, rows),
               leat_cli_bytes(target->n_bytes, bytes));
}

static int dump_stream(struct dump *dump, struct leat_error *err) {
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    int r;

    if (leat_client_new(dump->pulling.address, &client) < 0) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    r = leat_cli_pulling_open(&dump->pulling, client, &stream, err);
    leat_client_free(client);
    if (r < 0)
        return leat_cli_pulling_status(r, err, false);
    r = put_batches(dump, stream, err);
    leat_stream_close(stream);
    if (r == 0)
        report(dump);
    return leat_cli_pulling_status(r, err, true);
}

static int dump_private(struct dump *dump, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = dump->pulling.arguments;
    struct leat_cli_daemon daemon;
    int r = leat_cli_daemon_start(&daemon, arguments->operand, (uint32_t)arguments->workers.value,
                                  false, err);
    int status;

    if (r < 0)
        return leat_cli_pulling_status(r, err, true);
    dump->pulling.address = daemon.directory;
    dump->pulling.is_private = true;
    status = dump_stream(dump, err);
    leat_cli_daemon_stop(&daemon);
    return status;
}

static int dump_file(struct dump *dump, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = dump->pulling.arguments;
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec)
        dump->pulling.stream = spec->name;
    status = spec ? dump_private(dump, err) : leat_cli_error_status(err);
    leat_cli_streams_deinit(&streams);
    return status;
}

static int check(struct dump *dump, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = dump->pulling.arguments;
    int status = leat_cli_dump_target_init(&dump->target, arguments, err);

    if (status == LEAT_CLI_OK && arguments->position &&
        (arguments->epoch.is_given || arguments->step.is_given)) {
        leat_error_set(err, -EINVAL,
                       "leatctl dump: --position stands in place of --epoch and --step");
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
    int status = check(&dump, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    (void)signal(SIGPIPE, SIG_IGN); /* so that a daemon of our own is put away */
    return arguments->is_file ? dump_file(&dump, err) : dump_stream(&dump, err);
}

static const char *const save_formats[] = {"auto", "safetensors", "npz", "jsonl", NULL};
static const struct leat_cli_option dump_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(output),
     .value = "PATH",
     .help =
         "a folder, NAME.jsonl or, of one batch, NAME.safetensors or NAME.npz (default: JSONL is "
         "printed)"},
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(save_format),
     .value = "F",
     .choices = save_formats,
     .help = "of files; auto: as PATH ends, in folders safetensors"},
    {.name = "compress",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(compress),
     .help = "deflate what is in .npz"},
    {.name = "epoch",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(epoch),
     .value = "E",
     .max = UINT64_MAX,
     .help = "begin there, from 0 (default 0)"},
    {.name = "step",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(step),
     .value = "S",
     .max = UINT64_MAX,
     .help = "begin there, from 0, over all ranks (default 0)"},
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
        "Of a FILE's stream, from a private daemon as `run` starts it, or of a STREAM of the "
        "running "
        "daemon. A\nfolder gets a file for each batch, epoch-0000-step-00000017.safetensors; "
        "NAME.jsonl has all of them. A line\nof JSONL is a row: {\"_epoch\": 0, \"_step\": 17, "
        "\"_row\": 3, ...} and its values by the tensors' names; NaN\nand infinities are null. "
        "bfloat16 is \"V2\" in .npz: .view(ml_dtypes.bfloat16) reads it. A file is there whole\n"
        "or not at all.",
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

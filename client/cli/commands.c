/* commands.c: the table of subcommands and their options, and the program that picks one. */
#include "client/cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/error_json.h"
#include "pipeline/bind.h"

#define MAX_COMMANDS 32
#define AT(member)   offsetof(struct leat_cli_arguments, member)
#define END                                                                                        \
    { .name = NULL }

static const char *const deliveries[] = {"shared", "copy", NULL};
static const char *const formats[] = {"text", "json", "jsonl", NULL};

#define JSON                                                                                       \
    { .name = "json", .kind = LEAT_CLI_FLAG, .offset = AT(json), .help = "print JSON" }
#define STREAM                                                                                     \
    {                                                                                              \
        .name = "stream", .kind = LEAT_CLI_STRING, .offset = AT(stream), .value = "NAME",          \
        .help = "which stream of the file (default: the only one)"                                 \
    }
#define WORKERS                                                                                    \
    {                                                                                              \
        .name = "workers", .kind = LEAT_CLI_NUMBER, .offset = AT(workers), .value = "N", .min = 1, \
        .max = 1024, .help = "worker threads (default: as the file says)"                          \
    }
/* What `run` and `pull` have in common. */
#define PULLING                                                                                    \
    {.name = "epochs",                                                                             \
     .kind = LEAT_CLI_NUMBER,                                                                      \
     .offset = AT(epochs),                                                                         \
     .value = "N",                                                                                 \
     .max = UINT64_MAX,                                                                            \
     .help = "epochs to pull (default 1; 0: without end)"},                                        \
        {.name = "batches",                                                                        \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = AT(batches),                                                                    \
         .value = "N",                                                                             \
         .min = 1,                                                                                 \
         .max = UINT64_MAX,                                                                        \
         .help = "stop after that many batches"},                                                  \
        {.name = "rank",                                                                           \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = AT(rank),                                                                       \
         .value = "R",                                                                             \
         .max = UINT32_MAX - 1,                                                                    \
         .help = "see the steps congruent to R modulo the world size"},                            \
        {.name = "world-size",                                                                     \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = AT(world_size),                                                                 \
         .value = "W",                                                                             \
         .min = 1,                                                                                 \
         .max = UINT32_MAX,                                                                        \
         .help = "number of ranks (default 1)"},                                                   \
        {.name = "seed",                                                                           \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = AT(seed),                                                                       \
         .value = "N",                                                                             \
         .max = UINT64_MAX,                                                                        \
         .help = "in place of the stream's own seed"},                                             \
        {.name = "window",                                                                         \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = AT(window),                                                                     \
         .value = "N",                                                                             \
         .min = 1,                                                                                 \
         .max = 4096,                                                                              \
         .help = "batches under way at once (default: the daemon's)"},                             \
        {.name = "delivery",                                                                       \
         .kind = LEAT_CLI_CHOICE,                                                                  \
         .offset = AT(delivery),                                                                   \
         .value = "HOW",                                                                           \
         .choices = deliveries,                                                                    \
         .help = "shared memory, or copies through the socket"},                                   \
        {.name = "digest",                                                                         \
         .kind = LEAT_CLI_FLAG,                                                                    \
         .offset = AT(digest),                                                                     \
         .help = "hash names, dtypes, shapes, bytes and order of all batches (BLAKE2b-256)"},      \
        {.name = "format",                                                                         \
         .kind = LEAT_CLI_CHOICE,                                                                  \
         .offset = AT(format),                                                                     \
         .value = "F",                                                                             \
         .choices = formats,                                                                       \
         .help = "what is printed"},                                                               \
    {                                                                                              \
        .name = "json", .kind = LEAT_CLI_FLAG, .offset = AT(json),                                 \
        .help = "the same as --format "                                                            \
                "json"                                                                             \
    }

static const struct leat_cli_option run_options[] = {
    STREAM,
    WORKERS,
    PULLING,
    {.name = "no-daemon",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(no_daemon),
     .help = "run the pipeline in this process, on one thread"},
    END,
};
static const struct leat_cli_option pull_options[] = {PULLING, END};
static const struct leat_cli_option head_options[] = {
    {.name = "records",
     .letter = 'n',
     .kind = LEAT_CLI_NUMBER,
     .offset = AT(records),
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "how many records (default 3)"},
    {.name = "after",
     .kind = LEAT_CLI_STRING,
     .offset = AT(after),
     .value = "STAGE",
     .help = "`source`, a stage's name, `pad[2]` for the second of that name, or its index from 0 "
             "(default: the last)"},
    STREAM,
    JSON,
    END,
};
static const struct leat_cli_option describe_options[] = {
    {.name = "records",
     .letter = 'n',
     .kind = LEAT_CLI_NUMBER,
     .offset = AT(records),
     .value = "N",
     .min = 1,
     .max = UINT64_MAX,
     .help = "only the first N records (default: all)"},
    {.name = "after",
     .kind = LEAT_CLI_STRING,
     .offset = AT(after),
     .value = "STAGE",
     .help = "with what there is after that stage, as for `head` (default: the last)"},
    STREAM,
    JSON,
    END,
};
static const struct leat_cli_option check_options[] = {JSON, END};
static const struct leat_cli_option explain_options[] = {STREAM, WORKERS, JSON, END};
static const struct leat_cli_option stages_options[] = {
    JSON,
    {.name = "markdown",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(markdown),
     .help = "print the reference page"},
    END,
};
#define TOKENIZER                                                                                  \
    {                                                                                              \
        .name = "tokenizer", .kind = LEAT_CLI_STRING, .offset = AT(tokenizer), .value = "FILE",    \
        .help = "tokenizer.json, vocab.txt, vocab.json beside merges.txt, or their directory"      \
    }
static const struct leat_cli_option tokenize_options[] = {
    TOKENIZER,
    {.name = "special",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(special),
     .help = "with the special tokens that it puts around texts"},
    {.name = "offsets",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(offsets),
     .help = "JSON, with where each token starts and ends in its text, in characters"},
    {.name = "type-ids",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(type_ids),
     .help = "JSON, with which of two texts each token belongs to"},
    {.name = "jsonl",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(jsonl),
     .help = "a line is {\"t\": text}; \"pair\", \"special\", \"off\" and \"type_ids\" as wanted"},
    END,
};
static const struct leat_cli_option decode_options[] = {
    TOKENIZER,
    {.name = "skip-special",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(skip_special),
     .help = "without special tokens"},
    {.name = "jsonl",
     .kind = LEAT_CLI_FLAG,
     .offset = AT(jsonl),
     .help = "a line is {\"ids\": [ids]}; \"skip_special\" as wanted"},
    END,
};
static const struct leat_cli_option json_options[] = {JSON, END};
static const struct leat_cli_option drain_options[] = {
    {.name = "timeout",
     .kind = LEAT_CLI_NUMBER,
     .offset = AT(timeout),
     .value = "S",
     .max = 86400,
     .help = "seconds after which the daemon stops all the same (default 30)"},
    JSON,
    END,
};

#define SOCKET_TEXT                                                                                \
    "The daemon is looked for at $LEAT_SOCKET (a directory, or a socket in it), else in\n"         \
    "$XDG_RUNTIME_DIR/leat, else in /run/leat."

const struct leat_cli_command leat_cli_commands[] = {
    {.name = "run",
     .summary = "start a private daemon for a file and pull its batches",
     .description =
         "Starts leatd (found beside leatctl, else $LEAT_LEATD, else on the PATH) with a "
         "private socket,\npulls through the real client, prints what came, and stops "
         "it. Writes nothing beside FILE.",
     .operand = "FILE",
     .examples = "  leatctl run titanic.yaml --digest\n"
                 "  leatctl run titanic.yaml --stream train --batches 10 --format jsonl\n"
                 "  leatctl run titanic.yaml --rank 1 --world-size 4 --delivery copy\n",
     .options = run_options,
     .run = leat_cli_run},
    {.name = "pull",
     .summary = "pull a stream's batches from the running daemon",
     .description = SOCKET_TEXT,
     .operand = "STREAM",
     .examples = "  leatctl pull titanic --epochs 1 --digest\n",
     .options = pull_options,
     .run = leat_cli_pull},
    {.name = "head",
     .summary = "print the first records as they are after a stage",
     .description = "Runs the source and the per-record stages in this process. Stages that order "
                    "or batch change\nno record: behind them records are as before them.",
     .operand = "FILE",
     .examples = "  leatctl head titanic.yaml -n 3 --after tokenize\n"
                 "  leatctl head titanic.yaml --after source --json\n",
     .options = head_options,
     .run = leat_cli_head},
    {.name = "describe",
     .summary = "show what the columns of a stream hold, and how many tokens",
     .description =
         "Of FILE's stream, after its per-record stages, or of a FILE of data (.csv, .tsv, .jsonl, "
         ".ndjson, .txt,\n.md, compressed or not): types, empty values, lengths, mean and standard "
         "deviation (of all records, not\nof a sample) of numbers, and a histogram of the tokens "
         "that "
         "`tokenize` makes. What --json prints is what\n`normalize: {stats: FILE}` reads. Reads "
         "all of "
         "the data, in memory that does not grow with it; bad records\nare counted and passed "
         "over.",
     .operand = "FILE",
     .examples = "  leatctl describe titanic.yaml\n"
                 "  leatctl describe train.jsonl.zst -n 100000\n"
                 "  leatctl describe titanic.yaml --json > titanic.stats.json\n",
     .options = describe_options,
     .run = leat_cli_describe},
    {.name = "check",
     .summary = "say everything that is wrong with a file",
     .description = "Checks every stream, with the files that it names, and the daemon's settings. "
                    "Exit status 1\n"
                    "(never 3) if anything is wrong.",
     .operand = "FILE",
     .examples = "  leatctl check /etc/leat/leatd.yaml\n",
     .options = check_options,
     .run = leat_cli_check},
    {.name = "explain",
     .summary = "show the plan of a stream: schema, fused stages, memory",
     .description = "Of a FILE's stream, or of a STREAM that the running daemon knows.",
     .operand = "FILE|STREAM",
     .examples = "  leatctl explain titanic.yaml --stream train\n"
                 "  leatctl explain titanic\n",
     .options = explain_options,
     .run = leat_cli_explain},
    {.name = "stages",
     .summary = "reference of sources, stages and stream options",
     .operand = "[NAME]",
     .examples = "  leatctl stages\n"
                 "  leatctl stages shuffle\n"
                 "  leatctl stages --markdown > stages.md\n",
     .options = stages_options,
     .run = leat_cli_stages},
    {.name = "tokenize",
     .summary = "turn lines of text into token ids",
     .description =
         "Each line of the standard input is a text; its token ids come out as one line, separated "
         "by blanks.\nThey are those of Hugging Face tokenizers for the same file, whose "
         "truncation and padding hold. What is\nnot UTF-8 becomes U+FFFD.\n\n"
         "With --jsonl a line is an object: {\"t\": text, \"pair\": second text, \"special\": "
         "true, "
         "\"off\": true,\n\"type_ids\": true}, all but t as wanted, and so is what comes out: "
         "{\"ids\": [...], \"type_ids\": [...],\n\"off\": [[start, end], ...]}.",
     .examples = "  leatctl tokenize --tokenizer gpt2/ < corpus.txt > corpus.ids\n"
                 "  leatctl tokenize --tokenizer tokenizer.json --special --offsets < corpus.txt\n"
                 "  echo '{\"t\": \"a text\", \"pair\": \"and another\", \"special\": true}' |\n"
                 "      leatctl tokenize --tokenizer tokenizer.json --jsonl --type-ids\n",
     .options = tokenize_options,
     .run = leat_cli_tokenize},
    {.name = "decode",
     .summary = "turn lines of token ids into text",
     .description =
         "Each line of the standard input has ids, separated by blanks; the text comes out, and an "
         "end of line.\nIds that the tokenizer does not know are left out. A text may have ends of "
         "lines of its own: with\n--jsonl a line is {\"ids\": [...], \"skip_special\": true} and "
         "comes "
         "out as {\"t\": text}.",
     .examples = "  leatctl tokenize --tokenizer gpt2/ < a.txt | leatctl decode --tokenizer gpt2/\n"
                 "  echo '{\"ids\": [101, 7592, 102], \"skip_special\": true}' |\n"
                 "      leatctl decode --tokenizer bert/vocab.txt --jsonl\n",
     .options = decode_options,
     .run = leat_cli_decode},
    {.name = "tokenizer",
     .summary = "show what a tokenizer is made of",
     .description = "Its parts, the algorithm that was chosen and why, sizes, and how long it took "
                    "to load. FILE as for\n`leatctl tokenize --tokenizer`.",
     .operand = "FILE",
     .examples = "  leatctl tokenizer models/gpt2/\n"
                 "  leatctl tokenizer tokenizer.json --json\n",
     .options = json_options,
     .run = leat_cli_tokenizer},
    {.name = "status",
     .summary = "show how the daemon is",
     .description = SOCKET_TEXT,
     .options = json_options,
     .run = leat_cli_status},
    {.name = "streams",
     .summary = "list the daemon's streams and who pulls them",
     .description = SOCKET_TEXT,
     .options = json_options,
     .run = leat_cli_streams},
    {.name = "stats",
     .summary = "show counters of streams and their stages",
     .description = SOCKET_TEXT,
     .operand = "[STREAM]",
     .options = json_options,
     .run = leat_cli_stats},
    {.name = "drain",
     .summary = "let trainers give back what they hold, then stop the daemon",
     .description = SOCKET_TEXT,
     .examples = "  leatctl drain --timeout 60\n",
     .options = drain_options,
     .run = leat_cli_drain},
    {.name = "version",
     .summary = "show versions",
     .options = json_options,
     .run = leat_cli_version},
    END,
};

static const struct leat_cli_command *find_command(const char *name) {
    for (const struct leat_cli_command *command = leat_cli_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static void print_text(struct leat_text *text, FILE *file) {
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, file);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

static void help_all(FILE *file) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "usage: leatctl COMMAND [ARGUMENT...]\n\n");
    for (const struct leat_cli_command *command = leat_cli_commands; command->name; command++)
        leat_text_add(&text, "  %-9s %s\n", command->name, command->summary);
    leat_text_add(&text, "\nleatctl COMMAND --help tells more.\n");
    print_text(&text, file);
}

static int unknown_command(const char *word) {
    const char *names[MAX_COMMANDS];
    const char *nearest;
    size_t n = 0;

    while (n < MAX_COMMANDS && leat_cli_commands[n].name) {
        names[n] = leat_cli_commands[n].name;
        n++;
    }
    nearest = leat_nearest(word, names, n);
    fprintf(stderr, "leatctl: unknown command \"%s\"%s%s%s (leatctl --help)\n", word,
            nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return LEAT_CLI_USAGE;
}

static void print_error(const struct leat_error *err, bool as_json) {
    char line[LEAT_ERROR_PRINT_MAX];
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        (void)leat_error_print(err, line, sizeof(line));
        fprintf(stderr, "%s\n", line);
        return;
    }
    leat_text_add(&text, "{\"error\": ");
    leat_cli_error_json(&text, err);
    leat_text_add(&text, "}\n");
    print_text(&text, stderr);
}

static int run_command(const struct leat_cli_command *command, int argc, char **argv) {
    struct leat_cli_arguments arguments;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    bool wants_help = false;
    int status = leat_cli_parse(command, argc, argv, &arguments, &wants_help, &err);

    if (wants_help) {
        leat_cli_help(command, &text);
        print_text(&text, stdout);
        return LEAT_CLI_OK;
    }
    if (status == LEAT_CLI_OK)
        status = command->run(&arguments, &err);
    if (err.code)
        print_error(&err, status != LEAT_CLI_USAGE &&
                              (arguments.json || arguments.format != LEAT_CLI_TEXT));
    if (fflush(stdout) != 0 && status == LEAT_CLI_OK) {
        fprintf(stderr, "leatctl: writing the output: %s\n", strerror(errno));
        status = LEAT_CLI_FAILURE;
    }
    return status;
}

int leat_cli_main(int argc, char **argv) {
    const struct leat_cli_command *command;
    const char *word = argc > 1 ? argv[1] : NULL;
    char *help[] = {(char *)(uintptr_t) "--help"};

    if (!word) {
        help_all(stderr);
        return LEAT_CLI_USAGE;
    }
    if (strcmp(word, "--version") == 0)
        word = "version";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        (strcmp(word, "help") == 0 && argc == 2)) {
        help_all(stdout);
        return LEAT_CLI_OK;
    }
    if (strcmp(word, "help") == 0) {
        command = find_command(argv[2]);
        return command ? run_command(command, 1, help) : unknown_command(argv[2]);
    }
    command = find_command(word);
    return command ? run_command(command, argc - 2, argv + 2) : unknown_command(word);
}

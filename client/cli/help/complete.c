/* complete.c: see complete.h.
 *
 * The name of a value or operand in the help ("FILE|STREAM") says what it is: a table has a
 * function for each word of such names, which adds the candidates.
 */
#include "client/cli/help/complete.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/help/help.h"
#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

#define TIMEOUT_MS 500 /* a person waits for the answer at a prompt */

struct completer {
    struct leat_cli_completion *completion;
    const struct leat_cli_command *const *commands;
    const struct leat_cli_command *command;
    const char *prefix; /* of the word, without `lead` */
    const char *lead;   /* the text before each candidate: "--format=" */
    size_t n_lead;
    const char *operand; /* the first, NULL: none yet */
    size_t n_operands;
};

static void add_word(struct completer *self, const char *word, const char *what) {
    struct leat_text *text = &self->completion->text;
    size_t n = strcspn(what, "\n\t");

    if (strncmp(word, self->prefix, strlen(self->prefix)) != 0 || !leat_is_shown_as_is(word))
        return;
    leat_text_add(text, "%.*s%s\t%.*s\n", (int)self->n_lead, self->lead, word, (int)n, what);
}

static void add_commands(struct completer *self, const char *group) {
    size_t n = group ? strlen(group) + 1 : 0;
    const char *last = "";

    for (const struct leat_cli_command *const *at = self->commands; *at; at++) {
        const struct leat_cli_command *command = *at;
        char word[64];

        if (group && !leat_cli_is_in_group(command, group))
            continue;
        (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(command->name + n, " "),
                       command->name + n);
        if (strncmp(last, command->name, n + strlen(word)) != 0 ||
            last[n + strlen(word)] != ' ') /* groups once */
            add_word(self, word, command->name[n + strlen(word)] ? "" : command->summary);
        last = command->name;
    }
}

/* ---- kinds of values ---- */

static void add_files(struct completer *self) {
    self->completion->with = LEAT_CLI_WITH_FILES;
}

static void add_folders(struct completer *self) {
    if (self->completion->with == LEAT_CLI_WITH_WORDS)
        self->completion->with = LEAT_CLI_WITH_FOLDERS;
}

static void add_users(struct completer *self) {
    self->completion->with = LEAT_CLI_WITH_USERS;
}

/* NULL: there is no daemon, or it does not answer soon, or it refuses this user. */
static Leat__ControlReply *ask_daemon(Leat__ControlRequest__VerbCase verb, void *message) {
    int status;

    return leat_cli_control(NULL, verb, message, TIMEOUT_MS, &status, LEAT_ERROR_IGNORED);
}

static void add_streams(struct completer *self) {
    Leat__ControlReply *reply = ask_daemon(LEAT__CONTROL_REQUEST__VERB_STREAMS, NULL);

    for (size_t i = 0; reply && i < reply->streams->n_streams; i++)
        add_word(self, reply->streams->streams[i]->name, "a stream of the daemon");
    leat__control_reply__free_unpacked(reply, NULL);
}

static void add_sessions(struct completer *self) {
    Leat__ControlReply *reply = ask_daemon(LEAT__CONTROL_REQUEST__VERB_TRAINERS, NULL);

    for (size_t i = 0; reply && i < reply->trainers->n_trainers; i++) {
        const Leat__Trainer *trainer = reply->trainers->trainers[i];
        char number[24];

        if (!trainer->session)
            continue;
        (void)snprintf(number, sizeof(number), "%" PRIu64, trainer->session->id);
        add_word(self, number, trainer->stream);
    }
    leat__control_reply__free_unpacked(reply, NULL);
}

static void add_rooms(struct completer *self) {
    Leat__LogLevelRequest log_level = LEAT__LOG_LEVEL_REQUEST__INIT;
    Leat__ControlReply *reply = ask_daemon(LEAT__CONTROL_REQUEST__VERB_LOG_LEVEL, &log_level);

    for (size_t i = 0; reply && i < reply->log_level->n_rooms; i++)
        add_word(self, reply->log_level->rooms[i]->room, reply->log_level->rooms[i]->level);
    leat__control_reply__free_unpacked(reply, NULL);
}

/* Adds the streams of the file of the operand, or of the daemon if that is no file. */
static void add_file_streams(struct completer *self) {
    struct leat_cli_streams streams;

    if (!self->operand || !leat_cli_is_stream_file(self->operand)) {
        add_streams(self);
        return;
    }
    if (leat_cli_streams_load(self->operand, NULL, 0, &streams, LEAT_ERROR_IGNORED) == 0)
        for (size_t i = 0; i < streams.n_specs; i++)
            add_word(self, streams.specs[i]->name, "a stream of the file");
    leat_cli_streams_deinit(&streams);
}

/* Adds the streams of a file after that; as the first operand, those of the daemon. */
static void add_stream(struct completer *self) {
    if (self->n_operands > 0)
        add_file_streams(self);
    else
        add_streams(self);
}

static void add_stages(struct completer *self) {
    add_word(self, "source", "the records of the source");
    for (size_t i = 0; leat_sources[i]; i++)
        add_word(self, leat_sources[i]->name, leat_sources[i]->summary);
    for (size_t i = 0; leat_stages[i]; i++)
        add_word(self, leat_stages[i]->name, leat_stages[i]->summary);
}

static void add_all_commands(struct completer *self) {
    add_commands(self, self->operand);
}

static void add_levels(struct completer *self) {
    static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        add_word(self, levels[i], "");
}

static void add_shells(struct completer *self) {
    add_word(self, "bash", "");
    add_word(self, "zsh", "");
}

static const struct {
    const char *word;
    void (*add)(struct completer *self);
} kinds[] = {
    {"FILE", add_files},           {"PATH", add_files},       {"TOKENIZER", add_files},
    {"DIR", add_folders},          {"USER", add_users},       {"STREAM", add_stream},
    {"NAME", add_file_streams},    {"STAGE", add_stages},     {"LEVEL", add_levels},
    {"ROOM", add_rooms},           {"SESSION", add_sessions}, {"SHELL", add_shells},
    {"COMMAND", add_all_commands},
};

static void add_kind(struct completer *self, const char *word, size_t n) {
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strlen(kinds[i].word) == n && memcmp(kinds[i].word, word, n) == 0)
            kinds[i].add(self);
}

/* Adds candidates for each word of a name such as "[STREAM]", without its brackets and dots. */
static void add_kinds(struct completer *self, const char *words) {
    while (words && *words) {
        size_t n = strcspn(words, " |"), n_before = strspn(words, "[");
        size_t n_kind = n;

        while (n_kind > n_before && (words[n_kind - 1] == '.' || words[n_kind - 1] == ']'))
            n_kind--;
        if (n_kind > n_before)
            add_kind(self, words + n_before, n_kind - n_before);
        words += n;
        words += strspn(words, " |");
    }
}

/* ---- the line ---- */

static void add_option_names(struct completer *self) {
    char word[64];

    for (const struct leat_cli_option *option = self->command->options; option->name; option++) {
        (void)snprintf(word, sizeof(word), "--%s", option->name);
        add_word(self, word, option->help);
    }
    for (const struct leat_cli_option *option = leat_cli_global_options; option->name; option++) {
        (void)snprintf(word, sizeof(word), "--%s", option->name);
        if (leat_cli_has_option(self->command, option))
            add_word(self, word, option->help);
    }
    add_word(self, "--help", "show the help of the command");
}

static void add_values(struct completer *self, const struct leat_cli_option *option) {
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        add_word(self, option->choices[i], "");
    if (!option->choices)
        add_kinds(self, option->value);
}

/* Finds the option of that name, if it has a value. */
static const struct leat_cli_option *option_of(const struct leat_cli_command *command,
                                               const char *word, size_t n) {
    const struct leat_cli_option *option = leat_cli_find_option(command, word, n);

    return option && option->kind != LEAT_CLI_FLAG ? option : NULL;
}

/* Reads the words before the last one. Returns the option whose value the last word is, or NULL. */
static const struct leat_cli_option *read_words(struct completer *self, const char *const *words,
                                                size_t n_words, bool *ret_has_ended) {
    const struct leat_cli_option *pending = NULL;

    *ret_has_ended = false;
    for (size_t i = 0; i < n_words; i++) {
        if (pending && strcmp(words[i], "=") == 0)
            continue;
        if (pending) {
            pending = NULL;
        } else if (!*ret_has_ended && strcmp(words[i], "--") == 0) {
            *ret_has_ended = true;
        } else if (!*ret_has_ended && words[i][0] == '-' && words[i][1]) {
            pending = option_of(self->command, words[i], strlen(words[i]));
        } else {
            self->operand = self->operand ? self->operand : words[i];
            self->n_operands++;
        }
    }
    return pending;
}

static void complete_arguments(struct completer *self, const char *const *words, size_t n_words) {
    const char *last = words[n_words - 1];
    size_t n = strcspn(last, "=");
    bool has_ended;
    const struct leat_cli_option *option = read_words(self, words, n_words - 1, &has_ended);

    if (option) {
        self->prefix = strcmp(last, "=") == 0 ? "" : last;
        add_values(self, option);
    } else if (!has_ended && last[0] == '-' && last[n] == '=') {
        option = option_of(self->command, last, n);
        self->lead = last;
        self->n_lead = n + 1;
        self->prefix = last + n + 1;
        if (option)
            add_values(self, option);
    } else if (!has_ended && last[0] == '-') {
        add_option_names(self);
    } else {
        add_kinds(self, self->n_operands ? self->command->more : self->command->operand);
    }
}

void leat_cli_complete(const struct leat_cli_command *const *commands, const char *const *words,
                       size_t n_words, struct leat_cli_completion *ret_completion) {
    struct completer self = {.completion = ret_completion, .commands = commands, .lead = ""};
    int n_name = 0;
    size_t n_leading;

    *ret_completion = (struct leat_cli_completion){.with = LEAT_CLI_WITH_WORDS};
    if (n_words == 0)
        return;
    n_leading = (size_t)leat_cli_count_leading(words, n_words - 1);
    words += n_leading;
    n_words -= n_leading;
    self.prefix = words[n_words - 1];
    if (n_words == 1) {
        add_commands(&self, NULL);
        if (self.prefix[0] == '-') {
            add_word(&self, "--help", "list the commands");
            add_word(&self, "--version", "show versions");
            add_word(&self, "--json", "print JSON");
            add_word(&self, "--socket", "folder of the daemon's sockets");
        }
        return;
    }
    self.command = leat_cli_find_command(commands, words, n_words - 1, &n_name);
    if (self.command)
        complete_arguments(&self, words + n_name, n_words - (size_t)n_name);
    else if (n_words == 2)
        add_commands(&self, words[0]);
}

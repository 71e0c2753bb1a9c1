/* complete.c: see complete.h.
 *
 * What a value or an operand is, its name in the help tells ("FILE|STREAM"): each word of it stands
 * in a table with what knows the candidates. A word that is not there has none.
 */
#include "client/cli/help/complete.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/stream_file.h"
#include "client/cli/help/complete_daemon.h"
#include "client/cli/help/help.h"
#include "pipeline/plan/plan.h"
#include "proto/base/shown.h"

struct completer {
    struct leat_cli_completion *completion;
    const struct leat_cli_command *const *commands;
    const struct leat_cli_command *command;
    const char *prefix; /* what is there of the word, without `lead` */
    const char *lead;   /* what stands before each candidate: "--format=" */
    size_t n_lead;
    const char *operand; /* the first, NULL: none yet */
    size_t n_operands;
};

static void add(struct completer *self, const char *word, const char *what) {
    struct leat_text *text = &self->completion->text;
    size_t n = strcspn(what, "\n\t");

    if (strncmp(word, self->prefix, strlen(self->prefix)) != 0 || !leat_is_shown_as_is(word))
        return;
    leat_text_add(text, "%.*s%s\t%.*s\n", (int)self->n_lead, self->lead, word, (int)n, what);
}

static void add_name(void *context, const char *word, const char *what) {
    add(context, word, what);
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
            add(self, word, command->name[n + strlen(word)] ? "" : command->summary);
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

static void add_streams(struct completer *self) {
    leat_cli_daemon_streams(add_name, self);
}

static void add_sessions(struct completer *self) {
    leat_cli_daemon_sessions(add_name, self);
}

static void add_rooms(struct completer *self) {
    leat_cli_daemon_rooms(add_name, self);
}

/* Of the file that was named, if it was one. */
static void add_file_streams(struct completer *self) {
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct leat_cli_streams streams;

    if (!self->operand || !leat_cli_is_stream_file(self->operand)) {
        add_streams(self);
        return;
    }
    if (leat_cli_streams_load(self->operand, &streams, &ignored) == 0)
        for (size_t i = 0; i < streams.n_specs; i++)
            add(self, streams.specs[i]->name, "a stream of the file");
    leat_cli_streams_deinit(&streams);
}

/* Behind a file, its streams; else as `explain` and `trace` have it. */
static void add_stream(struct completer *self) {
    if (self->n_operands > 0)
        add_file_streams(self);
    else
        add_streams(self);
}

static void add_stages(struct completer *self) {
    add(self, "source", "what the source gives");
    for (size_t i = 0; leat_sources[i]; i++)
        add(self, leat_sources[i]->name, leat_sources[i]->summary);
    for (size_t i = 0; leat_stages[i]; i++)
        add(self, leat_stages[i]->name, leat_stages[i]->summary);
}

static void add_all_commands(struct completer *self) {
    add_commands(self, self->operand);
}

static void add_levels(struct completer *self) {
    static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        add(self, levels[i], "");
}

static void add_shells(struct completer *self) {
    add(self, "bash", "");
    add(self, "zsh", "");
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

/* "[STREAM] | --compare A B": each word of it, without what says that it may be left out or come
 * again. */
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
        add(self, word, option->help);
    }
    for (const struct leat_cli_option *option = leat_cli_global_options; option->name; option++) {
        (void)snprintf(word, sizeof(word), "--%s", option->name);
        if (leat_cli_has_option(self->command, option))
            add(self, word, option->help);
    }
    add(self, "--help", "tell what the command does");
}

static void add_values(struct completer *self, const struct leat_cli_option *option) {
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        add(self, option->choices[i], "");
    if (!option->choices)
        add_kinds(self, option->value);
}

/* The option that a word names, if it is one with a value. */
static const struct leat_cli_option *option_of(const struct leat_cli_command *command,
                                               const char *word, size_t n) {
    const struct leat_cli_option *option = leat_cli_find_option(command, word, n);

    return option && option->kind != LEAT_CLI_FLAG ? option : NULL;
}

/* What precedes the last word: operands; the option, if any, whose value it is. */
static const struct leat_cli_option *look_back(struct completer *self, const char *const *words,
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
    const struct leat_cli_option *option = look_back(self, words, n_words - 1, &has_ended);

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
            add(&self, "--help", "tell what commands there are");
            add(&self, "--version", "show versions");
            add(&self, "--json", "print JSON");
            add(&self, "--socket", "where the daemon's sockets are");
        }
        return;
    }
    self.command = leat_cli_find_command(commands, words, n_words - 1, &n_name);
    if (self.command)
        complete_arguments(&self, words + n_name, n_words - (size_t)n_name);
    else if (n_words == 2)
        add_commands(&self, words[0]);
}

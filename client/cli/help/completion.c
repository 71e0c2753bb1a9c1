/* completion.c: `leatctl completion`: scripts for shells, and the answers to their questions.
 *
 * The scripts ask leatctl for the candidates at each key, so that they fit any version of it. bash
 * itself quotes words that are completed with names of files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "client/cli/help/complete.h"
#include "proto/base/json_writer.h"

static const char bash[] =
    "# bash completion for leatctl; printed by `leatctl completion bash`\n"
    "_leatctl() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} line with words=() seen=()\n"
    "    seen=(\"${COMP_WORDS[@]:1:COMP_CWORD}\")\n"
    "    COMPREPLY=()\n"
    "    [[ $cur == = ]] && cur=\n"
    "    while IFS= read -r line; do\n"
    "        if [[ -z ${with-} ]]; then\n"
    "            with=$line\n"
    "        else\n"
    "            words+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"${COMP_WORDS[0]}\" completion words -- \"${seen[@]}\" 2>/dev/null)\n"
    "    for line in \"${words[@]}\"; do\n"
    "        [[ ${with-} == words ]] && line=$(printf %q \"$line\")\n"
    "        COMPREPLY+=(\"$line\")\n"
    "    done\n"
    "    case ${with-} in\n"
    "    files) compopt -o filenames 2>/dev/null\n"
    "        while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- \"$cur\") "
    ";;\n"
    "    folders) compopt -o filenames 2>/dev/null\n"
    "        while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -d -- \"$cur\") "
    ";;\n"
    "    users) while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -u -- "
    "\"$cur\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _leatctl leatctl\n";

static const char zsh[] =
    "#compdef leatctl\n"
    "# zsh completion for leatctl; printed by `leatctl completion zsh`\n"
    "_leatctl() {\n"
    "    local line with word what\n"
    "    local -a candidates\n"
    "    for line in ${(f)\"$(${words[1]} completion words -- \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)\"}; do\n"
    "        if [[ -z $with ]]; then\n"
    "            with=$line\n"
    "            continue\n"
    "        fi\n"
    "        word=${line%%$'\\t'*} what=${line#*$'\\t'}\n"
    "        candidates+=(\"${word//:/\\\\:}:$what\")\n"
    "    done\n"
    "    (( $#candidates )) && _describe -V leatctl candidates\n"
    "    [[ $PREFIX == --*=* ]] && compset -P '*='\n"
    "    case $with in\n"
    "    files) _files ;;\n"
    "    folders) _files -/ ;;\n"
    "    users) _users ;;\n"
    "    esac\n"
    "    return 0\n"
    "}\n"
    "if [[ $funcstack[1] == _leatctl ]]; then\n"
    "    _leatctl \"$@\"\n"
    "else\n"
    "    compdef _leatctl leatctl\n"
    "fi\n";

static const char *const with_names[] = {
    [LEAT_CLI_WITH_WORDS] = "words",
    [LEAT_CLI_WITH_FILES] = "files",
    [LEAT_CLI_WITH_FOLDERS] = "folders",
    [LEAT_CLI_WITH_USERS] = "users",
};

/* Adds lines of a word, a tab and its description as a list of objects. */
static void add_words_json(struct leat_text *json, const struct leat_cli_completion *completion) {
    const char *at = completion->text.data ? completion->text.data : "";

    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "with", with_names[completion->with]);
    leat_json_open(json, "words", '[');
    while (*at) {
        size_t n_word = strcspn(at, "\t"), n_line = strcspn(at, "\n");

        leat_json_open(json, NULL, '{');
        leat_json_add_bytes(json, "word", at, n_word);
        leat_json_add_bytes(json, "what", at + n_word + 1, n_line - n_word - 1);
        leat_json_close(json, '}');
        at += n_line + 1;
    }
    leat_json_close(json, ']');
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

static void add_words(struct leat_text *text, const struct leat_cli_arguments *arguments) {
    struct leat_cli_completion completion;

    for (size_t i = 0; i + 1 < arguments->n_more; i++) /* the daemon whose names are candidates */
        if (strcmp(arguments->more[i], "--socket") == 0)
            (void)setenv("LEAT_SOCKET", arguments->more[i + 1], 1);
    leat_cli_complete(arguments->commands, arguments->more, arguments->n_more, &completion);
    if (arguments->json) {
        add_words_json(text, &completion);
    } else {
        leat_text_add(text, "%s\n", with_names[completion.with]);
        if (completion.text.data)
            leat_text_add_bytes(text, completion.text.data, completion.text.n_bytes);
    }
    free(completion.text.data);
}

static int completion_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    const char *shell = arguments->operand;

    if (strcmp(shell, "words") == 0) {
        add_words(&text, arguments);
        leat_cli_print(&text);
        return LEAT_CLI_OK;
    }
    if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0) {
        leat_error_set(
            err, -EINVAL,
            "leatctl completion: \"%.64s\" is not a shell that leatctl knows; give bash or zsh",
            shell);
        return LEAT_CLI_USAGE;
    }
    if (arguments->json) {
        leat_json_open(&text, NULL, '{');
        leat_json_add_text(&text, "shell", shell);
        leat_json_add_text(&text, "script", strcmp(shell, "bash") == 0 ? bash : zsh);
        leat_json_close(&text, '}');
        leat_text_add(&text, "\n");
    } else {
        leat_text_add(&text, "%s", strcmp(shell, "bash") == 0 ? bash : zsh);
    }
    leat_cli_print(&text);
    return LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_completion_command = {
    .name = "completion",
    .group = LEAT_CLI_GROUP_LEATCTL,
    .summary = "print the completion script of bash or zsh",
    .description =
        "If a package has installed leat, your shell already has this script. Otherwise, load\n"
        "it in the shell's startup file, as in the examples. SHELL is bash or zsh.\n"
        "\n"
        "The script calls `leatctl completion words -- WORD...`. This prints the words that\n"
        "can complete the last WORD: commands, options and their values, stages, streams,\n"
        "rooms of the log and session numbers. It asks the running daemon for names, and waits\n"
        "at most half a second. The first line of the output is \"words\", \"files\",\n"
        "\"folders\" or \"users\". If it is \"words\", the shell offers only the printed\n"
        "words. If it is \"files\", for example, the shell also offers the names of files.",
    .operand = "SHELL",
    .more = "[WORD...]",
    .examples = "  source <(leatctl completion bash)\n"
                "  leatctl completion zsh > ~/.zfunc/_leatctl\n"
                "  leatctl completion words -- explain --fo\n",
    .asks_daemon = true,
    .options = leat_cli_no_options,
    .run = completion_main,
};

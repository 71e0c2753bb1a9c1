/* completion.c: `leatctl completion`: scripts for shells, and what they ask.
 *
 * The scripts know nothing: all there is to know they ask for at each key, so that they fit
 * whichever leatctl is called. Words beside names of files bash quotes itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/members.h"
#include "client/cli/help/complete.h"

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

/* Lines of "word, tab, what it is" as a list of objects. */
static void add_words_json(struct leat_text *text, const struct leat_cli_completion *completion) {
    const char *at = completion->text.data ? completion->text.data : "";

    leat_text_add(text, "{\"with\": \"%s\", \"words\": [", with_names[completion->with]);
    for (const char *separator = ""; *at; separator = ", ") {
        size_t n_word = strcspn(at, "\t"), n_line = strcspn(at, "\n");

        leat_text_add(text, "%s{\"word\": ", separator);
        leat_text_add_json(text, at, n_word);
        leat_text_add(text, ", \"what\": ");
        leat_text_add_json(text, at + n_word + 1, n_line - n_word - 1);
        leat_text_add(text, "}");
        at += n_line + 1;
    }
    leat_text_add(text, "]}\n");
}

static void add_words(struct leat_text *text, const struct leat_cli_arguments *arguments) {
    struct leat_cli_completion completion;

    for (size_t i = 0; i + 1 < arguments->n_more; i++) /* whose names are asked for */
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
    struct leat_text text = {.data = NULL}, script = {.data = NULL};
    const char *shell = arguments->operand;

    if (strcmp(shell, "words") == 0) {
        add_words(&text, arguments);
        leat_cli_print(&text);
        return LEAT_CLI_OK;
    }
    if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0) {
        leat_error_set(err, -EINVAL, "leatctl completion: \"%.64s\" is neither bash nor zsh",
                       shell);
        return LEAT_CLI_USAGE;
    }
    leat_text_add(&script, "%s", strcmp(shell, "bash") == 0 ? bash : zsh);
    if (arguments->json) {
        leat_text_add(&text, "{\"shell\": \"%s\", \"script\": ", shell);
        leat_text_add_json(&text, script.data ? script.data : "", script.n_bytes);
        leat_text_add(&text, "}\n");
        free(script.data);
        script = text;
    }
    leat_cli_print(&script);
    return LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_completion_command = {
    .name = "completion",
    .group = LEAT_CLI_GROUP_LEATCTL,
    .summary = "print what completes command lines in bash or zsh",
    .description =
        "Packages install it where the shells find it; else the shell's startup file reads it. "
        "SHELL is bash or\nzsh. Both ask `leatctl completion words -- WORD...` what may stand in "
        "the place of the last WORD: commands,\noptions and their values, stages, and names of "
        "streams and rooms and numbers of sessions, for which the\nrunning daemon is asked, but "
        "not waited for longer than half a second. The first line says what may stand there "
        "besides:\nwords (nothing), files, folders or users.",
    .operand = "SHELL",
    .more = "[WORD...]",
    .examples = "  source <(leatctl completion bash)\n"
                "  leatctl completion zsh > ~/.zfunc/_leatctl\n"
                "  leatctl completion words -- explain --fo\n",
    .asks_daemon = true,
    .options = leat_cli_no_options,
    .run = completion_main,
};

/* commands.h: what each subcommand runs. Contract: see struct leat_cli_command. */
#pragma once

#include "client/cli/base/arguments.h"

extern const struct leat_cli_command leat_cli_commands[]; /* ends with a NULL name */

int leat_cli_run(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_pull(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_dump(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_bench(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_head(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_where(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_describe(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_spec(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_check(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_trace(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_explain(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_stages(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_tokenizer_encode(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_tokenizer_decode(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_tokenizer_show(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_cache_prepare(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_cache_ls(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_cache_verify(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_cache_rm(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_cache_warm(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_cache_merge(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_status(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_streams(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_stats(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_kick(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_log_level(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_top(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_doctor(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_why(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_metrics(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_drain(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_reload(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_help_command(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_completion(const struct leat_cli_arguments *arguments, struct leat_error *err);
int leat_cli_version(const struct leat_cli_arguments *arguments, struct leat_error *err);

/* The whole program: an exit status. */
int leat_cli_main(int argc, char **argv);

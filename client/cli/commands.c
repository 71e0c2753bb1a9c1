/* commands.c: the table of subcommands, with what their help says. */
#include "client/cli/commands.h"

#include "client/cli/options.h"

#define CACHE_TEXT "Of the folders that the streams of FILE name in `cache: {path: ..}`, or of DIR."

#define TOKENIZER_TEXT                                                                             \
    "TOKENIZER is a tokenizer.json, a vocab.txt, a vocab.json beside its merges.txt, or the "      \
    "folder of one.\n\n"

const struct leat_cli_command leat_cli_commands[] = {
    {.name = "check",
     .group = LEAT_CLI_GROUP_DATA,
     .summary = "say everything that is wrong with a file",
     .description = "Checks every stream, with the files that it names, and the daemon's settings. "
                    "Exit status 1\n"
                    "(never 3) if anything is wrong.",
     .operand = "FILE",
     .examples = "  leatctl check /etc/leat/leatd.yaml\n",
     .options = leat_cli_no_options,
     .run = leat_cli_check},
    {.name = "explain",
     .group = LEAT_CLI_GROUP_DATA,
     .summary = "show the plan of a stream: schema, fused stages, memory, time",
     .description =
         "Of a FILE's stream, or of a STREAM that the running daemon knows: what runs where and "
         "why, what flows\nbetween, the tensors of a batch, memory. Of a FILE's stream the times, "
         "too: its first 4 MiB are tried\nfor 0.3 s at most, on one thread (not if they come "
         "through a FIFO, and not if programs would be started).\nThey are a prediction, for an "
         "idle machine, files in its memory, and a trainer that takes batches at once.",
     .operand = "FILE|STREAM",
     .more = "[STREAM]",
     .examples = "  leatctl explain titanic.yaml train\n"
                 "  leatctl explain titanic.yaml --format svg > titanic.svg\n"
                 "  leatctl explain titanic.yaml --format dot | dot -Tpdf > titanic.pdf\n"
                 "  leatctl explain titanic\n",
     .asks_daemon = true,
     .options = leat_cli_explain_options,
     .run = leat_cli_explain},
    {.name = "describe",
     .group = LEAT_CLI_GROUP_DATA,
     .summary = "show what the columns of a stream hold, and how many tokens",
     .description =
         "Of FILE's stream, after its per-record stages, or of a FILE of data (.csv, .tsv, .jsonl, "
         ".ndjson, .arrow,\n.feather, .txt, .md, compressed or not): types, empty values, "
         "lengths, mean and standard\ndeviation (of all records, not of a sample) of numbers, "
         "and a histogram of the tokens "
         "that "
         "`tokenize` makes. What --json prints is what\n`normalize: {stats: FILE}` reads. Reads "
         "all of "
         "the data, in memory that does not grow with it; bad records\nare counted and passed "
         "over.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl describe titanic.yaml\n"
                 "  leatctl describe train.jsonl.zst -n 100000\n"
                 "  leatctl describe titanic.yaml --json > titanic.stats.json\n",
     .options = leat_cli_describe_options,
     .run = leat_cli_describe},
    {.name = "head",
     .group = LEAT_CLI_GROUP_DATA,
     .summary = "print the first records as they are after a stage",
     .description = "Runs the source and the per-record stages in this process. Stages that order "
                    "or batch change\nno record: behind them records are as before them.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl head titanic.yaml -n 3 --after tokenize\n"
                 "  leatctl head titanic.yaml --after source --json\n",
     .options = leat_cli_head_options,
     .run = leat_cli_head},
    {.name = "where",
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
     .options = leat_cli_where_options,
     .run = leat_cli_where},
    {.name = "spec",
     .group = LEAT_CLI_GROUP_DATA,
     .summary = "print a stream of a file as JSON",
     .description = "For programs that read no YAML: name, source and stages (each with its "
                    "arguments), options. Numbers and\ntruth values are such where the argument "
                    "is; all else is text. Paths are as they are written, against the\nfolder of "
                    "FILE. The values of exec's environment, which may be secrets, are null.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl spec titanic.yaml\n"
                 "  leatctl spec --secrets titanic.yaml\n",
     .options = leat_cli_spec_options,
     .run = leat_cli_spec},
    {.name = "stages",
     .group = LEAT_CLI_GROUP_DATA,
     .summary = "reference of sources, stages and stream options",
     .operand = "[STAGE]",
     .examples = "  leatctl stages\n"
                 "  leatctl stages shuffle\n"
                 "  leatctl stages --format markdown > stages.md\n",
     .options = leat_cli_stages_options,
     .run = leat_cli_stages},
    {.name = "run",
     .group = LEAT_CLI_GROUP_RUN,
     .summary = "start a private daemon for a file and pull its batches",
     .description =
         "Starts leatd (found beside leatctl, else $LEAT_LEATD, else on the PATH) with a "
         "private socket,\npulls through the real client, prints what came, and stops "
         "it. Writes nothing beside FILE.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl run titanic.yaml --digest\n"
                 "  leatctl run titanic.yaml train --batches 10 --format jsonl\n"
                 "  leatctl run titanic.yaml --stats\n"
                 "  leatctl run titanic.yaml --rank 1 --world-size 4 --delivery copy\n",
     .options = leat_cli_run_options,
     .run = leat_cli_run},
    {.name = "pull",
     .group = LEAT_CLI_GROUP_RUN,
     .summary = "pull a stream's batches from the running daemon",
     .operand = "STREAM",
     .examples = "  leatctl pull titanic --epochs 1 --digest\n",
     .asks_daemon = true,
     .options = leat_cli_pull_options,
     .run = leat_cli_pull},
    {.name = "dump",
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
     .options = leat_cli_dump_options,
     .run = leat_cli_dump},
    {.name = "bench",
     .group = LEAT_CLI_GROUP_RUN,
     .summary = "measure a stream: records/s, tokens/s, memory, CPU",
     .description =
         "Runs the stream for real, as `run` does: a daemon of its own for each run, and a trainer "
         "that reads every\nbyte. After a warm-up it measures for a while; each configuration "
         "runs several times, in turns with the\nothers, and the medians are shown. The data is "
         "begun again where it ends. Records are rows of batches,\ntokens elements of lists "
         "(not padding, masks, labels or token types); memory is the daemon's VmHWM, rings\n"
         "included; waited is the share of time in which nothing was there for the trainer, which "
         "does nothing else.\n\n"
         "PATH is STAGE.ARG, STAGE[2].ARG for the second of that name, source.ARG, an option of "
         "the stream\n(block_bytes), or a setting of the daemon (workers, memory_limit); ARG alone "
         "will do where only one stage\nhas it. Values are YAML; 1..16 are whole numbers, "
         "16..64+16 "
         "those 16 apart, 1..64*2 those that double. All\nare checked before the first run; "
         "at most 256 configurations are run.\n\n"
         "--find tries values by doubling, as long as that pays, then between the best ones; "
         "without =LO..HI within\nthe limits of the argument, or, of workers, twice the number of "
         "CPUs.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples =
         "  leatctl bench titanic.yaml\n"
         "  leatctl bench titanic.yaml --vary batch.batch_size=8,16,32 --vary workers=1..4\n"
         "  leatctl bench titanic.yaml --find workers --goal tokens\n"
         "  leatctl bench a.yaml --compare b.yaml --repeat 7 --seconds 5\n"
         "  leatctl bench titanic.yaml --save new.json\n"
         "  leatctl bench old.json --compare new.json\n",
     .options = leat_cli_bench_options,
     .run = leat_cli_bench},
    {.name = "trace",
     .group = LEAT_CLI_GROUP_RUN,
     .summary = "record what happens when, for Perfetto",
     .description =
         "Of FILE's stream, which is pulled from a private daemon meanwhile, or of a STREAM of the "
         "running daemon,\nwhich is only watched. Writes Chrome's trace events (JSON), which "
         "https://ui.perfetto.dev shows: a track\nfor each worker thread with its jobs and their "
         "stages, one for the daemon's loop, one for batches that\nare handed out, and how many "
         "blocks, free slots and bytes there are. Batches are the same with it and\nwithout. The "
         "daemon keeps a bounded number of events: how many it had to drop is "
         "told.",
     .operand = "FILE|STREAM",
     .more = "[STREAM]",
     .examples = "  leatctl trace titanic.yaml -o trace.json --batches 1000 --workers 8\n"
                 "  leatctl trace train.yaml prose --seconds 30\n"
                 "  leatctl trace prose --seconds 5\n",
     .asks_daemon = true,
     .options = leat_cli_trace_options,
     .run = leat_cli_trace},
    {.name = "status",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "show how the daemon is",
     .examples = "  leatctl status\n"
                 "  leatctl status --json\n",
     .asks_daemon = true,
     .options = leat_cli_no_options,
     .run = leat_cli_status},
    {.name = "streams",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "list the daemon's streams, its trainers, its users",
     .description =
         "Streams, with the sessions and runs of each.\n\n--trainers: one line for each session. "
         "`waits` is the share of its time in which it wanted a batch and\nnone was ready (leat is "
         "too slow for it), `holds all` that in which it had as many as it may hold (it is\nthe "
         "slower one). `unit` is the systemd unit or control group of its process, if the daemon "
         "can see that:\nas a system service it often cannot. Of a container's trainer no process "
         "is known.\n\n--users: a row for each user who is connected: its weight (`user_weights` "
         "in the daemon's settings), the\ntime that workers have worked for it since it came, its "
         "sessions, the memory of its batches, streams that\nits trainers described themselves, "
         "and connections to the control socket, each with its limit; and how\noften a limit "
         "refused something. Trainers in containers count as the user whom the kernel tells.",
     .examples = "  leatctl streams\n"
                 "  leatctl streams --trainers --json | jq '.[] | select(.wait_ns > .age_ns / 2)'\n"
                 "  leatctl streams --users --json | jq '.users[] | {uid, worker_ns}'\n",
     .asks_daemon = true,
     .options = leat_cli_streams_options,
     .run = leat_cli_streams},
    {.name = "stats",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "show counters of streams, and what takes their time",
     .description =
         "For each stream its counters, who waits for whom, and a table of what takes the time:\n"
         "the busy time of each stage, of all threads together, its share of all of it, and the "
         "times of single\nblocks (or jobs): mean, least, most, and those that half and 99 % of "
         "them do not exceed, to a\nsixteenth. `scan` reads and cuts, the source's line parses, "
         "`order` is what shuffling and batching\ntake on the daemon's one loop, `collate` writes "
         "batches. --json has all of it; with --watch it is one line for each "
         "time.\n\n--since: a line for each second of the last ten minutes, and for each ten "
         "seconds "
         "of the six hours before;\nfewer if many streams are busy. Of all streams together, or of "
         "STREAM: batches, rows, tokens and bytes a\nsecond, how much of the time trainers waited "
         "for a batch, and batches for a slot. The share of workers that\nwere busy and the memory "
         "are the whole daemon's. --json has all of it, stages too.",
     .operand = "[STREAM]",
     .examples = "  leatctl stats titanic\n"
                 "  leatctl stats --watch --interval 5\n"
                 "  leatctl stats --since 10m\n"
                 "  leatctl stats titanic --watch --json | jq '.[0].n_batches'\n",
     .asks_daemon = true,
     .options = leat_cli_stats_options,
     .run = leat_cli_stats},
    {.name = "why",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "tell what bounds a stream, and what it would gain",
     .description =
         "Of a STREAM that the running daemon feeds: whether its trainers, a stage, the disk, "
         "memory_limit, the\nnumber of workers, the order, or others on the machine bound its "
         "rate; which trainer is slow (its\nrank, client, process and host) and which ones wait, "
         "and "
         "for what; how much of the time each part was\nbusy; and between how many times as many "
         "batches there would be with one more worker, one more\nprocessor, a cache, files in "
         "memory, or a trainer that takes no time.\n\nThe daemon looks at its counters once a "
         "second; what is "
         "told is of the last S seconds, or of the time\nsince the stream's first trainer came. "
         "Gains are those of a model: each part was busy for so long for each\nbatch, and the one "
         "that is busiest bounds. What was not measured is not told: of a FIFO there are no\nfiles "
         "in memory, and a cache that could not be tried has no gain.",
     .operand = "STREAM",
     .examples = "  leatctl why titanic\n"
                 "  leatctl why titanic --seconds 30 --json | jq .gains.worker.low\n",
     .asks_daemon = true,
     .options = leat_cli_why_options,
     .run = leat_cli_why},
    {.name = "top",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "watch streams, stages and trainers at work",
     .description =
         "A live view: workers, processors, memory; streams with their rates and how much of the "
         "time trainers waited;\nhow busy each stage of the chosen stream is; who pulls, and what "
         "waits. On a terminal of any size, from\n80x24 on with all tables at once.\n\nKeys: tab "
         "for the next table, arrows to choose a stream or to move on, s to sort otherwise, ? for "
         "what the\ncolumns mean, q to end. Without a terminal it prints once, as with --once; "
         "--json prints a line each interval,\nwith --once one.",
     .examples = "  leatctl top\n"
                 "  leatctl top --once\n"
                 "  leatctl top --json --interval 10 | jq -c '.streams[] | [.name, "
                 ".batches_per_s]'\n",
     .asks_daemon = true,
     .options = leat_cli_top_options,
     .run = leat_cli_top},
    {.name = "metrics",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "print the daemon's figures for Prometheus",
     .description =
         "As the listener of the setting http_listen gives them at /metrics, but of this moment. "
         "For a machine\nwithout that listener: a timer that writes them to the textfile "
         "collector of node_exporter.",
     .examples = "  leatctl metrics\n"
                 "  leatctl metrics --format prometheus | promtool check metrics\n",
     .asks_daemon = true,
     .options = leat_cli_metrics_options,
     .run = leat_cli_metrics},
    {.name = "doctor",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "look whether leat can work here, and tell the mend",
     .description =
         "What leat asks of the kernel, limits, memory, sockets and who may use them, the daemon "
         "and its unit, its\nconfiguration (or FILE), and the folders of caches and of its state, "
         "as the daemon sees them. Each line is ok,\nwarn (it works, but not well or not for "
         "long), fail (it does not work) or unseen (it cannot be seen from here,\nas root it often "
         "can); what is to be done is told below. Nothing is changed. Exit status 1 if anything "
         "fails.",
     .operand = "[FILE]",
     .examples = "  leatctl doctor\n"
                 "  leatctl doctor --json | jq '.findings[] | select(.state == \"fail\")'\n",
     .asks_daemon = true,
     .options = leat_cli_no_options,
     .run = leat_cli_doctor},
    {.name = "log-level",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "show and set what the daemon logs, by room",
     .description =
         "LEVEL is error, warning, notice, info or debug: the least important events that are "
         "logged. It holds until the\ndaemon ends. Rooms: daemon (start, stop, the machine), "
         "control (what operators asked for), session (trainers\nthat come, go and are refused), "
         "stream, cache, tuner. For operators (admin_groups).",
     .operand = "[LEVEL]",
     .examples = "  leatctl log-level\n"
                 "  leatctl log-level info --room session\n",
     .asks_daemon = true,
     .options = leat_cli_log_level_options,
     .run = leat_cli_log_level},
    {.name = "kick",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "end sessions of trainers",
     .description =
         "Of those that fit all that is given. The trainer gets an error that tells the reason, "
         "and does not come\nback by itself; nothing keeps whoever starts it from starting it "
         "anew. For operators (admin_groups).",
     .operand = "[SESSION]",
     .examples = "  leatctl kick 17 --reason 'the disk is needed'\n"
                 "  leatctl kick --user alice --stream titanic\n",
     .asks_daemon = true,
     .options = leat_cli_kick_options,
     .run = leat_cli_kick},
    {.name = "reload",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "have the daemon read its configuration anew",
     .description =
         "All of it is read and checked before anything is used: if something is wrong, that is "
         "told with file, line\nand column, the exit status is 3, and all goes on as it was. "
         "Streams whose batches stay the same (by\ntheir digests, the contents of tokenizers "
         "included) and their trainers do not notice. Trainers of a stream\nthat is another one "
         "now "
         "finish the epoch that they are in as it was and go on with the new one, or, with\nthe "
         "stream's option `on_reload: tell`, end at once with an error that says so. Those of a "
         "stream that is\nnot there any more finish their epoch and end. Settings are in force at "
         "once, but for those that are\ntold to wait for the next start.",
     .examples = "  leatctl reload --check && leatctl reload\n"
                 "  leatctl reload --json\n",
     .asks_daemon = true,
     .options = leat_cli_reload_options,
     .run = leat_cli_reload},
    {.name = "drain",
     .group = LEAT_CLI_GROUP_DAEMON,
     .summary = "let trainers leave for the next daemon, then stop this one",
     .examples = "  leatctl drain --timeout 60\n",
     .asks_daemon = true,
     .options = leat_cli_drain_options,
     .run = leat_cli_drain},
    {.name = "cache warm",
     .group = LEAT_CLI_GROUP_CACHES,
     .summary = "build the cache of a stream without a trainer",
     .description = "Runs source and per-record stages in this process. What an earlier one began "
                    "is gone on with; what\nis complete is left as it is.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl cache warm train.yaml --workers 8\n",
     .options = leat_cli_cache_warm_options,
     .run = leat_cli_cache_warm},
    {.name = "cache prepare",
     .group = LEAT_CLI_GROUP_CACHES,
     .summary = "build one of several shards of a stream's cache",
     .description =
         "For batch jobs, on any machine that has the data. The shards are parts of about "
         "as many bytes of all files,\none behind the other, cut at blocks. `leatctl "
         "cache merge` joins them.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl cache prepare train.yaml --shard $SLURM_ARRAY_TASK_ID/64 -o shards/\n",
     .options = leat_cli_cache_prepare_options,
     .run = leat_cli_cache_prepare},
    {.name = "cache merge",
     .group = LEAT_CLI_GROUP_CACHES,
     .summary = "join shards that were prepared apart to the cache of a stream",
     .description =
         "The shards may come from other machines: what counts is that they were made of "
         "the same bytes, by the\nsame per-record stages. The result is the file that "
         "`leatctl cache warm` makes.",
     .operand = "FILE",
     .more = "[STREAM]",
     .examples = "  leatctl cache merge train.yaml --shards shards/\n",
     .options = leat_cli_cache_merge_options,
     .run = leat_cli_cache_merge},
    {.name = "cache ls",
     .group = LEAT_CLI_GROUP_CACHES,
     .summary = "list the caches of a folder, or of the daemon",
     .description = CACHE_TEXT " Without any, of the folders that the running\n"
                               "daemon's streams name, which often only the daemon may read.",
     .operand = "[FILE|DIR]",
     .more = "[STREAM]",
     .examples = "  leatctl cache ls\n"
                 "  leatctl cache ls train.yaml\n"
                 "  leatctl cache ls /var/cache/leat --json\n",
     .asks_daemon = true,
     .options = leat_cli_cache_options,
     .run = leat_cli_cache_ls},
    {.name = "cache verify",
     .group = LEAT_CLI_GROUP_CACHES,
     .summary = "read all blocks of caches and check them",
     .description = CACHE_TEXT "\n\nExit status 1 if anything is damaged. Nothing need be done "
                               "about it: what is damaged is never given\nto a trainer, but made "
                               "again from the source, and put right.",
     .operand = "FILE|DIR",
     .more = "[STREAM]",
     .examples = "  leatctl cache verify train.yaml\n",
     .options = leat_cli_cache_verify_options,
     .run = leat_cli_cache_verify},
    {.name = "cache rm",
     .group = LEAT_CLI_GROUP_CACHES,
     .summary = "remove caches that are not in use",
     .description = CACHE_TEXT,
     .operand = "FILE|DIR",
     .more = "[STREAM]",
     .examples = "  leatctl cache rm train.yaml --key 3b5aa412\n"
                 "  leatctl cache rm /var/cache/leat --all\n",
     .options = leat_cli_cache_rm_options,
     .run = leat_cli_cache_rm},
    {.name = "tokenizer encode",
     .group = LEAT_CLI_GROUP_TOKENIZERS,
     .summary = "turn lines of text into token ids",
     .description = TOKENIZER_TEXT
     "Each line of the standard input is a text; its token ids come out as one line, separated "
     "by blanks.\nThey are those of Hugging Face tokenizers for the same file, whose "
     "truncation and padding hold. What is\nnot UTF-8 becomes U+FFFD.\n\n"
     "With --jsonl a line is an object: {\"t\": text, \"pair\": second text, \"special\": "
     "true, "
     "\"off\": true,\n\"type_ids\": true}, all but t as wanted, and so is what comes out: "
     "{\"ids\": [...], \"type_ids\": [...],\n\"off\": [[start, end], ...]}.",
     .operand = "TOKENIZER",
     .examples = "  leatctl tokenizer encode gpt2/ < corpus.txt > corpus.ids\n"
                 "  leatctl tokenizer encode tokenizer.json --special --offsets < corpus.txt\n"
                 "  echo '{\"t\": \"a text\", \"pair\": \"and another\", \"special\": true}' |\n"
                 "      leatctl tokenizer encode tokenizer.json --jsonl --type-ids\n",
     .options = leat_cli_encode_options,
     .run = leat_cli_tokenizer_encode},
    {.name = "tokenizer decode",
     .group = LEAT_CLI_GROUP_TOKENIZERS,
     .summary = "turn lines of token ids into text",
     .description = TOKENIZER_TEXT
     "Each line of the standard input has ids, separated by blanks; the text comes out, and an "
     "end of line.\nIds that the tokenizer does not know are left out. A text may have ends of "
     "lines of its own: with\n--jsonl a line is {\"ids\": [...], \"skip_special\": true} and "
     "comes "
     "out as {\"t\": text}.",
     .operand = "TOKENIZER",
     .examples = "  leatctl tokenizer encode gpt2/ < a.txt | leatctl tokenizer decode gpt2/\n"
                 "  echo '{\"ids\": [101, 7592, 102], \"skip_special\": true}' |\n"
                 "      leatctl tokenizer decode bert/vocab.txt --jsonl\n",
     .options = leat_cli_decode_options,
     .run = leat_cli_tokenizer_decode},
    {.name = "tokenizer show",
     .group = LEAT_CLI_GROUP_TOKENIZERS,
     .summary = "show what a tokenizer is made of",
     .description = TOKENIZER_TEXT
     "Its parts, the algorithm that was chosen and why, sizes, and how long it took "
     "to load.",
     .operand = "TOKENIZER",
     .examples = "  leatctl tokenizer show models/gpt2/\n"
                 "  leatctl tokenizer show tokenizer.json --json\n",
     .options = leat_cli_no_options,
     .run = leat_cli_tokenizer_show},
    {.name = "help",
     .group = LEAT_CLI_GROUP_LEATCTL,
     .summary = "tell what commands there are, or what one does",
     .description = "With --json all that the commands take, for programs; the manual pages are "
                    "made of it.",
     .operand = "[COMMAND]",
     .more = "[COMMAND]",
     .examples = "  leatctl help cache warm\n"
                 "  leatctl help --json | jq -r '.commands[].name'\n",
     .options = leat_cli_no_options,
     .run = leat_cli_help_command},
    {.name = "completion",
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
     .run = leat_cli_completion},
    {.name = "version",
     .group = LEAT_CLI_GROUP_LEATCTL,
     .summary = "show versions",
     .examples = "  leatctl version --json\n",
     .options = leat_cli_no_options,
     .run = leat_cli_version},
    {.name = NULL},
};

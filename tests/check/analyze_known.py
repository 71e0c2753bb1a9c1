"""What analyze.py finds that is no fault, with the reason."""

# Checks that are left out as a whole.
LEFT_OUT = {
    "analyzer-malloc-leak": "gcc 12 takes memory for lost that is stored in an object of the caller; LeakSanitizer and faults/run.py look for leaks",
    "readdirCalled": "readdir() is safe as long as two threads do not share a directory stream, and none are shared",
    "getpwuidCalled": "only the one thread of leatctl and the loop of leatd look for users and groups",
    "getgrgidCalled": "as getpwuidCalled",
    "getgrnamCalled": "as getpwuidCalled",
    "shiftTooManyBitsSigned": "gcc and clang define the shift of a negative number",
}
_REASONS = {
    "no caller gives that": [
        ("client/cli/base/arguments.c", "ctunullpointer", "number->value = strtoull(value, &end, 10);"),
        ("client/cli/bench/vary.c", "uninitvar", "axis->values[axis->n_values] = strndup(value, n);"),
        ("pipeline/cache/sealed.c", "analyzer-null-dereference", "if (file->n_frames != shard->n_blocks || file->n_records != shard->n_records ||"),
        ("pipeline/cut/blocks.c", "ctunullpointer", "uint64_t inside = prefix_xor(masks->quote) ^ carry->inside;"),
        ("pipeline/io/opener.c", "resourceLeak", "return fd < 0 ? leat_elsewhere_fail(path, -errno, err) : fd;"),
        ("pipeline/tokenizer/model/wordpiece.c", "analyzer-null-dereference", "ids[n++] = id;"),
    ],
    "the loop runs only over what was made: its number is 0 otherwise": [
        ("client/cli/doctor/files.c", "analyzer-null-argument", "if (strcmp(folders->items[i], folder) == 0)"),
        ("client/cli/doctor/files.c", "analyzer-possible-null-argument", "if (strcmp(folders->items[i], folder) == 0)"),
        ("client/python/src/cuda/copy.c", "analyzer-null-dereference", "leat_py_lease_unhold(self->pieces[i].lease);"),
        ("pipeline/plan/data_kept.c", "analyzer-possible-null-dereference", "places[i].index = i;"),
        ("pipeline/sources/parquet/assembly.c", "analyzer-null-dereference", "n_items += places->repetitions[i] <= places->repetition + 1 &&"),
    ],
    "the list or text ends by itself before that": [
        ("client/cli/program.c", "arrayIndexOutOfBoundsCond", "names[n] = leat_cli_commands[n]->name;"),
        ("client/cli/program.c", "arrayIndexOutOfBoundsCond", "while (n < MAX_COMMANDS && leat_cli_commands[n]) {"),
        ("client/cli/stages.c", "arrayIndexThenCheck", "if (help[i] == ' ' && (i <= room || n == end)) /* the last that fits, or the first */"),
    ],
    "a function of another file reports success and sets what it returns, or fails: the value is used only after success": [
        ("client/cli/tokenizer/decode.c", "uninitvar", "return r < 0 ? r : read_array(self, ids, err);"),
        ("client/python/src/tokenizer/jinja.c", "uninitvar", "return r < 0 ? NULL : make_page(text, n, parts, n_parts);"),
        ("daemon/core/daemon.c", "analyzer-use-of-uninitialized-value", "daemon->env.roots = configuration.roots;"),
        ("daemon/core/daemon.c", "analyzer-use-of-uninitialized-value", "daemon->env.settings = configuration.settings;"),
        ("daemon/fetch/server_look.c", "analyzer-null-dereference", "client->looks->client = client;"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "file->n_rows != footer->n_rows))"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "for (size_t i = 0; r == 0 && i < footer->n_frames; i++)"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "if (r == 0 && (file->end != footer->index_position || file->n_records != footer->n_records ||"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "if (r == 0 && XXH3_64bits(heads, n_bytes) != footer->index_checksum)"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "r = add_packed(file, heads + i * LEAT_CACHE_FRAME_HEAD_BYTES, footer->index_position, err);"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "r = read_end(file, ends, footer->index_position, heads, n_bytes, err);"),
        ("pipeline/cache/file.c", "analyzer-use-of-uninitialized-value", "size_t n_bytes = (size_t)footer->n_frames * LEAT_CACHE_FRAME_HEAD_BYTES;"),
        ("pipeline/io/object.c", "analyzer-use-of-uninitialized-value", "if (r == 0 && object->fd >= 0 && reply.is_kept && !object->is_unchecked &&"),
        ("pipeline/sources/csv.c", "uninitvar", "for (uint32_t i = 0; r == 0 && i < n_fields; i++) {"),
        ("pipeline/tokenizer/jinja/evaluate.c", "analyzer-use-of-uninitialized-value", "if (r == 0 && !leat_jinja_dict_put(&render->heap, dict, key, value))"),
        ("pipeline/tokenizer/jinja/evaluate.c", "analyzer-use-of-uninitialized-value", "left = right;"),
        ("pipeline/tokenizer/normalize/normalizer.c", "analyzer-null-argument", 'if (strcmp(name, "Sequence") == 0)'),
        ("pipeline/tokenizer/normalize/normalizer.c", "analyzer-null-dereference", "r = kind->load(kind, component, &step, err);"),
    ],
    "the return is in a macro of Python.h": [
        ("client/python/src/batch/batch.c", "missingReturn", "Py_RETURN_NONE;"),
        ("client/python/src/batch/batch.c", "missingReturn", "return raise_failure(r, error, path);"),
        ("client/python/src/stream/stream.c", "missingReturn", "return NULL;"),
        ("client/python/src/stream/stream.c", "missingReturn", "return leat_py_raise_copy(error);"),
    ],
    "it is set before: the checker loses track of an array or of a macro": [
        ("client/python/src/stream/spec.c", "uninitvar", "made = ways[i](value);"),
        ("daemon/system/machine.c", "analyzer-use-of-uninitialized-value", "if (line[3] == ' ' || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &set))"),
        ("pipeline/run/intake/spans.c", "uninitvar", "spans->lanes[i] = numbers[spans->lanes[i]];"),
        ("pipeline/sources/arrow/json_string.h", "uninitvar", "memcpy(text->data + text->n_bytes, bytes, n);"),
    ],
    "zlib is done with the buffer when the function returns": [
        ("client/save/zip.c", "autoVariables", "stream->next_out = output;"),
    ],
    "it returns the pointer that it has just tested": [
        ("daemon/fetch/catalog.c", "identicalInnerCondition", "return *slot;"),
    ],
    "the index or width is below the limit that was checked before": [
        ("daemon/metrics/history.c", "analyzer-null-dereference", "if (leat_history_get(history, tier, middle)->at_ns <= after_ns)"),
        ("pipeline/sources/parquet/bits.c", "analyzer-shift-count-overflow", "low |= high << (64 - shift);"),
    ],
    "the caller holds a reference": [
        ("daemon/stream/share.c", "analyzer-use-after-free", "if (--share->n_refs > 0)"),
    ],
    "cppcheck 2.10 cannot read hexadecimal floating-point numbers": [
        ("proto/base/scalar.c", "incorrectLogicOperator", "if (!(value >= -0x1p63 && value < 0x1p63)) {"),
        ("proto/base/scalar.c", "incorrectLogicOperator", "return !(stored >= -0x1p63 && stored < 0x1p63 && (int64_t)stored == value);"),
    ],
    "scandir sets the list unless it returns -1, and then it is not used": [
        ("pipeline/cache/sealed.c", "nullPointer", "int n = scandir(folder, &entries, is_temporary, NULL);"),
        ("pipeline/cache/shards.c", "nullPointer", "int n = scandir(folder, &entries, is_shard_name, NULL);"),
    ],
    "close(-1) does nothing": [
        ("pipeline/cache/store.c", "invalidFunctionArg", "(void)close(lock);"),
    ],
    "the first node of that kind has an edge before it": [
        ("pipeline/inspect/graph/flow.c", "analyzer-null-dereference", "edge->fields = before->fields;"),
    ],
    "the list is not empty there": [
        ("pipeline/order/batcher_rounds.c", "analyzer-null-dereference", "batcher->next_epoch = batch->epoch;"),
        ("pipeline/order/batcher_rounds.c", "analyzer-null-dereference", "list->n_bytes += batch->n_bytes;"),
    ],
    "cppcheck 2.10 cannot read this expression": [
        ("pipeline/plan/data_watch.c", "internalAstError", "look.now = look.code < 0 ? (struct leat_file_state){.n_bytes = LEAT_DATA_UNREADABLE}"),
    ],
    "it is there: an earlier step has looked for it, or put it there": [
        ("pipeline/plan/sources.c", "analyzer-null-dereference", "const struct leat_field first = planner->fields[find_name(&schemas[0], name)->column];"),
        ("pipeline/plan/sources.c", "analyzer-null-dereference", "planner->stage = leat_planner_maker(planner, find_name(&schemas[0], name)->column);"),
        ("pipeline/plan/sources.c", "analyzer-null-dereference", "return planner->fields[find_name(schema, name)->column].loss_column;"),
        ("pipeline/plan/sources.c", "analyzer-null-dereference", "uint32_t own = find_name(&schemas[i], name)->column;"),
        ("pipeline/tokenizer/added/added_tokens.c", "analyzer-null-dereference", "if (token->is_special && walk->keeps_special)"),
        ("pipeline/tokenizer/jinja/format.c", "analyzer-null-dereference", "*exponent = '\\0';"),
    ],
    "it is stored for the caller: memcpy hides that": [
        ("pipeline/tokenizer/decode/decoder.c", "memleak", "return 0;"),
        ("proto/base/array.c", "memleak", "return true;"),
    ],
    "anonymous memory has no descriptor; only the parts before and behind what is returned are unmapped": [
        ("pipeline/tokenizer/model/word_cache.c", "deallocret", "return memory;"),
        ("pipeline/tokenizer/model/word_cache.c", "invalidFunctionArg", "mmap(NULL, n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"),
    ],
    "it copies on into the next member on purpose: the caller ignores what is behind n_ids": [
        ("pipeline/tokenizer/model/word_cache.h", "bufferAccessOutOfBounds", "memcpy(ids, slot->ids, 4 * sizeof(*ids));"),
    ],
}
# (file, check, text of the line): the reason
KNOWN = {row: reason for reason, rows in _REASONS.items() for row in rows}

#!/usr/bin/env python3
"""Tries one fault of the broadcast at a time, and checks that test_broadcast_model notices it.

    broadcast_mutants.py ROOT FOLDER [NUMBER]

Each mutant is an edit of daemon/stream/broadcast.c or broadcast_run.c, compiled with the model test
and run. It is caught if the test fails or does not end. Status 1 if a mutant is not caught, if the
test fails without one, or if the text that a mutant changes is not there exactly once. LEAT_CC: the
compiler (cc).
"""
import concurrent.futures
import os
import pathlib
import resource
import subprocess
import sys

TAKE, RUN = "daemon/stream/broadcast.c", "daemon/stream/broadcast_run.c"
FEWER = "-DMAX_STATES=(1<<15)"  # of each case: a quarter of what the test itself tries finds them
MUTANTS = [
    ("a slot is free although it is held", TAKE,
     "if (item->n_wants > 0 || item->n_holds > 0 ||", "if (item->n_wants > 0 ||"),
    ("a slot is free although it is wanted", TAKE,
     "if (item->n_wants > 0 || item->n_holds > 0 ||", "if (item->n_holds > 0 ||"),
    ("a release does not name the generation", TAKE, "hold_is(hold, slot, epoch, step) && hold->generation == generation",
     "hold_is(hold, slot, epoch, step)"),
    ("a release does not name the slot", TAKE, "hold->slot == slot && ", ""),
    ("a release does not name the step", TAKE, " && hold->step == step", ""),
    ("a release does not name the epoch", TAKE, "hold->epoch == epoch && ", ""),
    ("what was not announced can be released", TAKE,
     "for (uint32_t i = 0; i < reader->n_announced; i++)", "for (uint32_t i = 0; i < reader->n_holds; i++)"),
    ("no quarantine", TAKE, "while (reader->n_holds > reader->n_announced)", "while (reader->n_holds > 0)"),
    ("what was not announced stays held", TAKE, "while (reader->n_holds > reader->n_announced)", "while (false)"),
    ("no window", TAKE, "if (reader->n_holds >= reader->window)\n        return LEAT_BROADCAST_NOTHING;", ""),
    ("a reader takes what is not its rank's", TAKE,
     "reader->cursor = leat_broadcast_find_wanted(reader, item->next);\n    item->n_wants--;\n    item->n_holds++;",
     "reader->cursor = item->next;\n    item->n_wants--;\n    item->n_holds++;"),
    ("a reader that took does not hold", TAKE, "    item->n_wants--;\n    item->n_holds++;", "    item->n_wants--;"),
    ("readers that will join are not counted", TAKE, "item->n_wants += leat_broadcast_wants(reader, item);", ";"),
    ("no reader is woken", TAKE, "            reader->cursor = item;\n        leat_broadcast_wake(reader);",
     "            reader->cursor = item;"),
    ("a run makes what its successor makes", TAKE,
     "(run->successor &&\n            leat_broadcast_compare(leat_broadcast_place_of(item), run->until) >= 0) ||", ""),
    ("a reader does not count its batches", TAKE, "        reader->n_left--;", "        ;"),
    ("an end that is not wanted stays", TAKE, "    item->n_wants--;\n    leat_broadcast_drop_if_unused(item);\n    if (epoch",
     "    item->n_wants--;\n    if (epoch"),
    ("a failure starts it anew", TAKE, "if (reader->run->has_failed)\n            return LEAT_BROADCAST_FAILED;", ""),
    ("a reader that waits gets no slot", TAKE, "        leat_broadcast_relieve(reader->run);", "        ;"),
    ("a reader without a run gets none", TAKE, "    else if (!reader->is_waiting)\n        leat_broadcast_ask(reader);", ""),
    ("items of ranks without a reader stop the others", TAKE, "!run->is_closed && !run->is_starved &&", "!run->is_closed &&"),
    ("a tail that does not move", TAKE, "        run->tail = behind;", "        ;"),
    ("a starved run gets no slot", RUN, "    run->is_full &= is_starved;\n    leat_broadcast_relieve(run);",
     "    run->is_full &= is_starved;"),
    ("what is held is taken for what is wanted", RUN,
     "while (item && (item->n_holds > 0 || item->is_end))", "while (item && item->is_end)"),
    ("a reader that waits for held slots gets no run", RUN, "        part_readers(run);\n", "        (void)part_readers;\n"),
    ("a reader that parted joins the full run again", RUN, "!run->is_full && ", ""),
    ("a reader that was let go still wants", RUN, "    drop_wants(reader, reader->cursor);\n", ""),
    ("a reader that was let go still wants items of the successor", RUN,
     "    if (run->successor)\n        drop_wants(reader, find_place(run->successor, run->until));\n", ""),
    ("a run that does not follow still wants", RUN, "        drop_wants(reader, find_place(successor, run->until));\n", "        ;\n"),
    ("a run that follows does not want yet", RUN, "        add_wants(reader, find_place(run, other->until));\n", ""),
    ("a reader that joins does not want what is there", RUN, "    add_wants(reader, run->first);\n", ""),
    ("joining behind what is there", RUN, "leat_broadcast_compare(run->tail, reader->next) <= 0 &&", ""),
    ("joining a run of other ranks", RUN, "!run->is_full && has_rank(run, reader->rank) &&",
     "!run->is_full &&"),
    ("joining a run that is about to end", RUN, "return !run->has_ended && !run->successor &&", "return !run->has_ended &&"),
    ("following too early", RUN,
     "leat_broadcast_compare(run->tail, other->head) > 0 ? run->tail : other->head", "other->head"),
    ("a run is not told to make more", RUN, "    leat_broadcast_add_action(run);\n}\n\n/* ---- coming and going", "}\n\n/* ---- coming and going"),
    ("a run is closed before its predecessors have joined", RUN, "if (run->n_readers > 0 || run->n_predecessors > 0 ||",
     "if (run->n_readers > 0 ||"),
    ("a run without readers stays", RUN, "    unlink_reader(reader);\n    close_if_unused(run);\n}\n\nvoid leat_broadcast_leave_ended",
     "    unlink_reader(reader);\n}\n\nvoid leat_broadcast_leave_ended"),
    ("a closed run keeps its ends", RUN, "        leat_broadcast_drop_if_unused(item);\n    }\n    leat_broadcast_add_action(run);",
     "    }\n    leat_broadcast_add_action(run);"),
    ("windows do not count", RUN, "n += reader->window - held_by(reader, run);\n    for",
     ";\n    for"),
    ("the windows of readers that join do not count", RUN,
     "broadcast->ops->make_room(broadcast->user, run, leat_broadcast_n_needed(run) + n_more)",
     "broadcast->ops->make_room(broadcast->user, run, leat_broadcast_n_needed(run))"),
    ("a reader that waits for the end of a run is not woken", RUN,
     "        next = reader->next_reader;\n        leat_broadcast_wake(reader);", "        next = reader->next_reader;"),
    ("a reader that waits for room waits for ever", RUN, "    reader->is_waiting = false;\n    leat_broadcast_ask(reader);",
     "    reader->is_waiting = false;"),
]


def run(command, folder):
    environment = {**os.environ, "CMOCKA_TEST_ABORT": "1"}  # ends with the first case that fails
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def compile_object(root, source, target, level="-O2"):
    command = [os.environ.get("LEAT_CC", "cc"), "-std=gnu17", level, FEWER, "-I", root, "-c", source, "-o", target]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def build(root, folder, program, source, text):
    """The model test with that text in place of `source`."""
    file = program.with_suffix(".c")
    file.write_text(text, encoding="utf-8")
    compile_object(root, file, program.with_suffix(".o"), "-O0")  # quickly made, and run once
    others = [folder / f"{pathlib.Path(other).stem}.o" for other in (TAKE, RUN) if other != source]
    subprocess.run([os.environ.get("LEAT_CC", "cc"), program.with_suffix(".o"), *others, folder / "shared_world.o",
                    folder / "shared_world_check.o", folder / "test_broadcast_model.o", "-lcmocka", "-o", program], check=True)


def passes(program, folder, cpu_s):
    """What hangs is ended by the processor time that it takes, whatever else runs on the machine."""
    limited = f'ulimit -c 0; ulimit -t {cpu_s}; exec "$0"'
    return run(["sh", "-c", limited, program], folder).returncode == 0


def catch(root, folder, number, cpu_s):
    """None, or why the mutant was not caught."""
    name, source, old, new = MUTANTS[number]
    text = (root / source).read_text(encoding="utf-8")
    if text.count(old) != 1:
        return f"{name}: `{old}` is {text.count(old)} times in {source}"
    program = folder / f"mutant_{number}"
    build(root, folder, program, source, text.replace(old, new))
    is_caught = not passes(program, folder, cpu_s)
    for path in (program, program.with_suffix(".c"), program.with_suffix(".o")):
        path.unlink()
    return None if is_caught else f"{name}: not caught"


def cpu_limit_s(root, folder):
    """Some times what the broadcast takes as it is, which has to pass."""
    program = folder / "as_it_is"
    build(root, folder, program, TAKE, (root / TAKE).read_text(encoding="utf-8"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if not passes(program, folder, 600):
        sys.exit("the model test fails without any mutant")
    return int(1.5 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)) + 1


def main():
    root, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    numbers = [int(sys.argv[3])] if len(sys.argv) > 3 else range(len(MUTANTS))
    folder.mkdir(parents=True, exist_ok=True)
    for source in (TAKE, RUN, "tests/daemon/shared_world.c", "tests/daemon/shared_world_check.c",
                   "tests/daemon/stream/test_broadcast_model.c"):
        compile_object(root, root / source, folder / f"{pathlib.Path(source).stem}.o")
    cpu_s = cpu_limit_s(root, folder)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda number: catch(root, folder, number, cpu_s), numbers)
        failures = [failure for failure in found if failure]
    for failure in failures:
        print(failure)
    print(f"{len(numbers)} mutants, {len(failures)} not caught")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Whether test_hub_model would notice: faults that the hub could have, one at a time.

    hub_mutants.py ROOT FOLDER [NUMBER]

Each mutant is an edit of daemon/stream/hub.c or daemon/stream/hub_run.c. It is compiled with the model test and
run; the mutant is caught if the test fails (or does not end). Status 1 if any is not, if the test
fails without one, or if the text that a mutant changes is not there once. LEAT_CC: the compiler (cc).
"""
import concurrent.futures
import os
import pathlib
import resource
import subprocess
import sys

TAKE, RUN = "daemon/stream/hub.c", "daemon/stream/hub_run.c"
FEWER = "-DMAX_STATES=(1<<15)"  # of each case: a quarter of what the test itself looks at is enough to find them
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
     "for (uint32_t i = 0; i < session->n_announced; i++)", "for (uint32_t i = 0; i < session->n_holds; i++)"),
    ("no quarantine", TAKE, "while (session->n_holds > session->n_announced)", "while (session->n_holds > 0)"),
    ("what was not announced stays held", TAKE, "while (session->n_holds > session->n_announced)", "while (false)"),
    ("no window", TAKE, "if (session->n_holds >= session->window)\n        return LEAT_HUB_NOTHING;", ""),
    ("a session takes what is not its rank's", TAKE,
     "session->cursor = leat_hub_find_wanted(session, item->next);\n    item->n_wants--;\n    item->n_holds++;",
     "session->cursor = item->next;\n    item->n_wants--;\n    item->n_holds++;"),
    ("a session that took does not hold", TAKE, "    item->n_wants--;\n    item->n_holds++;", "    item->n_wants--;"),
    ("those who come are not counted", TAKE, "item->n_wants += leat_hub_wants(session, item);", ";"),
    ("nobody is woken", TAKE, "            session->cursor = item;\n        leat_hub_wake(session);",
     "            session->cursor = item;"),
    ("a run makes what its successor makes", TAKE,
     "(run->successor && leat_hub_compare(leat_hub_place_of(item), run->until) >= 0) ||", ""),
    ("a session does not count its batches", TAKE, "        session->n_left--;", "        ;"),
    ("an end that nobody wants stays", TAKE, "    item->n_wants--;\n    leat_hub_drop_if_unused(item);\n    if (epoch",
     "    item->n_wants--;\n    if (epoch"),
    ("a failure starts it anew", TAKE, "if (session->run->has_failed)\n            return LEAT_HUB_FAILED;", ""),
    ("who waits gets no slot", TAKE, "        leat_hub_relieve(session->run);", "        ;"),
    ("who has no run gets none", TAKE, "    else if (!session->is_waiting)\n        leat_hub_ask(session);", ""),
    ("items of ranks that are away stop the others", TAKE, "!run->is_closed && !run->is_starved &&", "!run->is_closed &&"),
    ("a tail that does not move", TAKE, "        run->tail = behind;", "        ;"),
    ("who is starved gets no slot", RUN, "    run->is_full &= is_starved;\n    leat_hub_relieve(run);",
     "    run->is_full &= is_starved;"),
    ("what is held is taken for what is wanted", RUN,
     "while (item && (item->n_holds > 0 || item->is_end))", "while (item && item->is_end)"),
    ("who waits for what others hold gets no run", RUN, "        part(run);\n", "        (void)part;\n"),
    ("who parted comes back to where all is held", RUN, "!run->is_full && ", ""),
    ("who is let go still wants", RUN, "    drop_wants(session, session->cursor);\n", ""),
    ("who is let go still wants what comes later", RUN,
     "    if (run->successor)\n        drop_wants(session, find_place(run->successor, run->until));\n", ""),
    ("who does not follow still wants", RUN, "        drop_wants(session, find_place(successor, run->until));\n", "        ;\n"),
    ("who follows does not want yet", RUN, "        add_wants(session, find_place(run, other->until));\n", ""),
    ("who comes does not want what is there", RUN, "    add_wants(session, run->first);\n", ""),
    ("joining behind what is there", RUN, "leat_hub_compare(run->tail, session->next) <= 0 &&", ""),
    ("joining a run of other ranks", RUN, "!run->is_full && has_rank(run, session->rank) &&",
     "!run->is_full &&"),
    ("joining a run that is about to end", RUN, "return !run->has_ended && !run->successor &&", "return !run->has_ended &&"),
    ("following too early", RUN,
     "leat_hub_compare(run->tail, other->head) > 0 ? run->tail : other->head", "other->head"),
    ("a run is not told to make more", RUN, "    leat_hub_add_action(run);\n}\n\n/* ---- coming and going", "}\n\n/* ---- coming and going"),
    ("a run is closed before those come who follow", RUN, "if (run->n_sessions > 0 || run->n_predecessors > 0 ||",
     "if (run->n_sessions > 0 ||"),
    ("a run that nobody reads stays", RUN, "    unlink_session(session);\n    close_if_unused(run);\n}\n\nvoid leat_hub_leave_ended",
     "    unlink_session(session);\n}\n\nvoid leat_hub_leave_ended"),
    ("a closed run keeps its ends", RUN, "        leat_hub_drop_if_unused(item);\n    }\n    leat_hub_add_action(run);",
     "    }\n    leat_hub_add_action(run);"),
    ("windows are not reckoned with", RUN, "n += session->window - held_by(session, run);\n    for",
     ";\n    for"),
    ("the windows of those who come are not reckoned with", RUN,
     "hub->ops->make_room(hub->user, run, leat_hub_n_needed(run) + n_more)",
     "hub->ops->make_room(hub->user, run, leat_hub_n_needed(run))"),
    ("who waits for the end of a run is not woken", RUN,
     "        next = session->next_session;\n        leat_hub_wake(session);", "        next = session->next_session;"),
    ("who waits for room waits for ever", RUN, "    session->is_waiting = false;\n    leat_hub_ask(session);",
     "    session->is_waiting = false;"),
]


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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
                    folder / "shared_world_check.o", folder / "test_hub_model.o", "-lcmocka", "-o", program], check=True)


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
    """Some times what the hub takes as it is, which has to pass."""
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
                   "tests/daemon/stream/test_hub_model.c"):
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

#!/usr/bin/env python3
"""The programs and libraries of a release build are hardened, and so is each object that they are made of.

    hardening.py BUILD_DIR COMPILER FILE...

FILE is a program, or a library (*.so*). One line for each fault; status 1 if there is any. Stack clash protection leaves no mark, so
its flag is looked for in the commands that compile. The linker marks a file for CET only if all objects have the mark. Where those of
the C library (crt1.o) lack it, as in Debian 12, the objects of this tree must have it nevertheless.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOMS = ("proto", "pipeline", "daemon", "client", "generated")
FLAGS = ["-fstack-protector-strong", "-fstack-clash-protection", "-D_FORTIFY_SOURCE=2"]
CET = re.compile(r"x86 feature: .*IBT, SHSTK")


def read(*args):
    return subprocess.run(["readelf", "--wide", *map(str, args)], check=True, capture_output=True, text=True).stdout


def has_cet(path):
    return bool(CET.search(read("--notes", path)))


def faults_of_file(path):
    header, segments, dynamic = (read(option, path) for option in ("--file-header", "--segments", "--dynamic"))
    symbols = read("--dyn-syms", path)
    is_library = ".so" in path.name
    for is_good, fault in (
            (re.search(r"Type:\s+DYN", header) and (is_library or re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic)), "is not position-independent"),
            ("GNU_RELRO" in segments and re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic), "has no full RELRO"),
            (re.search(r"GNU_STACK .* RW  ", segments), "has an executable stack, or does not say that it has none"),
            (not re.search(r"LOAD .* RWE ", segments), "has a segment that can be written and executed"),
            ("(TEXTREL)" not in dynamic, "has relocations in its code"),
            ("__stack_chk_fail" in symbols, "has no stack protector"),
            (re.search(r"\b__\w+_chk\b(?<!__stack_chk)", symbols), "has no function of _FORTIFY_SOURCE")):
        if not is_good:
            yield f"{path}: {fault}"


def faults_of_objects(build, has_mark):
    """Of all objects of the product: the flags of their commands, and the mark of CET."""
    commands = json.loads((build / "compile_commands.json").read_text())
    n = 0
    for command in commands:
        name = command["output"] if "output" in command else re.search(r" -o (\S+)", command["command"]).group(1)
        name = name.removeprefix(f"{build.resolve()}/")  # CMake 4 has whole paths
        if not name.startswith(tuple(f"{room}/" for room in ROOMS)) or "/examples/" in name:
            continue
        n += 1
        for flag in FLAGS:
            if flag not in command["command"].split():
                yield f"{name}: is compiled without {flag}"
        if has_mark and (build / name).exists() and not has_cet(build / name):
            yield f"{name}: has no mark of CET"
    if n == 0:
        yield f"{build}/compile_commands.json: names no object of the product"


def main():
    build, compiler, files = pathlib.Path(sys.argv[1]), sys.argv[2], [pathlib.Path(name) for name in sys.argv[3:]]
    is_x86 = "X86-64" in read("--file-header", files[0])
    faults = [fault for path in files for fault in faults_of_file(path)]
    faults += faults_of_objects(build, is_x86)
    crt = pathlib.Path(subprocess.run([compiler, "-print-file-name=Scrt1.o"], check=True, capture_output=True, text=True).stdout.strip())
    if is_x86 and crt.exists() and has_cet(crt):
        faults += [f"{path}: has no mark of CET" for path in files if not has_cet(path)]
    print(*faults, f"{len(files)} files, {len(faults)} faults", sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

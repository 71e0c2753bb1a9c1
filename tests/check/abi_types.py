#!/usr/bin/env python3
"""The types and functions of libleat are those of libleat.abi, which abidw made of the library; functions may be added.

    abi_types.py LEAT_H LIBLEAT_SO [--record]

abidiff (Debian: abigail-tools) prints what has changed. If programs that were linked before run with it all the same, as after a
new member at the end of a struct with `struct_size`, record it: --record. client/README.md says what is promised.
"""
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

RECORD = pathlib.Path(__file__).resolve().with_name("libleat.abi")
FAILED = 1 | 2  # bits of abidiff's status: it could not compare


def main():
    header, library = sys.argv[1:3]
    if not shutil.which("abidiff") or platform.machine() != "x86_64":
        print("skipped: all: abidiff is not installed, or this is no x86-64, of which the record is")
        sys.exit(77)
    if "--record" in sys.argv:
        with tempfile.TemporaryDirectory() as public:  # its headers say which types are public
            shutil.copy(header, public)
            subprocess.run(["abidw", "--headers-dir", public, "--drop-private-types", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
                            "--no-elf-needed", "--exported-interfaces-only", "--out-file", RECORD, library], check=True)
    status = subprocess.run(["abidiff", "--no-added-syms", RECORD, library], check=False).returncode
    if status & ~FAILED:
        print(f"The ABI has changed. If old programs run with it, record it: {' '.join(sys.argv)} --record")
    sys.exit(1 if status else 0)


if __name__ == "__main__":
    main()

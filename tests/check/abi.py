#!/usr/bin/env python3
"""The functions of leat.h, the symbols of leat.map and those that the library exports are the same.

    abi.py LEAT_H LEAT_MAP LIBLEAT_SO

One line for each difference; status 1 if there is any. client/README.md says what is promised.
"""
import pathlib
import re
import subprocess
import sys


def main():
    header, version_map = (pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:3])
    declared = set(re.findall(r"^LEAT_API\b[^;()]*?\b(leat_\w+)\(", header, re.MULTILINE))
    mapped = {symbol: node for node, body in re.findall(r"^(\w+) \{(.*?)^\}", version_map, re.MULTILINE | re.DOTALL)
              for symbol in re.findall(r"^\s+(leat_\w+);", body, re.MULTILINE)}
    listed = subprocess.run(["nm", "--dynamic", "--defined-only", "--with-symbol-versions", sys.argv[3]],
                            check=True, capture_output=True, text=True).stdout
    exported = dict(re.findall(r" T (\w+)@@(\w+)$", listed, re.MULTILINE))
    wrong = [f"{name}: in leat.h, and not in leat.map" for name in declared - mapped.keys()]
    wrong += [f"{name}: in leat.map, and not in leat.h" for name in mapped.keys() - declared]
    wrong += [f"{name}: {exported.get(name)} in the library, {mapped.get(name)} in leat.map"
              for name in mapped.keys() | exported.keys() if exported.get(name) != mapped.get(name)]
    print(*sorted(wrong), f"{len(declared)} functions, {len(wrong)} differences", sep="\n")
    sys.exit(1 if wrong or not declared else 0)


if __name__ == "__main__":
    main()

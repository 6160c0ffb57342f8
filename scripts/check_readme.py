#!/usr/bin/env python3
"""The package list that README.md quotes must be the build section of scripts/packages.txt.

Standard library only; exits 1 and says what differs.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent


def build_section():
    names, inside = [], False
    for line in (TOP / "scripts/packages.txt").read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == "[build]"
        elif inside and line and not line.startswith("#"):
            names.append(line)
    return names


def quoted_section():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- packages:build -->\s*```[a-z]*\n(.*?)```\s*<!-- /packages:build -->", text, re.S)
    return block.group(1).split() if block else None


def main():
    expected, found = build_section(), quoted_section()
    if found == expected:
        return 0
    print(f"README.md quotes {found}\nscripts/packages.txt has {expected}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

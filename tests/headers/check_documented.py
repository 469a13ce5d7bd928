#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a document names all public headers and no others: check_documented.py DOCUMENT HEADER..."""
import re
import sys


def main(arguments):
    document, public = arguments[0], set(arguments[1:])
    with open(document, encoding="utf-8") as file:
        named = set(re.findall(r"<(prumo/\w+\.hpp)>", file.read()))
    faults = [f"{document} does not name the public header <{header}>" for header in sorted(public - named)]
    faults += [f"{document} names <{header}>, which is no public header" for header in sorted(named - public)]
    print("\n".join(faults) or f"{len(public)} headers are named")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

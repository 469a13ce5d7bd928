# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the compiler as the build runs it for one of its sources."""
import json
import shlex
import subprocess


class Compiler:
    """The compiler and flags of a source in compile_commands.json, without what it is compiled to."""

    def __init__(self, commands_file, source):
        with open(commands_file, encoding="utf-8") as file:
            entry = next(entry for entry in json.load(file) if entry["file"] == source)
        words = entry.get("arguments") or shlex.split(entry["command"])
        self.folder = entry["directory"]
        self.words = []
        skip = False
        for word in words:
            if not skip and word not in ("-c", "-o", source):
                self.words.append(word)
            skip = word == "-o" and not skip

    def run(self, *arguments, text=None):
        """What the compiler prints, on both streams, and its exit code; `text` is its input."""
        done = subprocess.run([*self.words, *arguments], cwd=self.folder, input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout, done.returncode

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy (.clang-tidy), or the front end of GCC, over the product's
files, as the dev preset compiles them. A file that was clean is not looked at
again until it, a header that it includes, its command line, the configuration
or the tool changes.

    check_sources.py [--tool tidy|gcc] [--since COMMIT] [--jobs N] [<file or folder>...]

--since: only files that differ from COMMIT, and for each such header one file
that includes it. Needs the configured build folder with its generated headers
and, for clang-tidy, its precompiled header (tools/check.sh makes them). Exit
status 1 if there is a finding.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Cheap files first: those before dialects/ include no MLIR.
PRODUCT = ["runtime", "kernels", "tools", "dialects", "compiler"]
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


class Tree:
    """What the build compiles, and what that includes of the project."""

    def __init__(self, root, build):
        self.root = root
        self.generated = os.path.relpath(build, root)
        self.contents = {}
        self.closures = {}
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            entries = json.load(file)
        # A file that several targets compile is looked at once.
        self.commands = {os.path.relpath(entry["file"], root): entry["command"] for entry in reversed(entries)}

    def content(self, path):
        if path not in self.contents:
            with open(os.path.join(self.root, path), "rb") as file:
                self.contents[path] = file.read()
        return self.contents[path]

    def includes(self, path):
        """Files of the project, generated ones as well, that `path` names in quotes."""
        for name in INCLUDE.findall(self.content(path)):
            for folder in ("", self.generated, os.path.dirname(path)):
                found = os.path.normpath(os.path.join(folder, name.decode()))
                if os.path.isfile(os.path.join(self.root, found)):
                    yield found
                    break

    def closure(self, path):
        """`path` and all files of the project that it includes, directly or not."""
        if path not in self.closures:
            seen, waiting = {path}, [path]
            while waiting:
                new = set(self.includes(waiting.pop())) - seen
                seen |= new
                waiting += new
            self.closures[path] = frozenset(seen)
        return self.closures[path]

    def key(self, path, configuration):
        """Names everything that a tool's result for `path` depends on."""
        key = hashlib.sha256(configuration)
        key.update(self.commands[path].encode())
        for part in sorted(self.closure(path)):
            key.update(f"\n{part}\n".encode())
            key.update(self.content(part))
        return key.hexdigest()


def chosen(sources, closure, changed):
    """Of `sources`, those that changed, and for each changed header one that includes it: of its own name where
    there is one, else the one that includes least."""
    picked = {path for path in sources if path in changed}
    covered = set().union(*(closure(path) for path in picked))
    for header in sorted(path for path in changed if path.endswith((".h", ".def"))):
        if header in covered:
            continue
        including = [path for path in sources if header in closure(path)]
        if including:
            stem = os.path.splitext(header)[0]
            path = min(including, key=lambda path: (os.path.splitext(path)[0] != stem, len(closure(path)), path))
            picked.add(path)
            covered |= closure(path)
    return [path for path in sources if path in picked]


def changed_since(commit):
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.split()
    return set(git("diff", "--name-only", commit, "--")) | set(git("ls-files", "--others", "--exclude-standard"))


class Tidy:
    name = "clang-tidy"
    program = "clang-tidy-22"

    def configuration(self):
        with open(os.path.join(ROOT, ".clang-tidy"), "rb") as file:
            return file.read() + version_of(self.program)

    def run(self, build, path, command):
        """What clang-tidy says about a file, without its counts of warnings elsewhere; empty if the file is clean."""
        done = subprocess.run([self.program, "--quiet", "-p", build, os.path.join(ROOT, path)], capture_output=True, text=True)
        if done.returncode != 0 and not done.stdout:
            return done.stderr
        return done.stdout


class Gcc:
    """Without MLIR's precompiled header, so that a file has to include what it uses."""

    name = "GCC"
    program = "g++"

    def configuration(self):
        return version_of(self.program)

    def arguments(self, command):
        """Of the dev preset's command line, what GCC takes, without outputs."""
        rest = iter(shlex.split(command)[1:])
        for word in rest:
            if word in ("-Xclang", "-o", "-MF", "-MT", "-MQ"):
                next(rest)
            elif word not in ("-c", "-Werror", "-MD", "-MMD") and not re.fullmatch("-O.", word):
                yield word

    def run(self, build, path, command):
        """Errors and warnings of a file; empty if there are none."""
        done = subprocess.run([self.program, "-fsyntax-only", *self.arguments(command)], cwd=build, capture_output=True, text=True)
        return done.stderr or ("GCC failed without a word" if done.returncode else "")


TOOLS = {"tidy": Tidy, "gcc": Gcc}


def version_of(program):
    return subprocess.run([program, "--version"], check=True, capture_output=True).stdout


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tool", choices=TOOLS, default="tidy")
    arguments.add_argument("--since", metavar="COMMIT")
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--build", default=os.path.join(ROOT, "build"))
    arguments.add_argument("paths", nargs="*")
    options = arguments.parse_args()

    build = os.path.realpath(options.build)
    tree = Tree(ROOT, build)
    wanted = [os.path.relpath(os.path.realpath(path), ROOT) for path in options.paths] or PRODUCT
    sources = [path for folder in wanted for path in sorted(tree.commands)
               if path == folder or path.startswith(folder + "/")]
    sources = list(dict.fromkeys(sources))
    if options.since:
        sources = chosen(sources, tree.closure, changed_since(options.since))

    tool = TOOLS[options.tool]()
    configuration = tool.configuration()
    records = os.path.join(build, options.tool)
    os.makedirs(records, exist_ok=True)

    def record_of(path):
        return os.path.join(records, path.replace("/", "_") + ".clean")

    def was_clean(path):
        try:
            with open(record_of(path), encoding="utf-8") as file:
                return file.read() == tree.key(path, configuration)
        except FileNotFoundError:
            return False

    waiting = [path for path in sources if not was_clean(path)]
    print(f"{tool.name}: {len(sources)} files, {len(sources) - len(waiting)} of them clean before", flush=True)

    def check(path):
        begin = time.monotonic()
        key = tree.key(path, configuration)
        said = tool.run(build, path, tree.commands[path])
        if not said:
            with open(record_of(path), "w", encoding="utf-8") as file:
                file.write(key)
        return path, said, time.monotonic() - begin

    found = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(check, path) for path in waiting]
        for number, task in enumerate(concurrent.futures.as_completed(tasks), start=1):
            path, said, seconds = task.result()
            print(f"[{number}/{len(waiting)}] {path} ({seconds:.0f} s)", flush=True)
            if said:
                print(said.replace(ROOT + "/", "").rstrip(), flush=True)
                found += 1
    print(f"{tool.name}: {found} files have findings" if found else f"{tool.name}: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

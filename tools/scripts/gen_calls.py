#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/calls.md: every call of the language, from the headers of compiler/dsl, with the section of docs/dsl.md
that describes it.

    gen_calls.py [--check]

With --check nothing is written; the exit status is 1 if the page is not current, or if no section names a call.
"""

import os
import re
import sys

from generated import ROOT, table, text_of, write

PAGE, LANGUAGE = "docs/calls.md", "docs/dsl.md"
HEADERS = ("Scope", "Ops", "Handles", "Counts", "Cluster", "Cuda", "Transfer", "Reports", "Window", "Program")
# What a call of a class is written with in the examples.
RECEIVERS = {"Scope": "k", "Transfer": "transfer", "Program": "program"}
# Where the number of mentions would choose another one.
ROLES, PRODUCTS = "Roles and channels", "Products"
SECTIONS = {
    "abs": "Elementwise arithmetic",
    "atomicAdd": "Sums over several blocks",
    "copy": "Copies",
    "fill": "Copies",
    "gemmAsync": ROLES,
    "k.check": "Prints and checks",
    "k.launch": "Several launches",
    "k.positions": "Integers and positions",
    "k.ranks": "Several ranks",
    "k.require": "What must not be missed",
    "max": "Elementwise arithmetic",
    "min": "Elementwise arithmetic",
    "where": "Elementwise arithmetic",
    "k.channel": ROLES,
    "k.role": ROLES,
    "k.roles": ROLES,
    "program.name": "Compiling and launching from C++",
    "program.text": "Compiling and launching from C++",
    "transfer.copy": "Transfers",
    "Addresses::of": "Tables of addresses",
    "Barrier::wait": ROLES,
    "Barrier::arrive": ROLES,
    "Channel::get": ROLES,
    "Channel::put": ROLES,
    "Channel::release": ROLES,
    "Fragment::t": PRODUCTS,
    "FragmentValue::t": PRODUCTS,
    "NamedBarrier::arrive": ROLES,
    "NamedBarrier::sync": ROLES,
    "Shared::columns": "Slices of shared tiles",
    "Shared::of": "Shared memory of other blocks",
    "Shared::slot": ROLES,
    "Shared::t": "Copies",
    "Shared::tile": "Slices of shared tiles",
    "Slice::disjoint": "Copies",
    "Slice::fill": "Slices",
    "Slice::unchecked": "Slices",
    "TensorMemory::slot": "Tensor memory",
}
# Not for kernels: what the library itself calls.
INTERNAL = {"ref", "positions", "isFloat", "toDouble", "toInteger", "visit", "call", "block", "firstRow", "rowCount"}
CLASS = re.compile(r"(?:class|struct) (\w+)\b[^;]*\{")
CALL = re.compile(r"(?P<margin> *)(?:\[\[nodiscard\]\] )?(?P<static>static )?(?!return|friend|explicit|using|typedef|else|static_assert|operator|template)"
                  r"(?:[\w:<>,*&]+ )+(?:&&|[&*])?(?P<name>[a-zA-Z]\w*)\(")


def calls_of(text):
    """(class or "", name) of all public functions of a header."""
    owner, visible, inside_detail = "", True, False
    for line in text.split("\n"):
        if line.startswith("namespace detail {"):
            inside_detail = True
        elif line.startswith("} // namespace detail"):
            inside_detail = False
        elif found := CLASS.match(line):
            owner, visible = found[1], True
        elif line.startswith("};"):
            owner, visible = "", True
        elif line.strip() in ("public:", "private:", "protected:"):
            visible = line.strip() == "public:"
        elif (found := CALL.match(line)) and visible and not inside_detail:
            is_member = len(found["margin"]) == 2 and owner
            if (is_member or found["margin"] == "") and found["name"] not in (owner, "operator") and " operator " not in line:
                yield (owner if is_member else "", found["name"])


def anchor_of(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def sections():
    """(title, prose, code) in order."""
    found = []
    for part in re.split(r"^(?=#{1,3} )", text_of(LANGUAGE), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        code = "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```$", body, re.MULTILINE | re.DOTALL))
        found.append((title.lstrip("# "), re.sub(r"^```.*?^```$", "", body, flags=re.MULTILINE | re.DOTALL), code))
    return found


def section_of(text, owner, name, known):
    """The section whose prose has the call most often, or else whose code has it."""
    if text in SECTIONS:
        return SECTIONS[text] if SECTIONS[text] in [section[0] for section in known] else None
    receiver = RECEIVERS.get(owner)
    exact = rf"\b{receiver}\.{name}\b" if receiver else rf"\.{name}\b(?=\(|`)" if owner else rf"(?<![.\w]){name}\b(?=\(|`)"
    for pattern, which in ((exact, 1), (exact, 2), (rf"\b{name}\b", 1)):
        counts = [len(re.findall(pattern, section[which])) for section in known]
        if max(counts) > 0:
            return known[counts.index(max(counts))][0]
    return None


def page():
    known, rows, missing = sections(), {}, []
    for header in HEADERS:
        for owner, name in calls_of(text_of(f"compiler/dsl/{header}.h")):
            if name in INTERNAL and owner != "Scope":
                continue
            receiver = RECEIVERS.get(owner)
            text = f"{receiver}.{name}" if receiver else f"{owner}::{name}" if owner else name
            title = section_of(text, owner, name, known)
            if title:
                rows[text] = (f"`{text}`", f"[{title}](dsl.md#{anchor_of(title)})")
            elif text not in missing:
                missing.append(text)
    if missing:
        sys.exit(f"gen_calls.py: no section of {LANGUAGE} names {', '.join(missing)}")
    ordered = [rows[text] for text in sorted(rows, key=lambda text: (re.split(r"\.|::", text)[-1].lower(), text))]
    return ("<!-- Written by tools/scripts/gen_calls.py from compiler/dsl. -->\n# Calls of the language\n\n"
            "Every call, by name, and the section of [the language](dsl.md) that describes it. `k` is the `Scope`;\n"
            "`Class::name` is called on a handle of that class. Operators are in "
            "[elementwise arithmetic](dsl.md#elementwise-arithmetic).\n\n" + table(("call", "section"), ordered) + "\n")


if __name__ == "__main__":
    sys.exit(write(__doc__, {PAGE: page()}))

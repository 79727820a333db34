#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every link of a document leads to a file of the project, and to a heading if it names one. Every page of docs/ can be
reached from docs/index.md. usage: check_links.py"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^][]*\]\(([^()\s]+)\)")


def prose(path):
    """The text without blocks of code and without code in a line."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`(?!\])", "", text)


def anchors(path):
    """Headings as GitHub and MyST name them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
             for heading in re.findall(r"^#+ +(.+)$", text, re.M)]
    return {name if names[:i].count(name) == 0 else f"{name}-{names[:i].count(name)}" for i, name in enumerate(names)}


def check(page, reached):
    """The links of a page that lead nowhere; the pages that it leads to are added to reached."""
    bad, links = [], LINK.findall(prose(page))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            bad.append(f"{page.relative_to(ROOT)}: {link}: no such file")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            bad.append(f"{page.relative_to(ROOT)}: {link}: no such heading")
        reached.setdefault(page, set()).add(target)
    return bad, len(links)


def main():
    pages = [page for folder in ("docs", "kernels", "tests", "tools", "testdata") for page in (ROOT / folder).rglob("*.md")]
    pages += sorted(ROOT.glob("*.md"))
    bad, links, leads = [], 0, {}
    for page in pages:
        wrong, count = check(page, leads)
        bad += wrong
        links += count
    reached, new = set(), {ROOT / "docs" / "index.md"}
    while new:
        reached |= new
        new = {target for page in new for target in leads.get(page, ())} - reached
    bad += [f"{page.relative_to(ROOT)}: no link leads there from docs/index.md"
            for page in pages if page.is_relative_to(ROOT / "docs") and page not in reached]
    print("\n".join([*bad, f"{links} links of {len(pages)} documents, {len(bad)} wrong"]))
    return 1 if bad or links < 100 else 0


if __name__ == "__main__":
    sys.exit(main())

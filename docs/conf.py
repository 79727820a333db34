# SPDX-License-Identifier: MIT
# The documents as HTML: tools/build-html.sh calls sphinx-build with the root of the project as source.
import os
import re
import shutil
import subprocess
from pathlib import Path

project = "imgstat"
project_copyright = "the authors of imgstat"
extensions = ["myst_parser"]
root_doc = "docs/index"
myst_heading_anchors = 4
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "fixed_sidebar": True}
html_show_sourcelink = False
ROOT = Path(__file__).resolve().parent.parent


def find_contents():
    """For each page those below it in the contents: what it links to, and no page nearer to the root does."""
    pages, below = [root_doc], {}
    for page in pages:
        path = ROOT / f"{page}.md"
        links = re.findall(r"\]\(([^():#\s]+)\.md[)#]", path.read_text(encoding="utf-8"))
        targets = dict.fromkeys(str((path.parent / link).resolve().relative_to(ROOT)) for link in links)
        below[page] = [target for target in targets if target not in pages]
        pages += below[page]
    return below


CONTENTS = find_contents()
MANUALS = sorted(Path(os.environ.get("IMGSTAT_MANUALS", "none")).glob("imgstat*.1")) if shutil.which("mandoc") else []
exclude_patterns = ["build*", ".*", "**/.*"] + [str(path.relative_to(ROOT)) for folder in ("", "docs", "kernels", "testdata", "tests", "tools")
                                          for path in (ROOT / folder).glob("**/*.md" if folder else "*.md")
                                          if str(path.relative_to(ROOT))[:-3] not in CONTENTS]


def add_contents(app, name, source):
    if name == "docs/api":
        source[0] = source[0].replace("[imgstat.h](../src/imgstat.h)", "<a href='../api/imgstat_8h.html'>imgstat.h</a>")
    if name == root_doc and MANUALS:
        source[0] = source[0].replace("`man imgstat`", "<a href='../man/imgstat.html'>man imgstat</a>")
    if CONTENTS.get(name):
        source[0] += "\n\n```{toctree}\n:hidden:\n:titlesonly:\n" + "".join(f"/{page}\n" for page in CONTENTS[name]) + "```\n"


def manual_pages(app):
    """The manual page of each command, with links between them."""
    for path in MANUALS:
        text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", path], check=True, capture_output=True, text=True).stdout
        text = re.sub(r"<b>(imgstat[-a-z]*)</b>\(1\)", r"<a href='\1.html'>\1</a>", text)
        yield f"man/{path.stem}", {"title": path.stem, "body": text}, "page.html"


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("html-collect-pages", manual_pages)

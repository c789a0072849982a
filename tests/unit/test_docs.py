# SPDX-License-Identifier: Apache-2.0
"""The documents: every relative link leads somewhere, every man page is installed."""

import glob
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def broken_links(page):
    links = LINK.findall(page.read_text())
    return [link for link in links
            if "://" not in link and not (page.parent / link).exists()]


class Docs(unittest.TestCase):
    def test_relative_links_exist(self):
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        self.assertGreater(len(pages), 3)
        for page in pages:
            with self.subTest(page.name):
                self.assertEqual(broken_links(page), [])

    def test_every_man_page_is_installed(self):
        makefile = (ROOT / "Makefile").read_text()
        recipe = makefile[makefile.index("\ninstall:"):]
        pattern = re.search(r"\$\(wildcard (docs/[^)]+)\)", recipe)[1]
        installed = set(glob.glob(str(ROOT / pattern)))
        pages = {str(page) for page in (ROOT / "docs").rglob("*.[0-9]")}
        self.assertTrue(pages)
        self.assertEqual(pages - installed, set())


if __name__ == "__main__":
    unittest.main()

"""Scripts in place of the executable."""

import os
import tempfile
import unittest
from pathlib import Path


@unittest.skipIf(os.name != "posix", "needs sh")
class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, name, *lines):
        path = self.folder / name
        path.write_text("\n".join(("#!/bin/sh", *lines, "")))
        path.chmod(0o755)
        return str(path)

"""Tests `python -m svc_node` with scripts in place of the executable."""

import json
import os
import signal
import subprocess
import sys

from .scripts import Scripts


class Executable(Scripts):
    def start(self, *arguments, **environment):
        env = {**os.environ, "PATH": f"{self.folder}:/usr/bin:/bin", **environment}
        command = [sys.executable, "-B", "-m", "svc_node", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def run_with(self, *arguments, told="", **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(told, timeout=60)
        return process.returncode, out, err

    def test_arguments_input_output_and_exit_code_are_those_of_the_executable(self):
        self.script("svc-node", 'printf "%s\\n" "$@"', "cat", "echo to errors >&2", "exit 75")
        arguments = "attest", "--mock", "two words", "--", "*"
        self.assertEqual(
            self.run_with(*arguments, told="typed\n"), (75, "attest\n--mock\ntwo words\n--\n*\ntyped\n", "to errors\n")
        )

    def test_the_executable_takes_the_place_of_python_with_the_usual_signals(self):
        self.script("svc-node", "echo $$", "read line", "kill -PIPE $$", "echo still here")
        process = self.start("run")
        out, _ = process.communicate("\n", timeout=60)
        self.assertEqual((process.returncode, out), (-signal.SIGPIPE, f"{process.pid}\n"))

    def test_the_variable_comes_before_path_and_has_no_substitute(self):
        self.script("svc-node", "echo in PATH")
        other = self.script("other", "echo named")
        self.assertEqual(self.run_with("run", SVC_NODE_EXECUTABLE=other)[1], "named\n")
        code, out, err = self.run_with("run", SVC_NODE_EXECUTABLE=f"{other}s")
        self.assertEqual((code, out), (127, ""))
        self.assertRegex(err, r"^error: SVC_NODE_EXECUTABLE names no executable: '.*/others'\nhint: .+\n$")

    def test_without_an_executable_it_says_where_to_get_and_how_to_check_one(self):
        code, out, err = self.run_with("status", "--json")
        self.assertEqual(code, 127)
        self.assertRegex(err, r"^error: svc-node is not in PATH\nhint: .*SHA256SUMS.*SVC_NODE_EXECUTABLE.*\n$")
        self.assertEqual(json.loads(out)["error"]["code"], "executable-missing")

    def test_a_file_that_the_system_does_not_start_is_named(self):
        path = self.folder / "svc-node"
        path.write_bytes(b"\x7fELF of another platform")
        path.chmod(0o755)
        code, _, err = self.run_with("run")
        self.assertEqual(code, 127)
        self.assertRegex(err, r"^error: '.*/svc-node' cannot be run: .+\nhint: .+\n$")

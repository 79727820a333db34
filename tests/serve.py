# SPDX-License-Identifier: MIT
"""Many command lines in one process of a program that includes serve.h."""

import os
import subprocess
from collections import namedtuple

Done = namedtuple("Done", "returncode stdout stderr seconds")
DIED = 1000  # the status of a command line that ended the process


def take(descriptor):
    """All that a file has, from its beginning."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size < 1 << 30 else open(f"/dev/fd/{descriptor}", "rb").read()


class Server:
    """A process begins with the first command line, and anew after one that ended it."""

    def __init__(self, program, **variables):
        self.program, self.environment = program, {**os.environ, **variables}
        self.process, self.problems = None, []

    def start(self):
        self.files = [os.memfd_create("stdout"), os.memfd_create("stderr")]
        reader, writer = os.pipe()
        self.answers = os.fdopen(reader, "r")
        self.process = subprocess.Popen([self.program, "--serve", str(writer)], stdin=subprocess.PIPE,
                                        stdout=self.files[0], stderr=self.files[1], pass_fds=[writer],
                                        env=self.environment)
        os.close(writer)

    def run(self, *words):
        assert not any("\t" in word or "\n" in word or not word for word in words), words
        if not self.process:
            self.start()
        self.process.stdin.write("\t".join(words).encode("utf-8", "surrogateescape") + b"\n")
        self.process.stdin.flush()
        answer = self.answers.readline().split()
        if not answer:
            return Done(DIED, b"", self.end(" ".join(words)), 0.0)
        return Done(int(answer[0]), take(self.files[0]), take(self.files[1]), float(answer[1]))

    def end(self, words=None):
        """Ends the process. Its leaks are a problem, as is a command line, `words`, that ended it."""
        if not self.process:
            return b""
        self.process.stdin.close()
        status = self.process.wait()
        stderr = take(self.files[1])
        if words or status != 0:
            self.problems.append(f"{os.path.basename(self.program)} {words or 'at its end'}: exit status {status}: "
                                 f"{stderr.decode('utf-8', 'replace').strip()[-4000:]}")
        self.answers.close()
        for descriptor in self.files:
            os.close(descriptor)
        self.process = None
        return stderr


def end_all(*servers):
    """Ends the processes; how many problems there were, which are printed."""
    for server in servers:
        server.end()
        for problem in server.problems:
            print(f"FAIL {problem}")
    return sum(len(server.problems) for server in servers)

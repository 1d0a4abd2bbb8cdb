// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registration that disturbs its process or others, one way for each value of the environment's TLC_FAULT.
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <tlc/kernel.h>
#include <unistd.h>
#include <vector>

using namespace tlc;
using namespace tlc::dsl;

namespace {
/// Writes to every descriptor that is open, but to the standard streams.
void writeEverywhere(std::string_view bytes) {
  for (int file = 3; file < 1024; ++file)
    (void)!write(file, bytes.data(), bytes.size());
}

/// To every pipe that takes more.
[[noreturn]] void writeForEver(std::string_view bytes) {
  std::vector<pollfd> pipes;
  for (int file = 3; file < 1024; ++file)
    if (struct stat status = {}; fstat(file, &status) == 0 && S_ISFIFO(status.st_mode))
      pipes.push_back({.fd = file, .events = POLLOUT, .revents = 0});
  for (;; poll(pipes.data(), pipes.size(), -1))
    for (const pollfd &each : pipes)
      if ((each.revents & POLLOUT) != 0)
        (void)!write(each.fd, bytes.data(), bytes.size());
}

/// Starts a process that says its number in the file that TLC_PROCESS names, and sleeps. Returns after that.
void sleepInBackground(bool ownSession) {
  int started[2];
  char nothing = 0;
  if (pipe(started) != 0)
    return;
  if (fork() != 0) {
    close(started[1]);
    (void)!read(started[0], &nothing, 1);
    return;
  }
  if (ownSession)
    setsid();
  if (std::FILE *file = std::fopen(std::getenv("TLC_PROCESS"), "w")) {
    std::fprintf(file, "%d\n", int(getpid()));
    std::fclose(file);
  }
  close(started[1]);
  sleep(77);
  _exit(0);
}
} // namespace

void registerKernels(KernelFile &file) {
  const std::string fault = std::getenv("TLC_FAULT");
  if (fault == "system")
    (void)!std::system("sleep 77 & echo $! > $TLC_PROCESS");
  else if (fault == "fork")
    sleepInBackground(false);
  else if (fault == "session")
    sleepInBackground(true);
  else if (fault == "hangs") {
    sleepInBackground(false);
    for (;;)
      pause();
  } else if (fault == "stdout")
    (void)!write(STDOUT_FILENO, "to stdout\n", 10);
  else if (fault == "bytes")
    writeEverywhere("other bytes");
  else if (fault == "count")
    writeEverywhere(std::string("+") + std::string(7, '\0') + "\x80");
  else if (fault == "endless")
    writeForEver(std::string(PIPE_BUF, 'x')); // as many as a pipe takes without waiting
  else if (fault == "exit") {
    writeEverywhere("+");
    std::exit(0);
  } else if (fault == "throws")
    throw std::runtime_error("\x1b[31mred\n\ttwo\xff \xc2\x9b" + std::string(5000, 'y'));
  file.kernel("works", "registered after " + fault).program([](Scope &) {});
}

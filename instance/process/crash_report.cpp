#include "instance/process/crash_report.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

namespace holon::instance {
namespace {

void put(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody reads: nothing to do
}

// Calls only what may be called in a handler: it takes no memory.
void report(int signal) {
  const std::array digits = {static_cast<char>('0' + signal / 10),
                             static_cast<char>('0' + signal % 10)};
  put("holon broker: signal ");
  put({digits.data(), digits.size()});
  put("; its stack:\n");
  std::array<void*, 64> frames;
  const int n = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), n, STDERR_FILENO);
  raise(signal);  // SA_RESETHAND has restored the default
}

}  // namespace

void report_crashes() {
  std::array<void*, 4> frames;
  backtrace(frames.data(), static_cast<int>(frames.size()));  // the first call loads a library
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = report;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &ours, nullptr);
  }
}

}  // namespace holon::instance

// crash_report.hpp - writes the stack of a process that is about to die to its standard error.
#pragma once

namespace holon::instance {

// Reports at SIGABRT, SIGSEGV, SIGBUS, SIGILL and SIGFPE from now on, in any thread; the process
// then dies of the signal as it would have. Signals that somebody else (a sanitizer) handles are
// left alone.
void report_crashes();

}  // namespace holon::instance

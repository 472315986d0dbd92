// crash_report.hpp - the stack of a process that is about to die goes to its standard error.
#pragma once

namespace holon::instance {

// From now on at SIGABRT, SIGSEGV, SIGBUS, SIGILL and SIGFPE, in whatever thread; the process then
// dies of the signal as it would have. Signals that somebody (a sanitizer) has a handler for are
// left alone.
void report_crashes();

}  // namespace holon::instance

// spdlog.cpp - the library spdlog, of which Debian has no archive, compiled from its own headers:
// what holon logs with, which is standard error.
#include <spdlog/async.h>
#include <spdlog/async_logger-inl.h>
#include <spdlog/common-inl.h>
#include <spdlog/details/backtracer-inl.h>
#include <spdlog/details/log_msg-inl.h>
#include <spdlog/details/log_msg_buffer-inl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/os-inl.h>
#include <spdlog/details/periodic_worker-inl.h>
#include <spdlog/details/registry-inl.h>
#include <spdlog/details/thread_pool-inl.h>
#include <spdlog/logger-inl.h>
#include <spdlog/pattern_formatter-inl.h>
#include <spdlog/sinks/ansicolor_sink-inl.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/sinks/sink-inl.h>
#include <spdlog/sinks/stdout_sinks-inl.h>
#include <spdlog/spdlog-inl.h>

#include <mutex>

namespace spdlog {

template class sinks::base_sink<std::mutex>;
template class sinks::base_sink<details::null_mutex>;
template class sinks::stdout_sink_base<details::console_mutex>;
template class sinks::stdout_sink_base<details::console_nullmutex>;
template class sinks::stderr_sink<details::console_mutex>;
template class sinks::stderr_sink<details::console_nullmutex>;
// The registry's own default logger.
template class sinks::ansicolor_sink<details::console_mutex>;
template class sinks::ansicolor_stdout_sink<details::console_mutex>;

template std::shared_ptr<logger> stderr_logger_mt<synchronous_factory>(const std::string&);
template std::shared_ptr<logger> stderr_logger_st<synchronous_factory>(const std::string&);

}  // namespace spdlog

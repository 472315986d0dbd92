// durable_file.hpp - small files that must be whole whenever they are read, whatever was killed
// while they were written.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

// Replaces `file` by one of this text, mode 0600: either the old text or the new one is there, also
// after a power cut. Two waits for the disk. Errors: system.
Status write_durably(const std::string& file, const std::string& text);
// What is known about `path` reaches the disk: of a file its bytes, of a directory its names.
Status sync_to_disk(const std::string& path);

}  // namespace holon::instance

// durable_file.hpp - small files that are whole whenever they are read, whatever process was killed
// while they were written.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

// Replaces `file` by this text, mode 0600: either the old text or the new one is there, even after
// a power cut. Two waits for the disk. Errors: system.
Status write_durably(const std::string& file, const std::string& text);
// Writes what is known about `path` to the disk: a file's bytes, a directory's names.
Status sync_to_disk(const std::string& path);

}  // namespace holon::instance

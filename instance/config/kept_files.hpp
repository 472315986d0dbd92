// kept_files.hpp - contents of the files named by --conf, kept in the runtime directory.
//
// A later broker must not stumble over later changes to these files, and a pipe can be read only
// once. Policies are kept likewise: their texts come first, and settings that name a policy then
// mean the text.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/config.hpp"

namespace holon::instance {

// The words of --conf for brokers to read, with the files of `items` kept in `dir`. Errors: as of
// config_of, system.
Result<std::vector<std::string>> keep_files(const std::string& dir,
                                            const std::vector<config::ConfItem>& items);

// The reverse: what was kept, under the names that people know. Errors: as of read_conf.
Result<std::vector<config::ConfItem>> kept_items(const std::vector<std::string>& words);
// Likewise from the files themselves, as they are now; policies are not read again.
Result<std::vector<config::ConfItem>> read_again(const std::vector<std::string>& words);
// Replaces what was kept under these words. Errors: system; nothing has changed then.
Status keep_again(const std::vector<std::string>& words,
                  const std::vector<config::ConfItem>& items);

}  // namespace holon::instance

// kept_files.hpp - what the files named by --conf held, kept in the runtime directory.
//
// A later broker must not stumble over what somebody has written into them since, and a pipe has
// nothing more to give. So are policies: their texts come first, and what names a policy then means
// the text.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/config.hpp"

namespace holon::instance {

// The words of --conf as brokers are to read them, with the files of `items` kept in `dir`. Errors:
// as of config_of, system.
Result<std::vector<std::string>> keep_files(const std::string& dir,
                                            const std::vector<config::ConfItem>& items);

// The other way: what was kept, by the names that people know. Errors: as of read_conf.
Result<std::vector<config::ConfItem>> kept_items(const std::vector<std::string>& words);
// The same from the files themselves, as they are now; policies stay what they were.
Result<std::vector<config::ConfItem>> read_again(const std::vector<std::string>& words);
// Puts it in place of what was kept under these words. Errors: system; nothing has changed then.
Status keep_again(const std::vector<std::string>& words,
                  const std::vector<config::ConfItem>& items);

}  // namespace holon::instance

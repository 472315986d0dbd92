#include "instance/config/kept_files.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/policies.hpp"

namespace holon::instance {
namespace {

using config::ConfItem;
namespace fs = std::filesystem;

constexpr const char* kSource = ".from";  // beside a copy: the name of the file
constexpr const char* kNew = ".new";

Status write_copy(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) return fail(Errc::system, "cannot be written", file);
  return {};
}

// The file that was copied; "": `copy` is no copy of somebody's file.
std::string source_of(const std::string& copy) {
  std::ifstream in(copy + kSource, std::ios::binary);
  std::string name;
  std::getline(in, name, '\0');
  return name;
}

}  // namespace

Result<std::vector<std::string>> keep_files(const std::string& dir,
                                            const std::vector<ConfItem>& items) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < items.size(); ++i) {
    words.push_back(items[i].word);
    if (!config::is_conf_file(items[i].word)) continue;
    words.back() = fmt::format("{}/conf-{}.toml", dir, i);
    std::error_code error;
    const std::string from = fs::absolute(items[i].word, error).string();
    if (auto kept = write_copy(words.back(), items[i].text); !kept)
      return tl::unexpected(kept.error());
    if (auto kept = write_copy(words.back() + kSource, from); !kept)
      return tl::unexpected(kept.error());
  }
  const auto config = config::config_of(items);
  if (!config) return tl::unexpected(config.error());
  const std::string policies = config::policies_as_toml(*config);
  if (policies.empty()) return words;
  words.insert(words.begin(), dir + "/conf-policies.toml");
  if (auto kept = write_copy(words.front(), policies); !kept) return tl::unexpected(kept.error());
  return words;
}

Result<std::vector<ConfItem>> kept_items(const std::vector<std::string>& words) {
  auto items = config::read_conf(words);
  if (!items) return items;
  for (ConfItem& item : *items)
    if (config::is_conf_file(item.word))
      if (auto from = source_of(item.word); !from.empty()) item.word = std::move(from);
  return items;
}

Result<std::vector<ConfItem>> read_again(const std::vector<std::string>& words) {
  std::vector<std::string> sources = words;
  for (std::string& word : sources)
    if (config::is_conf_file(word))
      if (auto from = source_of(word); !from.empty()) word = std::move(from);
  return config::read_conf(sources);
}

Status keep_again(const std::vector<std::string>& words, const std::vector<ConfItem>& items) {
  const auto is_copy = [&](std::size_t i) {
    return config::is_conf_file(words[i]) && words[i] != items[i].word;
  };
  for (std::size_t i = 0; i < words.size(); ++i)
    if (is_copy(i))
      if (auto kept = write_copy(words[i] + kNew, items[i].text); !kept) return kept;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (is_copy(i) && std::rename((words[i] + kNew).c_str(), words[i].c_str()) != 0)
      return fail(Errc::system, std::strerror(errno), words[i]);
  return {};
}

}  // namespace holon::instance

// libedit through its own interface: all state hangs on one EditLine, none is global.
#include <fmt/format.h>
#include <histedit.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/query/commands.hpp"
#include "cli/query/lines.hpp"

namespace holon::cli::query {
namespace {

namespace fs = std::filesystem;

constexpr int kHistoryLines = 1000;

struct EndEdit {
  void operator()(EditLine* edit) const { el_end(edit); }
};
struct EndHistory {
  void operator()(History* history) const { history_end(history); }
};

// $XDG_STATE_HOME/holon/query_history, or below ~/.local/state; empty where there is no home.
fs::path history_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "holon" / "query_history";
  if (home == nullptr || *home != '/') return {};
  return fs::path(home) / ".local" / "state" / "holon" / "query_history";
}

void keep_beginning(std::vector<std::string>& candidates, std::string_view word) {
  std::erase_if(candidates, [&](const std::string& c) { return !c.starts_with(word); });
}

std::vector<std::string> files_beginning(const std::string& word) {
  const auto slash = word.rfind('/');
  const std::string folder = slash == word.npos ? "" : word.substr(0, slash + 1);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const bool is_folder = entry->is_directory(error);
    names.push_back(folder + entry->path().filename().string() + (is_folder ? "/" : ""));
  }
  keep_beginning(names, word);
  return names;
}

// Completions of the last of `words`; the others stand before it.
std::vector<std::string> completions(const std::vector<std::string>& words) {
  std::vector<std::string> candidates;
  if (words.size() == 1) {
    for (const auto& command : commands()) candidates.emplace_back(command.name);
    keep_beginning(candidates, words.back());
    return candidates;
  }
  const Command* command = find_command(words[0]);
  if (command == nullptr) return {};
  bool files = command->name == "match" || command->name == "multi-match";
  for (const auto word : command->completions) {
    if (word == "@file")
      files = true;
    else
      candidates.emplace_back(word);
  }
  keep_beginning(candidates, words.back());
  const bool first_of_match = words.size() == 2 && command->name.ends_with("match");
  if (files && !first_of_match)
    for (auto& name : files_beginning(words.back())) candidates.push_back(std::move(name));
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

std::string common_beginning(const std::vector<std::string>& candidates) {
  std::string common = candidates.front();
  for (const auto& candidate : candidates) {
    const auto differ =
        std::mismatch(common.begin(), common.end(), candidate.begin(), candidate.end());
    common.erase(differ.first, common.end());
  }
  return common;
}

void show_line(const std::vector<std::string>& candidates) {
  std::string text = "\n";
  for (const auto& candidate : candidates) text += candidate + "  ";
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

unsigned char complete(EditLine* edit, int) {
  const LineInfo* line = el_line(edit);
  std::vector<std::string> words(1);
  for (const char* at = line->buffer; at < line->cursor; ++at) {
    if (*at == ' ' || *at == '\t') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += *at;
    }
  }
  const auto candidates = completions(words);
  if (candidates.empty()) return CC_REFRESH_BEEP;
  std::string more = common_beginning(candidates).substr(words.back().size());
  if (candidates.size() == 1 && !candidates[0].ends_with("/") && !candidates[0].ends_with("="))
    more += " ";
  if (!more.empty()) {
    el_insertstr(edit, more.c_str());
    return CC_REFRESH;
  }
  show_line(candidates);
  return CC_REDISPLAY;
}

char* show_prompt(EditLine* edit) {
  void* prompt = nullptr;
  el_get(edit, EL_CLIENTDATA, &prompt);
  return static_cast<std::string*>(prompt)->data();
}

class TerminalLines : public LineSource {
 public:
  explicit TerminalLines(std::string prompt)
      : prompt_(std::move(prompt)), history_(history_init()), file_(history_file()) {
    edit_.reset(el_init("holon", stdin, stdout, stderr));
    HistEvent event;
    history(history_.get(), &event, H_SETSIZE, kHistoryLines);
    history(history_.get(), &event, H_SETUNIQUE, 1);
    if (!file_.empty()) history(history_.get(), &event, H_LOAD, file_.c_str());
    el_set(edit_.get(), EL_CLIENTDATA, &prompt_);
    el_set(edit_.get(), EL_PROMPT, show_prompt);
    el_set(edit_.get(), EL_EDITOR, "emacs");
    el_set(edit_.get(), EL_SIGNAL, 1);
    el_set(edit_.get(), EL_HIST, history, history_.get());
    el_set(edit_.get(), EL_ADDFN, "complete", "complete the word", complete);
    el_set(edit_.get(), EL_BIND, "^I", "complete", nullptr);
    el_source(edit_.get(), nullptr);
  }

  ~TerminalLines() override {
    if (file_.empty()) return;
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    HistEvent event;
    history(history_.get(), &event, H_SAVE, file_.c_str());
  }

  std::optional<std::string_view> next() override {
    int count = 0;
    const char* line = el_gets(edit_.get(), &count);
    if (line == nullptr || count <= 0) return std::nullopt;
    line_.assign(line, static_cast<std::size_t>(count));
    if (line_.ends_with("\n")) line_.pop_back();
    HistEvent event;
    if (!line_.empty()) history(history_.get(), &event, H_ENTER, line_.c_str());
    return line_;
  }

 private:
  std::string prompt_;
  std::unique_ptr<History, EndHistory> history_;
  fs::path file_;
  std::unique_ptr<EditLine, EndEdit> edit_;
  std::string line_;
};

}  // namespace

std::unique_ptr<LineSource> terminal_lines(std::string prompt) {
  return std::make_unique<TerminalLines>(std::move(prompt));
}

}  // namespace holon::cli::query

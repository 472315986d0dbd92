#include "cli/options/directives.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace holon::cli {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kMarks[] = {"#", "//", "--", ";", "%"};
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

enum class Tag { holon, slurm, flux, foreign };

struct Tagged {
  Tag tag;
  std::string_view rest;
};

bool is_blank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}

std::string_view without_blanks(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(kBlanks), line.size()));
}

// The text behind the comment mark; nullopt if the line is no comment.
std::optional<std::string_view> comment(std::string_view line) {
  line = without_blanks(line);
  for (const auto mark : kMarks)
    if (line.starts_with(mark)) return line.substr(mark.size());
  return std::nullopt;
}

std::optional<Tagged> tagged(std::string_view line) {
  for (const auto& [word, tag] : {std::pair{std::string_view("#HOLON"), Tag::holon},
                                  std::pair{std::string_view("#SBATCH"), Tag::slurm}}) {
    if (!line.starts_with(word)) continue;
    const auto rest = line.substr(word.size());
    if (rest.empty() || is_blank(rest.front())) return Tagged{tag, rest};
  }
  for (const std::string_view word : {"#PBS", "#BSUB", "#$", "#COBALT", "#OAR"})
    if (line.starts_with(word) && line.size() > word.size() && is_blank(line[word.size()]))
      return Tagged{Tag::foreign, word};
  const auto text = comment(line);
  if (!text) return std::nullopt;
  const auto words = without_blanks(*text);
  for (const std::string_view word : {"HOLON:", "holon:"})
    if (words.starts_with(word)) return Tagged{Tag::holon, words.substr(word.size())};
  for (const std::string_view word : {"FLUX:", "flux:"})
    if (words.starts_with(word)) return Tagged{Tag::flux, words.substr(word.size())};
  return std::nullopt;
}

void add(Directives& into, const Tagged& found, int line) {
  auto& list = found.tag == Tag::holon   ? into.holon
               : found.tag == Tag::slurm ? into.slurm
               : found.tag == Tag::flux  ? into.flux
                                         : into.foreign;
  list.push_back({line, std::string(found.rest)});
}

// Splits one text as a POSIX shell does, without expanding anything.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  // The words; nullopt: a quote has no end.
  std::optional<std::vector<std::string>> words() {
    for (char c; next(c);) {
      if (is_blank(c) || c == '\n') {
        end_word();
      } else if (c == '#' && !inside_) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\'' || c == '"') {
        if (!quoted(c)) return std::nullopt;
      } else {
        if (c == '\\') next(c);
        append(c);
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  bool next(char& c) {
    if (at_ >= text_.size()) return false;
    c = text_[at_++];
    return true;
  }
  void append(char c) {
    word_ += c;
    inside_ = true;
  }
  void end_word() {
    if (std::exchange(inside_, false)) words_.push_back(std::exchange(word_, {}));
  }
  // Moves from behind the first quotation mark to behind the last one.
  bool quoted(char mark) {
    inside_ = true;
    const std::string three(3, mark);
    if (text_.substr(at_ - 1).starts_with(three)) {
      const auto end = text_.find(three, at_ + 2);
      if (end == std::string_view::npos) return false;
      word_ += text_.substr(at_ + 2, end - at_ - 2);
      at_ = end + 3;
      return true;
    }
    for (char c; next(c);) {
      if (c == mark) return true;
      const bool escapes = mark == '"' && c == '\\' && at_ < text_.size() &&
                           (text_[at_] == '"' || text_[at_] == '\\');
      if (escapes) next(c);
      word_ += c;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool inside_ = false;
  std::vector<std::string> words_;
};

// Does """ or ''' begin something in the text that does not end in it?
bool goes_on(const std::string& text) {
  for (const std::string_view mark : {"\"\"\"", "'''"}) {
    std::size_t marks = 0;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 3)) ++marks;
    if (marks % 2 == 1) return true;
  }
  return false;
}

}  // namespace

Directives directives_in(std::string_view text) {
  Directives found;
  if (!text.starts_with("#!")) return found;
  int number = 0;
  bool is_late = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    const auto directive = tagged(line);
    if (directive && !is_late)
      add(found, *directive, number);
    else if (directive && directive->tag == Tag::holon && found.late_holon == 0)
      found.late_holon = number;
    is_late = is_late || (!without_blanks(line).empty() && !comment(line));
  }
  return found;
}

Directives directives_of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream in(path, std::ios::binary);
  char mark[2] = {};
  if (!in.read(mark, 2) || mark[0] != '#' || mark[1] != '!') return {};
  std::string text(kMostBytes, 0);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return directives_in("#!" + text);
}

Result<Parser::Layer> words_of(const std::vector<Directive>& directives, const std::string& name) {
  Parser::Layer lines;
  for (std::size_t i = 0; i < directives.size(); ++i) {
    const std::string place = name + ":" + std::to_string(directives[i].line);
    std::string text = directives[i].text;
    while (goes_on(text) && i + 1 < directives.size()) text += "\n" + directives[++i].text;
    auto words = Splitter(text).words();
    if (!words) return fail(Errc::invalid_argument, "a quotation mark has no end", place);
    if (!words->empty()) lines.push_back({place, std::move(*words)});
  }
  return lines;
}

}  // namespace holon::cli

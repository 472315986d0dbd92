#include "cli/slurm/options.hpp"

#include <fmt/core.h>
#include <getopt.h>

namespace holon::cli::slurm {
namespace {

constexpr int kFirstLong = 1000;  // above every letter

// The tables of getopt_long(3).
struct Tables {
  explicit Tables(std::span<const Option> known, bool stops) : letters(stops ? "+:" : ":") {
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Option& option = known[i];
      const int takes = option.takes == Option::Takes::nothing ? no_argument
                        : option.takes == Option::Takes::value ? required_argument
                                                               : optional_argument;
      names.push_back({option.name, takes, nullptr, kFirstLong + static_cast<int>(i)});
      if (option.letter == 0) continue;
      letters += option.letter;
      letters += std::string(static_cast<std::size_t>(takes), ':');
    }
    names.push_back({nullptr, 0, nullptr, 0});
  }
  std::string letters;
  std::vector<option> names;
};

const Option& option_of(std::span<const Option> known, int found) {
  if (found >= kFirstLong) return known[static_cast<std::size_t>(found - kFirstLong)];
  std::size_t i = 0;
  while (known[i].letter != found) ++i;
  return known[i];
}

}  // namespace

Result<Options> Options::read(const std::vector<std::string>& words, std::span<const Option> known,
                              bool stops) {
  const Tables tables(known, stops);
  std::vector<std::string> copy = words;
  std::string program = "program";
  std::vector<char*> argv = {program.data()};
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(argv.size()) - 1;
  Options options;
  optind = 0;  // begins anew
  opterr = 0;
  for (int found; (found = getopt_long(argc, argv.data(), tables.letters.c_str(),
                                       tables.names.data(), nullptr)) != -1;) {
    const std::string typed = optopt > 0 && optopt < kFirstLong
                                  ? fmt::format("-{}", static_cast<char>(optopt))
                                  : std::string(argv[static_cast<std::size_t>(optind) - 1]);
    if (found == '?') return fail(Errc::invalid_argument, fmt::format("unknown option: {}", typed));
    if (found == ':')
      return fail(Errc::invalid_argument, fmt::format("option {} needs a value", typed));
    options.given_.emplace_back(option_of(known, found).name, optarg == nullptr ? "" : optarg);
  }
  options.rest_.assign(argv.begin() + optind, argv.begin() + argc);
  return options;
}

std::optional<std::string> Options::value(std::string_view name) const {
  for (auto given = given_.rbegin(); given != given_.rend(); ++given)
    if (given->first == name) return given->second;
  return std::nullopt;
}

std::vector<std::string> items_of(std::string_view list) {
  constexpr std::string_view kBetween = ", \t\n";
  std::vector<std::string> items;
  for (auto at = list.find_first_not_of(kBetween); at != std::string_view::npos;
       at = list.find_first_not_of(kBetween, at)) {
    const auto end = std::min(list.find_first_of(kBetween, at), list.size());
    items.emplace_back(list.substr(at, end - at));
    at = end;
  }
  return items;
}

}  // namespace holon::cli::slurm

// sacct: what jobs have used, and how they ended. Each job has a row of its own, and one of its
// script as the step "batch", as the accounting of Slurm has them.
#include <fmt/core.h>

#include <strings.h>
#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "cli/options/job_options.hpp"
#include "cli/slurm/fields.hpp"
#include "cli/slurm/listing.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli::slurm {
namespace {

using Takes = Option::Takes;

constexpr Option kOptionsOfSacct[] = {{'A', "account", Takes::value},
                                      {'A', "accounts", Takes::value},
                                      {'a', "allusers"},
                                      {'X', "allocations"},
                                      {'b', "brief"},
                                      {'M', "clusters", Takes::value},
                                      {0, "delimiter", Takes::value},
                                      {'D', "duplicates"},
                                      {'E', "endtime", Takes::value},
                                      {'o', "format", Takes::value},
                                      {'e', "helpformat"},
                                      {'h', "help"},
                                      {'j', "jobs", Takes::value},
                                      {'l', "long"},
                                      {0, "name", Takes::value},
                                      {'n', "noheader"},
                                      {'N', "nodelist", Takes::value},
                                      {0, "noconvert"},
                                      {'r', "partition", Takes::value},
                                      {'p', "parsable"},
                                      {'P', "parsable2"},
                                      {'q', "qos", Takes::value},
                                      {'S', "starttime", Takes::value},
                                      {'s', "state", Takes::value},
                                      {'s', "states", Takes::value},
                                      {0, "usage"},
                                      {'u', "uid", Takes::value},
                                      {'u', "user", Takes::value},
                                      {'v', "verbose"},
                                      {'V', "version"}};

constexpr const char* kUsualColumns = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
constexpr const char* kBriefColumns = "JobID,State,ExitCode";
constexpr const char* kLongColumns =
    "JobID,JobIDRaw,JobName,Partition,MaxRSS,NTasks,AllocCPUS,Elapsed,State,ExitCode,Submit,Start,"
    "End,Timelimit,ReqTRES,AllocTRES,TotalCPU";

constexpr const char* kHelpOfSacct =
    "Usage: sacct [-j JOBS] [-S TIME] [-E TIME] [-X] [-n] [-P|-p] [-o FIELD,...] [-s STATES]\n"
    "             [-u USERS] [-a]; sacct -e has the fields\n";

// Columns whose width is not 10.
constexpr std::pair<std::string_view, int> kWidths[] = {
    {"JobID", -12},  {"JobIDRaw", -12}, {"Start", 19},      {"End", 19},
    {"Submit", 19},  {"Eligible", 19},  {"ExitCode", 8},    {"NNodes", 8},
    {"NTasks", 8},   {"NodeList", 15},  {"User", 9},        {"UID", 6},
    {"GID", 6},      {"Group", 9},      {"Reason", 22},     {"DerivedExitCode", 15},
    {"Comment", 14}, {"WorkDir", 20},   {"SubmitLine", 20}, {"Timelimit", 10},
};

struct Column {
  const Field* field;
  int width;  // negative: to the left
};

int usual_width(std::string_view name) {
  for (const auto& [known, width] : kWidths)
    if (known == name) return width;
  return 10;
}

// "JobID%20,State": with widths of their own.
Result<std::vector<Column>> columns_in(const std::string& format) {
  std::vector<Column> columns;
  for (const std::string& item : items_of(format)) {
    const auto percent = item.find('%');
    const std::string name = item.substr(0, percent);
    const Field* const field = field_of_sacct(name);
    if (field == nullptr)
      return fail(Errc::invalid_argument, fmt::format("Invalid field requested: \"{}\"", name));
    const int width = percent == std::string::npos ? usual_width(field->accounting)
                                                   : std::atoi(item.c_str() + percent + 1);
    columns.push_back({field, width == 0 ? usual_width(field->accounting) : width});
  }
  if (columns.empty()) return fail(Errc::invalid_argument, "No fields requested");
  return columns;
}

std::string padded(const std::string& text, int width) {
  const auto wide = static_cast<std::size_t>(std::abs(width));
  if (text.size() > wide) return text.substr(0, wide - 1) + "+";
  return width < 0 ? fmt::format("{:<{}}", text, wide) : fmt::format("{:>{}}", text, wide);
}

struct Printed {
  std::vector<Column> columns;
  std::string delimiter = {};  // "": in columns
  bool ends_with_it = false;
};

std::string line_of(const Printed& how, const std::vector<std::string>& texts) {
  std::string line;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (how.delimiter.empty())
      line += padded(texts[i], how.columns[i].width) + " ";
    else
      line += (i == 0 ? "" : how.delimiter) + texts[i];
  }
  return line + (how.ends_with_it ? how.delimiter : "") + "\n";
}

void print_titles(Call& call, const Printed& how) {
  std::vector<std::string> titles, rules;
  for (const Column& column : how.columns) {
    titles.emplace_back(column.field->accounting);
    rules.emplace_back(static_cast<std::size_t>(std::abs(column.width)), '-');
  }
  call.io.out << line_of(how, titles);
  if (how.delimiter.empty()) call.io.out << line_of(how, rules);
}

void print_row(Call& call, const Printed& how, const View& view) {
  std::vector<std::string> texts;
  for (const Column& column : how.columns) texts.push_back(column.field->text(view));
  call.io.out << line_of(how, texts);
}

Result<Printed> form_of(const Options& options) {
  const char* const preset = std::getenv("SACCT_FORMAT");
  std::string format = preset != nullptr ? preset : kUsualColumns;
  if (options.has("brief")) format = kBriefColumns;
  if (options.has("long")) format = kLongColumns;
  if (const auto typed = options.value("format")) {
    format = *typed;
    if (format.starts_with('%')) format = fmt::format("{},{}", kUsualColumns, format.substr(1));
  }
  auto columns = columns_in(format);
  if (!columns) return tl::unexpected(columns.error());
  Printed how{std::move(*columns)};
  if (options.has("parsable") || options.has("parsable2"))
    how.delimiter = options.value("delimiter").value_or("|");
  how.ends_with_it = options.has("parsable") && !options.has("parsable2");
  return how;
}

// The usual day begins at midnight, unless jobs or states are named.
Status add_times(const Options& options, Question& question) {
  const Time now = instance::wall_clock_ms();
  std::string from = question.jobs.empty() ? "midnight" : "";
  if (const auto typed = options.value("starttime")) from = *typed;
  if (!from.empty()) {
    const auto since = time_in(from, now);
    if (!since) return tl::unexpected(since.error());
    question.since = *since;
  }
  if (const auto typed = options.value("endtime")) {
    const auto until = time_in(*typed, now);
    if (!until) return tl::unexpected(until.error());
    question.until = *until;
  }
  return {};
}

Result<Question> question_of_sacct(const Options& options) {
  auto question = question_in(options);
  if (!question) return question;
  for (const char* const name : {"uid", "user"})
    if (const auto users = options.value(name)) question->users = items_of(*users);
  if (const auto states = options.value("state")) {
    auto read = states_in(*states);
    if (!read) return tl::unexpected(read.error());
    question->states = std::move(*read);
  }
  if (const auto accounts = options.value("accounts")) question->accounts = items_of(*accounts);
  const bool of_all = options.has("allusers") || !question->jobs.empty();
  if (question->users.empty() && !of_all) question->users = {user_name()};
  question->with_ended = true;
  if (auto added = add_times(options, *question); !added) return tl::unexpected(added.error());
  return question;
}

}  // namespace

int sacct(Call& call) {
  const auto options = Options::read(call.words, kOptionsOfSacct);
  if (!options) return refuse(call, options.error());
  if (options->has("help") || options->has("usage")) {
    call.io.out << kHelpOfSacct;
    return kOk;
  }
  if (options->has("version")) {
    call.io.out << kVersion << "\n";
    return kOk;
  }
  if (options->has("helpformat")) {
    call.io.out << names_of_sacct() << "\n";
    return kOk;
  }
  const auto how = form_of(*options);
  if (!how) return refuse(call, how.error());
  const auto question = question_of_sacct(*options);
  if (!question) return refuse(call, question.error());
  auto client = connect(call);
  if (!client) return refuse(call, client.error());
  const auto rows = rows_of(*client, *question);
  if (!rows && rows.error().code != Errc::not_found) return refuse(call, rows.error());
  if (!options->has("noheader")) print_titles(call, *how);
  const Time now = instance::wall_clock_ms();
  for (const Row& row : rows ? *rows : std::vector<Row>()) {
    print_row(call, *how, {row.job, now, row.waiting, "", true});
    const bool has_begun = row.job.t_alloc != 0 && row.waiting.empty();
    if (has_begun && !options->has("allocations"))
      print_row(call, *how, {row.job, now, "", "batch", true});
  }
  return kOk;
}

}  // namespace holon::cli::slurm

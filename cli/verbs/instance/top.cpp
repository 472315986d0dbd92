// holon top: an instance and what is below it, as a screen of the terminal.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <ostream>

#include "cli/parser/parser.hpp"
#include "cli/top/observe.hpp"
#include "cli/top/screen.hpp"
#include "cli/verbs.hpp"
#include "web/feed.hpp"

namespace holon::cli {
namespace {

constexpr Duration kLook = 100, kDrawAgain = 1'000, kDrawSoon = 250;
constexpr int kUnknownWidth = 80, kUnknownHeight = 24;
constexpr Duration kFirstSight = 20'000;  // for an instance to tell of itself

// The terminal without echo, key by key, on its other screen; as it was at the end.
class KeysAndScreen {
 public:
  explicit KeysAndScreen(std::ostream& out) : out_(out) { enter(); }
  ~KeysAndScreen() { leave(); }
  KeysAndScreen(const KeysAndScreen&) = delete;
  KeysAndScreen& operator=(const KeysAndScreen&) = delete;

  // Stops this process, as Ctrl-Z does, with the terminal as it was; returns when it goes on.
  void stop() {
    leave();
    ::kill(::getpid(), SIGSTOP);
    enter();
  }

 private:
  void enter() {
    is_on_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_on_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    out_ << "\x1b[?1049h\x1b[?25l" << std::flush;
  }
  void leave() {
    if (!is_on_) return;
    out_ << "\x1b[?25h\x1b[?1049l" << std::flush;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }

  std::ostream& out_;
  termios before_{};
  bool is_on_ = false;
};

enum class TopKey { none, up, down, enter, back, end };

// The keys in what was read; an arrow is several bytes.
std::vector<TopKey> keys_in(std::string_view bytes) {
  std::vector<TopKey> keys;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto rest = bytes.substr(i);
    if (rest.starts_with("\x1b[") || rest.starts_with("\x1bO")) {
      const char last = rest.size() > 2 ? rest[2] : ' ';
      keys.push_back(last == 'A' ? TopKey::up : last == 'B' ? TopKey::down : TopKey::none);
      i += 2;
    } else if (rest[0] == 'k') {
      keys.push_back(TopKey::up);
    } else if (rest[0] == 'j') {
      keys.push_back(TopKey::down);
    } else if (rest[0] == '\r' || rest[0] == '\n') {
      keys.push_back(TopKey::enter);
    } else if (rest[0] == '\x7f' || rest[0] == '\b') {
      keys.push_back(TopKey::back);
    } else if (rest[0] == 'q' || rest[0] == '\x04') {
      keys.push_back(TopKey::end);
    }
  }
  return keys;
}

class Top {
 public:
  Top(Invocation& call, client::Observer observer)
      : call_(call),
        observer_(std::move(observer)),
        feed_(observer_, model_, [this](const Status& status) { over(status); }) {
    view_.at = observer_.path();
    view_.unicode = call.io.unicode;
  }

  Status on_terminal() {
    KeysAndScreen screen(call_.io.out);
    std::vector<transport::Subscription> watches;
    auto keys =
        reactor().on_fd(STDIN_FILENO, transport::kReadable, [this](unsigned) { read_keys(); });
    if (!keys) return tl::unexpected(keys.error());
    watches.push_back(std::move(*keys));
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP}) {
      if (signal == SIGTSTP && transport::is_ignored(signal)) continue;
      auto caught = reactor().on_signal(signal, [this, signal, &screen] {
        if (signal == SIGTSTP)
          screen.stop();
        else if (signal != SIGWINCH)
          return reactor().stop();
        call_.io.out << "\x1b[2J";
        draw();
      });
      if (caught) watches.push_back(std::move(*caught));
    }
    watches.push_back(reactor().every(kLook, [this] { draw_if_due(); }));
    draw();
    reactor().run();
    return over_.value_or(Status());
  }

  // One screen, as soon as the instance has told of itself and of its resources.
  Status once() {
    auto looks = reactor().every(kLook, [this] {
      feed_.look_at(view_.at);
      if (is_told(model_, view_.at)) reactor().stop();
    });
    auto patience = reactor().after(kFirstSight, [this] { reactor().stop(); });
    if (!over_) reactor().run();
    if (over_ && !*over_) return *over_;
    view_.width = call_.io.width > 0 ? call_.io.width : kUnknownWidth;
    view_.now = web::wall_clock();
    const auto text = top_once(model_, view_);
    if (!text) return tl::unexpected(text.error());
    call_.io.out << *text;
    return {};
  }

 private:
  transport::Reactor& reactor() { return observer_.reactor(); }

  void read_keys() {
    char bytes[64];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) return reactor().stop();  // the terminal has gone
    for (const TopKey key : keys_in(std::string_view(bytes, static_cast<std::size_t>(n)))) act(key);
    draw();
  }

  void act(TopKey key) {
    const auto children = top_children(model_, view_.at);
    switch (key) {
      case TopKey::up:
        view_.chosen -= view_.chosen > 0;
        break;
      case TopKey::down:
        view_.chosen += view_.chosen + 1 < children.size();
        break;
      case TopKey::enter:
        if (view_.chosen < children.size()) go_to(children[view_.chosen]);
        break;
      case TopKey::back: {
        const auto cut = view_.at.rfind('/');
        const std::string above = cut == 0 ? "/" : view_.at.substr(0, cut);
        if (view_.at != "/" && model_.find(above) != nullptr) go_to(above);
        break;
      }
      case TopKey::end:
        reactor().stop();
        break;
      case TopKey::none:
        break;
    }
  }

  void go_to(const std::string& path) {
    view_.at = path;
    view_.chosen = 0;
    feed_.look_at(path);
  }

  void draw_if_due() {
    feed_.look_at(view_.at);
    const Time now = reactor().now();
    const bool changed = drawn_version_ != model_.version() && now - drawn_at_ >= kDrawSoon;
    if (changed || now - drawn_at_ >= kDrawAgain) draw();
  }

  void draw() {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    view_.width = known ? size.ws_col : kUnknownWidth;
    view_.height = known ? std::max<int>(size.ws_row, 2) : kUnknownHeight;
    view_.now = web::wall_clock();
    view_.connected = observer_.connected();
    const auto lines = top_screen(model_, view_);
    std::string text = "\x1b[H";
    for (const auto& line : lines) {
      const std::string painted = paint(call_.io, line.colour, line.text);
      text += line.chosen ? "\x1b[7m" + painted + "\x1b[0m" : painted;
      text += &line == &lines.back() ? "\x1b[K" : "\x1b[K\r\n";
    }
    call_.io.out << text << std::flush;
    drawn_version_ = model_.version();
    drawn_at_ = reactor().now();
  }

  void over(const Status& status) {
    over_ = status;
    reactor().stop();
  }

  Invocation& call_;
  client::Observer observer_;
  web::Model model_;
  std::optional<Status> over_;
  web::Feed feed_;
  TopView view_;
  std::uint64_t drawn_version_ = 0;
  Time drawn_at_ = 0;
};

}  // namespace

int verb_top(Invocation& call) {
  Parser parser("top", "an instance as a screen: instances, queues, jobs, and the plan");
  parser.instance(call)
      .note(
          "Keeps itself up to date. Up and down (or k and j) choose an instance, Enter goes into "
          "it, "
          "Backspace goes back, q ends. The bar of the plan is how much of the cores is taken from "
          "now on, by what runs until its limit and by what is reserved. Where standard output is "
          "no "
          "terminal, one screen is written and that is all. The same, with more of it, is a page "
          "for "
          "a browser: holon web.")
      .example("holon top", "of the instance that you are in")
      .example("holon top -i /3", "of a child");
  if (const auto code = parser.parse(call)) return *code;
  auto observer = connect_observer(call);
  if (!observer) return report(call, "top", observer.error());
  Top top(call, std::move(*observer));
  const bool has_screen = call.io.terminal && !call.io.dumb && isatty(STDIN_FILENO) == 1;
  const Status ended = has_screen ? top.on_terminal() : top.once();
  if (ended) return kOk;
  return report(call, "top", ended.error());
}

}  // namespace holon::cli

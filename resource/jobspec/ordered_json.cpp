#include "resource/jobspec/ordered_json.hpp"

#include <vector>

namespace holon::resource {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Unfinished values stand on a stack, each with the name that it will have.
class OrderedHandler : public nlohmann::json_sax<OrderedJson> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(OrderedJson::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(OrderedJson::object()); }
  bool start_array(std::size_t) override { return begin(OrderedJson::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(std::string& name) override {
    open_.back().next = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }
  OrderedJson take() { return std::move(root_); }

 private:
  struct Open {
    OrderedJson value;
    std::string next;  // name of the next member
  };
  bool put(OrderedJson value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().value.is_array())
      open_.back().value.push_back(std::move(value));
    else
      add_member(open_.back().value, std::move(open_.back().next), std::move(value));
    return true;
  }
  bool begin(OrderedJson value) {
    open_.push_back({std::move(value), {}});
    return true;
  }
  bool end() {
    OrderedJson whole = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(whole));
  }

  std::vector<Open> open_;
  OrderedJson root_;
};

}  // namespace

OrderedJson parse_ordered(std::string_view text) {
  OrderedHandler handler;
  const bool is_json = OrderedJson::sax_parse(text.begin(), text.end(), &handler);
  return is_json ? handler.take() : OrderedJson(OrderedJson::value_t::discarded);
}

}  // namespace holon::resource

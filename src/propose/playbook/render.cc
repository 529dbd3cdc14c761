#include "propose/playbook/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <kainjow/mustache.hpp>
#include <set>
#include <vector>

#include "base/fs.h"

namespace cutegen::playbook {
namespace {

namespace mustache = kainjow::mustache;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

mustache::data convert(const Json& value) {
  if (value.is_boolean()) return mustache::data(value.get<bool>() ? mustache::data::type::bool_true : mustache::data::type::bool_false);
  if (value.is_array()) {
    mustache::data list(mustache::data::type::list);
    for (size_t i = 0; i < value.size(); ++i) {
      mustache::data element = convert(value[i]);
      if (value[i].is_object()) {
        element.set("first", convert(Json(i == 0)));
        element.set("last", convert(Json(i + 1 == value.size())));
      }
      list.push_back(std::move(element));
    }
    return list;
  }
  if (value.is_object()) {
    mustache::data object(mustache::data::type::object);
    for (const auto& [key, member] : value.items()) object.set(key, convert(member));
    return object;
  }
  return mustache::data(text_of(value));
}

struct Tag {
  char kind;  // '#', '^', '/', '&' or ' ' for a variable
  std::string name;
};

Result<std::vector<Tag>> tags_of(std::string_view text) {
  std::vector<Tag> tags;
  for (size_t at = 0; (at = text.find("{{", at)) != std::string_view::npos;) {
    const size_t end = text.find("}}", at);
    if (end == std::string_view::npos) return Error{Errc::internal, "a template tag is not closed", "", std::string(text.substr(at, 60))};
    std::string_view body = text.substr(at + 2, end - at - 2);
    at = end + 2;
    if (body.starts_with("!")) continue;
    char kind = ' ';
    if (!body.empty() && std::string_view("#^/&>").find(body[0]) != std::string_view::npos) kind = body[0], body.remove_prefix(1);
    while (body.starts_with(" ")) body.remove_prefix(1);
    while (body.ends_with(" ")) body.remove_suffix(1);
    if (kind == '>') return Error{Errc::internal, fmt::format("partial '{}' outside a template file", body), "", ""};
    tags.push_back({kind, std::string(body)});
  }
  return tags;
}

using Scopes = std::vector<const Json*>;

const Json* look_up(const Scopes& scopes, const std::string& name) {
  for (auto it = scopes.rbegin(); it != scopes.rend(); ++it)
    if ((*it)->is_object() && (*it)->contains(name)) return &(**it)[name];
  return nullptr;
}

size_t section_end(const std::vector<Tag>& tags, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tags.size(); ++i) {
    if (tags[i].kind == '#' || tags[i].kind == '^') ++depth;
    if (tags[i].kind == '/' && --depth == 0) return i;
  }
  return tags.size();
}

// Walks the tags as mustache would and reports the first name that is not there.
Result<void> check_names(const std::vector<Tag>& tags, size_t begin, size_t end, Scopes& scopes) {
  for (size_t i = begin; i < end; ++i) {
    const Tag& tag = tags[i];
    if (tag.name == "first" || tag.name == "last" || tag.name == ".") {
      continue;  // given by convert(); sections of theirs are checked in place
    }
    if (tag.kind == '/') continue;
    const Json* value = look_up(scopes, tag.name);
    if (value == nullptr)
      return Error{Errc::internal, fmt::format("the template names the parameter '{}', which is not given", tag.name), "", ""};
    if (tag.kind != '#' && tag.kind != '^') continue;
    const size_t close = section_end(tags, i);
    if (close == tags.size()) return Error{Errc::internal, fmt::format("the section '{}' is not closed", tag.name), "", ""};
    const bool object_list = tag.kind == '#' && value->is_array() && !value->empty();
    const bool shown =
        tag.kind == '#' ? (value->is_array() ? !value->empty() : *value != Json(false)) : *value == Json(false) || value->empty();
    if (object_list) {
      for (const Json& element : *value) {
        scopes.push_back(&element);
        auto inner = check_names(tags, i + 1, close, scopes);
        scopes.pop_back();
        CUTEGEN_CHECK(std::move(inner));
      }
    } else if (shown) {
      scopes.push_back(value);
      auto inner = check_names(tags, i + 1, close, scopes);
      scopes.pop_back();
      CUTEGEN_CHECK(std::move(inner));
    }
    i = close;
  }
  return {};
}

Result<void> check_used(const Json& params, const std::set<std::string>& named) {
  for (const auto& [key, value] : params.items()) {
    if (!named.contains(key)) return Error{Errc::internal, fmt::format("the parameter '{}' is not used by the template", key), "", ""};
    if (value.is_object()) CUTEGEN_CHECK(check_used(value, named));
    if (value.is_array())
      for (const Json& element : value)
        if (element.is_object()) CUTEGEN_CHECK(check_used(element, named));
  }
  return {};
}

Result<std::string> expand_partials(std::string text, const std::filesystem::path& folder, int depth) {
  if (depth > 8) return Error{Errc::internal, "template partials include each other without end", "", ""};
  for (size_t at = 0; (at = text.find("{{>", at)) != std::string::npos;) {
    const size_t end = text.find("}}", at);
    if (end == std::string::npos) return Error{Errc::internal, "a template tag is not closed", "", ""};
    std::string name = text.substr(at + 3, end - at - 3);
    std::erase(name, ' ');
    CUTEGEN_TRY(std::string part, read_file(folder / (name + ".mustache")));
    CUTEGEN_TRY(part, expand_partials(std::move(part), folder, depth + 1));
    size_t after = end + 2;
    if ((at == 0 || text[at - 1] == '\n') && after < text.size() && text[after] == '\n') ++after;  // a partial alone on its line
    text.replace(at, after - at, part);
    at += part.size();
  }
  return text;
}

// Empty sections leave blank lines: none behind an opening or before a closing brace, never two in a row.
std::string without_stray_blanks(const std::string& text) {
  std::string out;
  bool after_open = true, pending = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) {
      pending = !after_open;
      continue;
    }
    if (pending && line[first] != '}') out += '\n';
    pending = false;
    const size_t last = line.find_last_not_of(' ');
    out.append(line.substr(0, last + 1)).push_back('\n');
    after_open = line[last] == '{';
  }
  return out;
}

}  // namespace

Result<std::string> render_text(std::string_view text, const Json& params) {
  CUTEGEN_TRY(const std::vector<Tag> tags, tags_of(text));
  Scopes scopes{&params};
  CUTEGEN_CHECK(check_names(tags, 0, tags.size(), scopes));
  std::set<std::string> named;
  for (const Tag& tag : tags) named.insert(tag.name);
  CUTEGEN_CHECK(check_used(params, named));

  mustache::mustache engine{std::string(text)};
  if (!engine.is_valid()) return Error{Errc::internal, "malformed template: " + engine.error_message(), "", ""};
  engine.set_custom_escape([](const std::string& s) { return s; });
  return without_stray_blanks(engine.render(convert(params)));
}

Result<std::string> render_file(const std::filesystem::path& path, const Json& params) {
  CUTEGEN_TRY(std::string text, read_file(path));
  CUTEGEN_TRY(text, expand_partials(std::move(text), path.parent_path(), 0));
  auto out = render_text(text, params);
  if (!out.ok()) {
    Error error = std::move(out).error();
    error.message = path.filename().string() + ": " + error.message;
    return error;
  }
  return out;
}

}  // namespace cutegen::playbook

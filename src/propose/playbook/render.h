// Kernel templates: mustache text with named parameters, nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cutegen::playbook {

// Fills `text` (mustache) from the object `params`: strings and numbers for {{name}}, arrays of objects and booleans for sections.
// Nothing is HTML-escaped. Errc::internal when the template names a parameter that is absent, or when a parameter is never named:
// a template and its caller cannot drift apart silently. Section members are looked up inside out, as mustache does.
// Each array element gets `first` and `last` (booleans) for separators; those two may go unused.
Result<std::string> render_text(std::string_view text, const Json& params);

// The same for a file. `{{>name}}` stands for the text of `name.mustache` in the same folder, parameters included.
Result<std::string> render_file(const std::filesystem::path& path, const Json& params);

}  // namespace cutegen::playbook

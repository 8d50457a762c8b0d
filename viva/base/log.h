// Where the library's messages go: a sink that the host gives. Without one, viva is silent.
#pragma once

#include <functional>
#include <string_view>

namespace viva {

enum class LogLevel { kInfo, kWarning };

// Called from the thread that called into viva. An empty sink drops every message.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

}  // namespace viva

#include "viva/io/digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "viva/base/error.h"

namespace viva::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are hashed as they lie in memory");

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(std::span<const std::byte> bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  void add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  void add_with_length(std::span<const std::byte> bytes) {
    add(bytes.size());
    add(bytes);
  }
  void add_with_length(std::string_view text) { add_with_length(std::as_bytes(std::span(text))); }

  std::string hex() {
    std::array<unsigned char, 32> hash = {};
    check(EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr) == 1);
    return fmt::format("{:02x}", fmt::join(hash, ""));
  }

 private:
  static void check(bool done) {
    if (!done) throw Error("SHA-256 is not available: check the installation of OpenSSL's libcrypto");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string digest(std::span<const Param> params) {
  std::vector<const Param*> sorted;
  for (const Param& param : params) sorted.push_back(&param);
  std::sort(sorted.begin(), sorted.end(), [](const Param* a, const Param* b) { return a->name < b->name; });
  const auto same = std::adjacent_find(sorted.begin(), sorted.end(),
                                       [](const Param* a, const Param* b) { return a->name == b->name; });
  if (same != sorted.end()) {
    throw DimensionError(fmt::format("digest: expected every name once, found '{}' twice", (*same)->name),
                         (*same)->name);
  }

  Sha256 hash;
  constexpr std::string_view kTag = "viva-params-1\n";
  hash.add(std::as_bytes(std::span(kTag)));
  for (const Param* param : sorted) {
    hash.add_with_length(param->name);
    hash.add_with_length(name_of(param->value.dtype()));
    hash.add(param->value.rank());
    for (const std::int64_t dimension : param->value.shape()) hash.add(static_cast<std::uint64_t>(dimension));
    hash.add_with_length(param->value.bytes());
  }
  return hash.hex();
}

}  // namespace viva::io

// Memory files: their bytes arrive, and nobody can change them.
#include "viva/base/memory_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "viva/base/error.h"

namespace viva {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Descriptor file_of(const std::vector<std::string>& texts) {
  std::vector<std::span<const std::byte>> pieces;
  for (const std::string& text : texts) pieces.push_back(std::as_bytes(std::span(text)));
  return make_memory_file(pieces);
}

TEST(MemoryFile, HasItsPiecesOneBehindTheOther) {
  const MappedBytes mapped = map_memory_file(file_of({"to be", "", " or not"}));
  EXPECT_EQ(text_of(mapped.bytes), "to be or not");
  EXPECT_TRUE(map_memory_file(file_of({})).bytes.empty());
}

TEST(MemoryFile, CanBeLargerThanOneWriteTakesAtOnce) {
  const std::string large(std::size_t{5} << 20, 'x');
  EXPECT_EQ(text_of(map_memory_file(file_of({large})).bytes), large);
}

TEST(MemoryFile, CannotBeChanged) {
  const Descriptor file = file_of({"abc"});
  EXPECT_EQ(::pwrite(file.get(), "d", 1, 0), -1);
  EXPECT_EQ(::ftruncate(file.get(), 1), -1);
  EXPECT_EQ(::mmap(nullptr, 3, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0), MAP_FAILED);
}

TEST(MemoryFile, OfSomebodyElseIsRefused) {
  const Descriptor open(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_THROW(map_memory_file(open), Error);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor pipe(ends[0]), other(ends[1]);
  EXPECT_THROW(map_memory_file(pipe), Error);
  EXPECT_THROW(map_memory_file(Descriptor()), Error);
}

}  // namespace
}  // namespace viva

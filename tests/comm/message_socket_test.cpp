// Messages between processes: whole, in order, and an end that is noticed.
#include "viva/comm/message_socket.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

namespace viva::comm {
namespace {

struct Message {
  int number = 0;
  std::array<char, 12> text{};
};

TEST(MessageSocket, MessagesArriveWholeAndInOrder) {
  auto [here, there] = MessageSocket::make_pair();
  const pid_t pid = ::fork();
  if (pid == 0) {
    here.close();
    int failures = 0;
    for (int i = 0; i < 1000; ++i) failures += there.send(Message{i, {'a'}}) ? 0 : 1;
    ::_exit(failures);
  }
  there.close();
  for (int i = 0; i < 1000; ++i) {
    const auto message = here.receive<Message>();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->number, i);
    EXPECT_EQ(message->text[0], 'a');
  }
  // The other process has gone, however it ended.
  EXPECT_FALSE(here.receive<Message>());
  EXPECT_FALSE(here.send(Message{}));
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(MessageSocket, ShuttingDownWakesBothEnds) {
  const auto [here, there] = MessageSocket::make_pair();
  std::thread other([&end = there] { EXPECT_FALSE(end.receive<int>()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  here.shut_down();
  other.join();
  EXPECT_FALSE(here.receive<int>());
}

TEST(MessageSocket, ADescriptorTravelsWithAMessage) {
  const auto [here, there] = MessageSocket::make_pair();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor to_read(ends[0]);
  Descriptor to_write(ends[1]);
  ASSERT_TRUE(there.send(1, to_write));
  ASSERT_TRUE(there.send(2));
  ASSERT_TRUE(there.send(3, to_write));
  to_write.close();

  Descriptor attached;
  EXPECT_EQ(here.receive<int>(&attached), 1);
  ASSERT_TRUE(attached.open());
  EXPECT_EQ(::write(attached.get(), "x", 1), 1);
  attached.close();
  EXPECT_EQ(here.receive<int>(&attached), 2);
  EXPECT_FALSE(attached.open());
  // Nobody asked for the third message's: it is closed, and with it the pipe.
  EXPECT_EQ(here.receive<int>(), 3);
  std::array<char, 4> text{};
  EXPECT_EQ(::read(to_read.get(), text.data(), text.size()), 1);
  EXPECT_EQ(::read(to_read.get(), text.data(), text.size()), 0);
}

}  // namespace
}  // namespace viva::comm

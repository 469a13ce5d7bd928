// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>

#include <iostream>

int main() { std::cout << prumo::protocol::message_schema().dump(1) << '\n'; }

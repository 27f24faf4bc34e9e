// Reads records from standard input and answers each with one byte: 'y' when
// the payload is a valid size-prefixed FlatBuffer of that table, 'n' when not,
// '?' when there is no such table. A record is two length-prefixed byte strings
// (u32, in the machine's order): the name of a table and the payload.
// Built from `flatc --cpp` (schema_generated.h) and a list of the tables
// (tables.inc: one TABLE(namespace::Name) a line).
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "schema_generated.h"

static bool Read(void *to, size_t size) { return size == 0 || fread(to, size, 1, stdin) == 1; }

static char Verify(const std::string &name, const std::vector<uint8_t> &payload) {
#define TABLE(T)                                                                \
  if (name == #T) {                                                             \
    flatbuffers::Verifier verifier(payload.data(), payload.size());             \
    return verifier.VerifySizePrefixedBuffer<T>(nullptr) ? 'y' : 'n';           \
  }
#include "tables.inc"
#undef TABLE
  return '?';
}

int main() {
  uint32_t size;
  while (Read(&size, 4)) {
    std::string name(size, '\0');
    if (!Read(&name[0], size) || !Read(&size, 4)) return 1;
    std::vector<uint8_t> payload(size);
    if (!Read(payload.data(), size)) return 1;
    putchar(payload.size() < 8 ? 'n' : Verify(name, payload));
    fflush(stdout);
  }
  return 0;
}

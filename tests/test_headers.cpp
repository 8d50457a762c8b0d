// The precompiled headers that the tests share belong to a program with a source file: this one.
int main() { return 0; }

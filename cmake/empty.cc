// A shared library made of archives needs a source of its own.

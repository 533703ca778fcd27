"""replace.py FROM OLD NEW TO: writes TO, which is FROM with every OLD as NEW."""
import sys

source, old, new, target = sys.argv[1:]
with open(source) as file:
    text = file.read()
with open(target, "w") as file:
    file.write(text.replace(old, new))

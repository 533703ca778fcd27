#pragma once

#include "lang/scope.h"

namespace plait::lang {

// The values of compile-time parameters: "int", "float", "bool" and "type" literals.

/// The kind of a literal or type, nullopt for everything else.
std::optional<std::string_view> literal_kind(const Entity& entity);
/// The entity as a value of that kind (an integer may become a float), nullopt where it is of another kind.
std::optional<Entity> as_kind(const Entity& entity, std::string_view kind);
/// A literal of that kind from the text of -D name=value.
std::optional<Entity> parse_literal(std::string_view text, std::string_view kind, const Loc& loc);
/// "an int", "a type", …
std::string article(std::string_view kind);
/// Examples of literals of that kind.
std::string_view literal_example(std::string_view kind);

}  // namespace plait::lang

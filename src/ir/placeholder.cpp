#include "ir/build.h"
#include "ir/visit.h"
